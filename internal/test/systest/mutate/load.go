package main

import (
	"context"
	"errors"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// A pkg is a package with the types of its code.
type pkg struct {
	*packages.Package
	funcs map[*types.Func]*ast.BlockStmt
	met   map[*types.Func]bool // the results of bodyMeets
	files []*file
}

// load finds the mutants and reasons of a package, in the files that this machine builds, even if
// types are wrong. Then it returns an error, too. pattern is the package for go list, and dir
// stands in the names of mutants.
func load(ctx context.Context, dir, pattern string) (*pkg, error) {
	config := &packages.Config{Context: ctx, Mode: packages.LoadSyntax, Env: withoutWorkspace()}
	found, err := packages.Load(config, pattern)
	if err != nil {
		return nil, err
	}
	p := &pkg{Package: found[0], funcs: make(map[*types.Func]*ast.BlockStmt), met: make(map[*types.Func]bool)}
	for _, e := range p.Errors {
		err = errors.Join(err, e)
	}
	for _, tree := range p.Syntax {
		path := p.Fset.File(tree.FileStart).Name()
		src, errRead := os.ReadFile(path)
		err = errors.Join(err, errRead)
		p.files = append(p.files, &file{pkg: p, dir: dir, name: filepath.Join(dir, filepath.Base(path)), src: string(src), tree: tree})
		for _, d := range tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				f, _ := p.TypesInfo.Defs[d.Name].(*types.Func)
				p.funcs[f] = d.Body
			}
		}
	}
	for _, f := range p.files { // which need all funcs
		f.findMutants()
		err = errors.Join(err, f.findReasons())
	}
	return p, err
}
