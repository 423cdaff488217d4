package load

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/testkit/testgen"
)

// newGenerator makes a generator. Each test of this package has its own worker ID: a worker ID
// belongs to one generator of a process at a time.
func newGenerator(t *testing.T, worker int64, cfg cached.Config) *cached.Generator {
	t.Helper()
	cfg.Assigner, cfg.AllowReuse = assigner.Static(worker), true
	return testgen.Cached(t, cfg)
}

var cases = []struct {
	name string
	load Load
	cfg  cached.Config
}{
	{"Next", Load{Goroutines: 3}, cached.Config{}},
	{"Fill", Load{Goroutines: 3, Batch: 100}, cached.Config{}},
	{"Fill beyond a ring", Load{Goroutines: 3, Batch: 20_000}, cached.Config{BoostPower: 1}},
	{"Lane", Load{Goroutines: 3, Lanes: LanePerGoroutine}, cached.Config{}},
	{"Lane, rejected", Load{Goroutines: 3, Lanes: LanePerGoroutine}, cached.Config{OnEmpty: cached.Reject, BoostPower: 1, PaddingFactor: 1}},
	{"lanes of CPUs", Load{Goroutines: 3}, cached.Config{Lanes: cached.LanePerCPU}},
	{"Next, rejected", Load{Goroutines: 3}, cached.Config{OnEmpty: cached.Reject, BoostPower: 1, PaddingFactor: 1}},
	{"Fill, rejected", Load{Goroutines: 3, Batch: 1000}, cached.Config{OnEmpty: cached.Reject, BoostPower: 1}},
	{"one ID per unit", Load{Goroutines: 3}, cached.Config{Layout: bitsalloc.Layout{DeltaBits: 45, WorkerBits: 17, Unit: time.Second}}},
	{"leased layout", Load{Goroutines: 3}, cached.Config{Layout: bitsalloc.Leased()}},
	{"milliseconds, paced", Load{Goroutines: 3, Rate: 1e6}, cached.Config{Layout: bitsalloc.Snowflake()}},
	{"paced batches", Load{Goroutines: 3, Rate: 1e6, Batch: 512}, cached.Config{}},
}

func TestLapCountsTheIDsThatTheGeneratorIssued(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			g := newGenerator(t, 12, tt.cfg)
			lap, err := tt.load.Run(t.Context(), Cached(g, tt.load), 20*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if n := lap.Total(); n < 1 || n != g.Stats().Issued || lap.Wall <= 0 || lap.Last < 1 || len(lap.IDs) != 3 {
				t.Errorf("%+v; %d IDs were issued", lap, g.Stats().Issued)
			}
		})
	}
}

func TestCallsAreTimed(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			g, h := newGenerator(t, 13, tt.cfg), NewHistogram()
			last, err := tt.load.Sample(t.Context(), 30*time.Millisecond, Calls(g, tt.load), h)
			if err != nil {
				t.Fatal(err)
			}
			if issued := g.Stats().Issued; h.TotalCount() > issued || last < 1 || h.Max() < 1 {
				t.Errorf("%d samples, the last ID %d, max %d; %d issued", h.TotalCount(), last, h.Max(), issued)
			}
		})
	}
}

