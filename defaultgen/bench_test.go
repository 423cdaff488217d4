package defaultgen_test

import (
	"fmt"
	"testing"

	"github.com/uidring/uidring/defaultgen"
)

// The module bench compares Next with other generators. Here are the policies.
func BenchmarkNext(b *testing.B) {
	for policy := range defaultgen.GoOn + 1 {
		b.Run(fmt.Sprint("policy ", policy), func(b *testing.B) {
			g := open(b, defaultgen.Config{Layout: wide(), OnClockBack: policy})
			for b.Loop() {
				if _, err := g.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
