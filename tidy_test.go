package uidring_test

import (
	"cmp"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/uidring/uidring"

// mayImport are the import directions of the library: the packages that each package may use beside
// the standard library. Packages at the bottom import no other package of the module; no package
// imports a store. "uidring" is the root package.
var mayImport = map[string]string{
	"uidring": "", "bitsalloc": "", "ringbuffer": "", "schema": "", "client": "",
	"internal/disk": "", "internal/original": "", "internal/generator": "uidring", "internal/storecall": "",

	"assigner/leasestore": "bitsalloc internal/storecall",
	"assigner":            "bitsalloc assigner/leasestore internal/storecall",
	"internal/keeper":     "bitsalloc assigner assigner/leasestore internal/generator internal/storecall",

	"cached":      "uidring bitsalloc ringbuffer assigner internal/generator internal/keeper",
	"defaultgen":  "uidring bitsalloc assigner internal/generator internal/keeper",
	"segment":     "uidring ringbuffer internal/generator",
	"metrics":     "assigner cached defaultgen segment",
	"publicid":    "uidring",
	"uidringtest": "uidring assigner",

	"assigner/kvassigner":     "assigner assigner/leasestore golang.org/x/sync/errgroup",
	"assigner/k8sassigner":    "assigner assigner/leasestore assigner/kvassigner",
	"assigner/remoteassigner": "assigner assigner/leasestore",
	"assigner/fileassigner":   "assigner assigner/leasestore segment internal/disk",
	"assigner/sqlassigner": "bitsalloc assigner assigner/leasestore schema segment internal/disk internal/storecall " +
		"github.com/jmoiron/sqlx github.com/go-sql-driver/mysql",
}

func TestImportDirections(t *testing.T) {
	out, err := goTool(t, "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...")
	if err != nil {
		t.Fatal(err)
	}
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
			if strings.Contains(path, ".") && !slices.Contains(strings.Fields(allowed), short(path)) {
				t.Errorf("%s imports %s, allowed beside the standard library: %v", pkg, path, allowed)
			}
		}
	}
}

func TestPackageCommentNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range goFolders(t) {
		internal := strings.Contains(dir, "internal") || strings.HasPrefix(dir, "cmd") || strings.HasPrefix(dir, "bench")
		if path := "[" + module + "/" + filepath.ToSlash(dir) + "]"; dir != "." && !internal && !strings.Contains(string(text), path) {
			t.Errorf("doc.go does not name %s", path)
		}
	}
}

func TestDirectRequirements(t *testing.T) {
	out, err := goTool(t, "list", "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"github.com/go-sql-driver/mysql", "github.com/jmoiron/sqlx", "golang.org/x/sync"}
	if got := strings.Fields(out); !slices.Equal(got, want) {
		t.Errorf("direct requirements %v, want %v: anything heavier belongs in a nested module", got, want)
	}
}

// TestProgramsOfPagesCompile builds the first program of each page.
func TestProgramsOfPagesCompile(t *testing.T) {
	for _, name := range []string{"README.md", "docs/FACES.md"} {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(page), "```go\n")
		program, _, found := strings.Cut(rest, "```")
		if !found {
			t.Fatalf("%s has no Go program", name)
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "main.go")
		if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := goTool(t, "build", "-o", filepath.Join(dir, "program"), file); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestExportedNamesAreDocumented covers the packages that users see.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, dir := range goFolders(t) {
		if strings.Contains(dir, "internal") {
			continue
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range goFiles(t, dir) {
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		pkg, err := doc.NewFromFiles(fset, files, dir)
		if err != nil {
			t.Fatal(err)
		}
		if pkg.Doc == "" {
			t.Errorf("%s: no package comment", dir)
		}
		checkDocs(t, dir, pkg)
	}
}

func checkDocs(t *testing.T, dir string, pkg *doc.Package) {
	funcs := slices.Clone(pkg.Funcs)
	for _, typ := range pkg.Types {
		if typ.Doc == "" {
			t.Errorf("%s: type %s has no comment", dir, typ.Name)
		}
		funcs = append(append(funcs, typ.Funcs...), typ.Methods...)
	}
	for _, f := range funcs {
		if f.Doc == "" && f.Level == 0 && f.Name != "Error" {
			t.Errorf("%s: func %s %s has no comment", dir, f.Recv, f.Name)
		}
	}
	for _, v := range append(slices.Clone(pkg.Vars), pkg.Consts...) {
		for _, spec := range v.Decl.Specs {
			if s := spec.(*ast.ValueSpec); v.Doc == "" && s.Doc == nil && s.Comment == nil {
				t.Errorf("%s: %v has no comment", dir, s.Names)
			}
		}
	}
}

// goFolders returns the folders with Go files of this repository, nested modules included.
func goFolders(t *testing.T) []string {
	var dirs []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
			return filepath.SkipDir
		}
		if len(goFiles(t, path)) > 0 {
			dirs = append(dirs, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// goFiles returns the Go files of a folder but its tests.
func goFiles(t *testing.T, dir string) []string {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(paths, func(p string) bool { return strings.HasSuffix(p, "_test.go") })
}

// goTool runs the go command on the root module alone.
func goTool(t *testing.T, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
