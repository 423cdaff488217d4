package uidring_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/uidring/uidring"
)

// A textForm is one of the text forms.
type textForm struct {
	name  string
	write func(uidring.ID) string
	read  func(string) (uidring.ID, error)
}

func textForms() []textForm {
	return []textForm{
		{"decimal", uidring.ID.String, uidring.Parse},
		{"base32", uidring.ID.Base32, uidring.ParseBase32},
		{"base62", uidring.ID.Base62, uidring.ParseBase62},
	}
}

// fixedForms are those whose texts sort as the IDs do.
func fixedForms() []textForm { return textForms()[1:] }

// sampleIDs returns the borders of digits and bits with their neighbours, and random IDs of every
// size, sorted.
func sampleIDs() []uidring.ID {
	ids := []uidring.ID{0, 1, math.MaxInt64, math.MaxInt64 - 1}
	around := func(n uint64) {
		for _, n := range [...]uint64{n - 1, n, n + 1} {
			if n <= math.MaxInt64 {
				ids = append(ids, uidring.ID(n))
			}
		}
	}
	for bit := range 63 {
		around(1 << bit)
	}
	for power, i := uint64(1), 0; i < 11; power, i = power*62, i+1 {
		around(power)
		around(power * 10)
		around(power * 36)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		ids = append(ids, uidring.ID(random.Int64()>>random.IntN(63)))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// A negative number has no text that reads back, and never the text of another ID.
func TestNegativeNumbersSortLastAndDoNotReadBack(t *testing.T) {
	greatest := uidring.ID(math.MaxInt64)
	for _, f := range fixedForms() {
		seen := map[string]bool{}
		for _, id := range []uidring.ID{-1, -2, -62, math.MinInt64, math.MinInt64 + 1} {
			text := f.write(id)
			if text <= f.write(greatest) || len(text) != len(f.write(greatest)) || seen[text] {
				t.Errorf("%s of %d = %q, want a text of its own after %q", f.name, int64(id), text, f.write(greatest))
			}
			seen[text] = true
			checkInvalid(t, f.name+" "+text, second(f.read(text)), uidring.ErrRange)
		}
	}
}

var (
	_ encoding.TextAppender      = uidring.ID(0)
	_ encoding.TextMarshaler     = uidring.ID(0)
	_ encoding.TextUnmarshaler   = (*uidring.ID)(nil)
	_ encoding.BinaryMarshaler   = uidring.ID(0)
	_ encoding.BinaryUnmarshaler = (*uidring.ID)(nil)
	_ sql.Scanner                = (*uidring.ID)(nil)
	_ driver.Valuer              = uidring.ID(0)
)

func TestAppendFormsKeepWhatIsBefore(t *testing.T) {
	id := uidring.ID(176636547297255431)
	if got := id.AppendBase32([]byte("o/")); string(got) != "o/04WWA04002807" {
		t.Errorf("AppendBase32 = %q", got)
	}
	if got := id.AppendBase62([]byte("o/")); string(got) != "o/0D2zpT7hYBT" {
		t.Errorf("AppendBase62 = %q", got)
	}
}

func TestLogsHaveTheDecimalFormAsAString(t *testing.T) {
	var out bytes.Buffer
	options := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	id := uidring.ID(176636547297255431)
	slog.New(slog.NewJSONHandler(&out, options)).Info("issued", "id", id, "pointer", &id)
	slog.New(slog.NewTextHandler(&out, options)).Info("issued", "id", id)
	want := `{"level":"INFO","msg":"issued","id":"176636547297255431","pointer":"176636547297255431"}` + "\n" +
		`level=INFO msg=issued id=176636547297255431` + "\n"
	if out.String() != want {
		t.Errorf("logged\n%swant\n%s", out.String(), want)
	}
}
