package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// newIdleRun returns a run without processes and faults.
func newIdleRun(t *testing.T, flush int) *chaosRun {
	t.Helper()
	o := options{workers: 6, flush: flush}
	alloc, err := bitsalloc.New(o.layout(), bitsalloc.DefaultEpoch())
	if err != nil {
		t.Fatal(err)
	}
	return &chaosRun{options: o, alloc: alloc, counter: newCounter(alloc, o.workers), figures: newFigures()}
}

// A run without faults must fail: it proves nothing.
func TestRunWithoutFaultsFails(t *testing.T) {
	r := newIdleRun(t, 1)
	r.counter.add(1, []int64{1 << 16})
	err := r.verdict()
	for _, want := range []string{"process killed", "kill of the server", "restore", "takeover of a worker ID", "lost lease", "ErrLeaseExhausted"} {
		if err == nil || !strings.Contains(err.Error(), "no "+want) {
			t.Errorf("verdict %v, want it to miss %q", err, want)
		}
	}
}

func TestVerdictOfDuplicates(t *testing.T) {
	for _, tt := range []struct {
		flush int
		fails bool
	}{{1, true}, {0, false}, {2, false}} {
		r := newIdleRun(t, tt.flush)
		r.counter.add(1, []int64{1 << 16})
		r.counter.add(2, []int64{1 << 16})
		if err := r.verdict(); strings.Contains(err.Error(), "1 duplicates, 1 shared blocks") != tt.fails {
			t.Errorf("flush %d: verdict %v", tt.flush, err)
		}
	}
}

func TestUndocumentedErrorFailsTheRun(t *testing.T) {
	r := newIdleRun(t, 1)
	r.event(12, event{Kind: inRenew, Text: "commands out of sync"})
	if err := r.verdict(); !strings.Contains(err.Error(), "process 12: renew: an error that is not documented there: commands out of sync") {
		t.Errorf("verdict %v, want the error", err)
	}
}

func TestFiguresTellTakeoversFromOtherLeases(t *testing.T) {
	f := newFigures()
	for _, e := range []struct {
		process int
		worker  int64
	}{{1, 0}, {2, 1}, {1, 0}, {3, 0}, {1, 1}} {
		f.event(e.process, event{Kind: eventLeased, WorkerID: e.worker})
	}
	if f.leases != 5 || f.takeovers != 2 {
		t.Errorf("%d leases, %d taken over; want 5, 2", f.leases, f.takeovers)
	}
	if slices.Contains(f.missing(), "takeover of a worker ID") {
		t.Error("takeovers are said to be missing")
	}
}

func TestOptionsNameEveryMistake(t *testing.T) {
	good := options{duration: time.Minute, processes: 16, workers: 6, flush: 1}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	err := options{duration: time.Second, processes: 6, workers: 6, flush: 3}.check()
	for _, want := range []string{"duration 1s", "6 processes, allowed: more than there are worker IDs (6)", "flush 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check: %v, want it to name %q", err, want)
		}
	}
}
