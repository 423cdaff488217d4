package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// sink is a ResponseWriter with as little cost as possible.
type sink struct {
	header http.Header
	body   int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Write(p []byte) (int, error) { s.body += len(p); return len(p), nil }

// BenchmarkID measures the cost of a request without net/http.
func BenchmarkID(b *testing.B) {
	s := newServer(b, Config{})
	r := httptest.NewRequest("GET", "/v1/id", nil)
	b.ReportAllocs()
	for b.Loop() {
		both(s).ServeHTTP(&sink{header: make(http.Header)}, r)
	}
}
