// Package httpcall is shared by the stores that are clients of an HTTP API.
package httpcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// CheckURL returns an error unless the address of a server may be followed by a path.
func CheckURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || strings.ContainsAny(text, "?#") {
		return fmt.Errorf("URL %q, allowed: http or https with a host, and no user, query or fragment", Redact(text))
	}
	return nil
}

// Redact returns a URL without user, query and fragment, each of which may be a token.
func Redact(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "…"
	}
	u.RawQuery, u.Fragment = "", ""
	if u.User != nil {
		u.User = url.User("xxxxx")
	}
	return u.String()
}

// NewTransport returns a transport for HTTP/1.1: a request that times out then closes its
// connection, while HTTP/2 would use a dead connection again. A nil config has the certificate
// authorities of the system. A program may replace http.DefaultTransport by any type.
func NewTransport(config *tls.Config) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		Protocols:           protocols,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second, // below the 2 min of uidring serve
	}
}

// Send sends a request with a body in JSON, or without a body if that is nil, and reads the answer.
// token is sent unless it is empty. An answer with more than most bytes is an error. A redirect is
// returned: to follow one would turn a write into a read, whose success proves nothing.
func Send(ctx context.Context, client *http.Client, method, address, token string, body any, most int64) (*http.Response, []byte, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "uidring")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := own.Do(request)
	if err != nil {
		return nil, nil, err
	}
	text, err = io.ReadAll(io.LimitReader(response.Body, most+1))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, nil, fmt.Errorf("the answer was cut off: %w", err)
	}
	if int64(len(text)) > most {
		return nil, nil, fmt.Errorf("the answer has more than %d bytes", most)
	}
	return response, text, nil
}
