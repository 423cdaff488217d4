package fileassigner_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
)

func readFile(t *testing.T, elem ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(elem...))
	testkit.Must(t, err)
	return content
}

func writeFile(t *testing.T, content []byte, elem ...string) {
	t.Helper()
	testkit.Must(t, os.WriteFile(filepath.Join(elem...), content, 0o600))
}

// frame adds the checksum to a state.
func frame(body []byte) []byte {
	return fmt.Appendf(nil, `{"sha256":"%x","state":%s}`+"\n", sha256.Sum256(body), body)
}

// wantDamaged checks that a file with this content is rejected and stays unchanged.
func wantDamaged(t *testing.T, dir, name string, content []byte, what string) {
	t.Helper()
	writeFile(t, content, dir, name)
	rows, err := fileassigner.LeaseStore(dir, fileassigner.Config{}).List(t.Context())
	if !errors.Is(err, leasestore.ErrDamaged) || rows != nil {
		t.Fatalf("%s, %s: %v, %v; want ErrDamaged", name, what, rows, err)
	}
	if after := readFile(t, dir, name); !bytes.Equal(after, content) {
		t.Fatalf("%s, %s: it was changed to %q", name, what, after)
	}
}

func TestDamagedFileIsRefusedAndKept(t *testing.T) {
	dir, row := heldFolder(t)
	for _, name := range []string{"state.json", "lock"} {
		intact := readFile(t, dir, name)
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has mode %v, %v; want 0600", name, info.Mode(), err)
		}
		for i := range intact {
			wantDamaged(t, dir, name, intact[:i], fmt.Sprint("cut at ", i))
			wantDamaged(t, dir, name, append(bytes.Clone(intact[:i]), make([]byte, len(intact)-i)...), fmt.Sprint("zeros from ", i))
			flipped := bytes.Clone(intact)
			flipped[i] ^= []byte{1, ' ', 0x80}[i%3]
			wantDamaged(t, dir, name, flipped, fmt.Sprintf("byte %d is %#x", i, flipped[i]))
		}
		wantDamaged(t, dir, name, append(bytes.Clone(intact), '\n'), "a byte longer")
		testkit.Must(t, os.Remove(filepath.Join(dir, name)))
		stores.Fail(t, fileassigner.LeaseStore(dir, fileassigner.Config{}), leasestore.ErrDamaged.Error()) // a lost file is not made anew
		writeFile(t, intact, dir, name)
		if got := stores.Load(t, fileassigner.LeaseStore(dir, fileassigner.Config{}), row.WorkerID); got != row {
			t.Errorf("row %+v after %s is put back, want %+v", got, name, row)
		}
	}
}

func TestForeignStateIsRefused(t *testing.T) {
	dir, _ := heldFolder(t)
	other, _ := heldFolder(t)
	blank := diskFolder(t)
	statusOf(t, blank)
	intact := readFile(t, dir, "state.json")
	body := intact[bytes.Index(intact, []byte(`"state":`))+len(`"state":`) : len(intact)-len("}\n")]
	sum := func(body string) []byte { return frame([]byte(body)) }
	if !bytes.Equal(frame(body), intact) {
		t.Fatal("the test does not know the format")
	}
	for what, content := range map[string][]byte{
		"another store's":           readFile(t, other, "state.json"),
		"another store's, unused":   readFile(t, blank, "state.json"),
		"a later format":            sum(strings.Replace(string(body), `"reader":1`, `"reader":2`, 1)),
		"no format":                 sum(strings.Replace(string(body), `"reader":1,`, ``, 1)),
		"null":                      sum("null"),
		"nothing, with a checksum":  sum(""),
		"no JSON, with a checksum":  sum("{"),
		"a number that is too long": sum(strings.Replace(string(body), `"fence":`, `"fence":99999999999999999999`, 1)),
		"somebody's JSON":           []byte(`{"rows":[]}`),
	} {
		wantDamaged(t, dir, "state.json", content, what)
	}
	writeFile(t, sum(strings.Replace(string(body), `"reader":1`, `"reader":1,"later":1`, 1)), dir, "state.json")
	statusOf(t, dir) // a field of a later release does no harm
	wantDamaged(t, dir, "lock", []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "another ID")
	writeFile(t, intact, dir, "state.json")
	stores.Fail(t, fileassigner.LeaseStore(dir, fileassigner.Config{}), leasestore.ErrDamaged.Error())
}

// A process may end anywhere in the first operation on a folder.
func TestInterruptedStartGoesOn(t *testing.T) {
	made := diskFolder(t)
	id, _, _ := strings.Cut(statusOf(t, made).Identity, " ")
	state, lock := readFile(t, made, "state.json"), readFile(t, made, "lock")
	if string(lock) != id {
		t.Fatalf("lock has %q, the identity is of %q", lock, id)
	}
	for what, files := range map[string]map[string][]byte{
		"with the lock":               {"lock": nil},
		"with half a state":           {"lock": nil, "state.json.new": state[:len(state)/2]},
		"with a state beside":         {"lock": nil, "state.json.new": state},
		"with a state":                {"lock": nil, "state.json": state},
		"with a part of the ID":       {"lock": lock[:5], "state.json": state},
		"with zeros where the ID is":  {"lock": make([]byte, len(lock)), "state.json": state},
		"with all, and half the next": {"lock": lock, "state.json": state, "state.json.new": state[:7]},
	} {
		dir := diskFolder(t)
		for name, content := range files {
			writeFile(t, content, dir, name)
		}
		first := statusOf(t, dir)
		if second := statusOf(t, dir); first.Identity != second.Identity {
			t.Errorf("interrupted %s: identity %q, then %q", what, first.Identity, second.Identity)
		}
		if _, kept := files["state.json"]; kept != strings.HasPrefix(first.Identity, id) {
			t.Errorf("interrupted %s: identity %q, that of the state is %q", what, first.Identity, id)
		}
		stores.Create(t, fileassigner.LeaseStore(dir, fileassigner.Config{}), stores.Sample(), time.Hour)
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 {
			t.Errorf("interrupted %s: the folder has %v, %v; want lock and state.json", what, entries, err)
		}
	}
}
