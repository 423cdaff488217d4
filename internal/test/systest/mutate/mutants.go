package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A mutant is a deliberate break in one place of a function.
type mutant struct {
	kind       string // package, function and operator, such as "ringbuffer Ring.Put: swap"
	change     string // the source text
	start, end int    // the bytes of the file that text replaces
	text       string
	line       int     // where the change begins
	reason     *reason // why it may live, or nil
	left       bool    // out of the program
	lived      bool    // no test failed
}

func (m *mutant) String() string { return m.kind + " " + m.change }

// orders reports whether the mutant changes only the order of memory, which the race detector sees.
func (m *mutant) orders() bool {
	return strings.HasSuffix(m.kind, ": swap") || strings.HasSuffix(m.change, "and Unlock")
}

// A body is a function of a file with its mutants.
type body struct {
	start, end int // the bytes of the file between the braces
	mutants    []*mutant
}

// A file is a Go file with its functions.
type file struct {
	name, src string
	dir       string // of the package, for the names of mutants
	pkg       *pkg
	tree      *ast.File
	bodies    []body
	reasons   []*reason
	function  string // the last one, for the names of mutants
}

// findMutants finds the mutants of each function.
func (f *file) findMutants() {
	for _, d := range f.tree.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
			f.function = f.dir + " " + f.nameOf(d) + ": "
			f.bodies = append(f.bodies, body{start: f.offset(d.Body.Lbrace) + 1, end: f.offset(d.Body.Rbrace)})
			ast.Inspect(d.Body, f.visit)
		}
	}
}

// nameOf returns the name of a function, with its receiver.
func (f *file) nameOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	receiver, _, _ := strings.Cut(strings.TrimPrefix(f.text(d.Recv.List[0].Type), "*"), "[")
	return receiver + "." + d.Name.Name
}

// visit adds the mutants of a node, and reports whether its children have any. The words of errors,
// log records and panics are not mutated.
func (f *file) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if silent(n) {
			return false
		}
		f.call(n)
	case *ast.IfStmt:
		f.condition(n.Cond, "false", "true")
	case *ast.ForStmt:
		if n.Cond != nil {
			f.condition(n.Cond, "false") // true could only hang
		}
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		if n.Kind == token.INT {
			f.add("number", n, "("+n.Value+" + 1)")
		}
	case *ast.Ident:
		if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
			f.add("number", n, other)
		}
	case *ast.SwitchStmt:
		for _, s := range n.Body.List {
			for _, c := range s.(*ast.CaseClause).List {
				if n.Tag == nil {
					f.condition(c, "false", "true")
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
		if last := len(n.Results) - 1; last > 0 && f.fails(n.Results[last]) {
			n.Results = append(slices.DeleteFunc(n.Results[:last], constant), n.Results[last])
		}
	}
	return true
}

// fails reports whether the last result of a func is an error or false. Callers read nothing beside
// it.
func (f *file) fails(e ast.Expr) bool {
	if name, ok := e.(*ast.Ident); ok && (name.Name == "nil" || name.Name == "false") {
		return name.Name == "false"
	}
	call, ok := e.(*ast.CallExpr)
	return ok && silent(call) || types.AssignableTo(f.pkg.TypesInfo.TypeOf(e), types.Universe.Lookup("error").Type())
}

func constant(e ast.Expr) bool {
	_, literal := e.(*ast.BasicLit)
	name, ok := e.(*ast.Ident)
	return literal || ok && (name.Name == "nil" || name.Name == "true" || name.Name == "false")
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
		return ok && (x.Name == "fmt" || x.Name == "errors" && (fun.Sel.Name == "New" || fun.Sel.Name == "Join"))
	}
	return false
}

// condition makes a condition false or true. The operands are still evaluated.
func (f *file) condition(cond ast.Expr, values ...string) {
	for _, value := range values {
		operator := map[string]string{"false": " && ", "true": " || "}[value]
		f.addRange(value, cond.Pos(), cond.End(), "("+f.text(cond)+")"+operator+value, f.text(cond))
	}
}