func TestPaceIsKept(t *testing.T) {
	g := newGenerator(t, 14, cached.Config{})
	l := Load{Goroutines: 3, Rate: 50_000}
	lap, err := l.Run(t.Context(), Cached(g, l), 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(l.Rate * (lap.Wall.Seconds() + 0.05)); lap.Total() > most {
		t.Errorf("%d IDs in %v, allowed at this rate: %d", lap.Total(), lap.Wall, most)
	}
}

func TestARateWithoutAnIDInTimeIsAnError(t *testing.T) {
	g, l := newGenerator(t, 15, cached.Config{}), Load{Goroutines: 3, Rate: 0.1}
	if lap, err := l.Run(t.Context(), Cached(g, l), 10*time.Millisecond); !errors.Is(err, ErrNoID) {
		t.Errorf("%d IDs, %v; want %v", lap.Total(), err, ErrNoID)
	}
	if _, err := l.Sample(t.Context(), 10*time.Millisecond, Calls(g, l), NewHistogram()); !errors.Is(err, ErrNoID) {
		t.Errorf("error %v, want %v", err, ErrNoID)
	}
}

// counting is a source that counts its takers, and fails with err.
func counting(joined, left *atomic.Int64, err error) Source {
	return Source{Join: func() (Taker, func()) {
		joined.Add(1)
		return func(n int) (int64, error) { return int64(n), err }, func() { left.Add(1) }
	}, Close: Close}
}

func TestEveryGoroutineJoinsAndLeaves(t *testing.T) {
	var joined, left atomic.Int64
	lap, err := Load{Goroutines: 5}.Run(t.Context(), counting(&joined, &left, nil), time.Millisecond)
	if err != nil || joined.Load() != 5 || left.Load() != 5 || lap.Total() < 5*Stride || slices.Min(lap.IDs)%Stride != 0 || lap.Last != Stride {
		t.Errorf("%+v, %v; %d joined, %d left", lap, err, joined.Load(), left.Load())
	}
	broken := errors.New("broken")
	if _, err := (Load{Goroutines: 2}).Run(t.Context(), counting(&joined, &left, broken), time.Hour); !errors.Is(err, broken) || left.Load() != joined.Load() {
		t.Errorf("error %v, want %v; %d joined, %d left", err, broken, joined.Load(), left.Load())
	}
}

func TestFiguresOfALapArePerID(t *testing.T) {
	lap := Lap{IDs: []int64{300, 100}, Wall: 4 * time.Microsecond, CPU: 8 * time.Microsecond}
	if lap.Total() != 400 || lap.WallNs() != 10 || lap.CPUNs() != 20 || lap.Fairness() != 1.0/3 {
		t.Errorf("%d IDs, %v ns, %v ns of CPU, fairness %v", lap.Total(), lap.WallNs(), lap.CPUNs(), lap.Fairness())
	}
}

func TestEmptyRingsAreTriedAgain(t *testing.T) {
	for err, again := range map[error]bool{
		nil: true, cached.ErrEmpty: true, defaultgen.ErrSequenceExhausted: true,
		cached.ErrLeaseExhausted: false, errors.Join(cached.ErrEmpty, cached.ErrLeaseExhausted): false, cached.ErrTimeExhausted: false,
	} {
		if got := Retry(err); (got == nil) != again {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestSamplerTimesOneOfEveryCallsAndEndsWithAnError(t *testing.T) {
	calls := 0
	s := sampler{call: func() (int64, error) { calls++; return 7, nil }, every: 32}
	if err := s.turn(10); err != nil || calls != 320 || len(s.samples) != 10 || s.last != 7 {
		t.Errorf("%d calls, %d samples, %v", calls, len(s.samples), err)
	}
	s = sampler{every: 32}
	if err := s.turn(10); err != nil || len(s.samples) != 10 || slices.Min(s.samples) < 0 {
		t.Errorf("samples of the clock alone: %v, %v", s.samples, err)
	}
	broken := errors.New("broken")
	for _, failure := range []error{broken, cached.ErrEmpty} {
		for _, at := range []int{3, 32} { // beside the sample, and in it
			calls = 0
			s = sampler{call: func() (int64, error) {
				if calls++; calls == at {
					return 0, failure
				}
				return 0, nil
			}, every: 32}
			samples, want := 0, broken
			if failure == cached.ErrEmpty { // tried again, not timed
				samples, want = 10-at/32, nil
			}
			if err := s.turn(10); !errors.Is(err, want) || len(s.samples) != samples {
				t.Errorf("call %d fails with %v: %v, %d samples", at, failure, err, len(s.samples))
			}
		}
	}
}

func TestRaceEndsInTimeOnErrorsAndWithItsContext(t *testing.T) {
	spin := func(ctx context.Context, i int, stop *atomic.Bool) error {
		<-ctx.Done()
		for !stop.Load() {
		}
		return nil
	}
	if wall, err := Race(t.Context(), 2, time.Millisecond, spin); err != nil || wall < time.Millisecond {
		t.Errorf("ended after %v with %v", wall, err)
	}
	broken := errors.New("broken")
	_, err := Race(t.Context(), 2, 0, func(ctx context.Context, i int, stop *atomic.Bool) error {
		if i == 1 {
			return broken
		}
		return spin(ctx, i, stop)
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Race(ctx, 2, 0, spin); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestYieldsComeOnceASlice(t *testing.T) {
	for _, tt := range []struct {
		every int
		took  time.Duration
		want  int
	}{
		{1, slice, 1}, {1, slice / 50, 50}, {50, slice / 2, 100}, {100, 4 * slice, 25}, {100, time.Second, 1}, {1000, 0, 1 << 20},
	} {
		if got := steps(tt.every, tt.took); got != tt.want {
			t.Errorf("steps(%d, %v) = %d, want %d", tt.every, tt.took, got, tt.want)
		}
	}
}
