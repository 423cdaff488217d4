package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// A mutant is a deliberate break in one place of a function. The package, the function, the change
// and the count identify it: they stay the same when lines move.
type mutant struct {
	pkg, function, change string
	nth                   int // counts equal changes of a function, from 1
	start, end            int // the bytes of the file that text replaces
	text                  string
}

// A body is a function of a file with its mutants.
type body struct {
	start, end int // the bytes of the file between the braces
	mutants    []mutant
}

func (m mutant) String() string {
	s := m.pkg + " " + m.function + ": " + m.change
	if m.nth > 1 {
		s += fmt.Sprintf(" #%d", m.nth)
	}
	return s
}

// orders reports whether the mutant changes only the order of memory, which the race detector sees.
func (m mutant) orders() bool {
	return strings.HasPrefix(m.change, "swap") || strings.HasSuffix(m.change, "and Unlock")
}

// A finder collects the mutants of one file.
type finder struct {
	src      []byte
	fset     *token.FileSet
	function string
	found    []mutant
}

// find returns the functions of a Go file.
func find(pkg, file string, src []byte) ([]body, error) {
	f := &finder{src: src, fset: token.NewFileSet()}
	tree, err := parser.ParseFile(f.fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []body
	for _, d := range tree.Decls {
		d, ok := d.(*ast.FuncDecl)
		if !ok || d.Body == nil {
			continue
		}
		f.function, f.found = name(d), nil
		ast.Inspect(d.Body, f.visit)
		seen := make(map[string]int)
		for i := range f.found {
			m := &f.found[i]
			m.pkg, m.function = pkg, f.function
			seen[m.change]++
			m.nth = seen[m.change]
		}
		all = append(all, body{f.offset(d.Body.Lbrace) + 1, f.offset(d.Body.Rbrace), f.found})
	}
	return all, nil
}

// name returns the name of a function, with its receiver.
func name(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	return t.(*ast.Ident).Name + "." + d.Name.Name
}

// visit adds the mutants of a node, and reports whether its children have any. The words of errors,
// log records and panics are not mutated.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return !silent(n)
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		f.negate(n.Cond)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		if n.Kind == token.INT {
			f.replace(n, "("+n.Value+" + 1)")
		}
	case *ast.Ident:
		if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
			f.replace(n, other)
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, s := range n.Body.List {
				for _, c := range s.(*ast.CaseClause).List {
					f.negate(c)
				}
			}
		}
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.ReturnStmt:
		if last := len(n.Results) - 1; last > 0 && failure(n.Results[last]) {
			n.Results = slices.DeleteFunc(n.Results, constant)
		}
	case *ast.AssignStmt:
		if len(n.Lhs) == 2 && len(n.Rhs) == 2 && calls(n.Rhs[0]) && calls(n.Rhs[1]) {
			f.add("swap", n, fmt.Sprintf("%s, %s %s %s, %s", f.text(n.Lhs[1]), f.text(n.Lhs[0]), n.Tok, f.text(n.Rhs[1]), f.text(n.Rhs[0])))
		}
	}
	return true
}

// failure reports whether a result is an error. Callers read nothing beside an error.
func failure(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "err"
	case *ast.CallExpr:
		fun, ok := e.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := fun.X.(*ast.Ident)
		return ok && (x.Name == "fmt" && fun.Sel.Name == "Errorf" || x.Name == "errors" && (fun.Sel.Name == "New" || fun.Sel.Name == "Join"))
	}
	return false
}

func constant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return e.Name == "nil" || e.Name == "true" || e.Name == "false"
	}
	return false
}

// silent reports whether a call only makes or writes text.
func silent(n *ast.CallExpr) bool {
	switch fun := n.Fun.(type) {
	case *ast.Ident:
		return fun.Name == "panic"
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.SelectorExpr); ok && x.Sel.Name == "Logger" {
			return true
		}
		x, ok := fun.X.(*ast.Ident)
		return ok && (x.Name == "fmt" || x.Name == "errors" && fun.Sel.Name == "New")
	}
	return false
}

// negate adds the negation of a condition, unless binary changes more in it.
func (f *finder) negate(cond ast.Expr) {
	if cond == nil {
		return
	}
	if b, ok := cond.(*ast.BinaryExpr); ok && slices.Contains([]token.Token{token.EQL, token.NEQ, token.LAND, token.LOR}, b.Op) {
		return
	}
	f.replace(cond, "!("+f.text(cond)+")")
}

