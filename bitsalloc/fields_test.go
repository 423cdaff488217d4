package bitsalloc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

func goldenFields(t *testing.T) bitsalloc.Fields {
	t.Helper()
	f, err := mustNew(t, bitsalloc.Baidu(), originalEpoch).Parse(3200169789968523265)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFieldsString(t *testing.T) {
	want := "3200169789968523265 (2019-05-02T15:26:39Z, datacenter 0, worker 21, sequence 1)"
	f := goldenFields(t)
	if got := f.String(); got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	if got := fmt.Sprint(f); got != want {
		t.Errorf("Sprint = %q, want %q", got, want)
	}
	f.Time = f.Time.Add(40 * time.Millisecond)
	if got, want := f.String(), "3200169789968523265 (2019-05-02T15:26:39.04Z, datacenter 0, worker 21, sequence 1)"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
}

func TestFieldsJSONKeepsTheKeysOfTheOriginalAsStrings(t *testing.T) {
	got, err := json.Marshal(goldenFields(t))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"UID":"3200169789968523265","timestamp":"2019-05-02T15:26:39Z","datacenterId":"0","workerId":"21","sequence":"1"}`
	if string(got) != want {
		t.Errorf("JSON\n%s\nwant\n%s", got, want)
	}
	var read map[string]string // fails on a value that is no string
	if err := json.Unmarshal(got, &read); err != nil {
		t.Fatal(err)
	}
	keys := slices.Sorted(maps.Keys(read))
	if want := []string{"UID", "datacenterId", "sequence", "timestamp", "workerId"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	at, err := time.Parse(time.RFC3339, read["timestamp"])
	if err != nil || !at.Equal(goldenFields(t).Time) {
		t.Errorf("timestamp reads as %v, %v", at, err)
	}
}

func TestFieldsJSONKeepsMilliseconds(t *testing.T) {
	a := mustNew(t, bitsalloc.Layout{DeltaBits: 41, DatacenterBits: 5, WorkerBits: 5, SequenceBits: 12, Unit: time.Millisecond}, time.Time{})
	id, err := a.Allocate(1007, 31, 30, 4095)
	if err != nil {
		t.Fatal(err)
	}
	f, err := a.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(&f)
	want := `{"UID":"4227854335","timestamp":"2026-01-01T00:00:01.007Z","datacenterId":"31","workerId":"30","sequence":"4095"}`
	if string(got) != want || err != nil {
		t.Errorf("JSON\n%s, %v\nwant\n%s", got, err, want)
	}
}

func TestFieldsLogAsAGroup(t *testing.T) {
	var out bytes.Buffer
	options := &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	slog.New(slog.NewJSONHandler(&out, options)).Info("taken apart", "fields", goldenFields(t))
	slog.New(slog.NewTextHandler(&out, options)).Info("taken apart", "fields", goldenFields(t))
	want := `{"level":"INFO","msg":"taken apart","fields":{"id":"3200169789968523265","time":"2019-05-02T15:26:39Z",` +
		`"datacenter":0,"worker":21,"sequence":1}}` + "\n" +
		`level=INFO msg="taken apart" fields.id=3200169789968523265 fields.time=2019-05-02T15:26:39.000Z ` +
		`fields.datacenter=0 fields.worker=21 fields.sequence=1` + "\n"
	if out.String() != want {
		t.Errorf("logged\n%swant\n%s", out.String(), want)
	}
}
