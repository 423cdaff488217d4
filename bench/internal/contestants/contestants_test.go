package contestants

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/bench/internal/load"
)

// TestEveryContestantIssues takes IDs with two takers, as a lap does.
func TestEveryContestantIssues(t *testing.T) {
	for i, c := range All() {
		t.Run(c.Name, func(t *testing.T) {
			if c.Open == nil {
				if c.PerSecond == 0 {
					t.Error("neither measured nor capped")
				}
				return
			}
			src, err := c.Open(t.Context(), int64(1000+i))
			if err != nil {
				t.Fatal(err)
			}
			var seen []int64
			for range 2 {
				take, leave := src.Join()
				for range 2 {
					last, err := take(load.Stride)
					if err != nil {
						t.Fatal(err)
					}
					seen = append(seen, last)
				}
				leave()
			}
			if err := src.Close(); err != nil {
				t.Error(err)
			}
			if c.Bits == 63 && len(slices.Compact(slices.Sorted(slices.Values(seen)))) != len(seen) {
				t.Errorf("took %d, want different ones", seen)
			}
		})
	}
}

// The baselines are no generators of IDs, and the original's ring may return an ID twice.
func TestNoContestantOf63BitsIssuesAnIDTwice(t *testing.T) {
	const hands = 4
	for i, c := range All() {
		if c.Open == nil || c.Bits != 63 || c.Kind == Baselines {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			src, err := c.Open(t.Context(), int64(2000+i))
			if err != nil {
				t.Fatal(err)
			}
			each := 50_000
			if c.PerSecond > 0 {
				each = min(each, int(c.PerSecond/100))
			}
			ids := make([]int64, hands*each)
			_, err = load.Race(t.Context(), hands, 0, func(_ context.Context, hand int, _ *atomic.Bool) (err error) {
				take, leave := src.Join()
				defer leave()
				for k := hand * each; k < (hand+1)*each; k++ {
					if ids[k], err = take(1); err != nil {
						return err
					}
				}
				return nil
			})
			if err := errors.Join(err, src.Close()); err != nil {
				t.Fatal(err)
			}
			slices.Sort(ids)
			if different := len(slices.Compact(ids)); different != hands*each {
				t.Errorf("%d IDs, %d different ones", hands*each, different)
			}
		})
	}
}

func TestContestantsAreNamedOnceAndDescribed(t *testing.T) {
	names := make(map[string]bool)
	for _, c := range All() {
		if names[c.Name] {
			t.Errorf("%s: twice", c.Name)
		}
		names[c.Name] = true
		if c.Kind == "" || c.Kind != Baselines && (c.Bits == 0 || c.Order == "" || c.Worker == "" || c.Ahead == "") {
			t.Errorf("%s: %+v", c.Name, c)
		}
		if c.Crowd && c.PerSecond > 0 {
			t.Errorf("%s: many goroutines wait for the cap alone", c.Name)
		}
	}
	if !names[AtomicAddName] {
		t.Errorf("no contestant %s", AtomicAddName)
	}
}
