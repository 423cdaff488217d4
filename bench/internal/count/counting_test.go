package count

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// counter is a subject that counts. change may change the fields of the n-th ID.
func counter(t *testing.T, change func(n int64, fields *bitsalloc.Fields)) Subject {
	a := newAllocator(t, bitsalloc.Default())
	var n atomic.Int64
	next := func() (int64, error) {
		n := n.Add(1)
		f := bitsalloc.Fields{Delta: testBase + n>>13, DatacenterID: testDatacenter, WorkerID: testWorker, Sequence: n & 8191}
		change(n, &f)
		return a.Allocate(f.Delta, f.DatacenterID, f.WorkerID, f.Sequence)
	}
	return Subject{Alloc: a, Holder: func() int64 { return testWorker }, First: next, Consumer: func(int) Consumer { return Next(next) }}
}

func TestCountingEndsAtTheFirstWrongID(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(n int64, f *bitsalloc.Fields)
		want   error
		text   string
	}{
		{"all is well", func(int64, *bitsalloc.Fields) {}, nil, ""},
		{"a duplicate, long after", func(n int64, f *bitsalloc.Fields) {
			if n == 90_000 {
				f.Delta, f.Sequence = testBase, 4321
			}
		}, ErrDuplicate, "sequence 4321"},
		{"another worker", func(n int64, f *bitsalloc.Fields) {
			if n == 70_001 {
				f.WorkerID++
			}
		}, ErrForeign, "worker 78"},
		{"another datacenter", func(n int64, f *bitsalloc.Fields) {
			if n == 70_001 {
				f.DatacenterID++
			}
		}, ErrForeign, "datacenter 4"},
		{"an ID from before the first one", func(n int64, f *bitsalloc.Fields) {
			if n == 70_001 {
				f.Delta = testBase - 1
			}
		}, ErrOutside, "below the first ID, with delta 1000"},
	} {
		c := Counting{Load: load.Load{Goroutines: 3}, Target: 100_000, Unordered: true}
		r, err := c.Run(t.Context(), counter(t, tt.change))
		if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.want, tt.text)
		}
		if err == nil && (r.IDs < 100_000 || r.Different != r.IDs || r.IDs != c.Taken.Load() || r.Bytes < ChunkBytes || r.Wall <= 0) {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

func TestCountingEndsAtAFailure(t *testing.T) {
	broken := errors.New("broken")
	sub := counter(t, func(int64, *bitsalloc.Fields) {})
	next := sub.First
	sub.Consumer = func(i int) Consumer {
		if i == 0 {
			return Next(next)
		}
		return Next(func() (int64, error) { return 0, broken })
	}
	c := Counting{Load: load.Load{Goroutines: 2}, Target: 1 << 40, Unordered: true}
	if _, err := c.Run(t.Context(), sub); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	sub.First = func() (int64, error) { return 0, broken }
	if _, err := c.Run(t.Context(), sub); !errors.Is(err, broken) {
		t.Errorf("error of the first ID: %v, want %v", err, broken)
	}
}

// A generator that rejects returns the IDs that it has; the consumer records these and tries again.
func TestConsumersRecordPartsOfARejectedCall(t *testing.T) {
	c, a := testChecker(t, testWorker)
	ids := consecutive(t, a, testBase+1, 1000)
	taken := 0
	fill := func(dst []int64) (int, error) {
		n := min(len(dst), 70)
		copy(dst, ids[taken:taken+n])
		if taken += n; taken%3 == 0 {
			return n, cached.ErrEmpty
		}
		return n, nil
	}
	consumer, s := Fill(fill, 100), c.Stream(0)
	sum := 0
	for sum < 700 {
		n, err := consumer.Take(s, 256)
		if err != nil || n > 256 {
			t.Fatalf("%d IDs, %v", n, err)
		}
		sum += n
	}
	if got, _ := c.Totals(); got != int64(taken) || sum != taken || s.Last != slices.Max(ids[:taken]) {
		t.Errorf("%d IDs counted, %d returned, want %d", got, sum, taken)
	}
}
