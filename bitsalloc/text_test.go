package bitsalloc_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

func TestParseLayout(t *testing.T) {
	for text, want := range map[string]bitsalloc.Layout{
		"default":         bitsalloc.Default(),
		"Snowflake":       bitsalloc.Snowflake(),
		"RECOMMENDED":     bitsalloc.Recommended(),
		"28/5/17/13":      bitsalloc.Default(),
		"28/5/17/13@1s":   bitsalloc.Default(),
		"41/0/10/12@1ms":  bitsalloc.Snowflake(),
		"0/0/0/0@0s":      {},
		"255/255/0/1@1m":  {DeltaBits: 255, DatacenterBits: 255, SequenceBits: 1, Unit: time.Minute},
		"31/0/12/20@1.5s": {DeltaBits: 31, WorkerBits: 12, SequenceBits: 20, Unit: 1500 * time.Millisecond},
	} {
		if got, err := bitsalloc.ParseLayout(text); err != nil || got != want {
			t.Errorf("ParseLayout(%q) = %v, %v, want %v", text, got, err, want)
		}
		written, err := json.Marshal(want)
		var read bitsalloc.Layout
		if err := errors.Join(err, json.Unmarshal(written, &read)); read != want || err != nil {
			t.Errorf("%s is read as %v, %v, want %v", written, read, err, want)
		}
	}
	for _, name := range bitsalloc.PresetNames() {
		if _, err := bitsalloc.ParseLayout(name); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{
		"", "defaults", "28", "28/5", "28/5/17", "41/10/12@1ms", "28/5/17/13/1s", "28/5/17/13 1s", "28/5/17/256", "28/5/-17/13", "28/5/17/", "28/5/17/13@",
		"28/5/17/13@1", "28/5/17/13@1s@1s", " 28/5/17/13", "28/5@1s", "28/5/17/256@1s",
	} {
		l, err := bitsalloc.ParseLayout(text)
		if !errors.Is(err, bitsalloc.ErrInvalidLayout) || l != (bitsalloc.Layout{}) || !strings.Contains(err.Error(), "recommended") {
			t.Errorf("ParseLayout(%q) = %v, %v, want ErrInvalidLayout and the names of presets", text, l, err)
		}
	}
}
