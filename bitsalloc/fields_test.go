package bitsalloc_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
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

func TestFieldsJSONKeepsTheKeysOfTheOriginalAsStrings(t *testing.T) {
	f := goldenFields(t)
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
