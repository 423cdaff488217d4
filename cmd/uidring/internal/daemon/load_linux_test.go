package daemon

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

var load = flag.Int("load", 0, "how many pairs of seconds TestLoad measures; 0: it is skipped")

// TestLoad compares GET /v1/id of uidring serve with a bare handler of net/http, each in a process
// of its own. wrk loads them in turn for a second each. Of each pair it takes the ratio of the
// requests per second, and of the CPU time per request: other work disturbs that less.
func TestLoad(t *testing.T) {
	if *load == 0 {
		t.Skip("needs a quiet machine, and wrk: go test ./internal/daemon -run TestLoad -load=15 -v")
	}
	testserver.Program(t, "wrk", "wrk")
	program, address := filepath.Join(t.TempDir(), "bare"), testserver.FreeAddr(t)
	if out, err := exec.Command("go", "build", "-o", program, "testdata/bare/main.go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bare := launch(t, exec.Command(program, address))
	testkit.Until(t, "the bare handler", func() bool {
		_, _, err := get(http.DefaultClient, "http://"+address)
		return err == nil
	})
	server := serve(t, "--data="+t.TempDir())
	var rates, times []float64
	for i := range *load {
		var rate, cpu [2]float64
		for j := range 2 {
			if (i+j)%2 == 0 {
				rate[0], cpu[0] = pass(t, bare, address)
			} else {
				rate[1], cpu[1] = pass(t, server, server.address)
			}
		}
		rates, times = append(rates, rate[1]/rate[0]), append(times, cpu[1]/cpu[0])
		t.Logf("bare %6.0f requests/s, %5.2f µs each; serve %6.0f, %5.2f", rate[0], cpu[0]*1e6, rate[1], cpu[1]*1e6)
	}
	slices.Sort(rates)
	slices.Sort(times)
	system, _ := os.ReadFile("/proc/loadavg")
	t.Logf("%s, %d CPUs, load %s", runtime.Version(), runtime.NumCPU(), system)
	t.Logf("requests per second %.3f of the bare handler (%.3f to %.3f)", rates[len(rates)/2], rates[0], rates[len(rates)-1])
	t.Logf("CPU time per request %.3f of the bare handler (%.3f to %.3f)", times[len(times)/2], times[0], times[len(times)-1])
}

// pass returns the requests per second of 32 connections, and the CPU time of the server for each.
func pass(t *testing.T, server *child, address string) (rate, cpu float64) {
	t.Helper()
	before := cpuTime(t, server)
	out, err := exec.Command("wrk", "--threads", "1", "--connections", "32", "--duration", "1s", "http://"+address+"/v1/id").Output()
	testkit.Must(t, err)
	used := cpuTime(t, server) - before
	fields := strings.Fields(string(out))
	at := slices.Index(fields, "requests")
	rateAt := slices.Index(fields, "Requests/sec:")
	if at < 1 || rateAt < 0 || slices.Contains(fields, "Non-2xx") || slices.Contains(fields, "Socket") {
		t.Fatalf("wrk:\n%s", out)
	}
	requests, err := strconv.ParseFloat(fields[at-1], 64)
	testkit.Must(t, err)
	rate, err = strconv.ParseFloat(fields[rateAt+1], 64)
	testkit.Must(t, err)
	return rate, used / requests
}

// cpuTime returns the seconds that the threads of a process have run.
func cpuTime(t *testing.T, c *child) (seconds float64) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", c.Cmd.Process.Pid))
	testkit.Must(t, err)
	for _, thread := range threads {
		first, _, _ := strings.Cut(testkit.ReadFile(t, thread), " ")
		nanos, err := strconv.ParseFloat(first, 64)
		testkit.Must(t, err)
		seconds += nanos / 1e9
	}
	return seconds
}
