package cached_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestEveryIDIsPositiveToTheVeryEnd uses a layout up. All 63 bits of its last ID are set.
func TestEveryIDIsPositiveToTheVeryEnd(t *testing.T) {
	for _, lane := range []bool{false, true} {
		eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
			layout := bitsalloc.Layout{DeltaBits: 18, DatacenterBits: 18, WorkerBits: 23, SequenceBits: 4}
			store := &fakeassigner.Assigner{OnAssign: func(_ context.Context, n int, _ assigner.Domain) (assigner.Grant, error) {
				if n > 1 {
					return assigner.Grant{}, errors.New("store is down")
				}
				return assigner.Grant{WorkerID: 1<<23 - 1, First: 1<<18 - 1000, Last: 1 << 40, Guarantee: assigner.GuaranteeFenced}, nil
			}}
			g := inBubble(t, cached.Config{Layout: layout, DatacenterID: 1<<18 - 1, Assigner: store, OnEmpty: policy, MaxStaleness: -1})
			next := g.Next
			if lane {
				next = g.Lane().Next
			}
			var ids []int64
			for id, err := next(); !errors.Is(err, cached.ErrTimeExhausted); id, err = next() {
				if err == nil {
					ids = append(ids, id)
				}
				synctest.Wait()
			}
			gentest.CheckIncreasing(t, ids)
			if n := len(ids); n != 1000*16 || ids[n-1] != math.MaxInt64 {
				t.Errorf("%d IDs up to %d, want 16000 up to 2^63-1", n, ids[n-1])
			}
			time.Sleep(24 * time.Hour)
			for range 2 {
				_, err1 := next()
				_, err2 := g.NextContext(t.Context())
				_, err3 := g.Fill(make([]int64, 3))
				for _, err := range []error{err1, err2, err3} {
					if !errors.Is(err, cached.ErrTimeExhausted) {
						t.Errorf("%v, want ErrTimeExhausted", err)
					}
				}
				g.Invalidate() // a worker ID would be of no use
			}
		})
	}
}

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

// A unit counts as used when its block is used up, even if the next block is untouched, and even
// the first unit of a layout.
func TestCloseReportsTheLastUnitThatIsUsedUp(t *testing.T) {
	for _, age := range []time.Duration{0, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store, used := gentest.Released()
			g := open(t, cached.Config{Layout: narrow(), Epoch: time.Now().Add(-age), Assigner: store})
			ids := make([]int64, 16)
			_, err := g.Fill(ids)
			testkit.Must(t, err)
			testkit.Must(t, g.Close())
			if last := parse(t, g, ids[len(ids)-1]); last.Sequence != 15 || used.Load() != last.Delta {
				t.Errorf("Close reports delta %d, and the last ID is %v", used.Load(), last)
			}
		})
	}
}
