package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fed is the text that a statement reads: that of a here-document or here-string; false
// where it reads something else.
func (e *evaluator) fed(s *syntax.Stmt) (text, bool) {
	for _, r := range s.Redirs {
		switch {
		case (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) && r.Hdoc != nil:
			return unquoted(e.heredoc(r)), true
		case r.Op == syntax.WordHdoc:
			return unquoted(e.word(r.Word)), true
		}
	}
	return nil, false
}

// valued are the letters of options that have a value, of commands that set variables.
var valued = map[string]string{"read": "adinNptu", "mapfile": "CcdnOsu", "readarray": "CcdnOsu", "printf": "v"}

// sets runs a command that sets variables to what it reads: of a here-document that one
// variable takes, and otherwise to what only a run knows.
func (e *evaluator) sets(s *syntax.Stmt, name string, words []text) {
	var names []string
	list, whole := strings.HasSuffix(name, "file") || strings.HasSuffix(name, "array"), false
	for i := 0; i < len(words); i++ {
		w := words[i].String()
		if !strings.HasPrefix(w, "-") || len(w) < 2 {
			names = append(names, w)
			continue
		}
		last := w[len(w)-1:]
		if !strings.Contains(valued[name], last) || i+1 == len(words) {
			continue
		}
		switch i++; last {
		case "a", "v":
			names, list = append(names, words[i].String()), list || last == "a"
		case "d":
			whole = len(words[i]) == 0
		}
	}
	if name == "printf" && len(names) > 1 { // the format, and what fills it in
		names = names[:1]
	}
	input, ok := e.fed(s)
	ok = ok && len(names) == 1
	if name == "printf" {
		input, ok = e.formatted(words[min(2, len(words)):], e.line(s.Pos()))
	}
	for _, n := range names {
		v := variable{exported: e.state.variables[n].exported, isList: list}
		switch {
		case !ok && list:
			v.loose = true
			v.list = []text{computed("${"+n+"[@]}", e.line(s.Pos()))}
		case !ok:
			v.text = computed("${"+n+"}", e.line(s.Pos()))
		case name == "printf":
			v.text = unquoted(input)
		case name != "read":
			v.list = input.lines()
		case !whole && list:
			v.list = e.fields(input.firstOf())
		case list:
			v.list = e.fields(input)
		case whole:
			v.text = input
		default:
			v.text = input.firstOf()
		}
		e.state.variables[n] = v
	}
}

func (t text) lines() []text {
	var all []text
	for len(t) > 0 {
		line := t.firstOf()
		all = append(all, line)
		t = t[min(len(line)+1, len(t)):]
	}
	return all
}

// firstOf is the first line of a text.
func (t text) firstOf() text {
	if i := slices.IndexFunc(t, func(c cell) bool { return c.b == '\n' }); i >= 0 {
		return t[:i]
	}
	return t
}

// assigns reports statements that do nothing but set variables.
func assigns(stmts []*syntax.Stmt) bool {
	only := true
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				only = only && (len(n.Args) == 0 || slices.Contains([]string{"echo", "cut", "[", "test", "true", ":"}, n.Args[0].Lit()))
			case *syntax.ForClause, *syntax.WhileClause, *syntax.FuncDecl, *syntax.Subshell:
				only = false
			}
			return true
		})
	}
	return only
}

// Bounds of a loop that puts options together: over words, and of turns that are counted.
const (
	mostItems = 64
	mostTurns = 512
)

// loop runs the body once for each value where that only sets variables, for one that may be
// several as something that may not happen, and else once, with a variable that is open.
func (e *evaluator) loop(c *syntax.ForClause) {
	words, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		e.counting(c)
		return
	}
	e.guarded++
	defer func() { e.guarded-- }()
	name, items := words.Name.Value, e.words(words.Items)
	single := !slices.ContainsFunc(words.Items, func(w *syntax.Word) bool { return !wholeQuoted(w) })
	vague := func(t text) bool {
		several := !single && !t.any(func(c cell) bool { return !c.open }) // of text of its own it is one word
		return t.any(func(c cell) bool { return c.maybe || !c.open && c.b == '{' }) || t.isOpen() && (several || strings.ContainsAny(t.String(), "@*"))
	}
	most := mostItems
	if counted(items) {
		most = mostTurns
	}
	turn := func(v text) {
		e.state.variables[name] = variable{text: v}
		e.run(c.Do)
	}
	open := computed("${"+name+"}", e.line(words.Name.Pos()))
	if all := slices.IndexFunc(items, func(t text) bool { return !vague(t) }) < 0; all || len(items) > 1 && (len(items) > most || !assigns(c.Do)) {
		turn(open)
		return
	}
	for _, t := range items {
		if vague(t) { // none, one or several
			e.unsure(func() { turn(open) })
		} else {
			turn(t)
		}
	}
}

// wholeQuoted reports a word in double quotes, of which an item is one word, but for lists
// and arguments, which @ and * stand for.
func wholeQuoted(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	_, ok := w.Parts[0].(*syntax.DblQuoted)
	return ok
}

// counted reports numbers one after the other.
func counted(items []text) bool {
	return !slices.ContainsFunc(items, func(t text) bool {
		_, err := strconv.Atoi(t.String())
		return err != nil
	})
}

