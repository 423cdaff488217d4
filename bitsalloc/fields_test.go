package bitsalloc_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

func TestFieldsJSONKeepsTheKeysOfTheOriginalAsStrings(t *testing.T) {
	f, err := mustNew(t, bitsalloc.Baidu(), originalEpoch).Parse(3200169789968523265)
	if err != nil {
		t.Fatal(err)
	}
	f.Time = f.Time.Add(7 * time.Millisecond)
	got, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"UID":"3200169789968523265","timestamp":"2019-05-02T15:26:39.007Z","datacenterId":"0","workerId":"21","sequence":"1"}`
	if string(got) != want {
		t.Errorf("JSON\n%s\nwant\n%s", got, want)
	}
}
