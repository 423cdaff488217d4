package uidring_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/uidring/uidring"

// mayImport are the import directions of the library: the packages that each package may use beside
// the standard library. Packages at the bottom import no other package of the module; no package
// imports a store.
var mayImport = map[string][]string{
	"":                        {},
	"bitsalloc":               {},
	"ringbuffer":              {},
	"schema":                  {},
	"assigner/leasestore":     {module + "/bitsalloc"},
	"assigner":                {module + "/bitsalloc", module + "/assigner/leasestore"},
	"assigner/kvassigner":     {module + "/assigner", module + "/assigner/leasestore"},
	"assigner/remoteassigner": {module + "/assigner", module + "/assigner/leasestore"},
	"assigner/k8sassigner":    {module + "/assigner", module + "/assigner/leasestore", module + "/assigner/kvassigner"},
	"assigner/fileassigner":   {module + "/assigner", module + "/assigner/leasestore", module + "/segment", module + "/internal/disk"},
	"assigner/assignertest": {module + "/bitsalloc", module + "/assigner", module + "/assigner/leasestore", module + "/internal/test/faultconn", module + "/internal/test/process",
		module + "/internal/test/together"},
	"assigner/sqlassigner": {module + "/bitsalloc", module + "/assigner", module + "/assigner/leasestore", module + "/schema", module + "/segment", module + "/internal/disk", "github.com/jmoiron/sqlx", "github.com/go-sql-driver/mysql"},
	"internal/generator":   {},
	"internal/keeper":      {module + "/bitsalloc", module + "/assigner", module + "/assigner/leasestore", module + "/internal/generator"},
	"internal/test/gentest": {module + "/assigner", module + "/assigner/leasestore", module + "/bitsalloc", module + "/internal/generator", module + "/internal/keeper",
		module + "/internal/test/bubble", module + "/internal/test/cleanup", module + "/internal/test/fakeassigner",
		module + "/internal/test/idset", module + "/internal/test/process", module + "/internal/test/recorder", module + "/internal/test/together"},
	"internal/disk":       {},
	"internal/original":   {},
	"defaultgen":          {module, module + "/bitsalloc", module + "/assigner", module + "/assigner/leasestore", module + "/internal/generator", module + "/internal/keeper"},
	"uidringtest":         {module, module + "/assigner", module + "/assigner/leasestore"},
	"metrics":             {module + "/assigner", module + "/assigner/leasestore", module + "/cached", module + "/defaultgen", module + "/segment"},
	"cached":              {module, module + "/bitsalloc", module + "/ringbuffer", module + "/assigner", module + "/assigner/leasestore", module + "/internal/generator", module + "/internal/keeper"},
	"segment":             {module, module + "/ringbuffer", module + "/internal/generator"},
	"client":              {},
	"segment/segmenttest": {module + "/segment", module + "/internal/test/idset", module + "/internal/test/process", module + "/internal/test/together", "golang.org/x/sync/errgroup"},

	"internal/test/bubble":       {},
	"internal/test/cleanup":      {},
	"internal/test/fakeassigner": {module + "/assigner", module + "/assigner/leasestore"},
	"internal/test/faultconn":    {},
	"internal/test/idset":        {},
	"internal/test/process":      {},
	"internal/test/poll":         {},
	"internal/test/recorder":     {},
	"internal/test/storetest": {module + "/assigner", module + "/assigner/leasestore", module + "/assigner/assignertest", module + "/assigner/sqlassigner", module + "/internal/test/faultconn", module + "/internal/test/idset", module + "/internal/test/poll",
		module + "/internal/test/recorder", module + "/internal/test/together", module + "/segment", module + "/segment/segmenttest", "github.com/jmoiron/sqlx"},
	"internal/test/stores": {module + "/assigner", module + "/assigner/leasestore", module + "/assigner/assignertest", module + "/internal/test/poll",
		module + "/internal/test/testserver"},
	"internal/test/testgen":    {module + "/assigner", module + "/assigner/leasestore", module + "/assigner/fileassigner", module + "/cached", module + "/internal/test/cleanup"},
	"internal/test/together":   {},
	"internal/test/testserver": {module + "/internal/disk", module + "/internal/test/poll", module + "/internal/test/process"},
}

func TestImportDirections(t *testing.T) {
	out, err := goTool(t, "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		pkg := strings.TrimPrefix(strings.TrimPrefix(fields[0], module), "/")
		allowed, ok := mayImport[pkg]
		if !ok {
			t.Errorf("package %q is not in mayImport: add it with the packages that it may import", pkg)
		}
		for _, path := range fields[1:] {
			if strings.Contains(path, ".") && !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s, allowed beside the standard library: %v", fields[0], path, allowed)
			}
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

// TestReadmeProgramCompiles builds the program that the README shows.
func TestReadmeProgramCompiles(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	program, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("README.md has no Go program")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := goTool(t, "build", "-o", filepath.Join(dir, "program"), file); err != nil {
		t.Fatalf("%v\n%s", err, out)
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

// TestFileNames holds file names to lower-case words parted by underscores.
func TestFileNames(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*\.go$`)
	for _, dir := range goFolders(t) {
		for _, path := range goFiles(t, dir) {
			if base := filepath.Base(path); !name.MatchString(base) {
				t.Errorf("%s: want lower case, words parted by underscores", path)
			}
		}
	}
}

// TestFunctionsAreShort holds functions of the library to 70 lines.
func TestFunctionsAreShort(t *testing.T) {
	for _, dir := range goFolders(t) {
		for _, path := range goFiles(t, dir) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range f.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > 70 {
					t.Errorf("%s: %s has %d lines, allowed: 70", path, fn.Name.Name, n)
				}
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
