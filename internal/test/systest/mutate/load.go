package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
)

// A pkg is a package with the types of its code.
type pkg struct {
	name  string // the folder, for the names of mutants
	fset  *token.FileSet
	info  types.Info
	funcs map[*types.Func]*ast.BlockStmt
	met   map[*types.Func]bool // the results of bodyMeets
	files []*file
}

// A listed is a package in the output of go list.
type listed struct {
	ImportPath string
	Export     string // the file of its compiled code
	GoFiles    []string
}

// load finds the mutants of the package in a folder, in the files that this machine builds.
func load(ctx context.Context, dir string) (*pkg, error) {
	out, err := goTool(ctx, "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles", "./"+dir).Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./%s: %w", dir, err)
	}
	var itself listed // the last one, after its dependencies
	exports := make(map[string]string)
	for list := json.NewDecoder(bytes.NewReader(out)); list.More(); {
		itself = listed{}
		if err := list.Decode(&itself); err != nil {
			return nil, fmt.Errorf("go list ./%s: %w", dir, err)
		}
		exports[itself.ImportPath] = itself.Export
	}
	p := &pkg{name: dir, fset: token.NewFileSet()}
	for _, name := range itself.GoFiles {
		p.files = append(p.files, &file{pkg: p, name: filepath.Join(dir, name)})
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	return p, p.find(importer.ForCompiler(p.fset, "gc", open))
}

// find reads the files of the package and finds their mutants and reasons, even if types are wrong.
// Then it returns an error, too.
func (p *pkg) find(imports types.Importer) error {
	var trees []*ast.File
	for _, f := range p.files {
		src, err := os.ReadFile(f.name)
		if err != nil {
			return err
		}
		f.src = string(src)
		f.tree, err = parser.ParseFile(p.fset, f.name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		trees = append(trees, f.tree)
	}
	err := p.check(trees, imports)
	for _, f := range p.files {
		f.findMutants()
		err = errors.Join(err, f.findReasons())
	}
	return err
}

// check finds the types of all expressions, and the bodies of all funcs.
func (p *pkg) check(trees []*ast.File, imports types.Importer) error {
	p.info = types.Info{
		Types:      make(map[ast.Expr]types.TypeAndValue),
		Defs:       make(map[*ast.Ident]types.Object),
		Uses:       make(map[*ast.Ident]types.Object),
		Selections: make(map[*ast.SelectorExpr]*types.Selection),
	}
	config := types.Config{Importer: imports, Error: func(error) {}} // goes on after an error
	_, err := config.Check(p.name, p.fset, trees, &p.info)
	p.funcs, p.met = make(map[*types.Func]*ast.BlockStmt), make(map[*types.Func]bool)
	for _, tree := range trees {
		for _, d := range tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				if f, ok := p.info.Defs[d.Name].(*types.Func); ok {
					p.funcs[f] = d.Body
				}
			}
		}
	}
	return err
}
