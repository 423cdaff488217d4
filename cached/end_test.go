package cached_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

// FuzzConfig asks that any Config gives an error or a generator that works, and never a panic.
func FuzzConfig(f *testing.F) {
	f.Add(uint8(28), uint8(5), uint8(17), uint8(13), int64(time.Second), int64(0), int64(0), int64(1), 3, 50, int64(0), int64(0), 0)
	f.Add(uint8(41), uint8(0), uint8(10), uint8(12), int64(time.Millisecond), int64(1000), int64(0), int64(1023), 1, 99, int64(2e6), int64(1e6), 1)
	f.Add(uint8(1), uint8(0), uint8(0), uint8(0), int64(time.Minute), int64(1), int64(-1), int64(-1), 21, 100, int64(-1), int64(-1), 2)
	f.Add(uint8(63), uint8(0), uint8(0), uint8(0), int64(time.Second), int64(1), int64(0), int64(0), 1, 1, int64(-1), int64(0), 0)
	f.Fuzz(func(t *testing.T, deltaBits, datacenterBits, workerBits, sequenceBits uint8, unit, age, datacenter, number int64,
		boost, padding int, stale, ahead int64, policy int) {
		now := time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)
		cfg := cached.Config{
			Layout: bitsalloc.Layout{DeltaBits: deltaBits, DatacenterBits: datacenterBits, WorkerBits: workerBits,
				SequenceBits: sequenceBits, Unit: time.Duration(unit)},
			Epoch:         now.Add(-time.Duration(age) * time.Millisecond),
			DatacenterID:  datacenter,
			Assigner:      &fakeassigner.Assigner{OnAssign: anyWorker(number)},
			BoostPower:    boost,
			PaddingFactor: padding,
			MaxStaleness:  time.Duration(stale),
			MaxAhead:      time.Duration(ahead),
			OnEmpty:       cached.EmptyPolicy(policy),
			Now:           func() time.Time { return now },
		}
		g, err := cached.New(cfg)
		if err != nil {
			return
		}
		defer g.Close()
		for last, i := int64(0), 0; i < 100; i++ {
			id, err := g.Next()
			if errors.Is(err, cached.ErrEmpty) || errors.Is(err, cached.ErrTooFarAhead) || errors.Is(err, cached.ErrTimeExhausted) {
				continue
			}
			fields := gentest.Parse(t, g, id, err)
			if id <= last || fields.WorkerID != number || fields.DatacenterID != datacenter {
				t.Fatalf("%v after %d", fields, last)
			}
			last = id
		}
	})
}

// anyWorker gives any number, with a fence that is out of the way: successors need not start above.
func anyWorker(number int64) fakeassigner.AssignFunc {
	return gentest.Always(assigner.Grant{WorkerID: number, First: 1, Last: assigner.Unlimited - 1, Guarantee: assigner.GuaranteeFenced})
}

// Takers go on in later blocks while Close drops the blocks of a large ring one by one: with single
// IDs, with whole blocks between two steps of Close, and with lanes that drop their block for the
// next one.
func TestReleaseCountsTheBlockThatWasBegunLast(t *testing.T) {
	for name, take := range map[string]func(*cached.Generator) (last int64, err error){
		"Next": func(g *cached.Generator) (int64, error) { return g.Next() },
		"lane": func(g *cached.Generator) (int64, error) { return g.Lane().Next() },
		"Reserve": func(g *cached.Generator) (int64, error) {
			first, n, err := g.Reserve(1 << 20)
			return first + int64(n) - 1, err
		},
	} {
		for _, bits := range []uint8{0, 1, 4, 12} {
			layout := bitsalloc.Layout{DeltaBits: 45, WorkerBits: 6, SequenceBits: bits, Unit: time.Millisecond}
			for range testkit.Scaled(200) {
				var highest atomic.Int64
				store, used := gentest.Released()
				g, err := cached.New(cached.Config{Layout: layout, Assigner: store, BoostPower: 8, OnEmpty: cached.Reject})
				testkit.Must(t, err)
				var begun atomic.Bool
				testkit.Together(2, func(i int) {
					if i == 0 {
						for !begun.Load() {
							runtime.Gosched()
						}
						testkit.Must(t, g.Close())
						return
					}
					for err := error(nil); !errors.Is(err, cached.ErrClosed); begun.Store(true) {
						var last int64
						if last, err = take(g); err == nil {
							highest.Store(last)
						}
					}
				})
				if f, _ := g.Parse(highest.Load()); f.Delta > used.Load() {
					t.Fatalf("%s, %d bits: the last ID is %v, and the release tells delta %d", name, bits, f, used.Load())
				}
			}
		}
	}
}
