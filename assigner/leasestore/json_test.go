package leasestore

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// Files, keys of kvassigner and remote leases hold rows in JSON: another name of a field would lose
// its value.
func TestJSONKeepsItsNames(t *testing.T) {
	row := Row{WorkerID: 1, Version: 2, Fence: 9223372036854775806, Oldest: 9223372036854775801, Former: 9223372036854775800, Token: "T", Owner: "ö <>", Holder: "H", Identity: "I",
		Expires: time.Date(2026, time.November, 21, 1, 2, 3, 4, time.UTC)}
	meta := Meta{Version: 4, Namespace: "N", Layout: bitsalloc.Default(), Epoch: bitsalloc.DefaultEpoch(), DatacenterID: 3, FirstWorkerID: 1,
		NextWorkerID: 2, Fence: 9223372036854775805, Horizon: 9223372036854775802, Quarantine: 9223372036854775799, Token: "M", Identity: "J"}
	want := `{"Row":{"WorkerID":1,"Version":2,"Fence":9223372036854775806,"Oldest":9223372036854775801,"Former":9223372036854775800,"Token":"T","Owner":"ö \u003c\u003e","Holder":"H","Identity":"I",` +
		`"Expires":"2026-11-21T01:02:03.000000004Z"},` +
		`"Meta":{"Version":4,"Namespace":"N","Layout":"28/5/17/13@1s","Epoch":"2026-01-01T00:00:00Z","DatacenterID":3,"FirstWorkerID":1,` +
		`"NextWorkerID":2,"Fence":9223372036854775805,"Horizon":9223372036854775802,"Quarantine":9223372036854775799,"Token":"M","Identity":"J"}}`
	type both struct {
		Row  Row
		Meta Meta
	}
	var found both
	text, err := json.Marshal(both{row, meta})
	if err != nil || string(text) != want {
		t.Errorf("%s, %v; want\n%s", text, err, want)
	}
	if err := json.Unmarshal([]byte(want), &found); err != nil || found != (both{row, meta}) {
		t.Errorf("%+v, %v; want %+v, %+v", found, err, row, meta)
	}
}

func TestCheckTextsAllowsUTF8Alone(t *testing.T) {
	const wrong = "a\xffb"
	for _, err := range []error{Row{Token: wrong}.CheckTexts(), Row{Owner: wrong}.CheckTexts(), Row{Holder: wrong}.CheckTexts(), Row{Identity: wrong}.CheckTexts(),
		Meta{Namespace: wrong}.CheckTexts(), Meta{Token: wrong}.CheckTexts(), Meta{Identity: wrong}.CheckTexts()} {
		if err == nil {
			t.Error("no error for a text that JSON would change")
		}
	}
	if err := (Row{Owner: "ö"}).CheckTexts(); err != nil {
		t.Error(err)
	}
}
