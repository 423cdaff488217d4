package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sameAsGolden compares got with a file of testdata.
func sameAsGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got)
	}
}

// sameAsGoldens compares the tables, the JSON and the CSV of a result with files of testdata.
func sameAsGoldens[R any](t *testing.T, name string, rows []R, r result) {
	t.Helper()
	sameAsGolden(t, name+".txt", shown(t, false, r))
	sameAsGolden(t, name+".json", shown(t, true, r))
	sameAsGolden(t, name+".csv", asCSV(t, rows))
}

func shown(t *testing.T, asJSON bool, r result) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := show(&out, asJSON, r); err != nil {
		t.Error(err)
	}
	return out.Bytes()
}

func asCSV[R any](t *testing.T, rows []R) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := report.WriteCSV(&out, rows); err != nil {
		t.Error(err)
	}
	return out.Bytes()
}

// madeUp returns facts that do not change.
func madeUp(command string) report.Facts {
	return report.Facts{Command: command, Date: time.Date(2027, time.March, 4, 4, 5, 6, 0, time.UTC), Commit: "0123456789ab",
		Machine: report.Machine{GoVersion: "go1.26.0", OS: "linux", Arch: "amd64", CPU: "Some CPU 3000", CPUs: 8, GOMAXPROCS: 2}}
}

// The golden files and the committed report show every key.
func TestJSONKeysAreLowerCaseWords(t *testing.T) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`"([^"]*)":`)
	word := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)
	for _, name := range append(names, filepath.Join(committed, figuresFile)) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range key.FindAllSubmatch(text, -1) {
			if !word.Match(found[1]) {
				t.Fatalf("%s: key %q, want lower case, words parted by underscores", name, found[1])
			}
		}
	}
}
