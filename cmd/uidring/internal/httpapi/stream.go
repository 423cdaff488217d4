package httpapi

import (
	"context"
	"net/http"
	"time"
)

// stream is like adapt, for an endless answer. It ends the answer within a second after the token
// of the request was removed.
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
