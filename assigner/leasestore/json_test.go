package leasestore

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// Files, keys of kvassigner and remote leases hold rows in JSON: another name of a field would lose
// its value.
func TestJSONKeepsItsNames(t *testing.T) {
	row := Row{WorkerID: 1, Version: 2, Fence: 9223372036854775806, Oldest: 9223372036854775801, Former: 9223372036854775800, Token: "T", Owner: "ö <>", Holder: "H", Identity: "I",
		Expires: time.Date(2026, time.November, 21, 1, 2, 3, 4, time.UTC), Extra: "X"}
	meta := Meta{Version: 4, Namespace: "N", Layout: bitsalloc.Default(), Epoch: bitsalloc.DefaultEpoch(), DatacenterID: 3, FirstWorkerID: 1,
		NextWorkerID: 2, Fence: 9223372036854775805, Horizon: 9223372036854775802, Quarantine: 9223372036854775799, Token: "M", Identity: "J", Extra: "Y"}
	status := Status{Now: row.Expires, Seen: row.Expires, Identity: "K", Faults: []string{"f"}, Lossy: true, Store: "S", Namespace: "O"}
	want := `{"Row":{"workerID":1,"version":2,"fence":9223372036854775806,"oldest":9223372036854775801,"former":9223372036854775800,"token":"T","owner":"ö \u003c\u003e","holder":"H","identity":"I",` +
		`"expires":"2026-11-21T01:02:03.000000004Z","extra":"X"},` +
		`"Meta":{"version":4,"namespace":"N","layout":"28/5/17/13@1s","epoch":"2026-01-01T00:00:00Z","datacenterID":3,"firstWorkerID":1,` +
		`"nextWorkerID":2,"fence":9223372036854775805,"horizon":9223372036854775802,"quarantine":9223372036854775799,"token":"M","identity":"J","extra":"Y"},` +
		`"Status":{"now":"2026-11-21T01:02:03.000000004Z","seen":"2026-11-21T01:02:03.000000004Z","identity":"K","faults":["f"],"lossy":true,"store":"S","namespace":"O"}}`
	type all struct {
		Row    Row
		Meta   Meta
		Status Status
	}
	var found all
	text, err := json.Marshal(all{row, meta, status})
	if err != nil || string(text) != want {
		t.Errorf("%s, %v; want\n%s", text, err, want)
	}
	if err := json.Unmarshal([]byte(want), &found); err != nil || !reflect.DeepEqual(found, all{row, meta, status}) {
		t.Errorf("%+v, %v; want %+v, %+v, %+v", found, err, row, meta, status)
	}
}

func TestCheckTextsAllowsUTF8Alone(t *testing.T) {
	const wrong = "a\xffb"
	for _, err := range []error{Row{Token: wrong}.CheckTexts(), Row{Owner: wrong}.CheckTexts(), Row{Holder: wrong}.CheckTexts(), Row{Identity: wrong}.CheckTexts(),
		Row{Extra: wrong}.CheckTexts(), Row{Extra: "a\x00"}.CheckTexts(), Row{Extra: strings.Repeat("x", 1001)}.CheckTexts(), Meta{Extra: wrong}.CheckTexts(),
		Meta{Namespace: wrong}.CheckTexts(), Meta{Token: wrong}.CheckTexts(), Meta{Identity: wrong}.CheckTexts()} {
		if err == nil {
			t.Error("no error for a text that JSON would change, or that is too long")
		}
	}
	if err := (Row{Owner: "ö", Extra: strings.Repeat("ö", 500)}).CheckTexts(); err != nil {
		t.Error(err)
	}
}
