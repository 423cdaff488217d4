package uidring_test

import (
	"bytes"
	"encoding"
	"log/slog"
	"testing"

	"github.com/uidring/uidring"
)

var (
	_ encoding.TextAppender    = uidring.ID(0)
	_ encoding.TextMarshaler   = uidring.ID(0)
	_ encoding.TextUnmarshaler = (*uidring.ID)(nil)
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

func TestUnmarshalTextKeepsTheIDOnAnError(t *testing.T) {
	id := uidring.ID(7)
	checkInvalid(t, "UnmarshalText", id.UnmarshalText([]byte("7x")), uidring.ErrSyntax)
	if id != 7 {
		t.Errorf("ID = %d, want 7 as before", id)
	}
}
