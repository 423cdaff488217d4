package uidring_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/testkit"
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

func TestJSONWithinOtherValues(t *testing.T) {
	type order struct {
		ID     uidring.ID            `json:"id"`
		Parent *uidring.ID           `json:"parent"`
		Unset  uidring.ID            `json:"unset,omitzero"`
		Quoted uidring.ID            `json:"quoted,string"`
		Lines  []uidring.ID          `json:"lines"`
		Counts map[uidring.ID]string `json:"counts"`
	}
	parent := uidring.ID(1<<53 + 1)
	in := order{
		ID: 7, Parent: &parent, Quoted: 9,
		Lines: []uidring.ID{0, 1<<63 - 1}, Counts: map[uidring.ID]string{5: "five"},
	}
	text, err := json.Marshal(in)
	want := `{"id":"7","parent":"9007199254740993","quoted":"9","lines":["0","9223372036854775807"],"counts":{"5":"five"}}`
	if string(text) != want || err != nil {
		t.Fatalf("JSON\n%s, %v\nwant\n%s", text, err, want)
	}
	var out order
	testkit.Must(t, json.Unmarshal(text, &out))
	if again, err := json.Marshal(out); string(again) != want || err != nil {
		t.Errorf("JSON read and written again\n%s, %v\nwant\n%s", again, err, want)
	}
}
