package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// A reason says at a line of code why mutants of an operator may live there.
type reason struct {
	place    string // of the comment
	operator string
	line     int // of the code
	mutants  []*mutant
}

// findReasons finds the reasons of the file, and tells its mutants.
func (f *file) findReasons() error {
	lines := strings.Split(f.src, "\n")
	for _, group := range f.tree.Comments {
		for _, c := range group.List {
			d, ok := ast.ParseDirective(c.Pos(), c.Text)
			if !ok || d.Tool != "mutate" {
				continue
			}
			line := f.line(c.Pos())
			place := fmt.Sprintf("%s:%d", f.name, line)
			if d.Args == "" {
				return fmt.Errorf("%s: no reason: %s", place, c.Text)
			}
			for strings.HasPrefix(strings.TrimSpace(lines[line-1]), "//") {
				line++ // a comment on a line of its own belongs to the code below
			}
			for operator := range strings.SplitSeq(d.Name, ",") {
				f.explain(&reason{place: place, operator: operator, line: line})
			}
		}
	}
	return nil
}

// explain tells the mutants of a reason.
func (f *file) explain(r *reason) {
	for _, b := range f.bodies {
		for _, m := range b.mutants {
			if m.line == r.line && strings.HasSuffix(m.kind, ": "+r.operator) {
				m.reason = r
				r.mutants = append(r.mutants, m)
			}
		}
	}
	f.reasons = append(f.reasons, r)
}

// useless reports whether all mutants of the reason have been tried, and none lives.
func (r *reason) useless(tried func(name string) bool) bool {
	return !slices.ContainsFunc(r.mutants, func(m *mutant) bool { return m.lived || !tried(m.String()) })
}
