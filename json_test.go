package uidring_test

import (
	"encoding/json"
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
