package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

func TestPanicIsLoggedAndNotShown(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, Config{Settings: Settings{Logger: slog.New(slog.NewTextHandler(&log, nil))}})
	servePage(s, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		if r.URL.Path == "/assets/a" {
			_, _ = w.Write([]byte("half"))
		}
		panic("the secret of the page")
	})
	w := call(s, "/")
	if wantProblem(t, w, "internal", "a panic"); strings.Contains(w.Body.String(), "secret") || w.Header().Get("Content-Encoding") != "" {
		t.Errorf("%v %s; want no word of the cause, and no header of the answer that failed", w.Header(), w.Body)
	}
	for _, part := range []string{`msg="panic while answering a request"`, "method=GET", "path=/", `panic="the secret of the page"`, "problem_test.go"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log has no %s: %s", part, log.String())
		}
	}
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("an answer that is sent in part is not cut off")
			}
		}()
		call(s, "/assets/a")
	}()
	wantMetrics(t, s, `uidring_http_requests_total{code="500",route="/"} 1`, `uidring_http_requests_total{code="200",route="/assets/"} 1`)
}
