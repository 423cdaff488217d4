package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring"
)

// id handles GET and POST /v1/id.
func (s *Server) id(a *answer, r *http.Request) *problem {
	query, p := parameters(r)
	if p != nil {
		return p
	}
	return s.draw(a, r, query, &s.supply)
}

// ids handles GET and POST /v1/ids?n=…
func (s *Server) ids(a *answer, r *http.Request) *problem {
	query, p := parameters(r, "n", "form")
	switch {
	case p != nil:
		return p
	case !query.Has("n"):
		return s.badN("")
	}
	return s.draw(a, r, query, &s.supply)
}

// segment handles GET and POST /v1/segments/{name}: without n like id, with n like ids.
func (s *Server) segment(a *answer, r *http.Request) *problem {
	from := s.segments[strings.TrimPrefix(r.URL.Path, segmentsPath)]
	if from == nil {
		return notFound.because("This server has no such segment.")
	}
	query, p := parameters(r, "n", "form")
	if p != nil {
		return p
	}
	return s.draw(a, r, query, from)
}

func (s *Server) badN(n string) *problem {
	return badRequest.because("Parameter n is %q, allowed: 1 to %d.", excerpt(n), s.batch)
}

// draw answers with all n IDs, or one without n, or with a problem.
func (s *Server) draw(a *answer, r *http.Request, query url.Values, from *supply) *problem {
	n := 1
	if query.Has("n") {
		var err error
		if n, err = strconv.Atoi(query.Get("n")); err != nil || n < 1 || n > s.batch || query.Get("n") != strconv.Itoa(n) {
			return s.badN(query.Get("n"))
		}
	}
	f, p := negotiate(r, query)
	if p != nil {
		return p
	}
	if p := a.client.spend(n, a.began); p != nil {
		return p
	}
	b := s.batches.Get().(*batch)
	defer s.batches.Put(b)
	if err := from.reserve(r.Context(), b, n, a.began); err != nil {
		if r.Context().Err() == nil {
			from.refusal.Store(&shortage{err, time.Now()})
		}
		return from.problem(err)
	}
	if a.client.ids != nil {
		a.client.ids.Add(float64(n))
	}
	a.Header()["Content-Type"] = types[f.contentType]
	if from.maxAge != nil {
		a.Header()["Uidring-Max-Age"] = from.maxAge
	}
	a.Header()["Uidring-Stream"] = from.stream(b.spans[len(b.spans)-1].first)
	b.write(a, f)
	return nil
}

// parameters parses a query. It rejects unknown and repeated parameters: a misspelled name must not
// select a default unnoticed.
func parameters(r *http.Request, known ...string) (url.Values, *problem) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest.because("The query of the URL cannot be parsed: %v.", err)
	}
	var wrong []string
	names := slices.Sorted(maps.Keys(query))
	for _, name := range names[:min(len(names), 8)] { // enough to find a mistake: there are fewer known ones
		if !slices.Contains(known, name) {
			wrong = append(wrong, fmt.Sprintf("The query has the unknown parameter %q, allowed: %s.", excerpt(name), cmp.Or(strings.Join(known, ", "), "none")))
		} else if n := len(query[name]); n > 1 {
			wrong = append(wrong, fmt.Sprintf("Parameter %s is given %d times, allowed: once.", name, n))
		}
	}
	if wrong != nil {
		return nil, badRequest.because("%s", strings.Join(wrong, " "))
	}
	return query, nil
}

// An issuer issues IDs: the generator, or a segment.
type issuer interface {
	Reserve(n int) (first int64, got int, err error)
	ReserveContext(ctx context.Context, n int) (first int64, got int, err error)
}

// worker returns the header Uidring-Stream of an ID of the generator. The fence of a worker ID
// keeps its IDs in order even when the server starts again, or when another server takes it over.
func (s *Server) worker(id int64) []string {
	f, _ := s.cfg.Generator.Parse(id) // its own ID
	return []string{strconv.FormatInt(f.DatacenterID, 10) + "-" + strconv.FormatInt(f.WorkerID, 10)}
}

