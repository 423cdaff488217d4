package remoteassigner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/uidring/uidring/internal/httpcall"
	"github.com/uidring/uidring/internal/storecall"
)

// call makes one call on one server. It returns the result beside an error if the answer has
// both.
func call[T any](ctx context.Context, s *store, method string, q question) (result T, err error) {
	if s.err != nil {
		return result, s.err
	}
	turn := s.turn.Load()
	base := strings.TrimSuffix(s.urls[turn%uint64(len(s.urls))], "/")
	q.Nonce = rand.Text()
	response, text, err := httpcall.Send(ctx, s.client, http.MethodPost, base+pathPrefix+s.namespace+"/"+method, s.token, q, mostBytes)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	} else {
		result, err = read[T](response, text, q.Nonce)
	}
	_, said := errors.AsType[*failure](err)
	switch {
	case err == nil:
		s.refusing.Store(turn)
	case errors.Is(ctx.Err(), context.Canceled): // such as Close during a renewal: no fault of the server
	default:
		// All servers have one store: another one may reach it, or accept the token.
		s.turn.CompareAndSwap(turn, turn+1)
		if said || errors.Is(err, ErrUnreachable) {
			s.refusing.Store(turn + 1)
		} else if turn+1 < s.refusing.Load()+uint64(len(s.urls)) {
			err = storecall.Away{Err: err}
		}
	}
	if err != nil {
		return result, fmt.Errorf("remoteassigner: %s of namespace %s at %s: %w", method, s.namespace, base, err)
	}
	return result, nil
}

// read reads an answer. The server answers with status 200, or 502 if its store returned an
// error. Other answers come from its guards or from another program.
func read[T any](response *http.Response, text []byte, nonce string) (result T, err error) {
	if code := response.StatusCode; code == http.StatusOK || code == http.StatusBadGateway {
		var found answer[T]
		if err = json.Unmarshal(text, &found); err == nil && (found.Result != nil || found.Error != nil) {
			if found.Result != nil {
				result = *found.Result
			}
			switch {
			case found.Nonce != nonce:
				return *new(T), errAnotherRequest
			case found.Error != nil && found.Error.Passes:
				return result, storecall.Away{Err: found.Error}
			case found.Error != nil:
				return result, found.Error
			case code == http.StatusOK:
				return result, nil
			}
		}
	}
	return *new(T), refused(response, text, err)
}

// errAnotherRequest is the error for the answer of a cache: a swap would take the success of
// another process for its own.
var errAnotherRequest = errors.New("the answer belongs to another request: switch off caches of POST requests on the way")

// refused returns the error for an answer that is not the store's.
func refused(response *http.Response, text []byte, cause error) error {
	var problem struct{ Detail string } // RFC 9457; a proxy answers in its own words
	_ = json.Unmarshal(text, &problem)
	about := response.Status
	if problem.Detail != "" {
		about += fmt.Sprintf(": %.500q", problem.Detail)
	}
	switch code := response.StatusCode; code {
	case http.StatusOK:
		return fmt.Errorf("the answer is not a server's of leases; check the URL and proxies on the way (%w)",
			errors.Join(cause, errors.New("neither a result nor an error")))
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%s; the server's file lease-tokens has to have the token", about)
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return fmt.Errorf("%s; start the server with --leases and this namespace, or name one that it offers, and check the URL", about)
	default:
		if code >= 500 || code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests {
			return fmt.Errorf("%w: %s", ErrUnreachable, about)
		}
	}
	if to := response.Header.Get("Location"); to != "" {
		about += "; redirects are not followed: set urls to the address itself"
	}
	return errors.New(about)
}
