package uidring_test

import (
	"testing"

	"github.com/uidring/uidring"
)

// The sinks keep the compiler from dropping the measured code.
var (
	idSink  uidring.ID
	errSink error
)

func TestAppendFormsAndParsersAllocateNothing(t *testing.T) {
	id := uidring.ID(176636547297255431)
	dst := make([]byte, 0, 19)
	decimal, in32, in62 := id.String(), id.Base32(), id.Base62()
	text, number, quoted := []byte(decimal), any([]byte(decimal)), []byte(`"`+decimal+`"`)
	for name, call := range map[string]func(){
		"AppendText":    func() { dst, errSink = id.AppendText(dst[:0]) },
		"AppendBase32":  func() { dst = id.AppendBase32(dst[:0]) },
		"AppendBase62":  func() { dst = id.AppendBase62(dst[:0]) },
		"Parse":         func() { idSink, errSink = uidring.Parse(decimal) },
		"ParseBase32":   func() { idSink, errSink = uidring.ParseBase32(in32) },
		"ParseBase62":   func() { idSink, errSink = uidring.ParseBase62(in62) },
		"UnmarshalText": func() { errSink = idSink.UnmarshalText(text) },
		"UnmarshalJSON": func() { errSink = idSink.UnmarshalJSON(quoted) },
		"Scan":          func() { errSink = idSink.Scan(number) },
	} {
		if n := testing.AllocsPerRun(1000, call); n != 0 || errSink != nil {
			t.Errorf("%s makes %v allocations, error %v", name, n, errSink)
		}
	}
}
