package idtext_test

import (
	"strings"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/cmd/uidring/internal/idtext"
)

// Digits may be valid in two forms. Read does not guess: the form decides.
func TestReadDoesNotGuess(t *testing.T) {
	for _, row := range []struct {
		form, text string
		want       uidring.ID // 0: refused
		fault      string
	}{
		{"auto", "1234567890", 1234567890, ""},
		{"auto", "123456789012", 123456789012, ""},
		{"auto", "12345678901", 0, "ambiguous ID: \"12345678901\" is valid as decimal and as base62; set the form, decimal or base62"},
		{"decimal", "12345678901", 12345678901, ""},
		{"base62", "12345678901", 867042935339397333, ""},
		{"auto", "02345678901", 27743569471057109, ""}, // decimal numbers have no leading zero
		{"auto", "1234567890123", 0, "ambiguous ID: \"1234567890123\" is valid as decimal and as base32; set the form, decimal or base32"},
		{"decimal", "1234567890123", 1234567890123, ""},
		{"base32", "1234567890123", 1228503247364293699, ""},
		{"auto", "8234567890123", 8234567890123, ""}, // above the largest ID in base32
		{"auto", "0234567890123", 75581742757446723, ""},
		{"decimal", "02345678901", 0, "leading zero"},
		{"base32", "0D2zpT7hYBT", 0, "11 bytes long"},
		{"base62", "04WWA04002807", 0, "13 bytes long"},
		{"decimal", "0D2zpT7hYBT", 0, `character "D"`},
		{"auto", "", 0, "malformed ID"},
		{"auto", "８２３", 0, "malformed ID"},
	} {
		var form idtext.Form
		if err := form.Set(row.form); err != nil {
			t.Fatal(err)
		}
		id, err := form.Read(row.text)
		if row.fault == "" && (err != nil || id != row.want) {
			t.Errorf("%s %q = %d, %v, want %d", row.form, row.text, id, err, row.want)
		}
		if row.fault != "" && (err == nil || !strings.Contains(err.Error(), row.fault)) {
			t.Errorf("%s %q = %d, %v, want %s", row.form, row.text, id, err, row.fault)
		}
	}
}

// FuzzRead: Auto returns the same ID as the single form that can read the text. Every ID is read
// back from all its text forms.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"", "0", "176636547297255431", "04wwa04002807", "0D2zpT7hYBT", "12345678901", "8234567890123", "-5", "+1", " 1", "AzL8n0Y58m7"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := idtext.Auto.Read(text)
		read := 0
		for _, form := range []idtext.Form{idtext.Decimal, idtext.Base32, idtext.Base62} {
			other, errForm := form.Read(text)
			if errForm != nil {
				continue
			}
			read++
			if err == nil && other != id {
				t.Errorf("%q: auto %d, %s %d", text, id, form, other)
			}
		}
		if (err == nil) != (read == 1) {
			t.Errorf("%q: auto %d, %v; %d forms can read it", text, id, err, read)
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("%q: error of several lines: %q", text, err)
			}
			return
		}
		for form, written := range map[idtext.Form]string{idtext.Decimal: id.String(), idtext.Base32: id.Base32(), idtext.Base62: id.Base62()} {
			if again, err := form.Read(written); err != nil || again != id {
				t.Errorf("%s %q = %d, %v, want %d", form, written, again, err, id)
			}
		}
	})
}
