package idtext_test

import (
	"strings"
	"testing"

	"github.com/uidring/uidring/cmd/uidring/internal/idtext"
)

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
