// Package api keeps the exported API of all packages in docs/API.txt, where a review sees a change.
package api

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uidring/uidring/internal/test/testkit"
)

var update = flag.Bool("update", false, "write docs/API.txt")

var blank = regexp.MustCompile(`\n\n+`)

const (
	root   = "../../../.."
	golden = root + "/docs/API.txt"
)

func TestAPIIsTheGoldenOne(t *testing.T) {
	var text bytes.Buffer
	testkit.Must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil || !entry.IsDir():
			return err
		case slices.Contains([]string{"internal", "cmd", "bench", "testdata", "clients", "docs"}, name), strings.HasPrefix(name, ".") && path != root:
			return fs.SkipDir
		}
		return write(&text, path)
	}))
	if *update {
		testkit.Must(t, os.WriteFile(golden, text.Bytes(), 0o644))
	}
	want := testkit.ReadFile(t, golden)
	if difference := cmp.Diff(strings.Split(want, "\n"), strings.Split(text.String(), "\n")); difference != "" {
		t.Errorf("the exported API is not as in docs/API.txt:\n%sif the change is meant (docs/STABILITY.md), run: cd internal/test/systest && go test ./api -update", difference)
	}
}

// write appends the exported declarations of the package in a folder, if it has one.
func write(text *bytes.Buffer, folder string) error {
	linux := build.Default
	linux.GOOS, linux.GOARCH = "linux", "amd64"
	pkg, err := linux.ImportDir(folder, 0)
	if _, none := err.(*build.NoGoError); none {
		return nil
	}
	if err != nil {
		return err
	}
	var decls []string
	experimental := ""
	for _, name := range pkg.GoFiles {
		files := token.NewFileSet()
		source, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		if bytes.Contains(source, []byte("\n// Experimental: ")) {
			experimental = " // experimental"
		}
		file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.FileExports(file)
		for _, decl := range file.Decls {
			for _, bare := range strip(decl) {
				var printed bytes.Buffer
				if err := format.Node(&printed, files, bare); err != nil {
					return err
				}
				decls = append(decls, blank.ReplaceAllString(printed.String(), "\n"))
			}
		}
	}
	slices.Sort(decls)
	path, _ := filepath.Rel(root, folder)
	fmt.Fprintf(text, "package %s%s\n\n%s\n\n", filepath.ToSlash(filepath.Join("github.com/uidring/uidring", path)), experimental, strings.Join(decls, "\n"))
	return nil
}

// strip returns the declarations in decl without bodies of funcs and values of variables. Constants
// keep their places, since iota counts them.
func strip(decl ast.Decl) (all []ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		d.Body = nil
		if d.Recv == nil || ast.IsExported(strings.TrimLeft(types.ExprString(d.Recv.List[0].Type), "*")) {
			all = append(all, d)
		}
	case *ast.GenDecl:
		if d.Tok == token.CONST {
			return []ast.Decl{d}
		}
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				v.Values = nil
			}
			if _, isImport := spec.(*ast.ImportSpec); !isImport {
				all = append(all, &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{spec}})
			}
		}
	}
	return all
}
