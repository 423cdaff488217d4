package leasestore_test

import (
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
)

func TestCheckTextsNamesEachTextThatIsNotUTF8(t *testing.T) {
	row := leasestore.Row{Token: "\xc3", Owner: "a\xffb", Holder: "\xfe", Identity: "\x80"}
	meta := leasestore.Meta{Namespace: "\xc3", Token: "a\xffb", Identity: "\xfe"}
	for _, tt := range []struct {
		err  error
		want int
	}{
		{row.CheckTexts(), 4},
		{meta.CheckTexts(), 3},
		{leasestore.Row{Owner: "é\x00"}.CheckTexts(), 0},
	} {
		got := 0
		if tt.err != nil {
			got = strings.Count(tt.err.Error(), "allowed: UTF-8")
		}
		if got != tt.want {
			t.Errorf("%v; want %d texts", tt.err, tt.want)
		}
	}
}
