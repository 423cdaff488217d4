package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

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
