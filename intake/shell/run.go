package shell

import (
	"bytes"
	"path"
	"regexp"
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

// unsure runs something that may not happen.
func (e *evaluator) unsure(do func()) {
	before := e.state
	e.state = before.clone()
	e.maybe++
	e.guardedly(do)
	e.maybe--
	e.state = e.merged(before, []*state{e.state, before})
}

func (e *evaluator) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		ok := e.outcome(c.X)
		e.stmt(c.X)
		wanted := yes
		if c.Op == syntax.OrStmt {
			wanted = no
		}
		if ok == perhaps && e.unset(c.X, []*syntax.Stmt{c.Y}, nil) == wanted {
			ok = wanted
		}
		if ok == perhaps && !plainCommand(c.X) {
			e.unsure(func() { e.stmt(c.Y) })
		} else if ok == wanted || ok == perhaps && c.Op == syntax.AndStmt {
			e.guardedly(func() { e.stmt(c.Y) })
		}
	default:
		if e.output != nil { // what a program makes of it
			e.output.unknown = true
			return
		}
		e.stmt(c.X)
		e.stmt(c.Y)
		if writer, ok := c.X.Cmd.(*syntax.CallExpr); ok && len(writer.Args) == 1 && writer.Args[0].Lit() == "cat" {
			if reader, ok := c.Y.Cmd.(*syntax.CallExpr); ok && len(reader.Args) > 0 {
				e.scripted(c.X, reader.Args[0].Lit())
			}
		}
	}
}

// plainCommand reports a command that is no test, and that is taken to succeed.
func plainCommand(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		_, binary := s.Cmd.(*syntax.BinaryCmd)
		return ok || binary
	}
	name := call.Args[0].Lit()
	return name != "[" && name != "test"
}

func (e *evaluator) condition(c *syntax.IfClause) {
	var branches []*state
	start, certain := e.state, false
	for ; c != nil && !certain; c = c.Else {
		if branches == nil {
			e.does(c.Cond)
		}
		ok := yes
		if len(c.Cond) > 0 {
			ok = e.outcome(c.Cond[len(c.Cond)-1])
		}
		if ok == perhaps && branches == nil {
			ok = e.defaulting(c)
		}
		switch {
		case ok == no:
			continue
		case ok == yes && branches == nil:
			e.guardedly(func() { e.run(c.Then) })
			return
		}
		certain = ok == yes
		branches = append(branches, e.branch(start, c.Then))
	}
	e.join(start, branches, certain)
}

// does runs what a condition starts, such as the launch of which it asks whether it succeeds.
func (e *evaluator) does(condition []*syntax.Stmt) {
	for _, s := range condition {
		if e.output == nil && starts(s) {
			e.stmt(s)
		}
	}
}

// starts reports a condition with a command that is no test.
func starts(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return len(c.Args) > 0 && !slices.Contains(tests, c.Args[0].Lit())
	case *syntax.BinaryCmd:
		return starts(c.X) || starts(c.Y)
	case *syntax.TimeClause:
		return c.Stmt != nil && starts(c.Stmt)
	}
	return false
}

// tests are commands that start nothing.
var tests = []string{"[", "test", "true", "false", ":", "getopts"}

// branch runs statements that may not happen, from a state.
func (e *evaluator) branch(start *state, stmts []*syntax.Stmt) *state {
	e.state = start.clone()
	e.maybe++
	e.guardedly(func() { e.run(stmts) })
	e.maybe--
	return e.state
}

// join merges branches, one of which is taken when that is certain.
func (e *evaluator) join(start *state, branches []*state, certain bool) {
	if !certain {
		branches = append(branches, start)
	}
	e.state = e.merged(start, branches)
}

func (e *evaluator) cases(c *syntax.CaseClause) {
	word := e.word(c.Word)
	start, certain := e.state, false
	var branches []*state
	for _, item := range c.Items {
		ok := no
		always := false
		for _, p := range item.Patterns {
			pattern := e.word(p)
			if pattern.glob() == "*" {
				ok, always = yes, true
			} else if !word.isOpen() && !pattern.isOpen() && e.matches(pattern.glob(), word.String()) {
				ok = yes
			}
		}
		if ok == yes && !word.isOpen() {
			e.guardedly(func() { e.run(item.Stmts) })
			return
		}
		if !word.isOpen() {
			continue
		}
		branches = append(branches, e.branch(start, item.Stmts))
		if certain = always; certain {
			break
		}
	}
	e.join(start, branches, certain)
}

