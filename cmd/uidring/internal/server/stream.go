package server

import (
	"context"
	"net/http"
	"time"
)

// stream is foreign for an answer without an end. It ends within a second after its token was taken
// away.
func (s *Server) stream(h http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request, _ client) *problem {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			defer cancel()
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for good := true; good; _, good = s.clients.find(s.cfg.Tokens(), r) {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		}()
		h.ServeHTTP(w, r.WithContext(ctx))
		return nil
	}
}
