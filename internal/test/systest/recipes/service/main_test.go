package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

func post(t *testing.T, next func(context.Context) (int64, error)) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	routes(next).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", nil))
	return w
}

// In an outage a request ends after a second instead of waiting for the database.
func TestServiceRefusesAfterASecondWithoutIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		w := post(t, func(ctx context.Context) (int64, error) {
			<-ctx.Done()
			return 0, errors.Join(ctx.Err(), cached.ErrLeaseExhausted)
		})
		if took := time.Since(begin); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || took != time.Second {
			t.Errorf("%d after %v, Retry-After %q, want 503 after 1s and 1", w.Code, took, w.Header().Get("Retry-After"))
		}
		// The error may name the host and the user of the database.
		if strings.Contains(w.Body.String(), cached.ErrLeaseExhausted.Error()) {
			t.Errorf("body %q, want no details of the store", w.Body)
		}
	})
}

// The whole program, from its start to SIGTERM.
func TestServiceProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "service")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	addr := testserver.FreeAddr(t)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "DATABASE="+testserver.MySQL(t).DSN(), "LISTEN="+addr)
	service := process.Run(t, cmd)
	testkit.Until(t, "an ID", func() bool {
		response, err := http.Post("http://"+addr+"/orders", "", nil)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body := make([]byte, 20)
		n, _ := response.Body.Read(body)
		return regexp.MustCompile(`^\d{15,19}\n$`).Match(body[:n])
	})
	testkit.Must(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := service.Wait(); err != nil {
		t.Errorf("the service ended with %v, want no error", err)
	}
}
