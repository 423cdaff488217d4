package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/cached"
)

// id answers GET /v1/id.
func (s *Server) id(w http.ResponseWriter, r *http.Request, c client) *problem {
	query, p := parameters(r, "form")
	if p != nil {
		return p
	}
	l, p := negotiate(r, query, one)
	if p != nil {
		return p
	}
	return s.draw(w, r, c, l, 1)
}

// ids answers GET /v1/ids?n=…
func (s *Server) ids(w http.ResponseWriter, r *http.Request, c client) *problem {
	query, p := parameters(r, "n", "form")
	if p != nil {
		return p
	}
	n, err := strconv.Atoi(query.Get("n"))
	if err != nil || n < 1 || n > s.cfg.MaxBatch || query.Get("n") != strconv.Itoa(n) {
		return badRequest.because("Parameter n is %q, allowed: 1 to %d.", excerpt(query.Get("n")), s.cfg.MaxBatch)
	}
	l, p := negotiate(r, query, many)
	if p != nil {
		return p
	}
	return s.draw(w, r, c, l, n)
}

// draw answers with n IDs, or with none. HEAD is answered as if there were IDs, but draws none, so
// that nobody knows their length.
func (s *Server) draw(w http.ResponseWriter, r *http.Request, c client, l layout, n int) *problem {
	if r.Method == http.MethodHead {
		if p := c.spend(1); p != nil {
			return p
		}
		w.Header().Set("Content-Type", l.contentType)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if p := c.spend(n); p != nil {
		return p
	}
	b := s.batches.Get().(*batch)
	defer s.batches.Put(b)
	if err := s.reserve(r.Context(), b, n); err != nil {
		return ofTake(err)
	}
	w.Header().Set("Content-Type", l.contentType)
	if n > 1 { // net/http finds out the length of what is short
		w.Header().Set("Content-Length", strconv.Itoa(b.length(l)))
	}
	b.write(w, l)
	return nil
}

// patience is how long a request waits for the lease to be renewed. A burst may use up what is
// there in less time than that takes; a store that is gone must not hold up clients, which can ask
// another server.
const patience = 500 * time.Millisecond

// reserve takes n IDs before the first of them is written: where they run short the answer is still
// a problem.
func (s *Server) reserve(ctx context.Context, b *batch, n int) error {
	var patient context.Context // from the first shortage on
	b.spans = b.spans[:0]
	for n > 0 {
		first, got, err := s.cfg.Generator.Reserve(n)
		if errors.Is(err, cached.ErrLeaseExhausted) && s.shortage.Load() == nil { // else a request before has waited in vain
			if patient == nil {
				var cancel context.CancelFunc
				patient, cancel = context.WithTimeout(ctx, patience)
				defer cancel()
			}
			got = 1
			first, err = s.cfg.Generator.NextContext(patient)
		}
		if err != nil {
			if ctx.Err() == nil { // a client that has left before the end of its patience shows nothing
				s.shortage.Store(&shortage{err})
			}
			return err
		}
		b.spans = append(b.spans, span{first, got})
		n -= got
	}
	if s.shortage.Load() != nil {
		s.shortage.Store(nil)
	}
	return nil
}

// parameters parses a query, and refuses what is not known or given twice: a slip in a name must
// not change the meaning.
func parameters(r *http.Request, known ...string) (url.Values, *problem) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest.because("The query of the URL cannot be parsed.")
	}
	left := len(query)
	for _, name := range known {
		if values, ok := query[name]; ok {
			left--
			if len(values) > 1 {
				return nil, badRequest.because("Parameter %s is given %d times, allowed: once.", name, len(values))
			}
		}
	}
	if left > 0 {
		return nil, badRequest.because("The query has an unknown parameter, allowed: %s.", strings.Join(known, ", "))
	}
	return query, nil
}
