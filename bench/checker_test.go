package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

const (
	testDatacenter = 3
	testWorker     = 77
	testBase       = 1000
)

func newAllocator(t testing.TB, l bitsalloc.Layout) *bitsalloc.Allocator {
	t.Helper()
	a, err := bitsalloc.New(l, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func testChecker(t testing.TB, holder int64) (*checker, *bitsalloc.Allocator) {
	a := newAllocator(t, bitsalloc.Default())
	first, err := a.Parse(pack(t, a, testBase, testDatacenter, testWorker, 5))
	if err != nil {
		t.Fatal(err)
	}
	return newChecker(a, first, func() int64 { return holder }), a
}

func pack(t testing.TB, a *bitsalloc.Allocator, delta, datacenter, worker, sequence int64) int64 {
	t.Helper()
	id, err := a.Allocate(delta, datacenter, worker, sequence)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// consecutive returns n IDs of the test's worker in order, from the given delta on.
func consecutive(t testing.TB, a *bitsalloc.Allocator, delta int64, n int) []int64 {
	t.Helper()
	ids := make([]int64, n)
	size := a.MaxSequence() + 1
	for i := range ids {
		ids[i] = pack(t, a, delta+int64(i)/size, testDatacenter, testWorker, int64(i)%size)
	}
	return ids
}

func TestCheckerCountsEveryIDOfTwoInterleavedStreams(t *testing.T) {
	c, a := testChecker(t, testWorker)
	ids := consecutive(t, a, testBase, 3_000_000) // several chunks
	streams := []*stream{c.stream(0), c.stream(1)}
	for i := 0; i < len(ids); {
		n := min(1+i%700, len(ids)-i)
		if err := streams[i%2].record(ids[i : i+n]); err != nil {
			t.Fatal(err)
		}
		i += n
	}
	got, bytes := c.totals()
	if got != int64(len(ids)) || bytes != 2*chunkBytes && bytes != chunkBytes {
		t.Errorf("%d IDs in %d bytes, want %d in one or two chunks", got, bytes, len(ids))
	}
}

func TestCheckerFindsWhatIsWrong(t *testing.T) {
	a := newAllocator(t, bitsalloc.Default())
	good := consecutive(t, a, testBase, 20_000)
	id := func(delta, datacenter, worker, sequence int64) int64 {
		return pack(t, a, delta, datacenter, worker, sequence)
	}
	tests := []struct {
		name   string
		second []int64 // what another goroutine gets after good
		want   error
		text   string
	}{
		{"a duplicate of the first ID", good[:1], errDuplicate, "sequence 0"},
		{"a duplicate of the last ID", good[19_999:], errDuplicate, "sequence 3615"},
		{"a duplicate among new IDs", []int64{good[12_345], id(1002, 3, 77, 4000)}, errDuplicate, "sequence 4153"},
		{"IDs out of order", []int64{id(1005, 3, 77, 9), id(1005, 3, 77, 8)}, errOrder, "goroutine 1"},
		{"the same ID again in one stream", []int64{id(1005, 3, 77, 9), id(1005, 3, 77, 9)}, errOrder, "goroutine 1"},
		{"a foreign worker", []int64{id(1005, 3, 77, 9), id(1005, 3, 78, 9)}, errForeign, "worker 78"},
		{"a foreign datacenter", []int64{id(1005, 4, 77, 9)}, errForeign, "datacenter 4"},
		{"an ID from before the run", []int64{id(999, 3, 77, 8191)}, errOutside, "delta 1000"},
		{"an ID of 0", []int64{0}, errOrder, "goroutine 1"},
		{"a negative ID", []int64{-good[0]}, errOrder, "goroutine 1"},
	}
	for _, tt := range tests {
		c, _ := testChecker(t, testWorker)
		if err := c.stream(0).record(good); err != nil {
			t.Fatal(err)
		}
		err := c.stream(1).record(tt.second)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.want, tt.text)
		}
	}
}

func TestCheckerRefusesBitsAboveTheLayout(t *testing.T) {
	a := newAllocator(t, bitsalloc.JavaScript())
	first, err := a.Parse(pack(t, a, testBase, 0, 7, 0))
	if err != nil {
		t.Fatal(err)
	}
	c := newChecker(a, first, func() int64 { return 7 })
	if err := c.stream(0).record([]int64{1<<53 | first.ID}); !errors.Is(err, errOutside) {
		t.Errorf("error %v, want %v", err, errOutside)
	}
}

func TestCheckerFollowsTheGeneratorToANewWorker(t *testing.T) {
	const next = testWorker + 1
	c, a := testChecker(t, next)
	ids := consecutive(t, a, testBase, 100)
	for i := range int64(100) {
		ids = append(ids, pack(t, a, testBase+1, testDatacenter, next, i))
	}
	if err := c.stream(0).record(ids); err != nil {
		t.Fatal(err)
	}
	if got, bytes := c.totals(); got != 200 || bytes != 2*chunkBytes {
		t.Errorf("%d IDs in %d bytes, want 200 in two bitmaps", got, bytes)
	}
	if err := c.stream(1).record(ids[150:151]); !errors.Is(err, errDuplicate) {
		t.Errorf("duplicate of the new worker: %v", err)
	}
}

// FuzzChecker deals IDs out to two streams and compares the verdict with that of a map.
func FuzzChecker(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1})
	f.Add([]byte{0, 200, 1, 0x82, 255, 3, 0x80, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		c, a := testChecker(t, testWorker)
		streams := []*stream{c.stream(0), c.stream(1)}
		var seen []int64
		last := [2]int64{}
		at := [2]int64{}
		for _, step := range steps {
			who := int(step >> 7)
			at[who] += int64(step & 127) // 0 repeats the last one
			id := pack(t, a, testBase+at[who]/100, testDatacenter, testWorker, at[who]%100)
			var want error
			switch {
			case id <= last[who]:
				want = errOrder
			case slices.Contains(seen, id):
				want = errDuplicate
			}
			if err := streams[who].record([]int64{id}); !errors.Is(err, want) {
				t.Fatalf("goroutine %d, ID %d: %v, want %v", who, id, err, want)
			}
			last[who] = max(last[who], id)
			if want == nil {
				seen = append(seen, id)
			}
		}
		if got, _ := c.totals(); got != int64(len(seen)) {
			t.Errorf("%d IDs, want %d", got, len(seen))
		}
	})
}
