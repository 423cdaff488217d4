package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// BenchmarkRequest compares GET /v1/id with a bare handler that writes a constant of the same size,
// both through loopback.
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
		b.Run(name, func(b *testing.B) {
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
