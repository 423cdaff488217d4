package contestants

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/internal/test/testkit"
)

// The baselines issue no IDs, and the original's ring may return an ID twice.
func TestContestantsIssueDifferentIDs(t *testing.T) {
	const hands = 4
	for i, c := range All() {
		if c.Open == nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			src, err := c.Open(t.Context(), int64(2000+i))
			testkit.Must(t, err)
			each := 50_000
			if c.PerSecond > 0 {
				each = min(each, int(c.PerSecond/100))
			}
			ids := make([]int64, hands*each)
			_, err = load.Race(t.Context(), hands, 0, func(hand int, _ *atomic.Bool) (err error) {
				take := src.Join()
				for k := hand * each; k < (hand+1)*each; k++ {
					if ids[k], err = take(1); err != nil {
						return err
					}
				}
				return nil
			})
			testkit.Must(t, errors.Join(err, src.Close()))
			slices.Sort(ids)
			if different := len(slices.Compact(ids)); different != hands*each && c.Bits == 63 && c.Kind != Baselines {
				t.Errorf("%d IDs, %d different ones", hands*each, different)
			}
		})
	}
}
