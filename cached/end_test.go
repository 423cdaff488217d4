package cached_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

// TestEveryIDIsPositiveToTheVeryEnd uses a layout up. All 63 bits of its last ID are set.
func TestEveryIDIsPositiveToTheVeryEnd(t *testing.T) {
	for name, way := range map[string]func(*cached.Generator) func() (int64, error){
		"single stream": func(g *cached.Generator) func() (int64, error) { return g.Next },
		"a lane":        func(g *cached.Generator) func() (int64, error) { return g.Lane().Next },
	} {
		t.Run(name, func(t *testing.T) { toTheVeryEnd(t, way) })
	}
}

func toTheVeryEnd(t *testing.T, way func(*cached.Generator) func() (int64, error)) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		layout := bitsalloc.Layout{DeltaBits: 18, DatacenterBits: 18, WorkerBits: 23, SequenceBits: 4}
		store := &fakeassigner.Assigner{OnAssign: func(_ context.Context, n int, _ assigner.Domain) (assigner.Grant, error) {
			if n > 1 {
				return assigner.Grant{}, errors.New("store is down")
			}
			return assigner.Grant{WorkerID: 1<<23 - 1, First: 1<<18 - 1000, Limit: 1 << 40, Guarantee: assigner.GuaranteeFenced}, nil
		}}
		g := inBubble(t, cached.Config{Layout: layout, DatacenterID: 1<<18 - 1, Assigner: store, OnEmpty: policy, MaxStaleness: -1})
		next, largest, n := way(g), int64(0), 0
		for {
			id, err := next()
			if errors.Is(err, cached.ErrTimeExhausted) {
				break
			}
			if err != nil {
				synctest.Wait()
				continue
			}
			if id <= largest {
				t.Fatalf("%d after %d", id, largest)
			}
			largest = id
			n++
		}
		if n != 1000*16 || largest != math.MaxInt64 {
			t.Errorf("%d IDs up to %d, want 16000 up to 2^63-1", n, largest)
		}
		time.Sleep(24 * time.Hour)
		for _, f := range []func() error{
			func() error { _, err := next(); return err },
			func() error { _, err := g.NextContext(t.Context()); return err },
			func() error { _, err := g.Fill(make([]int64, 3)); return err },
		} {
			for range 2 {
				if err := f(); !errors.Is(err, cached.ErrTimeExhausted) {
					t.Errorf("%v, want ErrTimeExhausted", err)
				}
				g.Invalidate() // a worker ID would be of no use
			}
		}
	})
}

// New takes a generator that could never issue an ID for the mistake that it is.
func TestLayoutInItsLastUnitIsRefused(t *testing.T) {
	layout := narrow()
	layout.DeltaBits = 10
	epoch := bitsalloc.DefaultEpoch()
	for _, row := range []struct {
		now, first int64
		want       error
	}{{1022, 1, nil}, {1023, 1, cached.ErrTimeExhausted}, {1000, 1023, nil}, {1000, 1024, cached.ErrTimeExhausted}} {
		store := &fakeassigner.Assigner{OnAssign: func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
			return assigner.Grant{WorkerID: worker(), First: row.first, Limit: 2000, Guarantee: assigner.GuaranteeFenced}, nil
		}}
		g, err := cached.New(cached.Config{
			Layout: layout, Epoch: epoch, Assigner: store,
			Now: func() time.Time { return epoch.Add(time.Duration(row.now) * time.Second) },
		})
		if !errors.Is(err, row.want) {
			t.Fatalf("New at %d with a grant from %d = %v, want %v", row.now, row.first, err, row.want)
		}
		if err == nil {
			if f := next(t, g); f.Delta != 1023 {
				t.Errorf("%v, want delta 1023", f)
			}
			g.Close()
		}
	}
}
