package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// ordered reports whether the order of two neighboring statements can matter: one uses a variable
// that the other writes, other goroutines may see both, or the swap moves one out of its lock. A
// statement may as well move into a lock.
func (f *file) ordered(s, next ast.Stmt) bool {
	if !simple(s) || !simple(next) {
		return false
	}
	first, second := method(s), method(next)
	switch {
	case first == "Lock" && second == "Unlock", second == "Lock", first == "Unlock":
		return false
	case first == "Lock", second == "Unlock":
		return true
	}
	return f.pkg.meets(s) && f.pkg.meets(next) || f.uses(s, next) || f.uses(next, s)
}

// simple reports whether a statement has no statements of its own, and goes on with the next one.
func simple(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.AssignStmt, *ast.ExprStmt, *ast.GoStmt, *ast.IncDecStmt, *ast.SendStmt:
		return true
	}
	return false
}

// uses reports whether a statement uses a variable that another writes. A call of a method uses all
// fields of its receiver.
func (f *file) uses(s, writer ast.Stmt) (found bool) {
	for _, name := range f.written(writer) {
		ast.Inspect(s, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if selector, selected := e.(*ast.SelectorExpr); selected && f.pkg.TypesInfo.Selections[selector] != nil {
				if f.pkg.TypesInfo.Selections[selector].Kind() != types.FieldVal {
					return true
				}
			} else if _, ok = e.(*ast.Ident); !ok {
				return true
			}
			text := f.text(n)
			found = found || ok && (text == name || strings.HasPrefix(text, name+".") || strings.HasPrefix(name, text+"."))
			return false
		})
	}
	return found
}

// written returns the texts of the variables that a statement writes.
func (f *file) written(s ast.Stmt) (names []string) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		for _, e := range s.Lhs {
			if named(e) {
				names = append(names, f.text(e))
			}
		}
	case *ast.IncDecStmt:
		names = append(names, f.text(s.X))
	}
	return names
}

// meets reports whether the world outside a goroutine may see when a statement happens: it sends,
// receives, starts a goroutine, reads the clock, or calls a func that may.
func (p *pkg) meets(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.CallExpr:
			if silent(n) {
				return false
			}
			found = found || p.calls(n)
		}
		return !found
	})
	return found
}

// clocks are the funcs of package time that read the clock.
var clocks = []string{"Now", "Since", "Until"}

// calls is meets for a call itself: it closes a channel, or the func is a value, or its body meets
// the world outside, or it belongs to another package and gets something shared.
func (p *pkg) calls(n *ast.CallExpr) bool {
	switch callee := typeutil.Callee(p.TypesInfo, n).(type) {
	case *types.Builtin:
		return callee.Name() == "close"
	case *types.Func:
		callee = callee.Origin()
		if body := p.funcs[callee]; body != nil {
			return p.bodyMeets(callee, body)
		}
		if callee.Pkg() != nil && callee.Pkg().Path() == "time" && slices.Contains(clocks, callee.Name()) {
			return true
		}
		signature := callee.Signature()
		params := slices.Collect(signature.Params().Variables())
		if r := signature.Recv(); r != nil {
			params = append(params, r)
		}
		return slices.ContainsFunc(params, func(v *types.Var) bool { return shared(v.Type(), nil) })
	}
	return !p.TypesInfo.Types[n.Fun].IsType()
}

// bodyMeets is meets for the body of a func of the package.
func (p *pkg) bodyMeets(f *types.Func, body *ast.BlockStmt) bool {
	known, ok := p.met[f]
	if !ok {
		p.met[f] = false // for a call of itself
		known = p.meets(body)
		p.met[f] = known
	}
	return known
}

// shared reports whether goroutines may meet at a value of a type: it is or has a channel, a func,
// an interface with methods other than error, or a type of package sync or sync/atomic.
func shared(t types.Type, outer []types.Type) bool {
	if slices.Contains(outer, t) {
		return false
	}
	outer = append(outer, t)
	if named, ok := types.Unalias(t).(*types.Named); ok {
		if of := named.Obj().Pkg(); of == nil || of.Path() == "sync" || of.Path() == "sync/atomic" {
			return of != nil // the type error has no package
		}
	}
	switch t := t.Underlying().(type) {
	case *types.Chan, *types.Signature:
		return true
	case *types.Interface:
		return t.NumMethods() > 0
	case interface{ Elem() types.Type }: // pointer, slice, array and map
		return shared(t.Elem(), outer)
	case *types.Struct:
		for field := range t.Fields() {
			if shared(field.Type(), outer) {
				return true
			}
		}
	}
	return false
}
