package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/segment"
)

// problemPage has a heading for each type.
const problemPage = "https://github.com/uidring/uidring/blob/main/docs/SERVICE.md#"

// A problem is an error response of RFC 9457. It is immutable.
type problem struct {
	name       string // the last part of the type
	title      string
	status     int
	detail     string
	retryAfter time.Duration // 0: not known
}

// The problems of the API. because and after return modified copies.
var (
	badRequest  = &problem{name: "bad-request", title: "Bad request", status: http.StatusBadRequest}
	invalidID   = &problem{name: "invalid-id", title: "Not an ID", status: http.StatusBadRequest}
	notFound    = &problem{name: "not-found", title: "Not found", status: http.StatusNotFound}
	badMethod   = &problem{name: "method-not-allowed", title: "Method not allowed", status: http.StatusMethodNotAllowed}
	unknownHost = &problem{name: "unknown-host", title: "Unknown host", status: http.StatusForbidden}
	crossSite   = &problem{name: "cross-site", title: "A request from another site", status: http.StatusForbidden,
		detail: "Sec-Fetch-Site or Origin shows that a page of another site sent the request."}
	unauthorized = &problem{name: "unauthorized", title: "Unauthorized", status: http.StatusUnauthorized,
		detail: "Send a header Authorization: Bearer with a valid token."}
	tooManyIDs = &problem{name: "too-many-requests", title: "Too many IDs drawn", status: http.StatusTooManyRequests}
	overloaded = &problem{name: "overloaded", title: "Too many requests under way", status: http.StatusServiceUnavailable,
		detail: "Try again, or another server.", retryAfter: time.Second}
	starting = &problem{name: "starting", title: "Starting", status: http.StatusServiceUnavailable,
		detail: "A worker ID is being taken. Try again, or another server.", retryAfter: time.Second}
	noneReady = &problem{name: "none-ready", title: "No ID is ready", status: http.StatusServiceUnavailable,
		detail: "IDs are drawn faster than they are prepared. Try again, or another server.", retryAfter: time.Second}
	tooFarAhead = &problem{name: "too-far-ahead", title: "ID time is too far ahead", status: http.StatusServiceUnavailable,
		detail: "ID time is as far ahead of the clock as this server allows. Try again, or another server.", retryAfter: time.Second}
	noLease = &problem{name: "no-lease", title: "No worker ID is held", status: http.StatusServiceUnavailable,
		detail: "The store of worker IDs has not renewed the lease. Use another server; this one goes on by itself when its store answers."}
	noRange = &problem{name: "no-range", title: "No range is left", status: http.StatusServiceUnavailable,
		detail: "The store has given the segment no further range. Try again, or another server.", retryAfter: time.Second}
	stopping = &problem{name: "shutting-down", title: "Shutting down", status: http.StatusServiceUnavailable,
		detail: "This server is about to stop. Use another one."}
	timeExhausted = &problem{name: "time-exhausted", title: "The layout has ended", status: http.StatusInternalServerError,
		detail: "The time field of the IDs is used up. No server with this layout and epoch issues IDs any more."}
	segmentEnded = &problem{name: "segment-ended", title: "The segment has ended", status: http.StatusInternalServerError,
		detail: "The counter is used up, or its store has repeated or changed ranges. The log of the server says more."}
	internal = &problem{name: "internal", title: "Internal error", status: http.StatusInternalServerError,
		detail: "The log of the server says more."}
)

// because returns a copy with a detail.
func (p *problem) because(format string, args ...any) *problem {
	q := *p
	q.detail = fmt.Sprintf(format, args...)
	return &q
}

// after returns a copy with the time after which to try again.
func (p *problem) after(wait time.Duration) *problem {
	q := *p
	q.retryAfter = wait
	return &q
}

// problem returns the problem for an error of the issuer. Errors of the store appear in the log
// only.
func (s *supply) problem(err error) *problem {
	switch {
	case errors.Is(err, uidring.ErrClosed):
		return stopping
	case errors.Is(err, uidring.ErrTimeExhausted):
		return timeExhausted
	case errors.Is(err, uidring.ErrLeaseExhausted):
		return noLease
	case errors.Is(err, uidring.ErrTooFarAhead):
		wait, _ := uidring.RetryAfter(err)
		return tooFarAhead.after(wait)
	case errors.Is(err, uidring.ErrEmpty): // of several sources a part may have ended
		return s.empty
	case errors.Is(err, segment.ErrExhausted), errors.Is(err, segment.ErrWentBack), errors.Is(err, segment.ErrInvalidRange):
		return segmentEnded
	}
	panic(fmt.Sprintf("bug: httpapi: an error that the generator does not document: %v", err)) // logged, and answered with 500
}

// write answers with the problem. It replaces headers that the handler has set.
func (p *problem) write(w http.ResponseWriter) {
	body, _ := json.Marshal(struct { // of texts, which cannot fail
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{problemPage + p.name, p.title, p.status, p.detail})
	h := w.Header()
	setIsolation(h)
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(body) // the client may have disconnected
}

// excerpt shortens a text of a request for an answer.
func excerpt(given string) string {
	const most = 64
	if len(given) > most {
		given = given[:most] + "…"
	}
	return strings.ToValidUTF8(given, "\uFFFD")
}