// while runs the body once, as something that may not happen; over arguments
// that are known it runs as often as it takes one.
func (e *evaluator) while(c *syntax.WhileClause) {
	if e.optionsOf(c) {
		return
	}
	goesOn := func() bool {
		ok := e.outcome(c.Cond[len(c.Cond)-1])
		return e.state.given && (ok == yes && !c.Until || ok == no && c.Until)
	}
	if !readsArguments(c) && len(c.Cond) == 1 && e.turns(c.Do, func() truth {
		if ok := e.outcome(c.Cond[0]); c.Until {
			return ok.not()
		} else {
			return ok
		}
	}, func() { e.run(c.Do) }) {
		return
	}
	if !readsArguments(c) || !goesOn() {
		if !readsArguments(c) || !e.state.given {
			e.unsure(func() {
				e.does(c.Cond)
				e.run(c.Do)
			})
		}
		return
	}
	for left := len(e.state.positional) + 1; goesOn() && len(e.state.positional) < left; {
		left = len(e.state.positional)
		e.guardedly(func() { e.run(c.Do) })
	}
}

// readsArguments reports a condition over the script's arguments.
func readsArguments(c *syntax.WhileClause) (found bool) {
	for _, s := range c.Cond {
		syntax.Walk(s, func(n syntax.Node) bool {
			if p, ok := n.(*syntax.ParamExp); ok && slices.Contains([]string{"#", "1", "@", "*"}, p.Param.Value) {
				found = true
			}
			return true
		})
	}
	return found
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

func joined(words []text) text {
	var all text
	for i, w := range words {
		if i > 0 {
			all = append(all, cell{b: ' ', line: w.firstLine()})
		}
		all = append(all, w...)
	}
	return all
}

func (t text) firstLine() int32 {
	if len(t) == 0 {
		return 0
	}
	return t[0].line
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

// source reads a file; line is where the script says so.
func (e *evaluator) source(words []text, line int) {
	if len(words) == 0 {
		return
	}
	name, ok := e.named(e.call.Files, words[0].String())
	src := e.call.Files[name]
	if !ok || e.depth >= maxDepth || len(e.script.Files) >= mostFiles {
		w := words[0].word()
		w.Line = line // not of a variable that its path begins with
		e.script.Sources = append(e.script.Sources, w)
		return
	}
	e.uses(name)
	p, err := checked(src)
	if err != nil {
		e.script.Problems = append(e.script.Problems, words[0].String()+": "+err.Error())
		return
	}
	e.returning(p.File, func() { e.other(name, p) })
}

// named is the file, of some that were given, that a word names: of those with its last
// part the one that has the most of its folders, and of these the one beside the file
// that is evaluated.
func (e *evaluator) named(files map[string][]byte, word string) (best string, ok bool) {
	if files[word] != nil {
		return word, true
	}
	here := e.call.Name
	if e.file > 0 {
		here = e.script.Files[e.file-1]
	}
	most := 0
	for name := range files {
		if path.Base(name) != path.Base(word) {
			continue
		}
		n, a, b := 0, path.Clean(name), path.Clean(word)
		for ; path.Base(a) == path.Base(b) && a != "." && a != "/"; n += 2 {
			a, b = path.Dir(a), path.Dir(b)
		}
		if path.Dir(name) == path.Dir(here) || a == "." {
			n++
		}
		if n > most || n == most && name < best {
			best, most, ok = name, n, true
		}
	}
	return best, ok
}

// uses notes a file that was given and that the script reads or starts, and is its
// number.
func (e *evaluator) uses(name string) int {
	if i := slices.Index(e.script.Files, name); i >= 0 {
		return i + 1
	}
	e.script.Files = append(e.script.Files, name)
	return len(e.script.Files)
}

// other runs a file that the script reads or starts.
func (e *evaluator) other(name string, p *Parsed) {
	file := e.file
	e.file = e.uses(name)
	e.deeper(p.File.Stmts, nil)
	e.file = file
}

// starters are the commands that may start a script that is one of their words.
var starters = append([]string{"srun", "sbatch", "mpirun", "mpiexec", "jsrun", "aprun", "flux", "qsub", "bsub", "exec", "nohup", "env", "time", "timeout", "numactl", "singularity", "apptainer", "shifter", "enroot", "sudo"}, shells...)

// start evaluates the script that a command starts, where it is given:
// with the words behind it for arguments, and of the variables those that are
// exported.
func (e *evaluator) start(words []text) (started bool) {
	if e.depth >= maxDepth || len(e.script.Files) >= mostFiles {
		return false
	}
	for i, w := range words {
		if i > 0 && !slices.Contains(starters, path.Base(words[0].String())) {
			break
		}
		name, ok := e.named(e.call.Programs, w.String())
		src := e.call.Programs[name]
		if !ok {
			continue
		}
		p, err := checked(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")))
		if err != nil {
			e.script.Problems = append(e.script.Problems, w.String()+": "+err.Error())
			return true
		}
		file := e.uses(name)
		outer, frames, guarded := e.state, e.frames, e.guarded
		e.state, e.frames, e.guarded = newState(), nil, 0
		for name, v := range outer.variables {
			if v.exported {
				e.state.variables[name] = v
			}
		}
		e.state.called(words[i+1:])
		asked, _, _ := directives(src, p)
		for _, s := range submits(words[:i], name) {
			if !s.Open {
				asked = append(asked, Directive{s.Name, s.Value, s.Line - file*fileLines})
			}
			e.script.Submissions = append(e.script.Submissions, s)
		}
		e.allocation(asked, file)
		e.other(name, p)
		e.lists()
		e.state, e.frames, e.guarded = outer, frames, guarded
		return true
	}
	return false
}

// apart takes words apart that hold the options of a Python program, as a script in between
// passes them on that was not given.
func apart(words []text) []text {
	program := slices.IndexFunc(words, func(w text) bool { return strings.HasSuffix(w.String(), ".py") })
	if program < 1 {
		return words
	}
	all := slices.Clone(words[:program+1])
	for _, w := range words[program+1:] {
		if looksLikeOptions(w.String()) && !isJoined(w.String()) {
			several := unquoted(w).fields()
			for i := range several {
				if len(several) > 1 {
					several[i] = several[i].with(func(c *cell) { c.packed = true })
				}
			}
			all = append(all, several...)
		} else {
			all = append(all, w)
		}
	}
	return all
}

// isJoined reports one option with its value, in which blanks may stand.
func isJoined(word string) bool {
	fields := strings.Fields(word)
	return strings.Contains(fields[0], "=") && !slices.ContainsFunc(fields[1:], func(f string) bool { return strings.HasPrefix(f, "--") })
}

// nested evaluates a value as a script.
func (e *evaluator) nested(t text) {
	if e.depth >= maxDepth || !e.spend(1, len(t)) {
		return
	}
	p, err := checked(t.script())
	if err != nil {
		return
	}
	e.deeper(p.File.Stmts, t)
}

// deeper runs statements that come from another file, or from a value.
func (e *evaluator) deeper(statements []*syntax.Stmt, from text) {
	origin := e.origin
	e.origin = from
	e.depth++
	e.run(statements)
	e.depth--
	e.origin = origin
}

// shells start the script that follows -c.
var shells = []string{"bash", "sh", "zsh"}

// cut is an option where a program must stand.
var cut = regexp.MustCompile(`^--?[A-Za-z]`)

func (e *evaluator) command(words []text, line int) {
	c := Command{Line: line, Offset: e.at}
	for i, w := range words {
		before := ""
		if i > 0 {
			before = words[i-1].String()
		}
		if strings.HasPrefix(before, "-") && !strings.HasPrefix(before, "--") && strings.HasSuffix(before, "c") &&
			slices.ContainsFunc(words[:i], func(t text) bool { return slices.Contains(shells, path.Base(t.String())) }) {
			e.apartFrom(func() { e.nested(w) })
		}
	}
	if path.Base(words[0].String()) == "sbatch" && !e.certain {
		e.wrapped(words)
	}
	if slices.Contains(farther, path.Base(words[0].String())) && !e.certain {
		for _, w := range words[1:] {
			if strings.ContainsAny(w.String(), " \n") {
				e.shellOf(w, false)
			}
		}
	}
	if slices.ContainsFunc(words, func(w text) bool { return w.String() == "xargs" }) {
		words = append(slices.Clone(words), unknown("$(xargs)", line)) // what it reads
	}
	if cut.MatchString(words[0].String()) && !words[0].isOpen() {
		for _, w := range words {
			c.Words = append(c.Words, w.word())
		}
		e.script.Cut = append(e.script.Cut, c)
		return
	}
	place := len(e.script.Commands)
	e.script.Commands = append(e.script.Commands, c)
	if !e.start(words) {
		words = apart(words)
	}
	e.script.Commands[place].Inner = len(e.script.Commands) - place - 1
	for _, w := range words {
		e.script.Commands[place].Words = append(e.script.Commands[place].Words, w.word())
	}
}

// document keeps what cat or tee write from a here-document, and echo of its words.
func (e *evaluator) document(s *syntax.Stmt) {
	var to *syntax.Word
	var content *syntax.Redirect
	appends := false
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.RdrClob, syntax.AppOut:
			to, appends = r.Word, r.Op == syntax.AppOut
		case syntax.Hdoc, syntax.DashHdoc:
			content = r
		}
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if ok && to == nil && len(call.Args) > 1 && call.Args[0].Lit() == "tee" {
		to, appends = call.Args[len(call.Args)-1], call.Args[1].Lit() == "-a"
		ok = len(call.Args) == 2 || len(call.Args) == 3 && appends
	}
	if to == nil || !ok && s.Cmd != nil {
		return
	}
	var body text
	line := e.line(s.Pos())
	switch {
	case content != nil && content.Hdoc != nil:
		body, line = e.heredoc(content), e.line(content.Hdoc.Pos())
	case content != nil:
		return
	case s.Cmd == nil || call.Args[0].Lit() == ":" || call.Args[0].Lit() == "true": // nothing
	case len(call.Args) > 1 && call.Args[0].Lit() == "echo" && !strings.HasPrefix(call.Args[1].Lit(), "-"):
		for i, a := range call.Args[1:] {
			if i > 0 {
				body = append(body, known(" ", line)...)
			}
			body = append(body, e.word(a)...)
		}
		body = append(body, known("\n", line)...)
	default: // which another program writes
		for i, o := range e.script.Documents {
			if name := e.word(to); o.Path.Text == name.String() {
				e.script.Documents[i].Unsure = true
			}
		}
		return
	}
	d := Document{Path: e.word(to).word(), Content: body.String(), Line: line, Behind: appends, Unsure: e.maybe > 0}
	documents, last := e.script.Documents, -1
	for i, o := range documents {
		if appends && o.Path.Text == d.Path.Text {
			last = i
		}
	}
	if last < 0 {
		e.script.Documents = append(documents, d)
	} else {
		documents[last].Content += d.Content
		documents[last].Unsure = documents[last].Unsure || d.Unsure
	}
	if isScript(d) && !e.certain {
		e.shellOf(body, true)
	}
}

// exports keeps the variables that programs see and that a shell around has otherwise.
func (e *evaluator) exports(around *state) {
	for name, v := range e.state.variables {
		if o, ok := around.variables[name]; ok && o.exported && o.equal(v) {
			continue
		}
		known := slices.ContainsFunc(e.script.Exports, func(x Export) bool { return x.Name == name })
		if v.exported && !v.slurm && len(v.text) > 0 && !known {
			e.script.Exports = append(e.script.Exports, Export{Name: name, Value: v.text.word()})
		}
	}
	slices.SortFunc(e.script.Exports, func(a, b Export) int { return strings.Compare(a.Name, b.Name) })
}

// several is an element that is more than one option.
var several = regexp.MustCompile(`^\s*--?\S+\s.*--`)

// lists keeps the variables that hold options.
func (e *evaluator) lists() {
	e.exports(newState())
	var names []string
	for name, v := range e.state.variables {
		if v.isList && len(v.list) > 0 && strings.HasPrefix(v.list[0].String(), "-") || looksLikeOptions(v.text.String()) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		v := e.state.variables[name]
		parts := v.list
		if !v.isList {
			parts = v.text.fields()
		}
		c := Command{Line: int(parts[0].firstLine())}
		for _, p := range parts {
			words := []text{p}
			if several.MatchString(p.String()) { // options in one element
				words = unquoted(p).fields()
			}
			for _, w := range words {
				c.Words = append(c.Words, w.word())
			}
		}
		e.script.Lists = append(e.script.Lists, c)
	}
}