// operators are the comparisons and sums that binary exchanges. An inverted comparison for order is
// a case of negate; here the border moves by one.
var operators = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.REM: "*",
	token.AND: "|", token.OR: "&", token.SHL: ">>", token.SHR: "<<", token.AND_NOT: "&",
}

func (f *finder) binary(n *ast.BinaryExpr) {
	x, y := f.text(n.X), f.text(n.Y)
	switch lit, ok := n.Y.(*ast.BasicLit); {
	case ok && lit.Kind == token.STRING:
	case n.Op == token.LAND || n.Op == token.LOR:
		f.replace(n, x)
		f.replace(n, y)
	case operators[n.Op] != "":
		f.replace(n, x+" "+operators[n.Op]+" "+y)
	}
}

// statements removes each statement of a list, and swaps neighbors whose order other goroutines may
// see.
func (f *finder) statements(list []ast.Stmt) {
	for i, s := range list {
		locked := false
		if i+1 < len(list) {
			next := list[i+1]
			locked = method(s) == "Lock" && method(next) == "Unlock"
			if effect(s) && effect(next) && !locked {
				between := string(f.src[f.offset(s.End()):f.offset(next.Pos())])
				f.addRange("swap", s.Pos(), next.End(), f.text(next)+between+f.text(s), f.text(s)+" | "+f.text(next))
			}
		}
		f.remove(s, list[i+1:])
	}
}

// remove removes a statement. A Lock goes together with its Unlock: without the latter, a test
// could only hang.
func (f *finder) remove(s ast.Stmt, rest []ast.Stmt) {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.DeferStmt:
		switch method(s) {
		case "Unlock":
			return
		case "Lock":
			for _, r := range rest {
				if method(r) == "Unlock" {
					between := string(f.src[f.offset(s.End()):f.offset(r.Pos())])
					f.addRange("remove", s.Pos(), r.End(), between, f.text(s)+" and Unlock")
					return
				}
			}
		}
		f.add("remove", s, "")
	case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
		f.add("remove", s, "")
	case *ast.BranchStmt:
		if s.Tok != token.FALLTHROUGH {
			f.add("remove", s, "")
		}
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return
		}
		if !slices.ContainsFunc(s.Lhs, named) {
			f.add("remove", s, "") // a call whose results are dropped
			return
		}
		kept := make([]string, len(s.Rhs)) // so that variables stay used
		for i, r := range s.Rhs {
			kept[i] = f.text(r)
		}
		f.add("remove", s, strings.Repeat("_, ", len(s.Lhs)-1)+"_ = "+strings.Join(kept, ", "))
	}
}

// named reports whether an expression is not the blank identifier.
func named(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return !ok || name.Name != "_"
}

// effect reports whether a statement calls a method or writes a field.
func effect(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		return ok && calls(s.X) && !silent(call)
	case *ast.AssignStmt:
		return slices.ContainsFunc(s.Rhs, calls) || slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool {
			_, ok := e.(*ast.SelectorExpr)
			return ok
		})
	}
	return false
}

// calls reports whether an expression calls a method.
func calls(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			_, selected := call.Fun.(*ast.SelectorExpr)
			found = found || selected && !silent(call)
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return found
}

// method returns the name of the method that a statement calls, deferred or not.
func method(s ast.Stmt) string {
	var call *ast.CallExpr
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, _ = s.X.(*ast.CallExpr)
	case *ast.DeferStmt:
		call = s.Call
	}
	if call != nil {
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
			return selector.Sel.Name
		}
	}
	return ""
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) text(n ast.Node) string { return string(f.src[f.offset(n.Pos()):f.offset(n.End())]) }

// replace adds a mutant with text in place of a node.
func (f *finder) replace(n ast.Node, text string) {
	f.addRange("", n.Pos(), n.End(), text, f.text(n)+" -> "+text)
}

func (f *finder) add(kind string, n ast.Node, text string) {
	f.addRange(kind, n.Pos(), n.End(), text, f.text(n))
}

func (f *finder) addRange(kind string, pos, end token.Pos, text, change string) {
	f.found = append(f.found, mutant{
		change: strings.Join(strings.Fields(kind+" "+change), " "),
		start:  f.offset(pos),
		end:    f.offset(end),
		text:   text,
	})
}
