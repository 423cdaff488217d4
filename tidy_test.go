package uidring_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

const module = "github.com/uidring/uidring"

// mayImport are the import directions of the library: the packages that each package may use beside
// the standard library. Packages at the bottom import no other package of the module; no package
// imports a store. net/http, and expvar, which links it, stay out of the generators, so the map
// lists them, too. "uidring" is the root package.
var mayImport = map[string]string{
	"uidring": "", "bitsalloc": "", "ringbuffer": "", "schema": "", "client": "uidring internal/check internal/generator internal/httpcall net/http",
	"internal/disk": "", "internal/test/original": "", "internal/check": "uidring", "internal/generator": "uidring", "internal/storecall": "", "internal/httpcall": "net/http", "vmclock": "",

	"assigner/leasestore": "bitsalloc internal/storecall",
	"assigner":            "bitsalloc assigner/leasestore internal/check internal/generator internal/storecall",
	"internal/keeper":     "uidring bitsalloc assigner assigner/leasestore internal/check internal/generator internal/storecall",

	"cached":      "uidring bitsalloc ringbuffer assigner internal/generator internal/keeper",
	"defaultgen":  "uidring bitsalloc assigner internal/generator internal/keeper",
	"segment":     "uidring ringbuffer internal/check internal/generator internal/storecall",
	"backdate":    "uidring bitsalloc assigner internal/generator internal/keeper internal/storecall",
	"metrics":     "assigner cached defaultgen segment expvar",
	"publicid":    "uidring",
	"uidringtest": "uidring assigner",

	"assigner/kvassigner":     "assigner assigner/leasestore segment internal/storecall golang.org/x/sync/errgroup",
	"assigner/k8sassigner":    "assigner assigner/leasestore assigner/kvassigner internal/httpcall net/http",
	"assigner/remoteassigner": "uidring assigner assigner/leasestore internal/httpcall internal/storecall net/http",
	"assigner/fileassigner":   "assigner assigner/leasestore segment internal/disk",
	"assigner/sqlassigner": "bitsalloc assigner assigner/leasestore schema segment internal/disk internal/storecall " +
		"github.com/jmoiron/sqlx github.com/go-sql-driver/mysql",
}

func TestImportDirections(t *testing.T) {
	out, err := goTool(t, "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...")
	testkit.Must(t, err)
	short := func(path string) string {
		return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(path, module), "/"), "uidring")
	}
	for line := range strings.Lines(out) {
		imports := strings.Fields(line)
		pkg := short(imports[0])
		if strings.HasPrefix(pkg, "internal/test/") || strings.HasSuffix(pkg, "/"+filepath.Base(filepath.Dir(pkg))+"test") {
			continue // of tests, and of conformance suites
		}
		allowed, ok := mayImport[pkg]
		if !ok {
			t.Errorf("package %q is not in mayImport: add it with the packages that it may import", pkg)
		}
		for _, path := range imports[1:] {
			listed := strings.Contains(path, ".") || path == "net/http" || path == "expvar"
			if listed && !slices.Contains(strings.Fields(allowed), short(path)) {
				t.Errorf("%s imports %s, allowed beside the standard library: %v", pkg, path, allowed)
			}
		}
	}
}

func TestDirectRequirements(t *testing.T) {
	out, err := goTool(t, "list", "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all")
	testkit.Must(t, err)
	want := []string{"github.com/go-sql-driver/mysql", "github.com/jmoiron/sqlx", "golang.org/x/sync"}
	if got := strings.Fields(out); !slices.Equal(got, want) {
		t.Errorf("direct requirements %v, want %v: anything heavier belongs in a nested module", got, want)
	}
}

// goTool runs the go command on the root module alone.
func goTool(t *testing.T, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
