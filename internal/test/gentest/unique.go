package gentest

import (
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
)

// order takes IDs on many goroutines, most with the first policy: calls that follow one another get
// increasing IDs.
func (s *suite) order(t *testing.T) {
	for _, goroutines := range []int{2, 8, 64} {
		g := s.open(t, keeper.Settings{Layout: bitsalloc.Snowflake()})
		n := 40_000 / (1 + 4*s.policy) / goroutines
		var taken idset.Ledger
		testkit.Together(goroutines, func(int) {
			for range n {
				if err := taken.Next(t, func() (int64, error) { return g.NextContext(t.Context()) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
