package uidring_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestScripts runs the scripts in testdata. Below a command the script has the ID, or the error,
// whose text has all fields of an InvalidError. A text may be quoted, as in Go.
//
//	write 7                      writes an ID in each text form, and reads it back
//	decimal "7", base32, base62  reads a text form
//	text "7"                     calls UnmarshalText
//	json `"7"`, field `"7"`      calls UnmarshalJSON, and json.Unmarshal
//	scan int64 7                 calls Scan with a value of one of the types in columns
func TestScripts(t *testing.T) {
	scripts.Each(t, func(t *testing.T, s *testkit.Script, words testkit.Words) { script{s, t}.do(words) })
}

// A script prints the answers of commands.
type script struct {
	*testkit.Script
	*testing.T
}

// do makes a command.
func (s script) do(words testkit.Words) {
	text := words[len(words)-1]
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	switch words[0] {
	case "write":
		s.write(uidring.ID(words.Number(1)))
	case "text":
		s.change(func(id *uidring.ID) error { return id.UnmarshalText([]byte(text)) })
	case "json":
		s.change(func(id *uidring.ID) error { return id.UnmarshalJSON([]byte(text)) })
	case "field":
		s.change(func(id *uidring.ID) error { return json.Unmarshal([]byte(text), id) })
	case "scan":
		s.change(func(id *uidring.ID) error { return id.Scan(columns[words[1]](text)) })
	default:
		s.read(words[0], text)
	}
}

// write prints the texts of an ID.
func (s script) write(id uidring.ID) {
	for _, f := range textForms() {
		text := f.write(id)
		s.Print("  %s %s", f.name, text)
		if got, err := f.read(text); got != id || err != nil {
			s.Errorf("%s %q reads as %d, %v, want %d", f.name, text, int64(got), err, int64(id))
		}
	}
	if both := string(id.AppendBase62(id.AppendBase32(nil))); both != id.Base32()+id.Base62() {
		s.Errorf("base62 behind base32: %q", both)
	}
}

// read prints the ID of a text.
func (s script) read(form, text string) {
	i := slices.IndexFunc(textForms(), func(f textForm) bool { return f.name == form })
	id, err := textForms()[i].read(text)
	if err != nil && id != 0 {
		s.Errorf("ID %d beside an error", int64(id))
	}
	s.answer(id, err)
}

// change prints the ID that a method reads. An error leaves the ID as it was.
func (s script) change(read func(*uidring.ID) error) {
	id := uidring.ID(-7)
	err := read(&id)
	if err != nil && id != -7 {
		s.Errorf("ID %d after an error, want -7 as before", int64(id))
	}
	s.answer(id, err)
}

// answer prints an ID or an error. The text of an error names its kind.
func (s script) answer(id uidring.ID, err error) {
	if err == nil {
		s.Print("  %d", int64(id))
		return
	}
	for _, kind := range []error{uidring.ErrSyntax, uidring.ErrRange, uidring.ErrNull} {
		if strings.HasPrefix(err.Error(), kind.Error()) {
			checkInvalid(s.T, err.Error(), err, kind)
		}
	}
	s.Print("  %v", err)
}

// columns returns values of the types that Scan may get, with a text.
var columns = map[string]func(text string) any{
	"nil":      func(string) any { return nil },
	"string":   func(text string) any { return text },
	"bytes":    func(text string) any { return []byte(text) },
	"no-bytes": func(string) any { return []byte(nil) },
	"int64":    func(text string) any { return number(text) },
	"*ID":      func(text string) any { return new(uidring.ID(number(text))) },
	"nil-*ID":  func(string) any { return (*uidring.ID)(nil) },
	"uint64": func(text string) any {
		n, _ := strconv.ParseUint(text, 10, 64)
		return n
	},
	"float64": func(text string) any {
		n, _ := strconv.ParseFloat(text, 64)
		return n
	},
	"bool": func(text string) any { return text == "true" },
	"time": func(text string) any { return time.Unix(number(text), 0).UTC() },
}

func number(text string) int64 { return testkit.Words{text}.Number(0) }
