package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// sameAsGolden compares what was printed with a file of testdata.
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

// printed returns what write writes.
func printed(t *testing.T, write func(w *bytes.Buffer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// madeUp are facts that do not change.
func madeUp(command string) facts {
	return facts{command, time.Date(2027, time.March, 4, 4, 5, 6, 0, time.UTC), testMachine()}
}
