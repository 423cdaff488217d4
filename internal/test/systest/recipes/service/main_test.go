package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
)

// In an outage a request ends after a second instead of waiting for the database.
func TestServiceRefusesAfterASecondWithoutIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		w := httptest.NewRecorder()
		routes(func(ctx context.Context) (int64, error) {
			<-ctx.Done()
			return 0, errors.Join(ctx.Err(), cached.ErrLeaseExhausted)
		}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", nil))
		if took := time.Since(begin); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || took != time.Second {
			t.Errorf("%d after %v, Retry-After %q, want 503 after 1s and 1", w.Code, took, w.Header().Get("Retry-After"))
		}
		// The error may name the host and the user of the database.
		if strings.Contains(w.Body.String(), cached.ErrLeaseExhausted.Error()) {
			t.Errorf("body %q, want no details of the store", w.Body)
		}
	})
}
