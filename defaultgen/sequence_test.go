package defaultgen_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
)

// starts returns the sequence numbers with which units of a second begin that are asked for a
// single ID each.
func starts(t *testing.T, g *defaultgen.Generator, clock *fakeClock, units int) []int64 {
	t.Helper()
	var all []int64
	for range units {
		all = append(all, next(t, g).Sequence)
		clock.move(time.Second)
	}
	return all
}

// With 200 units for each number, each comes up at least 100 times: below is seven standard
// deviations away.
func TestRandomBeginsWithEveryNumberBelowItsBoundAndNoOther(t *testing.T) {
	for _, bound := range []int64{1, 2, 3, 10, 16} {
		g, clock := onFakeClock(t, defaultgen.Config{SequenceStart: defaultgen.Random, SequenceBound: bound})
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

// A take that stalls until the unit is used up adds beyond its last number.
func TestContinueGoesOnAfterTakesBeyondTheUnit(t *testing.T) {
	g, clock := onFakeClock(t, defaultgen.Config{SequenceStart: defaultgen.Continue, SequenceBound: 16})
	fill(t, g, 16)
	g.Add(3)
	clock.move(time.Second)
	checkAt(t, next(t, g), 1001, 0)
}

func TestABoundThatIsNotGivenIsAnEighthOfTheSequence(t *testing.T) {
	for bits, bound := range map[uint8]int64{0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 6: 8, 13: 1024} {
		g, clock := onFakeClock(t, defaultgen.Config{
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
