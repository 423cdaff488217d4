package cached_test

import (
	"testing"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/gentest"
)

// TestOneAllocationABlock takes thousands of blocks. Mallocs of the whole process are counted, and
// the runtime makes a few of its own for a goroutine that sleeps; one in a hundred blocks is more
// than those.
func TestOneAllocationABlock(t *testing.T) {
	batch, ctx := make([]int64, 256), t.Context()
	for name, row := range map[string]struct {
		take func(*cached.Generator) error
		ids  int
	}{
		"Next":        {func(g *cached.Generator) error { _, err := g.Next(); return err }, 1},
		"NextContext": {func(g *cached.Generator) error { _, err := g.NextContext(ctx); return err }, 1},
		"Fill":        {func(g *cached.Generator) error { _, err := g.Fill(batch); return err }, len(batch)},
	} {
		t.Run(name, func(t *testing.T) {
			g := open(t, cached.Config{Layout: gentest.Narrow()})
			calls := 40_000 / row.ids // thousands of blocks in short mode, too, or the runtime's own stand out
			allocs := testing.AllocsPerRun(5, func() {
				for range calls {
					if err := row.take(g); err != nil {
						t.Fatal(err)
					}
				}
			})
			if blocks := float64(calls * row.ids / 16); allocs > 1.01*blocks {
				t.Errorf("%v allocations in %v blocks, want one in each", allocs, blocks)
			}
		})
	}
}
