package httpapi

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testserver"
)

var load = flag.Bool("load", false, "measure with wrk how many requests and IDs a second are served")

const passes = 15 // of a second each

// TestLoad compares the API with a bare handler that writes a constant of the same size. Each pass
// loads both in turn, in this process and through loopback, so that other work on the machine slows
// both. The result is the median of the ratios.
func TestLoad(t *testing.T) {
	if !*load {
		t.Skip("needs an idle machine, and wrk: go test . -run TestLoad -load -v")
	}
	testserver.Program(t, "wrk", "wrk")
	t.Logf("%s, %d CPUs", runtime.Version(), runtime.NumCPU())
	// Room for 4,194,304 IDs a second of ID time, so that the generator does not run far ahead.
	layout := bitsalloc.Layout{DeltaBits: 31, WorkerBits: 10, SequenceBits: 22}
	api := newServer(t, Config{Generator: newGenerator(t, cached.Config{Layout: layout})})
	sample := call(api, "/v1/id").Body.Bytes()
	served := listen(t, api)
	bare := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(sample)
	}))
	var ratios []float64
	for range passes {
		base := wrk(t, bare+"/v1/id")
		ratios = append(ratios, wrk(t, served+"/v1/id")/base)
	}
	slices.Sort(ratios)
	if t.Logf("ratios %.3f", ratios); ratios[passes/2] < 0.9 {
		t.Errorf("/v1/id reaches %.3f x of a bare handler, want 0.9", ratios[passes/2])
	}
}

// listen serves h on loopback, and returns its URL.
func listen(t *testing.T, h http.Handler) string {
	l := httptest.NewServer(h)
	t.Cleanup(l.Close)
	return l.URL
}

// wrk returns the requests a second that 32 connections get through in a pass. All of them have to
// succeed.
func wrk(t *testing.T, url string) float64 {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "wrk", "--threads", "1", "--connections", "32", "--duration", "1s", url).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(out), "Requests/sec:")
	if !ok || strings.Contains(string(out), "Non-2xx") || strings.Contains(string(out), "Socket errors") {
		t.Fatalf("wrk %s:\n%s", url, out)
	}
	rate, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return rate
}
