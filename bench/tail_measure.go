package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A tailLoad is how often calls are made.
type tailLoad struct {
	goroutines int
	rate       float64 // over all goroutines; 0: flat out
}

// tailLoads returns the loads that calls are timed under: flat out on one goroutine and on all CPUs, and paced on all.
func tailLoads(rate float64) []tailLoad {
	all := runtime.GOMAXPROCS(0)
	list := []tailLoad{{1, 0}, {all, 0}, {all, rate}}
	if all == 1 {
		list = list[1:]
	}
	return list
}

// every returns how many calls there are to one that is timed; see timeEvery.
func (l tailLoad) every() int { return timeEvery(load{rate: l.rate}) }

// A tailRow is the latency of single calls. Nothing is subtracted from the times: reading the clock is in all of
// them, and has rows of its own.
type tailRow struct {
	Call        string  `json:"call"`
	Pressure    string  `json:"pressure"`
	Goroutines  int     `json:"goroutines"`
	Rate        float64 `json:"ratePerSecond"` // 0: flat out
	Samples     int64   `json:"samples"`
	OneOf       int     `json:"oneOf"` // of how many calls one was timed
	P50Ns       int64   `json:"p50ns"`
	P90Ns       int64   `json:"p90ns"`
	P99Ns       int64   `json:"p99ns"`
	P999Ns      int64   `json:"p999ns"`
	P9999Ns     int64   `json:"p9999ns"`  // 0: too few samples
	P99999Ns    int64   `json:"p99999ns"` // likewise
	MaxNs       int64   `json:"maxNs"`
	Slow        float64 `json:"slowPerMillion"`        // samples over a microsecond
	SlowEmpty   float64 `json:"slowEmptyPerMillion"`   // the same in the loop around an empty call: the machine's and the scheduler's share
	SlowOwn     float64 `json:"slowOwnPerMillion"`     // what is left
	Collections int64   `json:"collections,omitempty"` // of garbage, while the call was timed
}

// slow is where the tail begins: the time that p99.99 of a call has to keep to where the scheduler leaves it alone.
const slow = time.Microsecond

// A tailRun gathers the samples of one row.
type tailRun struct {
	call        tailCall
	load        tailLoad
	pressure    string
	histogram   *hdrhistogram.Histogram
	collections int64
}

// A tailer times calls.
type tailer struct {
	bench     *tailBench
	pressures []string
	loads     []tailLoad
	rounds    int
	share     time.Duration // of a row in a round
	done      atomic.Int64  // rows and rounds
}

// runs returns what there is to be timed, in the order of the rows.
func (t *tailer) runs() (list []*tailRun) {
	for _, pressure := range t.pressures {
		for _, load := range t.loads {
			for _, call := range t.bench.calls {
				list = append(list, &tailRun{call, load, pressure, hdrhistogram.New(1, longest.Nanoseconds(), 3), 0})
			}
		}
	}
	return list
}

// measure times all calls, in turns under each kind of pressure.
func (t *tailer) measure(ctx context.Context) ([]tailRow, error) {
	runs := t.runs()
	for _, pressure := range t.pressures {
		if err := t.underPressure(ctx, pressure, runs); err != nil {
			return nil, err
		}
	}
	return tailRows(runs), nil
}

func (t *tailer) underPressure(ctx context.Context, pressure string, runs []*tailRun) error {
	defer startPressure(pressure)()
	for range t.rounds {
		for _, r := range runs {
			if r.pressure != pressure {
				continue
			}
			if err := r.round(ctx, t.share); err != nil {
				return fmt.Errorf("%s, %s: %w", r.call.name, r.pressure, err)
			}
			t.done.Add(1)
		}
	}
	return nil
}