// basic are the types whose conversions stay.
var basic = map[string]bool{"int": true, "int64": true, "uint": true, "uint64": true, "float64": true, "string": true}

// call puts an argument in place of a call, or the receiver of a method without arguments. The
// compiler refuses most of these.
func (f *file) call(n *ast.CallExpr) {
	if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 0 {
		f.add("argument", n, f.text(s.X))
	}
	to, _ := n.Fun.(*ast.Ident)
	for _, a := range n.Args {
		if !constant(a) && (to == nil || !basic[to.Name]) {
			f.add("argument", n, "("+f.text(a)+")")
		}
	}
}

// operators are the comparisons and sums that binary exchanges. A comparison for order moves its
// border by one: its negation is less than the condition to true and to false.
var operators = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.REM: "*",
	token.AND: "|", token.OR: "&", token.SHL: ">>", token.SHR: "<<", token.AND_NOT: "&",
}

func (f *file) binary(n *ast.BinaryExpr) {
	x, y := f.text(n.X), f.text(n.Y)
	switch lit, ok := n.Y.(*ast.BasicLit); {
	case ok && lit.Kind == token.STRING:
	case n.Op == token.LAND || n.Op == token.LOR:
		f.add("operand", n, x)
		f.add("operand", n, y)
	case operators[n.Op] != "":
		f.add("operator", n, x+" "+operators[n.Op]+" "+y)
	}
}

// statements removes each statement of a list, and swaps neighbors whose order can matter.
func (f *file) statements(list []ast.Stmt) {
	for i, s := range list {
		if i+1 < len(list) && f.ordered(s, list[i+1]) {
			next := list[i+1]
			between := f.src[f.offset(s.End()):f.offset(next.Pos())]
			f.addRange("swap", s.Pos(), next.End(), f.text(next)+between+f.text(s), f.text(s)+" | "+f.text(next))
		}
		f.remove(s, list[i+1:])
	}
}

// remove removes a statement. A Lock goes together with its Unlock: without the latter, a test
// could only hang.
func (f *file) remove(s ast.Stmt, rest []ast.Stmt) {
	text := ""
	switch s := s.(type) {
	case *ast.BranchStmt, *ast.DeferStmt, *ast.ExprStmt, *ast.GoStmt, *ast.IncDecStmt, *ast.SendStmt:
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return
		}
		if slices.ContainsFunc(s.Lhs, named) {
			var kept []string // so that variables stay used
			for _, r := range s.Rhs {
				kept = append(kept, f.text(r))
			}
			text = strings.Repeat("_, ", len(s.Lhs)-1) + "_ = " + strings.Join(kept, ", ")
		}
	default:
		return // its parts are mutated
	}
	switch method(s) {
	case "Unlock":
		return
	case "Lock":
		for _, r := range rest {
			if method(r) == "Unlock" {
				between := f.src[f.offset(s.End()):f.offset(r.Pos())]
				f.addRange("remove", s.Pos(), r.End(), between, f.text(s)+" and Unlock")
				return
			}
		}
	}
	f.addRange("remove", s.Pos(), s.End(), text, f.text(s))
}

// named reports whether an expression is not the blank identifier.
func named(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return !ok || name.Name != "_"
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

func (f *file) line(p token.Pos) int { return f.pkg.Fset.Position(p).Line }

func (f *file) offset(p token.Pos) int { return f.pkg.Fset.Position(p).Offset }

func (f *file) text(n ast.Node) string { return f.src[f.offset(n.Pos()):f.offset(n.End())] }

// add adds a mutant with text in place of a node.
func (f *file) add(operator string, n ast.Node, text string) {
	f.addRange(operator, n.Pos(), n.End(), text, f.text(n)+" -> "+text)
}

func (f *file) addRange(operator string, pos, end token.Pos, text, change string) {
	change = strings.Join(strings.Fields(change), " ")
	b := &f.bodies[len(f.bodies)-1]
	b.mutants = append(b.mutants, &mutant{kind: f.function + operator, change: change, start: f.offset(pos), end: f.offset(end), text: text,
		line: f.line(pos)})
}
