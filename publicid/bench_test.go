package publicid_test

import (
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/gauge"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/publicid"
)

func BenchmarkMask(b *testing.B)   { measure(b, (*publicid.Masker).Mask) }
func BenchmarkUnmask(b *testing.B) { measure(b, (*publicid.Masker).Unmask) }

func BenchmarkText(b *testing.B) {
	measure(b, func(m *publicid.Masker, id uidring.ID) uidring.ID { return uidring.ID(len(m.Text(id))) })
}

func BenchmarkParse(b *testing.B) {
	text := newMasker(b, "order", key1).Text(176636547297255431)
	measure(b, func(m *publicid.Masker, _ uidring.ID) uidring.ID {
		id, err := m.Parse(text)
		testkit.Must(b, err)
		return id
	})
}

func BenchmarkScatter(b *testing.B) {
	measure(b, func(_ *publicid.Masker, id uidring.ID) uidring.ID { return publicid.Scatter(id, 3) })
}

func BenchmarkAtomicAdd(b *testing.B) { gauge.Measure(b, gauge.CalledAdd()) }

func measure(b *testing.B, call func(*publicid.Masker, uidring.ID) uidring.ID) {
	m := newMasker(b, "order", key1)
	gauge.Measure(b, gauge.Shared(gauge.Each(func() (int64, error) { return int64(call(m, 176636547297255431)), nil }), gauge.Nothing))
}
