package httpapi

import (
	"context"
	"net/http"
	"time"
)

const leasesPath = "/v1/leases/"

// leaseTimeout is the time limit for a call on the store of leases.
const leaseTimeout = 10 * time.Second

// leases handles POST /v1/leases/{namespace}/{method}: one call on a store of leases. The handler
// of Config.Leases checks method and body.
func (s *Server) leases(w http.ResponseWriter, r *http.Request, _ client) *problem {
	if _, ok := s.lessees.find(s.cfg.LeaseTokens(), r); !ok {
		return denied(w, r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), leaseTimeout)
	defer cancel()
	s.cfg.Leases.ServeHTTP(w, r.WithContext(ctx))
	return nil
}

// limited calls the handler of a route with checks of its own.
func (t *route) limited(w http.ResponseWriter, r *http.Request) *problem {
	if !t.limiter.enter() {
		return overloaded
	}
	defer t.limiter.leave()
	return t.handle(w, r, client{})
}
