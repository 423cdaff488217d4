package plan_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/plan"
	"github.com/uidring/uidring/internal/test/testgen"
)

// Every layout that Fit returns is sufficient. If Fit returns none, no preset is sufficient either.
func TestFitIsSufficient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2_000 {
		n := plan.Need{
			Rate: math.Pow(10, 12*rng.Float64()), Processes: 1 + rng.Int64N(1<<rng.IntN(24)),
			Years: 0.01 + 200*rng.Float64(), Datacenters: 1 + rng.Int64N(1<<rng.IntN(8)), Start: bitsalloc.DefaultEpoch().Add(time.Duration(rng.Int64N(1e18))),
		}
		l, err := n.Fit(time.Second, bitsalloc.DefaultEpoch())
		if err == nil {
			if v := n.Judge(testgen.Allocator(t, l, time.Time{})); len(v.Faults) > 0 {
				t.Fatalf("%+v: %v has faults %q", n, l, v.Faults)
			}
			continue
		}
		for _, preset := range []bitsalloc.Layout{bitsalloc.Default(), bitsalloc.Recommended(), bitsalloc.Baidu(), bitsalloc.JavaScript()} {
			if v := n.Judge(testgen.Allocator(t, preset, time.Time{})); len(v.Faults) == 0 {
				t.Fatalf("%+v: %v, but %v will do", n, err, preset)
			}
		}
	}
}
