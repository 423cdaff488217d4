package cached_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/together"
)

// A tally accepts each ID once. It counts pairs of delta and sequence, since a generator uses no
// delta twice, even when its worker ID changes.
type tally struct {
	idset.Set
	t testing.TB
	g *cached.Generator
}

// add counts IDs of one goroutine, whose last was last, and returns the new last.
func (y *tally) add(last int64, ids ...int64) int64 {
	for _, id := range ids {
		f, err := y.g.Parse(id)
		if err != nil || id <= last {
			y.t.Errorf("ID %d after %d: %v", id, last, err)
		}
		last = id
		if y.Add(f.Delta<<22|f.Sequence) != nil {
			y.t.Errorf("%v was issued twice", f)
		}
	}
	return last
}

// A crowd takes IDs from one generator in every way there is.
type crowd struct {
	g     *cached.Generator
	tally *tally
	wants atomic.Int64 // IDs still to be taken
}

// member takes IDs until the crowd has enough or the generator is closed. Every second one leaves
// its lane open.
func (c *crowd) member(t *testing.T, i int) {
	lane := c.g.Lane()
	if i%2 == 0 {
		defer lane.Close()
	}
	for last, lastOfLane := int64(0), int64(0); c.wants.Load() > 0 && !t.Failed(); i++ {
		var batch [5]int64
		n, err := c.take(t, lane, i%5, batch[:])
		switch {
		case i%5 == viaLane:
			lastOfLane = c.tally.add(lastOfLane, batch[:n]...)
		default:
			last = c.tally.add(last, batch[:n]...)
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

// viaLane is the way of taking IDs from a lane of one's own.
const viaLane = 3

// take takes IDs in one of five ways, and returns how many.
func (c *crowd) take(t *testing.T, lane *cached.Lane, way int, dst []int64) (n int, err error) {
	single := func(id int64, err error) (int, error) {
		dst[0] = id
		if err != nil {
			return 0, err
		}
		return 1, nil
	}
	switch way {
	case 0:
		return single(c.g.Next())
	case 1:
		return single(c.g.NextContext(t.Context()))
	case 2:
		return c.g.Fill(dst)
	case viaLane:
		return single(lane.Next())
	}
	first, n, err := c.g.Reserve(len(dst))
	for i := range n {
		dst[i] = first + int64(i)
	}
	return n, err
}

// TestEveryIDIsIssuedOnce counts the IDs of 1 to 64 goroutines, with blocks of 2 in a ring of 2,
// where callers collide all the time, and with blocks and rings as they are used.
func TestEveryIDIsIssuedOnce(t *testing.T) {
	for _, row := range []struct {
		bits  uint8
		boost int
		ids   int
	}{{1, 1, 40_000}, {1, 4, 40_000}, {4, 1, 100_000}, {13, 3, 400_000}} {
		for name, policy := range map[string]cached.EmptyPolicy{"PadInline": cached.PadInline, "Reject": cached.Reject} {
			for _, goroutines := range []int{1, 2, 8, 64} {
				t.Run(fmt.Sprintf("%d slots of %d, %s, %d goroutines", 1<<row.boost, 1<<row.bits, name, goroutines), func(t *testing.T) {
					layout := bitsalloc.Layout{DeltaBits: 28, WorkerBits: 17, SequenceBits: row.bits}
					stress(t, cached.Config{Layout: layout, BoostPower: row.boost, OnEmpty: policy}, goroutines, scaled(row.ids), nil)
				})
			}
		}
	}
}

// lastFar is lastWorker for a layout with more of them.
var lastFar atomic.Int64

func freshFar(context.Context, int, assigner.Domain) (assigner.Grant, error) {
	return assigner.Grant{WorkerID: lastFar.Add(1), First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}, nil
}

func TestEveryIDIsIssuedOnceAcrossInvalidate(t *testing.T) {
	for name, policy := range map[string]cached.EmptyPolicy{"PadInline": cached.PadInline, "Reject": cached.Reject} {
		t.Run(name, func(t *testing.T) {
			layout := bitsalloc.Layout{DeltaBits: 28, WorkerBits: 22, SequenceBits: 4}
			cfg := cached.Config{Layout: layout, OnEmpty: policy, Assigner: &fakeassigner.Assigner{OnAssign: freshFar}}
			calls := scaled(2000)
			stress(t, cfg, 8, scaled(200_000), func(g *cached.Generator) {
				for range calls {
					g.Invalidate()
					runtime.Gosched()
				}
			})
		})
	}
}

func TestEveryIDIsIssuedOnceUpToClose(t *testing.T) {
	for name, policy := range map[string]cached.EmptyPolicy{"PadInline": cached.PadInline, "Reject": cached.Reject} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				layout := bitsalloc.Layout{DeltaBits: 28, WorkerBits: 22, SequenceBits: 2}
				stress(t, cached.Config{Layout: layout, OnEmpty: policy}, 8, 1<<20, func(g *cached.Generator) {
					for g.Stats().Issued < 2000 && !t.Failed() {
						runtime.Gosched()
					}
					if err := g.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// stress has goroutines take n IDs while meanwhile, unless nil, disturbs them, and settles the
// accounts.
func stress(t *testing.T, cfg cached.Config, goroutines, n int, meanwhile func(*cached.Generator)) {
	var put atomic.Int64
	size := int64(1) << cfg.Layout.SequenceBits
	cfg.MaxStaleness = -1
	cfg.Trace.Padded = func(p cached.PaddedInfo) { put.Add(int64(p.Blocks) * size) }
	g := open(t, cfg)
	c := &crowd{g: g, tally: &tally{t: t, g: g}}
	c.wants.Store(int64(n))
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() { c.member(t, i) })
	}
	if meanwhile != nil {
		meanwhile(g)
	}
	wg.Wait()
	if err := g.Close(); err != nil { // from then on nothing is put
		t.Error(err)
	}
	s := g.Stats()
	checkSum(t, s, put.Load(), max(s.Issued, int64(c.tally.Len()))) // lanes have reserved more
}

// originalCount is how many IDs the tests of Baidu's UidGenerator take.
const originalCount = 7_000_000

func TestSevenMillionIDs(t *testing.T) {
	t.Run("serially", func(t *testing.T) { checkOriginal(t, 1) })
	t.Run("concurrently", func(t *testing.T) { checkOriginal(t, 2*runtime.GOMAXPROCS(0)) })
}

// checkOriginal checks the same as the original's tests: IDs are positive, can be parsed, and all
// differ. It takes them at full speed, and fails if Next returns an error.
func checkOriginal(t *testing.T, goroutines int) {
	n := scaled(originalCount) / goroutines
	g := open(t, cached.Config{})
	tally := &tally{t: t, g: g}
	together.Run(goroutines, func(int) {
		for last, i := int64(0), 0; i < n; i++ {
			id, err := g.Next()
			if err != nil {
				t.Errorf("Next: %v", err)
				return
			}
			if last = tally.add(last, id); t.Failed() {
				return
			}
		}
	})
	if got := tally.Len(); got != n*goroutines {
		t.Errorf("%d IDs, want %d", got, n*goroutines)
	}
	if s := g.Stats(); s.Issued != int64(n*goroutines) || s.RejectedTakes != 0 {
		t.Errorf("Stats: Issued %d, RejectedTakes %d, want %d, 0", s.Issued, s.RejectedTakes, n*goroutines)
	}
}
