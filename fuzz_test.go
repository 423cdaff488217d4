package uidring_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/testkit"
)

// FuzzTwoIDs writes two IDs in every form: each reads back, agrees with math/big, and sorts as it
// should.
func FuzzTwoIDs(f *testing.F) {
	ids := sampleIDs()
	for i := range len(ids) - 1 { // neighbors
		f.Add(int64(ids[i]), int64(ids[i+1]))
	}
	f.Fuzz(func(t *testing.T, a, b int64) {
		if a < 0 || b < 0 {
			return
		}
		for _, form := range textForms() {
			text := form.write(uidring.ID(a))
			if got, ok := modelRead(form.name, text); got != a || !ok {
				t.Fatalf("%s of %d = %q, which is the text of %d", form.name, a, text, got)
			}
			if got, err := form.read(text); int64(got) != a || err != nil {
				t.Fatalf("%s %q reads as %d, %v, want %d", form.name, text, int64(got), err, a)
			}
		}
		checkMarshalled(t, uidring.ID(a))
		if got := uidring.ID(a).Compare(uidring.ID(b)); got != cmp.Compare(a, b) {
			t.Fatalf("%d.Compare(%d) = %d", a, b, got)
		}
		for _, form := range fixedForms() {
			x, y := form.write(uidring.ID(a)), form.write(uidring.ID(b))
			if cmp.Compare(x, y) != cmp.Compare(a, b) {
				t.Fatalf("%s of %d and %d, %q and %q, do not sort as these", form.name, a, b, x, y)
			}
		}
	})
}

// checkMarshalled asks for the decimal form from all interfaces that write an ID.
func checkMarshalled(t *testing.T, id uidring.ID) {
	t.Helper()
	text, err := id.MarshalText()
	inJSON, errJSON := json.Marshal(id)
	value, errSQL := id.Value()
	binary, errBinary := id.MarshalBinary()
	testkit.Must(t, errors.Join(err, errJSON, errSQL, errBinary))
	if want := id.String(); string(text) != want || string(inJSON) != `"`+want+`"` || value != int64(id) || string(binary) != want {
		t.Fatalf("%s is written as %s, %s, %v, %s", want, text, inJSON, value, binary)
	}
	read := uidring.ID(-7)
	if err := read.UnmarshalText(text); read != id || err != nil {
		t.Fatalf("UnmarshalText(%q) = %d, %v", text, int64(read), err)
	}
}

// FuzzParsers reads any text as any form. An accepted text is equal to the text written for its ID,
// except for Crockford's aliases, and math/big reads the same number. A refused text is not the
// text of any ID.
func FuzzParsers(f *testing.F) {
	for _, text := range []string{
		"", "0", "-1", "007", "176636547297255431", "9223372036854775808", "04WWA04002807", "o4wwaO4oo28o7", "iIlLoO0000000",
		"8000000000000", "zzzzzzzzzzzzz", "0D2zpT7hYBT", "AzL8n0Y58m8", "zzzzzzzzzzz", "00000000000é", "\xff",
		"18446744073709551616", "18446744073709551617", "92233720368547758080", // 2^64, 2^64 + 1, 2^63 and a digit more
		"FZZZZZZZZZZZZ", "G000000000001", "LygHa16AHYF", "LygHa16AHYH", // 2^64 - 1, 2^64 + 1
	} {
		f.Add(text)
	}
	for _, text := range []string{"123456", "000000000000", "0000000000"} { // of each form, without the last character
		for b := range 256 {
			f.Add(text + string([]byte{byte(b)}))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		crockford := strings.NewReplacer("I", "1", "L", "1", "O", "0").Replace(asciiUpper(text))
		for i, canonical := range []string{text, crockford, text} {
			form := textForms()[i]
			id, err := form.read(text)
			if err == nil && (id < 0 || form.write(id) != canonical) {
				t.Fatalf("%s %q reads as %d, which is written %q", form.name, text, int64(id), form.write(id))
			}
			if want, ok := modelRead(form.name, canonical); ok != (err == nil) || int64(id) != want {
				t.Fatalf("%s %q reads as %d, %v, want %d, success: %v", form.name, text, int64(id), err, want, ok)
			}
			if err != nil {
				checkInvalid(t, form.name+" "+text, err, kindOf(err))
			}
		}
	})
}

// asciiUpper keeps characters that strings.ToUpper would turn into ASCII letters, such as ı.
func asciiUpper(text string) string {
	upper := []byte(text)
	for i, c := range upper {
		if 'a' <= c && c <= 'z' {
			upper[i] = c - 32
		}
	}
	return string(upper)
}

// modelRead evaluates a canonical text of a form with math/big, digit by digit.
func modelRead(form, text string) (id int64, ok bool) {
	alphabet, width := "0123456789", len(text)
	switch form {
	case "base32":
		alphabet, width = "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 13
	case "base62":
		alphabet, width = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11
	default:
		if text == "" || len(text) > 1 && text[0] == '0' {
			return 0, false
		}
	}
	n, base := new(big.Int), big.NewInt(int64(len(alphabet)))
	for i := range len(text) {
		digit := strings.IndexByte(alphabet, text[i])
		if digit < 0 {
			return 0, false
		}
		n.Add(n.Mul(n, base), big.NewInt(int64(digit)))
	}
	if len(text) != width || n.Cmp(big.NewInt(math.MaxInt64)) > 0 {
		return 0, false
	}
	return n.Int64(), true
}

// kindOf returns the kind that an error has, for checkInvalid to see that it has no other.
func kindOf(err error) error {
	if errors.Is(err, uidring.ErrRange) {
		return uidring.ErrRange
	}
	return uidring.ErrSyntax
}

// FuzzJSON compares with encoding/json's own reading of the same text as a string or number.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`"7"`, `7`, `null`, `"07"`, `-0`, `1e3`, `"\u0037"`, `"\ud800"`, `""`, `"9223372036854775807"`, `9223372036854775808`, `9007199254740991`, `9007199254740992`,
		` 7 `, `[7]`, `{"7":7}`, `true`, `"7`, `7"`, `"\"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		direct := uidring.ID(-7)
		_ = direct.UnmarshalJSON(data) // must not panic for any input

		var value any
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if !json.Valid(data) || decoder.Decode(&value) != nil {
			return
		}
		var want int64
		ok := false
		switch v := value.(type) {
		case string:
			want, ok = modelRead("decimal", v)
		case json.Number:
			want, ok = modelRead("decimal", v.String())
			ok = ok && want < 1<<53
		case nil:
			want, ok = -7, true
		}
		id := uidring.ID(-7)
		err := json.Unmarshal(data, &id)
		if !ok {
			want = -7
		}
		if ok != (err == nil) || int64(id) != want {
			t.Fatalf("%s reads as %d, %v, want %d, success: %v", data, int64(id), err, want, ok)
		}
	})
}
