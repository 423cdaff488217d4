package ringbuffer_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// newRing returns an empty ring without a hand-over.
func newRing(t testing.TB, slots int, runBits uint8) *ringbuffer.Ring {
	t.Helper()
	r, err := ringbuffer.New(slots, runBits, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewNamesEveryMistakeAtOnce(t *testing.T) {
	const notPower, tooLarge = "a power of two, 2 or more", "IDs in all"
	for _, test := range []struct {
		name    string
		slots   int
		runBits uint8
		want    []string
	}{
		{"no slots", 0, 13, []string{notPower}},
		{"one slot", 1, 13, []string{notPower}},
		{"negative", -8, 13, []string{notPower}},
		{"smallest int", math.MinInt, 13, []string{notPower}},
		{"three slots", 3, 0, []string{notPower}},
		{"runs as large as an int", 2, 62, []string{tooLarge}},
		{"runs of 64 bits", 2, 64, []string{tooLarge}},
		{"runs of 255 bits", 2, 255, []string{tooLarge}},
		{"slots as large as an int", math.MaxInt/2 + 1, 1, []string{tooLarge}},
		{"both", 3, 63, []string{notPower, tooLarge}},
		{"both by their product", math.MaxInt, 1, []string{notPower, tooLarge}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := ringbuffer.New(test.slots, test.runBits, nil)
			if r != nil || !errors.Is(err, ringbuffer.ErrInvalidSize) {
				t.Fatalf("New(%d, %d) = %v, %v, want ErrInvalidSize", test.slots, test.runBits, r, err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("%d mistakes, want %d: %v", len(lines), len(test.want), err)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(lines[i], "ringbuffer: ") || !strings.Contains(lines[i], want) {
					t.Errorf("mistake %d: %q, want it to say %q", i, lines[i], want)
				}
			}
		})
	}
}

// On a 32-bit machine 2^31 IDs are too many, on a 64-bit machine 2^63.
func TestNewBoundsTheIDsByAnInt(t *testing.T) {
	bits := uint8(0)
	for n := math.MaxInt; n > 0; n >>= 1 {
		bits++ // 31 or 63
	}
	r, err := ringbuffer.New(2, bits-2, nil)
	if err != nil || r.Cap() != math.MaxInt/2+1 {
		t.Errorf("New(2, %d): %v, want a ring of half the ints", bits-2, err)
	}
	if _, err := ringbuffer.New(2, bits-1, nil); !errors.Is(err, ringbuffer.ErrInvalidSize) {
		t.Errorf("New(2, %d): %v, want ErrInvalidSize", bits-1, err)
	}
}

func TestLenFreeAndCapFollowTheRing(t *testing.T) {
	r := newRing(t, 4, 3)
	state := func(step string, length, free int) {
		t.Helper()
		if r.Len() != length || r.Free() != free || r.Cap() != 32 {
			t.Errorf("%s: Len %d, Free %d, Cap %d, want %d, %d, 32", step, r.Len(), r.Free(), r.Cap(), length, free)
		}
	}
	state("new", 0, 4)
	for i := range int64(4) {
		r.Put((i + 1) << 3)
		state("put", int(i+1)*8, int(3-i))
	}
	r.Take()
	state("one taken", 31, 0)
	r.TakeN(make([]int64, 7))
	state("a run taken, which the next take will hand over", 24, 0)
	r.Take()
	state("the next taken", 23, 1)
	r.Retire(math.MaxInt64)
	state("all retired", 0, 4)
}

func TestHandoverReportsEachUsedUpSlotOnce(t *testing.T) {
	var left []int
	r, err := ringbuffer.New(4, 1, func(n int) { left = append(left, n) })
	if err != nil {
		t.Fatal(err)
	}
	for first := int64(2); first <= 8; first += 2 {
		r.Put(first)
	}
	want := [][]int{ // after each take of one ID; the last two find none
		{}, {}, {6}, {6}, {6, 4}, {6, 4}, {6, 4, 2}, {6, 4, 2}, {6, 4, 2, 0}, {6, 4, 2, 0},
	}
	for i, want := range want {
		id, ok := r.Take()
		if ok != (i < 8) || ok && id != int64(i)+2 {
			t.Fatalf("take %d: %d, %t", i, id, ok)
		}
		if !slices.Equal(left, want) {
			t.Fatalf("take %d: hand-overs %v, want %v", i, left, want)
		}
	}
}

// Whoever pads at hand-over finds the slot free.
func TestHandoverMayPut(t *testing.T) {
	next := int64(2)
	var r *ringbuffer.Ring
	r, err := ringbuffer.New(2, 1, func(int) {
		if !r.Put(next) {
			t.Errorf("Put(%d) at hand-over found no free slot", next)
		}
		next += 2
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Put(next)
	next += 2
	for want := int64(2); want < 100; want++ {
		if id, ok := r.Take(); id != want || !ok {
			t.Fatalf("Take() = %d, %t, want %d", id, ok, want)
		}
	}
}
