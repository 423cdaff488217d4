package cached_test

import (
	"testing"

	"github.com/uidring/uidring/cached"
)

// The module bench compares the ways of taking IDs with others. This is Next alone, with blocks of
// 8,192 in a ring of 8, and with blocks of 16 in a ring of 2, which the padding goroutine cannot
// keep filled.
func BenchmarkNext(b *testing.B) {
	for name, cfg := range map[string]cached.Config{"ring": {}, "padded inline": {Layout: narrow(), BoostPower: 1}} {
		b.Run(name, func(b *testing.B) {
			g := open(b, cfg)
			for b.Loop() {
				if _, err := g.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
