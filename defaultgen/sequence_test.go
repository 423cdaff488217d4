package defaultgen_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
)

// starts returns the sequence numbers with which units of a second begin that are asked for a
// single ID each.
func starts(t *testing.T, g *defaultgen.Generator, clock *dial, units int) []int64 {
	t.Helper()
	var all []int64
	for range units {
		all = append(all, next(t, g).Sequence)
		clock.move(time.Second)
	}
	return all
}

func TestZeroBeginsEachUnitWithZero(t *testing.T) {
	g, clock := onDial(t, defaultgen.Config{SequenceStart: defaultgen.Zero, SequenceBound: 7})
	for i, s := range starts(t, g, clock, 100) {
		if s != 0 {
			t.Errorf("unit %d begins with %d", i, s)
		}
	}
}

// With 200 units for each number, each comes up at least 100 times: below is seven standard
// deviations away.
func TestRandomBeginsWithEveryNumberBelowItsBoundAndNoOther(t *testing.T) {
	for _, bound := range []int64{1, 2, 3, 10, 16} {
		g, clock := onDial(t, defaultgen.Config{SequenceStart: defaultgen.Random, SequenceBound: bound})
		count := make([]int, bound)
		for _, s := range starts(t, g, clock, int(200*bound)) {
			if s >= bound {
				t.Fatalf("a unit begins with %d, want below %d", s, bound)
			}
			count[s]++
		}
		for s, n := range count {
			if n < 100 {
				t.Errorf("bound %d: of %d units %d begin with %d, want about 200", bound, 200*bound, n, s)
			}
		}
	}
}

func TestContinueBeginsAfterTheLastNumber(t *testing.T) {
	for _, bound := range []int64{1, 2, 3, 5, 7, 10, 16} {
		g, clock := onDial(t, defaultgen.Config{SequenceStart: defaultgen.Continue, SequenceBound: bound})
		all := starts(t, g, clock, int(100*bound))
		count := make([]int, bound)
		for i, s := range all {
			if i > 0 && s != (all[i-1]+1)%bound {
				t.Fatalf("bound %d: a unit begins with %d after %d", bound, s, all[i-1])
			}
			count[s]++
		}
		for s, n := range count {
			if n != 100 {
				t.Errorf("bound %d: of %d units %d begin with %d, want 100", bound, len(all), n, s)
			}
		}
		fill(t, g, 3)
		last := next(t, g).Sequence
		clock.move(time.Second)
		if s := next(t, g).Sequence; s != (last+1)%bound {
			t.Errorf("bound %d: a unit begins with %d after a busier one that ended with %d", bound, s, last)
		}
	}
}

func TestABoundThatIsNotGivenIsAnEighthOfTheSequence(t *testing.T) {
	for bits, bound := range map[uint8]int64{0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 6: 8, 13: 1024} {
		g, clock := onDial(t, defaultgen.Config{
			SequenceStart: defaultgen.Continue,
			Layout:        bitsalloc.Layout{DeltaBits: 40, WorkerBits: 10, SequenceBits: bits, Unit: time.Second},
		})
		highest := int64(0)
		for _, s := range starts(t, g, clock, int(2*bound)) {
			highest = max(highest, s)
		}
		if highest != bound-1 {
			t.Errorf("%d bits: units begin with up to %d, want %d", bits, highest, bound-1)
		}
	}
}

func TestAUnitLosesAtMostOneLessThanTheBound(t *testing.T) {
	for _, start := range []defaultgen.SequenceStart{defaultgen.Zero, defaultgen.Random, defaultgen.Continue} {
		for _, bound := range []int64{1, 5, 16} {
			g, clock := onDial(t, defaultgen.Config{SequenceStart: start, SequenceBound: bound})
			for range 200 {
				first := next(t, g).Sequence
				n, err := g.Fill(make([]int64, 16))
				if !errors.Is(err, defaultgen.ErrSequenceExhausted) || int64(1+n) != 16-first || int64(1+n) < 16-(bound-1) {
					t.Fatalf("start %d, bound %d: a unit from %d on has %d IDs: %v", start, bound, first, 1+n, err)
				}
				clock.move(time.Second)
			}
		}
	}
}

// shares counts, of 1,000 IDs a shard taken one in a unit, how many each shard gets by ID modulo n.
func shares(t *testing.T, start defaultgen.SequenceStart, n int) []int {
	t.Helper()
	g, clock := onDial(t, defaultgen.Config{SequenceStart: start, SequenceBound: 8})
	count := make([]int, n)
	for range 1000 * n {
		count[next(t, g).ID%int64(n)]++
		clock.move(time.Second)
	}
	return count
}

// The reason for SequenceStart. A thousand is nine standard deviations from the limits set for
// Random.
func TestFewIDsReachEveryShardUnlessTheirSequenceIsZero(t *testing.T) {
	for _, n := range []int{2, 8, 10} {
		if got := shares(t, defaultgen.Zero, n); slices.Min(got) != 0 {
			t.Errorf("Zero, %d shards: %v, want empty ones", n, got)
		}
	}
	for _, n := range []int{2, 3, 8, 10, 11} {
		if got := shares(t, defaultgen.Random, n); slices.Min(got) < 700 || slices.Max(got) > 1300 {
			t.Errorf("Random, %d shards: %v, want about 1000 each", n, got)
		}
	}
	for _, n := range []int{2, 4, 8} {
		if got := shares(t, defaultgen.Continue, n); slices.Min(got) != 1000 || slices.Max(got) != 1000 {
			t.Errorf("Continue, %d shards: %v, want 1000 each", n, got)
		}
	}
}
