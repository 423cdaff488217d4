package chaos

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
)

// newTestCounter returns a counter for workers 0 to 5 of a layout that has room for 8, and a func
// that composes IDs.
func newTestCounter(t *testing.T) (c *counter, id func(delta, worker, sequence int64) int64) {
	t.Helper()
	alloc, err := bitsalloc.New(options{workers: 6}.layout(), bitsalloc.DefaultEpoch())
	if err != nil {
		t.Fatal(err)
	}
	return newCounter(alloc, 6), func(delta, worker, sequence int64) int64 {
		t.Helper()
		id, err := alloc.Allocate(delta, 0, worker, sequence)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
}

func TestCounterFindsWhatMustNotBe(t *testing.T) {
	const last = 1<<13 - 1
	for _, tt := range []struct {
		name    string
		second  [3]int64 // delta, worker, sequence; the first is 7, 2, 5, of process 1
		process int
		want    tally
		finding string
	}{
		{"next sequence", [3]int64{7, 2, 6}, 1, tally{ids: 2}, ""},
		{"last sequence", [3]int64{7, 2, last}, 1, tally{ids: 2}, ""},
		{"other worker", [3]int64{7, 3, 5}, 2, tally{ids: 2}, ""},
		{"other delta", [3]int64{8, 2, 5}, 2, tally{ids: 2}, ""},
		{"same process, same ID", [3]int64{7, 2, 5}, 1, tally{ids: 1, duplicates: 1}, "process 1 has an ID that came before"},
		{"other process, same ID", [3]int64{7, 2, 5}, 2, tally{ids: 1, duplicates: 1, shared: 1},
			"process 2 has IDs of a block of process 1: worker 2, delta 7, sequence 5"},
		{"other process, same block", [3]int64{7, 2, 6}, 2, tally{ids: 2, shared: 1},
			"process 2 has IDs of a block of process 1: worker 2, delta 7, sequence 6"},
		{"worker ID that is not offered", [3]int64{7, 6, 5}, 1, tally{ids: 1, foreign: 1}, "worker 6, delta 7, sequence 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, id := newTestCounter(t)
			c.add(1, []int64{id(7, 2, 5)})
			c.add(tt.process, []int64{id(tt.second[0], tt.second[1], tt.second[2])})
			got, findings := c.totals()
			if got != tt.want {
				t.Errorf("tally %+v, want %+v", got, tt.want)
			}
			if text := strings.Join(findings, "\n"); !strings.Contains(text, tt.finding) || (text == "") != (tt.finding == "") {
				t.Errorf("findings %q, want one with %q", findings, tt.finding)
			}
		})
	}
}

func TestCounterKnowsBlocksThatAreComplete(t *testing.T) {
	c, id := newTestCounter(t)
	var ids []int64
	for sequence := range int64(1 << 13) {
		ids = append(ids, id(7, 2, sequence))
	}
	c.add(1, ids)
	c.add(1, ids[100:110])
	if got, _ := c.totals(); got != (tally{ids: 1 << 13, duplicates: 10}) {
		t.Errorf("tally %+v, want %d IDs and 10 duplicates", got, 1<<13)
	}
	if got := c.perWorker()[2]; got != 1<<13 {
		t.Errorf("%d IDs of worker 2, want %d", got, 1<<13)
	}
}

// A pipe hands out bytes as it likes, and a process that is killed may leave a piece of an ID in
// it.
func TestCounterFollowsAStreamInPieces(t *testing.T) {
	c, id := newTestCounter(t)
	var stream []byte
	for delta := range int64(5) {
		for sequence := range int64(5_000) {
			stream = binary.LittleEndian.AppendUint64(stream, uint64(id(delta+1, 1, sequence)))
		}
	}
	c.follow(1, &trickle{Reader: bytes.NewReader(append(stream, 1, 2, 3)), sizes: []int{1, 7, 8, 9, 64 << 10, 13}})
	if got, _ := c.totals(); got != (tally{ids: 25_000}) {
		t.Errorf("tally %+v, want 25,000 IDs", got)
	}
}

// A trickle reads no more at a time than its sizes say, in turn.
type trickle struct {
	*bytes.Reader
	sizes []int
	next  int
}

func (r *trickle) Read(p []byte) (int, error) {
	size := r.sizes[r.next%len(r.sizes)]
	r.next++
	return r.Reader.Read(p[:min(len(p), size)])
}
