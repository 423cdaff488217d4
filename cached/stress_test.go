package cached_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A crowd takes IDs from one generator in every way there is. Each ID may come once.
type crowd struct {
	*cached.Generator
	taken idset.Ledger
	wants atomic.Int64 // IDs still to be taken
}

// member takes IDs until the crowd has enough or the generator is closed. The IDs of its lane
// increase, and all others.
func (c *crowd) member(t *testing.T, way int) {
	lane, last := c.Lane(), int64(0)
	for ; c.wants.Load() > 0 && !t.Failed(); way++ {
		var batch [5]int64
		var n int
		var err error
		if way%5 == 0 {
			if batch[0], err = lane.Next(); err == nil {
				if n = 1; batch[0] <= last {
					t.Errorf("ID %d of a lane after %d", batch[0], last)
				}
				last = batch[0]
				c.taken.Once(t, last)
			}
		} else {
			n, err = c.taken.Take(t, func() ([]int64, error) {
				return gentest.TakeAny(t, c, way%5, batch[:])
			})
		}
		c.wants.Add(-int64(n))
		switch {
		case errors.Is(err, cached.ErrClosed):
			return
		case errors.Is(err, cached.ErrEmpty), errors.Is(err, cached.ErrLeaseExhausted):
			runtime.Gosched()
		case err != nil:
			t.Errorf("unexpected: %v", err)
		}
	}
}

// stress has goroutines take n IDs while meanwhile, unless nil, disturbs them, and settles the
// accounts.
func stress(t *testing.T, cfg cached.Config, goroutines, n int, meanwhile func(*cached.Generator)) {
	var put atomic.Int64
	size := int64(1) << cfg.Layout.SequenceBits
	cfg.MaxStaleness = -1
	cfg.Trace.Padded = func(i cached.PaddedInfo) { put.Add(int64(i.Blocks) * size) }
	c := &crowd{Generator: open(t, cfg)}
	c.wants.Store(int64(n))
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() { c.member(t, i) })
	}
	if meanwhile != nil {
		meanwhile(c.Generator)
	}
	wg.Wait()
	if err := c.Close(); err != nil { // from then on nothing is put
		t.Error(err)
	}
	s := c.Stats()
	if sum := s.Issued + s.Retired + int64(s.Remaining); sum != put.Load() || s.Issued < int64(c.taken.Len()) { // lanes have reserved more
		t.Errorf("%d IDs were put and %d returned, want them in Stats = %+v", put.Load(), c.taken.Len(), s)
	}
}

// TestEveryIDIsIssuedOnce counts the IDs of 1 to 64 goroutines, with blocks of 2 in a ring of 2,
// where callers collide all the time, and with blocks and rings as they are used.
func TestEveryIDIsIssuedOnce(t *testing.T) {
	for _, row := range []struct {
		bits  uint8
		boost int
		ids   int
	}{{1, 1, 40_000}, {1, 4, 40_000}, {4, 1, 100_000}, {13, 3, 400_000}} {
		for policy := range cached.Reject + 1 {
			for _, goroutines := range []int{1, 2, 8, 64} {
				layout := bitsalloc.Layout{DeltaBits: 28, WorkerBits: 17, SequenceBits: row.bits}
				stress(t, cached.Config{Layout: layout, BoostPower: row.boost, OnEmpty: policy}, goroutines, testkit.Scaled(row.ids), nil)
			}
		}
	}
}

func TestEveryIDIsIssuedOnceAcrossInvalidateAndClose(t *testing.T) {
	rounds := 20
	if testing.Short() || runtime.GOMAXPROCS(0) == 1 {
		rounds = 4
	}
	for policy := range cached.Reject + 1 {
		for range rounds {
			layout := bitsalloc.Layout{DeltaBits: 28, WorkerBits: 22, SequenceBits: 3}
			cfg := cached.Config{Layout: layout, OnEmpty: policy, Assigner: &fakeassigner.Assigner{}}
			calls := testkit.Scaled(400)
			stress(t, cfg, 8, 1<<30, func(g *cached.Generator) {
				for range calls {
					g.Invalidate()
					runtime.Gosched()
				}
				for issued := g.Stats().Issued; g.Stats().Issued < issued+1000 && !t.Failed(); {
					runtime.Gosched()
				}
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
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