// counting runs for ((i=0; i<n; i++)): as often as it says where that is known and the
// body only sets variables, and else once, with variables that are open.
func (e *evaluator) counting(c *syntax.ForClause) {
	loop, ok := c.Loop.(*syntax.CStyleLoop)
	if ok && loop.Init != nil {
		e.computes(loop.Init)
	}
	goesOn := func() truth {
		if loop.Cond == nil {
			return perhaps
		}
		n, known := e.arithmetic(loop.Cond)
		if !known {
			return perhaps
		}
		return truthOf(n != 0)
	}
	turn := func() {
		e.run(c.Do)
		if loop.Post != nil {
			e.computes(loop.Post)
		}
	}
	if ok && e.turns(c.Do, goesOn, turn) {
		return
	}
	if ok && loop.Post != nil {
		e.unsure(func() { e.computes(loop.Post) })
	}
	e.run(c.Do)
}

// turns runs the turns of a loop whose body only sets variables, as long as it goes on;
// false, with nothing changed, where it is not known how often that is.
func (e *evaluator) turns(body []*syntax.Stmt, goesOn func() truth, turn func()) bool {
	if !assigns(body) {
		return false
	}
	before := e.state
	e.state = e.copied()
	for range mostTurns {
		switch goesOn() {
		case no:
			return true
		case yes:
			e.guardedly(turn)
			if !e.state.over && e.steps < maxSteps/2 && e.cells < maxCells/2 {
				continue
			}
		}
		break
	}
	e.state = before
	return false
}

// shellOf evaluates text as a script of another shell, which has of the variables those that
// are exported, where it is started here.
func (e *evaluator) shellOf(t text, here bool) {
	outer, frames, guarded := e.state, e.frames, e.guarded
	e.state, e.frames, e.guarded = newState(), nil, 0
	for name, v := range outer.variables {
		if here && v.exported {
			e.state.variables[name] = v
		}
	}
	e.nested(t)
	e.lists()
	e.state, e.frames, e.guarded = outer, frames, guarded
}

// scripted evaluates the script that a command is given in a here-document. What lint
// checks is the script itself.
func (e *evaluator) scripted(s *syntax.Stmt, name string) {
	by := starterOf(name)
	if t, ok := e.fed(s); ok && !e.certain && by != nil {
		e.shellOf(t, !by.Away)
		if path.Base(name) == "sbatch" {
			e.directed(t)
		}
	}
}

// directed settles the directives of a script that sbatch is given or the script writes to a
// file, whose variables the shell has expanded that writes it.
func (e *evaluator) directed(t text) {
	for _, line := range t.split('\n') {
		rest, ok := strings.CutPrefix(line.String(), "#SBATCH")
		if !ok {
			continue
		}
		found, _ := optionsOf(rest, int(line.firstLine()))
		for _, now := range found {
			for i := range e.script.Directives {
				if d := &e.script.Directives[i]; d.Line == now.Line && d.Name == now.Name {
					d.Value, d.Open = now.Value, line.isOpen() && strings.ContainsAny(now.Value, "$`")
				}
			}
		}
	}
}

// Suffixes are what names of scripts for a launch end in.
var Suffixes = []string{".sh", ".bash", ".sbatch", ".slurm", ".job"}

// IsScript reports the name of a script for a launch.
func IsScript(name string) bool { return slices.Contains(Suffixes, path.Ext(name)) }

// isScript reports a file that a script writes and that is one itself.
func isScript(d Document) bool {
	if IsScript(d.Path.Text) {
		return true
	}
	first, _, _ := strings.Cut(d.Content, "\n")
	return strings.HasPrefix(first, "#!") && strings.HasSuffix(first, "sh")
}

// optionsOf runs while getopts … of arguments that are known, once for each option; false
// where it is another loop, or nobody knows them.
func (e *evaluator) optionsOf(c *syntax.WhileClause) bool {
	if c.Until || len(c.Cond) != 1 || !e.state.given {
		return false
	}
	call, ok := c.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 3 || call.Args[0].Lit() != "getopts" {
		return false
	}
	letters, name, all := e.word(call.Args[1]), call.Args[2].Lit(), e.state.positional
	if letters.isOpen() || name == "" || slices.ContainsFunc(all, text.isOpen) {
		return false
	}
	spec, line := strings.TrimPrefix(letters.String(), ":"), e.line(call.Pos())
	next := 0
	for next < len(all) && len(all[next]) > 1 && all[next][0].b == '-' && all[next].String() != "--" {
		word := all[next]
		next++
		for i := 1; i < len(word); i++ {
			letter, argument := word[i:i+1].String(), text{}
			at := strings.Index(spec, letter)
			switch {
			case at < 0 || letter == ":":
				letter = "?"
			case strings.HasPrefix(spec[at+1:], ":"):
				if argument = word[i+1:]; len(argument) == 0 && next < len(all) {
					argument = all[next]
					next++
				}
				i = len(word)
			}
			e.state.variables[name] = variable{text: known(letter, line)}
			e.state.variables["OPTARG"] = variable{text: argument}
			e.state.variables["OPTIND"] = variable{text: known(strconv.Itoa(next+1), line)}
			e.guardedly(func() { e.run(c.Do) })
		}
	}
	if next < len(all) && all[next].String() == "--" {
		next++
	}
	e.state.variables["OPTIND"] = variable{text: known(strconv.Itoa(next+1), line)}
	return true
}
