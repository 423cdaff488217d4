package recipes

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring"
)

func TestGraphQL(t *testing.T) {
	var answer strings.Builder
	MarshalID(176636547297255431).MarshalGQL(&answer)
	if answer.String() != `"176636547297255431"` {
		t.Errorf("an ID is written as %s", answer.String())
	}
	for _, v := range []any{"7", json.Number("7"), int64(7)} {
		if id, err := UnmarshalID(v); id != 7 || err != nil {
			t.Errorf("%T reads as %d, %v", v, id, err)
		}
	}
	for _, v := range []any{"x", json.Number("1.5"), 1e18, true, nil, int64(-1)} {
		if id, err := UnmarshalID(v); !errors.Is(err, uidring.ErrSyntax) && !errors.Is(err, uidring.ErrRange) {
			t.Errorf("%T %v reads as %d, %v", v, v, id, err)
		}
	}
}
