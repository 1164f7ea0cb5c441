package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

type function struct {
	body   *syntax.Stmt
	file   int  // that it stands in
	origin text // the value that it stands in; nil for a file
}

// evaluator walks a script.
type evaluator struct {
	script  *Script
	state   *state
	call    Call
	certain bool // defaults are no values
	at      int  // where the call that is evaluated stands in the file
	steps   int
	cells   int
	depth   int
	maybe   int  // conditions of unknown outcome around
	guarded int  // conditions around, in this shell
	origin  text // of the script, when it is itself a value; nil for a file
	file    int  // that is evaluated, of script.Files from 1 on; 0: the script itself
	over    bool // a bound was reached

	absent map[string]bool // variables that are taken for empty, as nobody sets them; nil: none is

	output *output // of the statements that are followed for what they write; nil: of none

	frames    []*frame // that return ends
	returners map[syntax.Node]bool
}

// fileLines are more lines than a file has, and mostFiles as many files as have places
// of their own: inside the package, a line is that of the script, and fileLines on for
// each file of script.Files.
const (
	fileLines = 1 << 21
	mostFiles = 1 << 9
)

// line is where a position lies in the files.
func (e *evaluator) line(p syntax.Pos) int {
	if e.origin == nil {
		return e.file*fileLines + int(p.Line())
	}
	if i := int(p.Offset()); i < len(e.origin) {
		return int(e.origin[i].line)
	}
	return 0
}

// spend counts work, and reports whether there may be more.
func (e *evaluator) spend(steps, cells int) bool {
	e.steps += steps
	e.cells += cells
	if !e.over && (e.steps > maxSteps || e.cells > maxCells) {
		e.over = true
		e.script.Problems = append(e.script.Problems, "the script computes more than ndc follows")
	}
	return !e.over
}

func (e *evaluator) run(stmts []*syntax.Stmt) {
	for _, s := range stmts {
		e.stmt(s)
	}
}

func (e *evaluator) stmt(s *syntax.Stmt) {
	if s == nil || e.state.over || !e.spend(1, 0) {
		return
	}
	switch c := s.Cmd.(type) {
	case nil:
		e.document(s)
	case *syntax.CallExpr:
		e.simple(s, c)
	case *syntax.DeclClause:
		e.declare(c)
	case *syntax.IfClause:
		e.condition(c)
	case *syntax.CaseClause:
		e.cases(c)
	case *syntax.Block:
		e.run(c.Stmts)
	case *syntax.Subshell:
		e.apartFrom(func() { e.run(c.Stmts) })
	case *syntax.BinaryCmd:
		e.binary(c)
	case *syntax.ForClause:
		e.loop(c)
	case *syntax.WhileClause:
		e.while(c)
	case *syntax.FuncDecl:
		if c.Name != nil {
			e.state.functions[c.Name.Value] = &function{c.Body, e.file, e.origin}
		}
	case *syntax.TimeClause:
		e.stmt(c.Stmt)
	case *syntax.ArithmCmd:
		e.computes(c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			if w, ok := x.(*syntax.Word); ok { // in quotes
				e.nested(slices.Concat(known("((", e.line(w.Pos())), e.word(w), known("))", e.line(w.Pos()))))
				continue
			}
			e.computes(x)
		}
	}
}

// declare runs declare, export and their like.
func (e *evaluator) declare(c *syntax.DeclClause) {
	keyed := false
	for _, a := range c.Args {
		option := ""
		if a.Name == nil && a.Value != nil {
			option = a.Value.Lit()
		}
		keyed = keyed || strings.HasPrefix(option, "-") && strings.Contains(option, "A")
		if keyed && a.Name != nil && e.state.variables[a.Name.Value].keys == nil {
			e.state.variables[a.Name.Value] = variable{isList: true, keys: []string{}}
		}
		e.assign(a, c.Variant.Value == "export")
	}
}

// shift drops the first arguments.
func (e *evaluator) shift(words []text) {
	n := 1
	if len(words) > 0 {
		var err error
		if n, err = strconv.Atoi(words[0].String()); err != nil || n < 0 || words[0].isOpen() {
			e.state.given, e.state.positional = false, nil
			return
		}
	}
	if n <= len(e.state.positional) {
		e.state.positional = e.state.positional[n:]
	}
}

// simple is a simple command: assignments, or words that start something.
func (e *evaluator) simple(s *syntax.Stmt, c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			e.assign(a, false)
		}
		return
	}
	if e.origin == nil {
		e.at = int(c.Pos().Offset())
	}
	words := e.words(c.Args)
	e.document(s)
	if len(words) == 0 {
		return
	}
	defer e.environment(c.Assigns, words)()
	name := words[0].String()
	switch {
	case e.state.functions[name] != nil && e.depth < maxDepth:
		e.invoke(e.state.functions[name], words[1:])
	case name == "source" || name == ".":
		e.source(words[1:], e.line(c.Pos()))
	case name == "return" || name == "exit":
		e.ends(name, words[1:])
	case name == "eval":
		e.nested(joined(words[1:]))
	case name == "set":
		e.set(words[1:])
	case name == "shift":
		e.shift(words[1:])
	case name == "unset":
		for _, w := range words[1:] {
			delete(e.state.variables, w.String())
		}
	case valued[name] != "" && (name != "printf" || len(words) > 1 && words[1].String() == "-v"):
		e.sets(s, name, words[1:])
	case slices.Contains(tests, name):
	case e.output != nil:
		e.writes(s, name, words[1:])
	case name == "echo" || name == "printf":
	default:
		e.command(words, e.line(c.Pos()))
		e.scripted(s, name)
		if name == "exec" && len(words) > 1 {
			e.ends(name, nil)
		}
	}
}

func (e *evaluator) invoke(f *function, arguments []text) {
	positional, given, file, origin := e.state.positional, e.state.given, e.file, e.origin
	e.state.called(arguments)
	e.file, e.origin = f.file, f.origin
	e.depth++
	e.returning(f.body, func() { e.stmt(f.body) })
	e.depth--
	e.state.positional, e.state.given, e.file, e.origin = positional, given, file, origin
}
