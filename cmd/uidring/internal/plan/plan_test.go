package plan_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

func TestJudgeFindsEachFault(t *testing.T) {
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

func TestJudgeSaysWhatIsLeftAndWhenItEnds(t *testing.T) {
	n := small()
	v := n.Judge(allocator(t, bitsalloc.Default()), plan.Leased)
	if v.Workers != (plan.Room{Needed: 80, Has: 131072}) || v.Datacenters != (plan.Room{Needed: 32, Has: 32}) || v.Rate != (plan.Room{Needed: 8192, Has: 8192}) {
		t.Errorf("%+v", v)
	}
	if v.Rate.Left() != 0 || math.Abs(v.Workers.Left()-99.939) > 0.001 || !v.Ends.Equal(time.Date(2034, 7, 4, 21, 24, 16, 0, time.UTC)) {
		t.Errorf("left %v, %v; ends %v", v.Rate.Left(), v.Workers.Left(), v.Ends)
	}
	// 131,031 restarts at 80 a day.
	v = n.Judge(allocator(t, bitsalloc.Default()), plan.Disposable)
	if want := n.Start.Add(time.Duration(131031.0 / 80 * 24 * float64(time.Hour))); v.Ends.Sub(want).Abs() > time.Second {
		t.Errorf("disposable worker IDs end %v, want %v", v.Ends, want)
	}
	n.RestartsPerDay = 0
	if v = n.Judge(allocator(t, bitsalloc.Default()), plan.Disposable); !v.Ends.Equal(time.Date(2034, 7, 4, 21, 24, 16, 0, time.UTC)) {
		t.Errorf("without restarts they end %v, want with the layout", v.Ends)
	}
	// A unit of a millisecond has a thousand times as many.
	if v = n.Judge(allocator(t, bitsalloc.Snowflake()), plan.Leased); v.Rate.Has != 4_096_000 {
		t.Errorf("%v IDs a second, want 4,096,000", v.Rate.Has)
	}
}

func TestFitTakesNoMoreThanItNeedsAndSharesOutTheRest(t *testing.T) {
	n := plan.Need{Rate: 100_000, Processes: 100, Years: 10, Datacenters: 3, Start: bitsalloc.DefaultEpoch()}
	got, err := n.Fit(time.Second, bitsalloc.DefaultEpoch(), plan.Leased)
	// 29 + 2 + 8 + 10 are needed, 14 are over.
	if want := (bitsalloc.Layout{DeltaBits: 33, DatacenterBits: 2, WorkerBits: 13, SequenceBits: 15, Unit: time.Second}); err != nil || got != want {
		t.Errorf("Fit = %v, %v, want %v", got, err, want)
	}
	n.Rate, n.Processes, n.Years, n.Datacenters = 0, 1, 1e-9, 1
	if got, err := n.Fit(time.Minute, n.Start, plan.Disposable); err != nil || got.DatacenterBits != 0 {
		t.Errorf("Fit = %v, %v", got, err)
	}
}

// 256 starts take 9 bits: worker ID 0 is never assigned.
func TestFitLeavesDisposableWorkerIDZeroOut(t *testing.T) {
	n := plan.Need{Rate: 256 << 17, Processes: 256, Years: 100, Datacenters: 32, Start: bitsalloc.DefaultEpoch()}
	got, err := n.Fit(time.Second, n.Start, plan.Disposable)
	if want := (bitsalloc.Layout{DeltaBits: 32, DatacenterBits: 5, WorkerBits: 9, SequenceBits: 17, Unit: time.Second}); err != nil || got != want {
		t.Errorf("Fit = %v, %v, want %v", got, err, want)
	}
}

func TestFitMayTakeAll63Bits(t *testing.T) {
	n := plan.Need{Rate: 256 * 100_000, Processes: 100_000, Years: 100, Datacenters: 32, Start: bitsalloc.DefaultEpoch()}
	got, err := n.Fit(time.Second, n.Start, plan.Leased)
	if want := (bitsalloc.Layout{DeltaBits: 32, DatacenterBits: 5, WorkerBits: 18, SequenceBits: 8, Unit: time.Second}); err != nil || got != want {
		t.Errorf("Fit = %v, %v, want %v", got, err, want)
	}
	n.Rate++
	if got, err := n.Fit(time.Second, n.Start, plan.Leased); !errors.Is(err, plan.ErrImpossible) {
		t.Errorf("Fit of 64 bits = %v, %v, want ErrImpossible", got, err)
	}
}

func TestFitSaysWhatTakesTooMuch(t *testing.T) {
	n := plan.Need{Rate: 1e9, Processes: 100_000, Years: 100, Datacenters: 32, Start: bitsalloc.DefaultEpoch()}
	_, err := n.Fit(time.Second, n.Start, plan.Leased)
	for _, part := range []string{"delta takes 32 bits (3155760000 units of 1s)", "datacenter 5 (32)", "worker 18 (200000)", "sequence 14 (10000 IDs a unit of a process): 69, allowed: 63"} {
		if !errors.Is(err, plan.ErrImpossible) || !strings.Contains(err.Error(), part) {
			t.Errorf("Fit: %v, want %q", err, part)
		}
	}
}

// Every layout that Fit returns is sufficient. If Fit returns none, no preset is sufficient either.
func TestWhatFitsWillDo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	fits := 0
	for range 2_000 {
		n := plan.Need{
			Rate: math.Pow(10, 12*rng.Float64()), Processes: 1 + rng.Int64N(1<<rng.IntN(24)), RestartsPerDay: math.Pow(10, 7*rng.Float64()) - 1,
			Years: 0.01 + 200*rng.Float64(), Datacenters: 1 + rng.Int64N(1<<rng.IntN(8)), Start: bitsalloc.DefaultEpoch().Add(time.Duration(rng.Int64N(1e18))),
		}
		if err := n.Check(); err != nil {
			t.Fatal(err)
		}
		for _, source := range []plan.Source{plan.Leased, plan.Disposable} {
			unit := []time.Duration{time.Millisecond, time.Second, time.Minute}[rng.IntN(3)]
			l, err := n.Fit(unit, bitsalloc.DefaultEpoch(), source)
			if err == nil {
				fits++
				if v := n.Judge(allocator(t, l), source); len(v.Faults) > 0 || l.Unit != unit {
					t.Fatalf("%+v with %s: %v has faults %q", n, source, l, v.Faults)
				}
				continue
			}
			for _, preset := range []bitsalloc.Layout{bitsalloc.Default(), bitsalloc.Leased(), bitsalloc.Baidu(), bitsalloc.Snowflake(), bitsalloc.JavaScript()} {
				if v := n.Judge(allocator(t, preset), source); preset.Unit == unit && len(v.Faults) == 0 {
					t.Fatalf("%+v with %s: %v, but %v will do", n, source, err, preset)
				}
			}
		}
	}
	if fits < 100 || fits > 3_900 {
		t.Errorf("%d of 4,000 fit: the draw shows little", fits)
	}
}

func TestCheckReportsAllMistakesAtOnce(t *testing.T) {
	err := plan.Need{Rate: math.NaN(), Processes: -1, RestartsPerDay: math.Inf(1), Years: math.NaN(), Datacenters: 1 << 50}.Check()
	for _, field := range []string{"rate NaN", "processes -1", "restarts-per-day +Inf", "years NaN", "datacenters 1125899906842624"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("Check = %v, want %q in it", err, field)
		}
	}
	if err := small().Check(); err != nil {
		t.Error(err)
	}
}