// round times the call for d.
func (r *tailRun) round(ctx context.Context, d time.Duration) error {
	pace := load{goroutines: r.load.goroutines, rate: r.load.rate}.pace()
	before := collections()
	var mu sync.Mutex // guards the histogram
	_, err := race(ctx, r.load.goroutines, d, func(ctx context.Context, _ int, stop *atomic.Bool) error {
		s := sampler{call: r.call.call, every: r.load.every(), samples: make([]int64, 0, 1024)}
		collect := func() {
			mu.Lock()
			defer mu.Unlock()
			s.flush(r.histogram)
		}
		defer collect()
		for !stop.Load() && pace.wait(ctx) {
			if err := s.turn(max(1, pace.calls/s.every)); err != nil {
				return err
			}
			if len(s.samples) > cap(s.samples)-stride {
				collect()
			}
		}
		return nil
	})
	r.collections += collections() - before
	return err
}

// A sampler times some of the calls of one goroutine.
type sampler struct {
	call    func() (int64, error)
	every   int
	samples []int64 // ns
}

// turn takes n samples.
func (s *sampler) turn(n int) error {
	if s.call == nil {
		s.clock(n)
		return nil
	}
	for range n {
		for range s.every - 1 {
			if _, err := s.call(); err != nil {
				return err
			}
		}
		began := time.Now()
		_, err := s.call()
		ns := time.Since(began).Nanoseconds()
		if err != nil {
			return err
		}
		s.samples = append(s.samples, ns)
	}
	return nil
}

// clock times nothing.
func (s *sampler) clock(n int) {
	for range n {
		began := time.Now()
		s.samples = append(s.samples, time.Since(began).Nanoseconds())
	}
}

func (s *sampler) flush(h *hdrhistogram.Histogram) {
	for _, ns := range s.samples {
		_ = h.RecordValue(min(max(ns, 1), longest.Nanoseconds())) // within its bounds
	}
	s.samples = s.samples[:0]
}

// tailRows turns runs into rows, and sets those of one pressure and load against the empty call among them.
func tailRows(runs []*tailRun) []tailRow {
	rows := make([]tailRow, len(runs))
	type conditions struct {
		pressure string
		load     tailLoad
	}
	empty := make(map[conditions]float64)
	for i, r := range runs {
		rows[i] = r.row()
		if r.call.name == callEmpty {
			empty[conditions{r.pressure, r.load}] = rows[i].Slow
		}
	}
	for i, r := range runs {
		rows[i].SlowEmpty = empty[conditions{r.pressure, r.load}]
		rows[i].SlowOwn = max(0, rows[i].Slow-rows[i].SlowEmpty)
	}
	return rows
}

func (r *tailRun) row() tailRow {
	h := r.histogram
	return tailRow{
		Call:        r.call.name,
		Pressure:    r.pressure,
		Goroutines:  r.load.goroutines,
		Rate:        r.load.rate,
		Samples:     h.TotalCount(),
		OneOf:       r.load.every(),
		P50Ns:       h.ValueAtPercentile(50),
		P90Ns:       h.ValueAtPercentile(90),
		P99Ns:       h.ValueAtPercentile(99),
		P999Ns:      h.ValueAtPercentile(99.9),
		P9999Ns:     farPercentile(h, 99.99),
		P99999Ns:    farPercentile(h, 99.999),
		MaxNs:       h.Max(),
		Slow:        perMillionOver(h, slow),
		Collections: r.collections,
	}
}

// farPercentile returns a percentile, or 0 unless at least ten samples lie beyond it: fewer say nothing.
func farPercentile(h *hdrhistogram.Histogram, percentile float64) int64 {
	if beyond := float64(h.TotalCount()) * (100 - percentile) / 100; math.Round(beyond) < 10 {
		return 0
	}
	return h.ValueAtPercentile(percentile)
}

// perMillionOver returns how many samples of a million took longer than d.
func perMillionOver(h *hdrhistogram.Histogram, d time.Duration) float64 {
	if h.TotalCount() == 0 {
		return 0
	}
	over := int64(0)
	for _, bar := range h.Distribution() {
		if bar.From > d.Nanoseconds() {
			over += bar.Count
		}
	}
	return float64(over) / float64(h.TotalCount()) * 1e6
}
