package recipes

import (
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	json2 "github.com/go-json-experiment/json"

	"github.com/uidring/uidring"
)

// A Form is a body of JSON.
type Form struct {
	ID       uidring.ID            `json:"id"`
	Replaces *uidring.ID           `json:"replaces"`        // null
	Parent   uidring.ID            `json:"parent,omitzero"` // left out
	Count    map[uidring.ID]int    `json:"count"`           // keys are strings
	Column   sql.Null[uidring.ID]  `json:"column"`          // an object: use *uidring.ID
	Numbers  []uidring.ID          `json:"numbers"`
	Named    map[string]uidring.ID `json:"named"`
}

// Both versions of encoding/json write and read an ID alike.
func TestJSON(t *testing.T) {
	const id, largest = 176636547297255431, 1<<63 - 1
	form := Form{ID: id, Count: map[uidring.ID]int{largest: 2}, Column: sql.Null[uidring.ID]{V: id, Valid: true}, Numbers: []uidring.ID{1, 2},
		Named: map[string]uidring.ID{"a": 3}}
	const want = `{"id":"176636547297255431","replaces":null,"count":{"9223372036854775807":2},` +
		`"column":{"V":"176636547297255431","Valid":true},"numbers":["1","2"],"named":{"a":"3"}}`
	for _, version := range []struct {
		name      string
		marshal   func(any) ([]byte, error)
		unmarshal func([]byte, any) error
	}{
		{"v1", json.Marshal, json.Unmarshal},
		{"v2", func(v any) ([]byte, error) { return json2.Marshal(v) }, func(text []byte, v any) error { return json2.Unmarshal(text, v) }},
	} {
		t.Run(version.name, func(t *testing.T) {
			text, err := version.marshal(form)
			if err != nil || string(text) != want {
				t.Fatalf("%s, %v, want %s", text, err, want)
			}
			var read Form
			if err := version.unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, form) {
				t.Errorf("%+v, %v, want %+v", read, err, form)
			}
			if err := version.unmarshal([]byte(`{"id":176636547297255431,"replaces":"7"}`), &read); err != nil || read.ID != id || *read.Replaces != 7 {
				t.Errorf("a number reads as %d, replaces %v, %v", read.ID, read.Replaces, err)
			}
			for _, text := range []string{`{"id":"x"}`, `{"replaces":1.5}`, `{"count":{"01":1}}`} {
				if err := version.unmarshal([]byte(text), &read); !errors.Is(err, uidring.ErrSyntax) {
					t.Errorf("%s: %v, want ErrSyntax", text, err)
				}
			}
			if _, err := version.marshal(Form{ID: -1}); !errors.Is(err, uidring.ErrRange) {
				t.Errorf("a negative ID: %v, want ErrRange", err)
			}
		})
	}
}
