package chaos

import (
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// newIdleRun returns a run without processes and faults.
func newIdleRun(t *testing.T, flush int) *chaosRun {
	t.Helper()
	alloc, err := bitsalloc.New(layout(), bitsalloc.DefaultEpoch())
	if err != nil {
		t.Fatal(err)
	}
	return &chaosRun{options: options{flush: flush}, alloc: alloc, counter: newCounter(alloc), figures: newFigures()}
}

// A run that cannot fail shows nothing.
func TestVerdict(t *testing.T) {
	alloc := newIdleRun(t, 1).alloc
	id := func(delta, worker, sequence int64) int64 {
		id, err := alloc.Allocate(delta, 0, worker, sequence)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	for _, tt := range []struct {
		name    string
		flush   int
		process int
		second  int64 // the first is of process 1
		event   event
		want    string
	}{
		{"no fault", 1, 1, id(7, 2, 6), event{}, "no process killed, no process stopped beyond its lease"},
		{"same process, same ID", 1, 1, id(7, 2, 5), event{}, "1 duplicates, 0 shared blocks"},
		{"other process, same ID", 1, 2, id(7, 2, 5), event{}, "1 duplicates, 1 shared blocks"},
		{"other process, same block", 1, 2, id(7, 2, 6), event{}, "0 duplicates, 1 shared blocks, 0 IDs of foreign workers:\nprocess 2 has IDs of a block of process 1: worker 2, delta 7, sequence 6"},
		{"other worker ID", 1, 1, id(7, 6, 5), event{}, "1 IDs of foreign workers"},
		{"undocumented error", 1, 1, id(7, 2, 6), event{Kind: inRenew, Text: "out of sync"}, "process 12: failed renewal: an error that is not documented there: out of sync"},
		{"duplicates are expected", 0, 2, id(7, 2, 5), event{}, ""},
	} {
		r := newIdleRun(t, tt.flush)
		r.counter.add(1, []int64{id(7, 2, 5)})
		r.counter.add(tt.process, []int64{tt.second})
		r.event(12, tt.event)
		if err := r.verdict(); !strings.Contains(err.Error(), tt.want) || tt.want == "" && strings.Contains(err.Error(), "duplicates") {
			t.Errorf("%s: verdict %v, want %q", tt.name, err, tt.want)
		}
	}
	for _, place := range []string{inNew, inTake, inRenew, inLost, inClose} {
		if name := classify(place, errors.Join(assigner.ErrLayoutMismatch)); name != "" {
			t.Errorf("%s: ErrLayoutMismatch counts as %s", place, name)
		}
	}
}
