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
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testserver"
)

var load = flag.Bool("load", false, "measure with wrk how many requests and IDs a second are served")

const (
	passes = 15
	pass   = 1 * time.Second
)

// TestLoad compares the API with a bare handler that writes a constant of the same size. Each pass
// loads both in turn, in this process and through loopback, so that other work on the machine slows
// both. The result is the median of the ratios.
func TestLoad(t *testing.T) {
	if !*load {
		t.Skip("needs an idle machine, and wrk: go test . -run TestLoad -load -v")
	}
	testserver.Program(t, "wrk", "wrk")
	t.Logf("%s, %d CPUs", runtime.Version(), runtime.NumCPU())
	open := listen(t, newServer(t, Config{Generator: leased(t)}))
	const secret = "0123456789abcdefghijklmnopqrstuvwxyz"
	tokens := newTokens(t, "wrk "+secret)
	closed := listen(t, newServer(t, Config{Settings: Settings{Rate: 1e9}, Generator: leased(t), Tokens: func() Tokens { return tokens }}))
	sample := call(newServer(t, Config{Generator: leased(t)}), "/v1/id").Body.Bytes()
	bare := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(sample)
	}))

	ratio := func(name, url string, headers ...string) float64 {
		var rates, ratios []float64
		for range passes {
			base := wrk(t, bare+"/v1/id", headers...)
			rate := wrk(t, url+"/v1/id", headers...)
			rates, ratios = append(rates, rate), append(ratios, rate/base)
		}
		t.Logf("%s: median %.0f requests/s, %.3f x of the bare handler; all passes %.3f", name, median(rates), median(ratios), ratios)
		return median(ratios)
	}
	if r := ratio("/v1/id", open); r < 0.9 {
		t.Errorf("/v1/id reaches %.3f x of a bare handler, want 0.9", r)
	}
	ratio("/v1/id with a token and a limit", closed, "Authorization: Bearer "+secret)

	for _, accept := range []string{"application/octet-stream", "text/plain", "application/json"} {
		var rates []float64
		for range 3 {
			rates = append(rates, 1000*wrk(t, open+"/v1/ids?n=1000", "Accept: "+accept))
		}
		t.Logf("/v1/ids?n=1000 as %s: median %.1f million IDs/s", accept, median(rates)/1e6)
		if accept == "application/octet-stream" && median(rates) < 20e6 {
			t.Errorf("%.0f IDs/s in binary, want 20 million", median(rates))
		}
	}
}

// leased is a generator as a service has it, with a lease. Its layout has room for 4,194,304 IDs a
// second of ID time, so that it does not run far ahead of the clock.
func leased(t *testing.T) *cached.Generator {
	return testgen.Cached(t, cached.Config{
		Layout: bitsalloc.Layout{DeltaBits: 31, WorkerBits: 10, SequenceBits: 22},
	})
}

// listen serves h on loopback, and returns its URL.
func listen(t *testing.T, h http.Handler) string {
	l := httptest.NewServer(h)
	t.Cleanup(l.Close)
	return l.URL
}

// wrk returns the requests a second that 32 connections get through in a pass. All of them have to
// succeed.
func wrk(t *testing.T, url string, headers ...string) float64 {
	t.Helper()
	args := []string{"--threads", "1", "--connections", "32", "--duration", strconv.Itoa(int(pass.Seconds())) + "s"}
	for _, h := range headers {
		args = append(args, "--header", h)
	}
	out, err := exec.CommandContext(t.Context(), "wrk", append(args, url)...).Output()
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

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
