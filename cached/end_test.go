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
