package recipes

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/uidring/uidring"
)

// An int64 takes up to 9 bytes beside its tag, and is a string in JSON, as an ID is.
func TestProtobuf(t *testing.T) {
	for _, id := range []uidring.ID{1, 176636547297255431, 1<<63 - 1} {
		message := wrapperspb.Int64(int64(id))
		wire, err := proto.Marshal(message)
		if err != nil || len(wire) > 10 {
			t.Fatalf("%d bytes, %v", len(wire), err)
		}
		read := new(wrapperspb.Int64Value)
		if err := proto.Unmarshal(wire, read); err != nil || uidring.ID(read.GetValue()) != id {
			t.Errorf("read %d, %v, want %d", read.GetValue(), err, id)
		}
		text, err := protojson.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := id.MarshalJSON(); string(text) != string(want) {
			t.Errorf("JSON %s, want %s", text, want)
		}
	}
}
