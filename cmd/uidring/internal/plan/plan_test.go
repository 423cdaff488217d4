package plan_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/plan"
	"github.com/uidring/uidring/internal/test/testgen"
)

func small() plan.Need {
	return plan.Need{Rate: 8192 * 40, Processes: 40, Years: 4, Datacenters: 32, Start: bitsalloc.DefaultEpoch()}
}

func TestJudgeFaults(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*plan.Need)
		faults []string
	}{
		"all in use":           {func(*plan.Need) {}, nil},
		"too fast":             {func(n *plan.Need) { n.Rate++ }, []string{"8192 IDs a second of a process, needs 8193"}},
		"too many processes":   {func(n *plan.Need) { n.Processes = 65537 }, []string{"131072 worker IDs, needs 131074"}},
		"as many as there are": {func(n *plan.Need) { n.Processes = 65536 }, nil},
		"too many datacenters": {func(n *plan.Need) { n.Datacenters = 33 }, []string{"32 datacenters, needs 33"}},
		"too long":             {func(n *plan.Need) { n.Years = 8.6 }, []string{"its time ends in 2034-07"}},
		"before its epoch":     {func(n *plan.Need) { n.Start = n.Start.Add(-1) }, []string{"its epoch is later than the start"}},
		"everything at once": {func(n *plan.Need) { *n = plan.Need{1e9, 1e6, 100, 100, n.Start} },
			[]string{"its time ends in 2034-07", "131072 worker IDs, needs 2000000", "32 datacenters, needs 100"}},
	} {
		n := small()
		row.change(&n)
		if v := n.Judge(testgen.Allocator(t, bitsalloc.Default(), time.Time{})); !slices.Equal(v.Faults, row.faults) {
			t.Errorf("%s: faults %q, want %q", name, v.Faults, row.faults)
		}
	}
}

func TestFit(t *testing.T) {
	start := bitsalloc.DefaultEpoch()
	for _, tt := range []struct {
		name string
		need plan.Need
		want bitsalloc.Layout // zero: an error
	}{
		{"29 + 2 + 8 + 10 bits are needed, 14 shared out", plan.Need{Rate: 100_000, Processes: 100, Years: 10, Datacenters: 3, Start: start},
			bitsalloc.Layout{DeltaBits: 33, DatacenterBits: 2, WorkerBits: 13, SequenceBits: 15, Unit: time.Second}},
		{"all 63 bits", plan.Need{Rate: 256 * 100_000, Processes: 100_000, Years: 100, Datacenters: 32, Start: start},
			bitsalloc.Layout{DeltaBits: 32, DatacenterBits: 5, WorkerBits: 18, SequenceBits: 8, Unit: time.Second}},
		{"64 bits", plan.Need{Rate: 256*100_000 + 1, Processes: 100_000, Years: 100, Datacenters: 32, Start: start}, bitsalloc.Layout{}},
		{"nothing", plan.Need{Processes: 1, Years: 1e-9, Datacenters: 1, Start: start},
			bitsalloc.Layout{DeltaBits: 21, WorkerBits: 21, SequenceBits: 21, Unit: time.Second}},
	} {
		got, err := tt.need.Fit(time.Second, start)
		if got != tt.want || (err != nil) != (tt.want == bitsalloc.Layout{}) {
			t.Errorf("%s: Fit = %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

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
