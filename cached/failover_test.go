package cached_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/bubble"
)

// TestFailoverRepeatsNoID issues the IDs of a full ring and loses the store. The copy that
// replaces the store is older: only a generator with a small ring had used it. Its quarantine must
// cover the large ring all the same.
func TestFailoverRepeatsNoID(t *testing.T) {
	for _, boost := range []int{3, 8} {
		bubble.Run(t, fmt.Sprint("BoostPower ", boost), func(t *testing.T) {
			on := func(dir string, boost int) cached.Config {
				return cached.Config{Layout: narrow(), Epoch: bubbleEpoch(), BoostPower: boost,
					Assigner: assigner.Leased(fileassigner.LeaseStore(dir), assigner.LeaseConfig{AllowUndurable: true})}
			}
			primary, standby := t.TempDir(), t.TempDir()
			if err := open(t, on(primary, 1)).Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(standby, os.DirFS(primary)); err != nil {
				t.Fatal(err)
			}
			lost := open(t, on(primary, boost))
			synctest.Wait()
			used := make(map[int64]bool)
			for _, id := range drain(t, lost) {
				used[id] = true
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			next, err := cached.NewContext(ctx, on(standby, 1))
			if err != nil {
				t.Fatal(err)
			}
			defer next.Close()
			for range 2000 { // 32 minutes at the pace of the clock
				time.Sleep(time.Second)
				for _, id := range take(t, next, 16) {
					if used[id] {
						t.Fatalf("%v is issued twice", parse(t, next, id))
					}
				}
			}
		})
	}
}

// TestLargeRingDoesNotRaiseTheFence: the grant of an idle generator reaches two windows ahead of
// the clock, and its ring no further.
func TestLargeRingDoesNotRaiseTheFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inBubble(t, cached.Config{BoostPower: 8,
			Assigner: assigner.Leased(fileassigner.LeaseStore(t.TempDir()), assigner.LeaseConfig{AllowUndurable: true})})
		for range 60 {
			time.Sleep(time.Minute)
			synctest.Wait()
			next(t, g)
			const windows = 2 * 30 * time.Second
			if s := g.Stats(); s.Window > windows || s.Ahead > windows || s.Window <= 0 {
				t.Fatalf("the window is %v, the ring %v ahead, want %v at most", s.Window, s.Ahead, windows)
			}
		}
	})
}
