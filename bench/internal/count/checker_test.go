package count

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

func testChecker(t testing.TB, holder int64) (*Checker, *bitsalloc.Allocator) {
	a := newAllocator(t, bitsalloc.Default())
	first, err := a.Parse(pack(t, a, testBase, testDatacenter, testWorker, 5))
	if err != nil {
		t.Fatal(err)
	}
	return NewChecker(a, first, func() int64 { return holder }), a
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
	streams := []*Stream{c.Stream(0), c.Stream(1)}
	for i := 0; i < len(ids); {
		n := min(1+i%700, len(ids)-i)
		if err := streams[i%2].Record(ids[i : i+n]); err != nil {
			t.Fatal(err)
		}
		i += n
	}
	got, bytes := c.Totals()
	if got != int64(len(ids)) || bytes != 2*ChunkBytes && bytes != ChunkBytes {
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
		second []int64 // IDs of another goroutine after good
		want   error
		text   string
	}{
		{"a duplicate of the first ID", good[:1], ErrDuplicate, "sequence 0"},
		{"a duplicate of the last ID", good[19_999:], ErrDuplicate, "sequence 3615"},
		{"a duplicate among new IDs", []int64{good[12_345], id(1002, 3, 77, 4000)}, ErrDuplicate, "sequence 4153"},
		{"IDs out of order", []int64{id(1005, 3, 77, 9), id(1005, 3, 77, 8)}, ErrOrder, "goroutine 1"},
		{"the same ID again in one stream", []int64{id(1005, 3, 77, 9), id(1005, 3, 77, 9)}, ErrOrder, "goroutine 1"},
		{"a foreign worker", []int64{id(1005, 3, 77, 9), id(1005, 3, 78, 9)}, ErrForeign, "worker 78"},
		{"a foreign datacenter", []int64{id(1005, 4, 77, 9)}, ErrForeign, "datacenter 4"},
		{"an ID from before the first", []int64{id(999, 3, 77, 8191)}, ErrOutside, "delta 1000"},
		{"an ID of 0", []int64{0}, ErrOrder, "goroutine 1"},
		{"a negative ID", []int64{-good[0]}, ErrOrder, "goroutine 1"},
	}
	for _, tt := range tests {
		c, _ := testChecker(t, testWorker)
		if err := c.Stream(0).Record(good); err != nil {
			t.Fatal(err)
		}
		err := c.Stream(1).Record(tt.second)
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
	c := NewChecker(a, first, func() int64 { return 7 })
	if err := c.Stream(0).Record([]int64{1<<53 | first.ID}); !errors.Is(err, ErrOutside) {
		t.Errorf("error %v, want %v", err, ErrOutside)
	}
}

func TestCheckerFollowsTheGeneratorToANewWorker(t *testing.T) {
	const next = testWorker + 1
	c, a := testChecker(t, next)
	ids := consecutive(t, a, testBase, 100)
	for i := range int64(100) {
		ids = append(ids, pack(t, a, testBase+1, testDatacenter, next, i))
	}
	if err := c.Stream(0).Record(ids); err != nil {
		t.Fatal(err)
	}
	if got, bytes := c.Totals(); got != 200 || bytes != 2*ChunkBytes {
		t.Errorf("%d IDs in %d bytes, want 200 in two bitmaps", got, bytes)
	}
	if err := c.Stream(1).Record(ids[150:151]); !errors.Is(err, ErrDuplicate) {
		t.Errorf("duplicate of the new worker: %v", err)
	}
}

// FuzzChecker deals IDs out to two streams and compares the verdict with the verdict of a list.
func FuzzChecker(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1})
	f.Add([]byte{0, 200, 1, 0x82, 255, 3, 0x80, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		c, a := testChecker(t, testWorker)
		streams := []*Stream{c.Stream(0), c.Stream(1)}
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
				want = ErrOrder
			case slices.Contains(seen, id):
				want = ErrDuplicate
			}
			if err := streams[who].Record([]int64{id}); !errors.Is(err, want) {
				t.Fatalf("goroutine %d, ID %d: %v, want %v", who, id, err, want)
			}
			last[who] = max(last[who], id)
			if want == nil {
				seen = append(seen, id)
			}
		}
		if got, _ := c.Totals(); got != int64(len(seen)) {
			t.Errorf("%d IDs, want %d", got, len(seen))
		}
	})
}

func TestRangesAreCountedLikeSingleIDs(t *testing.T) {
	c, a := testChecker(t, testWorker)
	all := consecutive(t, a, testBase+1, 3*8192)
	s := c.Stream(0)
	for at, n := 0, 1; at < len(all); at, n = at+n, n*7%509+1 {
		n = min(n, len(all)-at, 8192-at%8192)
		if err := s.RecordRange(all[at], n); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := c.Totals(); got != int64(len(all)) {
		t.Errorf("%d IDs counted, want %d", got, len(all))
	}
	for _, i := range []int{0, 1, 63, 64, 8191, 8192, len(all) - 1} {
		other := c.Stream(1)
		if err := other.Record(all[i : i+1]); !errors.Is(err, ErrDuplicate) || !strings.Contains(err.Error(), c.text(all[i])) {
			t.Errorf("ID %d again: %v", i, err)
		}
	}
	for name, tt := range map[string]struct {
		first int64
		n     int
		want  error
	}{
		"from the unit before": {all[0] - 1, 2, ErrOutside},
		"across two units":     {all[8191], 2, ErrOutside},
		"no ID":                {all[0], 0, ErrOutside},
		"a foreign worker":     {pack(t, a, testBase+9, testDatacenter, testWorker+1, 0), 5, ErrForeign},
		"before the base":      {pack(t, a, testBase-1, testDatacenter, testWorker, 0), 5, ErrOutside},
		"all of them again":    {all[8192], 8192, ErrDuplicate},
	} {
		if err := c.Stream(2).RecordRange(tt.first, tt.n); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if err := s.RecordRange(all[0], 1); !errors.Is(err, ErrOrder) {
		t.Errorf("a range below the last one: %v", err)
	}
}

// text is how an error names an ID.
func (c *Checker) text(id int64) string {
	f, err := c.alloc.Parse(id)
	if err != nil {
		return err.Error()
	}
	return f.String()
}

func TestIDOfAClosedChunkIsCalledLate(t *testing.T) {
	c, a := testChecker(t, testWorker)
	ids := consecutive(t, a, testBase+1, 100)
	if err := c.Stream(0).Record(ids[:50]); err != nil {
		t.Fatal(err)
	}
	c.workers[testWorker].closeOldest()
	if err := c.Stream(1).Record(ids[60:]); !errors.Is(err, ErrLate) {
		t.Errorf("error %v, want %v", err, ErrLate)
	}
	if got, _ := c.Totals(); got != 50 {
		t.Errorf("%d IDs counted, want 50", got)
	}
}

func TestUnorderedStreamMayGoBackButNotTwice(t *testing.T) {
	c, a := testChecker(t, testWorker)
	ids := consecutive(t, a, testBase+1, 20_000)
	s := c.Stream(0)
	s.Unordered = true
	for _, part := range [][]int64{ids[10_000:], ids[:10_000]} {
		if err := s.Record(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Record(ids[123:124]); !errors.Is(err, ErrDuplicate) {
		t.Errorf("error %v, want %v", err, ErrDuplicate)
	}
	for _, id := range []int64{0, -1, -ids[0]} {
		if err := s.Record([]int64{id}); !errors.Is(err, ErrOutside) {
			t.Errorf("ID %d: error %v, want %v", id, err, ErrOutside)
		}
	}
}
