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
	"github.com/uidring/uidring/internal/test/gentest"
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
				return assigner.Grant{WorkerID: 1<<23 - 1, First: 1<<18 - 1000, Limit: 1 << 40, Guarantee: assigner.GuaranteeFenced}, nil
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
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
