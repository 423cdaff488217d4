package httpapi

import (
	"context"
	"net/http"
	"time"
)

const leasesPath = "/v1/leases/"

// leaseTimeout is the time limit for a call on the store of leases.
const leaseTimeout = 10 * time.Second

// leases handles POST /v1/leases/{namespace}/{method}: one call on a store of leases.
func (s *Server) leases(w http.ResponseWriter, r *http.Request, _ client) *problem {
	ctx, cancel := context.WithTimeout(r.Context(), leaseTimeout)
	defer cancel()
	s.cfg.Leases.ServeHTTP(w, r.WithContext(ctx))
	return nil
}