// A supply is an issuer and its last shortage.
type supply struct {
	issuer   issuer
	empty    *problem // while no ID is in memory
	pace     *pace
	maxAge   []string                 // the header Uidring-Max-Age; nil: none, since segments have no horizon
	stream   func(id int64) []string  // the header Uidring-Stream of an answer whose last span has an ID
	shortage atomic.Pointer[shortage] // nil: the last request got its IDs
	refusal  atomic.Pointer[shortage] // of the last request that got none; nil: each got its IDs
}

// A shortage is the error with which a request for IDs was refused.
type shortage struct {
	err error
	at  time.Time
}

// longestWait is how long a request waits for the renewal of the lease, for a range of a segment,
// or for the clock to come within MaxAhead. A burst may use up the window or the ranges before the
// next one is there. If the store is down, clients must not wait longer: they can ask another
// server.
const longestWait = 500 * time.Millisecond

// A patience is a context that ends longestWait after the first call of Done: a request that does
// not wait has no timer.
type patience struct {
	context.Context
	cancel context.CancelFunc
}

// Done is called by a request that has to wait.
func (p *patience) Done() <-chan struct{} {
	if p.cancel == nil {
		p.Context, p.cancel = context.WithTimeout(p.Context, longestWait)
	}
	return p.Context.Done()
}

func (p *patience) end() {
	if p.cancel != nil {
		p.cancel()
	}
}

// reserve takes all n IDs before draw writes the first: after a shortage the answer can still be a
// problem. The request has begun at now.
func (s *supply) reserve(ctx context.Context, b *batch, n int, now time.Time) error {
	patient := &patience{Context: ctx}
	defer patient.end()
	b.spans = b.spans[:0]
	// Without a lease the generator issues no IDs: do not charge requests. Its own MaxAhead bounds
	// the requests that find the lease again.
	if short := s.shortage.Load(); short == nil || !errors.Is(short.err, uidring.ErrLeaseExhausted) {
		if err := s.pace.spend(n, now); err != nil {
			return err
		}
	}
	for n > 0 {
		var first int64
		var got int
		var err error
		if s.shortage.Load() == nil {
			first, got, err = s.issuer.ReserveContext(patient, n)
		} else { // an earlier request has waited in vain
			first, got, err = s.issuer.Reserve(n)
		}
		if err != nil {
			if ctx.Err() == nil { // a client that disconnected while it waited proves no shortage
				s.shortage.Store(&shortage{err, time.Now()})
				s.pace.note(err)
			}
			return err
		}
		b.add(first, got)
		n -= got
	}
	if s.shortage.Load() != nil {
		s.shortage.Store(nil)
	}
	return nil
}

// chunk is the number of bytes of a body in memory at once. A batch also needs 16 bytes per span.
const chunk = 32 << 10

// A batch holds the buffers of a request for IDs. A pool reuses it for later requests.
type batch struct {
	spans []span
	buf   []byte // empty between requests
}

// A span is n consecutive IDs. write formats them while it sends them.
type span struct {
	first int64
	n     int
}

// add adds n consecutive IDs. IDs that follow the last span lengthen it.
func (b *batch) add(first int64, n int) {
	if last := len(b.spans) - 1; last >= 0 && b.spans[last].first+int64(b.spans[last].n) == first {
		b.spans[last].n += n
		return
	}
	b.spans = append(b.spans, span{first, n})
}

// write writes the body. It ignores write errors: they mean that the client has disconnected, and
// net/http ends the request.
func (b *batch) write(w http.ResponseWriter, f format) {
	buf := append(b.buf, f.head...)
	between := ""
	for _, s := range b.spans {
		items := s.n
		if f.count != "" {
			items = 1
		}
		for i := range int64(items) {
			if len(buf) > chunk-64 {
				if _, err := w.Write(buf); err != nil {
					return
				}
				buf = buf[:0]
			}
			buf = strconv.AppendInt(append(buf, between...), s.first+i, 10)
			if f.count != "" {
				buf = strconv.AppendInt(append(buf, f.count...), int64(s.n), 10)
			}
			between = f.between
		}
	}
	_, _ = w.Write(append(buf, f.tail...))
}
