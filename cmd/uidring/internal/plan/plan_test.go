package plan_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/plan"
)

func allocator(t *testing.T, l bitsalloc.Layout) *bitsalloc.Allocator {
	t.Helper()
	a, err := bitsalloc.New(l, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func small() plan.Need {
	return plan.Need{Rate: 8192 * 40, Processes: 40, RestartsPerDay: 80, Years: 4, Datacenters: 32, Start: bitsalloc.DefaultEpoch()}
}

func TestJudgeFaults(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*plan.Need)
		source plan.Source
		faults []string
	}{
		"all in use":               {func(*plan.Need) {}, plan.Leased, nil},
		"too fast":                 {func(n *plan.Need) { n.Rate++ }, plan.Leased, []string{"8192 IDs a second of a process, needs 8193"}},
		"too many processes":       {func(n *plan.Need) { n.Processes = 65537 }, plan.Leased, []string{"131072 worker IDs, needs 131074"}},
		"as many as there are":     {func(n *plan.Need) { n.Processes = 65536 }, plan.Leased, nil},
		"too many datacenters":     {func(n *plan.Need) { n.Datacenters = 33 }, plan.Leased, []string{"32 datacenters, needs 33"}},
		"too long":                 {func(n *plan.Need) { n.Years = 8.6 }, plan.Leased, []string{"its time ends in 2034-07"}},
		"before its epoch":         {func(n *plan.Need) { n.Start = n.Start.Add(-1) }, plan.Leased, []string{"its epoch is later than the start"}},
		"disposable, long enough":  {func(n *plan.Need) {}, plan.Disposable, []string{}},
		"disposable, many starts":  {func(n *plan.Need) { n.RestartsPerDay = 90 }, plan.Disposable, []string{"131071 worker IDs, needs 131530"}},
		"disposable, one too many": {func(n *plan.Need) { n.Processes, n.RestartsPerDay = 131072, 0 }, plan.Disposable, []string{"131071 worker IDs, needs 131072"}},
		"everything at once": {func(n *plan.Need) { *n = plan.Need{1e9, 1e6, 1e6, 100, 100, n.Start} }, plan.Leased,
			[]string{"its time ends in 2034-07", "131072 worker IDs, needs 2000000", "32 datacenters, needs 100"}},
	} {
		n := small()
		row.change(&n)
		if v := n.Judge(allocator(t, bitsalloc.Default()), row.source); !slices.Equal(v.Faults, row.faults) {
			t.Errorf("%s: faults %q, want %q", name, v.Faults, row.faults)
		}
	}
}

func TestJudgeReportsRoomAndEnd(t *testing.T) {
	n := small()
	end := time.Date(2034, 7, 4, 21, 24, 16, 0, time.UTC)
	v := n.Judge(allocator(t, bitsalloc.Default()), plan.Leased)
	if v.Workers != (plan.Room{Needed: 80, Has: 131072}) || v.Datacenters != (plan.Room{Needed: 32, Has: 32}) || v.Rate != (plan.Room{Needed: 8192, Has: 8192}) ||
		v.Rate.Left() != 0 || math.Abs(v.Workers.Left()-99.939) > 0.001 || !v.Ends.Equal(end) {
		t.Errorf("%+v", v)
	}
	// 131,031 restarts at 80 a day.
	v = n.Judge(allocator(t, bitsalloc.Default()), plan.Disposable)
	if want := n.Start.Add(time.Duration(131031.0 / 80 * 24 * float64(time.Hour))); v.Ends.Sub(want).Abs() > time.Second {
		t.Errorf("disposable worker IDs end %v, want %v", v.Ends, want)
	}
	n.RestartsPerDay = 0
	if v = n.Judge(allocator(t, bitsalloc.Default()), plan.Disposable); !v.Ends.Equal(end) {
		t.Errorf("without restarts they end %v, want with the layout", v.Ends)
	}
	// A unit of a millisecond has a thousand times as many.
	if v = n.Judge(allocator(t, bitsalloc.Snowflake()), plan.Leased); v.Rate.Has != 4_096_000 {
		t.Errorf("%v IDs a second, want 4,096,000", v.Rate.Has)
	}
}

func TestFit(t *testing.T) {
	start := bitsalloc.DefaultEpoch()
	for _, tt := range []struct {
		name   string
		need   plan.Need
		source plan.Source
		want   bitsalloc.Layout // zero: an error
	}{
		{"29 + 2 + 8 + 10 bits are needed, 14 shared out", plan.Need{Rate: 100_000, Processes: 100, Years: 10, Datacenters: 3, Start: start}, plan.Leased,
			bitsalloc.Layout{DeltaBits: 33, DatacenterBits: 2, WorkerBits: 13, SequenceBits: 15, Unit: time.Second}},
		{"256 starts take 9 bits: worker ID 0 is never assigned", plan.Need{Rate: 256 << 17, Processes: 256, Years: 100, Datacenters: 32, Start: start}, plan.Disposable,
			bitsalloc.Layout{DeltaBits: 32, DatacenterBits: 5, WorkerBits: 9, SequenceBits: 17, Unit: time.Second}},
		{"all 63 bits", plan.Need{Rate: 256 * 100_000, Processes: 100_000, Years: 100, Datacenters: 32, Start: start}, plan.Leased,
			bitsalloc.Layout{DeltaBits: 32, DatacenterBits: 5, WorkerBits: 18, SequenceBits: 8, Unit: time.Second}},
		{"64 bits", plan.Need{Rate: 256*100_000 + 1, Processes: 100_000, Years: 100, Datacenters: 32, Start: start}, plan.Leased, bitsalloc.Layout{}},
		{"nothing", plan.Need{Processes: 1, Years: 1e-9, Datacenters: 1, Start: start}, plan.Disposable,
			bitsalloc.Layout{DeltaBits: 21, WorkerBits: 21, SequenceBits: 21, Unit: time.Second}},
	} {
		got, err := tt.need.Fit(time.Second, start, tt.source)
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
			Rate: math.Pow(10, 12*rng.Float64()), Processes: 1 + rng.Int64N(1<<rng.IntN(24)), RestartsPerDay: math.Pow(10, 7*rng.Float64()) - 1,
			Years: 0.01 + 200*rng.Float64(), Datacenters: 1 + rng.Int64N(1<<rng.IntN(8)), Start: bitsalloc.DefaultEpoch().Add(time.Duration(rng.Int64N(1e18))),
		}
		for _, source := range []plan.Source{plan.Leased, plan.Disposable} {
			l, err := n.Fit(time.Second, bitsalloc.DefaultEpoch(), source)
			if err == nil {
				if v := n.Judge(allocator(t, l), source); len(v.Faults) > 0 {
					t.Fatalf("%+v with %s: %v has faults %q", n, source, l, v.Faults)
				}
				continue
			}
			for _, preset := range []bitsalloc.Layout{bitsalloc.Default(), bitsalloc.Recommended(), bitsalloc.Baidu(), bitsalloc.JavaScript()} {
				if v := n.Judge(allocator(t, preset), source); len(v.Faults) == 0 {
					t.Fatalf("%+v with %s: %v, but %v will do", n, source, err, preset)
				}
			}
		}
	}
}
