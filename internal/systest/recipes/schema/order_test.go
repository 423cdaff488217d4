package schema

import "testing"

func TestFields(t *testing.T) {
	for _, field := range (Order{}).Fields() {
		d := field.Descriptor()
		if d.Err != nil || d.Info.String() != "uidring.ID" || !d.Info.ValueScanner() || d.Nillable != (d.Name == "replaces") {
			t.Errorf("field %s: %v, type %s", d.Name, d.Err, d.Info)
		}
	}
}
