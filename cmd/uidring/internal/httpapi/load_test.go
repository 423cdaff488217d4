package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// discard is the response of a request without a network.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkRequest compares GET /v1/id with a bare handler that writes a constant of the same size,
// alone and through loopback. TestLoad of package daemon compares the whole service.
func BenchmarkRequest(b *testing.B) {
	// Room for 4,194,304 IDs a second of ID time, so that the generator does not run far ahead.
	layout := bitsalloc.Layout{DeltaBits: 31, WorkerBits: 10, SequenceBits: 22}
	api := newServer(b, Config{Generator: newGenerator(b, cached.Config{Layout: layout})})
	sample := call(api, "/v1/id").Body.Bytes()
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(sample)
	})
	for name, handler := range map[string]http.Handler{"id": api, "bare": bare} {
		b.Run(name+"/handler", func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest("GET", "/v1/id", nil)
			for b.Loop() {
				handler.ServeHTTP(discard{make(http.Header)}, r)
			}
		})
		b.Run(name+"/loopback", func(b *testing.B) {
			b.ReportAllocs()
			server := httptest.NewServer(handler)
			defer server.Close()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			defer client.CloseIdleConnections()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					answer, err := client.Get(server.URL + "/v1/id")
					if err != nil || answer.StatusCode != http.StatusOK {
						b.Errorf("%v %v", answer, err)
						return
					}
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
				}
			})
		})
	}
}
