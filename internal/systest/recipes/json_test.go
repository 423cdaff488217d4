package recipes

import (
	"errors"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/uidring/uidring"
)

// A Form is a body of JSON.
type Form struct {
	ID       uidring.ID         `json:"id"`
	Replaces *uidring.ID        `json:"replaces"`        // null
	Parent   uidring.ID         `json:"parent,omitzero"` // left out
	Count    map[uidring.ID]int `json:"count"`           // keys are strings
	Numbers  []uidring.ID       `json:"numbers"`
}

// Version 2 of encoding/json writes and reads an ID as version 1 does.
func TestJSONVersion2(t *testing.T) {
	const id, largest = 176636547297255431, 1<<63 - 1
	form := Form{ID: id, Count: map[uidring.ID]int{largest: 2}, Numbers: []uidring.ID{1, 2}}
	const want = `{"id":"176636547297255431","replaces":null,"count":{"9223372036854775807":2},"numbers":["1","2"]}`
	text, err := json.Marshal(form)
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v, want %s", text, err, want)
	}
	var read Form
	if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, form) {
		t.Errorf("%+v, %v, want %+v", read, err, form)
	}
	if err := json.Unmarshal([]byte(`{"id":176636547297255431,"replaces":"7"}`), &read); err != nil || read.ID != id || *read.Replaces != 7 {
		t.Errorf("a number reads as %d, replaces %v, %v", read.ID, read.Replaces, err)
	}
	for _, text := range []string{`{"id":"x"}`, `{"replaces":1.5}`, `{"count":{"01":1}}`} {
		if err := json.Unmarshal([]byte(text), &read); !errors.Is(err, uidring.ErrSyntax) {
			t.Errorf("%s: %v, want ErrSyntax", text, err)
		}
	}
	if _, err := json.Marshal(Form{ID: -1}); !errors.Is(err, uidring.ErrRange) {
		t.Errorf("a negative ID: %v, want ErrRange", err)
	}
}
