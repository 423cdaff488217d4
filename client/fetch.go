package client

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/httpcall"
)

// fetch draws a batch of IDs from a server.
func (c *Client) fetch(s *server) ([]block, error) {
	// A cache may answer a GET again, even against its headers: all processes would get those IDs.
	request, err := http.NewRequestWithContext(c.ctx, http.MethodPost, s.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header["Idempotency-Key"] = nil // not sent; net/http tries again if the server has closed the connection
	request.Header.Set("Accept", "application/json")
	if c.cfg.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}
	asked := time.Now()
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, int64(1<<16+64*c.cfg.Batch)))
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", s.name, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, problem(s.name, answer, body)
	}
	maxAge, err := c.maxAge(answer.Header)
	var blocks []block
	if err == nil {
		blocks, err = parse(body, c.cfg.Batch)
	}
	if err == nil {
		err = s.follow(strings.Join(answer.Header.Values("Uidring-Stream"), ", "), blocks)
	}
	if err != nil {
		return nil, fmt.Errorf("client: %s: invalid answer: %w", s.name, err)
	}
	if age := time.Since(asked); age > maxAge {
		return nil, fmt.Errorf("client: %s: an answer after %v, with IDs that may be kept for %v", s.name, age, maxAge)
	}
	for i := range blocks {
		blocks[i].asked, blocks[i].maxAge = asked, maxAge
	}
	return blocks, nil
}

// mostStreams bounds the memory. A load balancer with so many workers would be unusual.
const mostStreams = 1000

// A stream is a name that a server gave with its IDs, and the last one of them.
type stream struct {
	name string
	last int64
}

// follow refuses blocks that are not above the last ID of their stream: a proxy or server that
// repeats an answer has given them before. The name is "" if a proxy drops the header.
func (s *server) follow(name string, blocks []block) error {
	if name != "" && !segmentName.MatchString(name) {
		return fmt.Errorf("Uidring-Stream %.64q, allowed: 1 to 64 letters, digits, dots, underscores and hyphens", name)
	}
	next := stream{name: name}
	i := slices.IndexFunc(s.streams, func(known stream) bool { return known.name == name })
	if i >= 0 {
		next = s.streams[i]
	}
	for _, b := range blocks {
		if b.first <= next.last {
			of := fmt.Sprintf("stream %q from this server", name)
			if name == "" {
				of = "this server, whose answers lack Uidring-Stream: a proxy drops this header"
			}
			return fmt.Errorf("a range of %d IDs from %d, allowed: above %d, the last ID of %s", b.last-b.first+1, b.first, next.last, of)
		}
		next.last = b.last
	}
	if i < 0 && len(s.streams) == mostStreams {
		i = 0
	}
	if i >= 0 {
		s.streams = slices.Delete(s.streams, i, i+1)
	}
	s.streams = append(s.streams, next)
	return nil
}

var wholeSeconds = regexp.MustCompile(`^[0-9]{1,9}$`)

// maxAge returns how long the IDs of an answer may be kept after their request: the horizon of
// their namespace passes older ones. Segments have no horizon and send no such header.
func (c *Client) maxAge(h http.Header) (time.Duration, error) {
	values := h.Values("Uidring-Max-Age")
	if len(values) == 0 {
		return c.cfg.MaxAge, nil
	}
	text := strings.Join(values, ", ")
	if !wholeSeconds.MatchString(text) {
		return 0, fmt.Errorf("Uidring-Max-Age %.64q, allowed: whole seconds", text)
	}
	seconds, err := strconv.Atoi(text)
	return min(c.cfg.MaxAge, time.Duration(seconds)*time.Second), err
}

// problem returns the error for an answer without IDs. Proxies answer without a problem document.
func problem(server string, answer *http.Response, body []byte) *ProblemError {
	p := &ProblemError{Title: http.StatusText(answer.StatusCode)}
	_ = json.Unmarshal(body, p) // the status alone is an error, too
	p.Server, p.Status = server, answer.StatusCode
	if to := answer.Header.Get("Location"); to != "" {
		p.Detail = "redirects are not followed: set Servers to the address itself, " + httpcall.Redact(to)
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.retryAfter = time.Duration(min(seconds, math.MaxInt32)) * time.Second
	}
	return p
}

// parse reads the ranges of an answer, which have n IDs together.
func parse(body []byte, n int) (blocks []block, err error) {
	var answer struct {
		Ranges []struct {
			First int64 `json:"first,string"`
			Count int64 `json:"count"`
		} `json:"ranges"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	left := int64(n)
	for _, r := range answer.Ranges {
		if r.First < 1 || r.Count < 1 || r.Count > left || r.First > math.MaxInt64-r.Count+1 {
			return nil, fmt.Errorf("a range of %d IDs from %d", r.Count, r.First)
		}
		left -= r.Count
		blocks = append(blocks, block{first: r.First, last: r.First + r.Count - 1})
	}
	if left > 0 {
		return nil, fmt.Errorf("%d IDs, want %d", int64(n)-left, n)
	}
	return blocks, nil
}
