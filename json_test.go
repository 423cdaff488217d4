package uidring_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/testkit"
)

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

// JavaScript, and a decoder that reads numbers as float64, have rounded a larger number, and to
// another valid ID. The tag option string hands a string over as a number.
func TestJSONNumbersAreExact(t *testing.T) {
	const exact = 1<<53 - 1
	for _, c := range []struct {
		text string
		want uidring.ID // 0: refused
	}{
		{"9007199254740991", exact}, {`"9007199254740992"`, exact + 1}, {`"9223372036854775807"`, 1<<63 - 1},
		{"9007199254740992", 0}, {"121313928263237640", 0}, {"9223372036854775807", 0},
	} {
		var id uidring.ID
		err := json.Unmarshal([]byte(c.text), &id)
		if (err == nil) != (c.want > 0) || id != c.want {
			t.Errorf("%s: %d, %v, want %d", c.text, id, err, c.want)
		}
		if err != nil {
			checkInvalid(t, c.text, err, uidring.ErrRange)
			for _, remedy := range []string{"as a string, without the tag option string", "an int64 field"} {
				if !strings.Contains(err.Error(), remedy) {
					t.Errorf("%s: %v, want %q", c.text, err, remedy)
				}
			}
		}
	}
}

// encoding/json hands over nothing but JSON; others may call the method, too.
func TestUnmarshalJSONRefusesWhatIsNotJSON(t *testing.T) {
	for _, text := range []string{``, `"`, `"12`, `12"`, `"\"`, `"\x31"`, `"1"2"`, ` 1`, "\"1\\u00\"", `"1\`} {
		var id uidring.ID
		checkInvalid(t, text, id.UnmarshalJSON([]byte(text)), uidring.ErrSyntax)
	}
}
