package bitsalloc_test

import (
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/gauge"
	"github.com/uidring/uidring/internal/test/testgen"
)

func BenchmarkAllocate(b *testing.B) {
	a := testgen.Allocator(b, bitsalloc.Default(), bitsalloc.DefaultEpoch())
	gauge.Measure(b, gauge.Shared(gauge.Each(func() (int64, error) { return a.Allocate(1<<20, 3, 1<<10, 1<<12) }), gauge.Nothing))
}

func BenchmarkParse(b *testing.B) {
	a := testgen.Allocator(b, bitsalloc.Default(), bitsalloc.DefaultEpoch())
	gauge.Measure(b, gauge.Shared(gauge.Each(func() (int64, error) {
		f, err := a.Parse(176636547297255431)
		return f.Sequence, err
	}), gauge.Nothing))
}

func BenchmarkAtomicAdd(b *testing.B) { gauge.Measure(b, gauge.CalledAdd()) }
