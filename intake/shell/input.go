package shell

import (
	"path"
	"slices"
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
	ok = ok && len(names) == 1 && name != "printf"
	for _, n := range names {
		v := variable{exported: e.state.variables[n].exported, isList: list}
		switch {
		case !ok && list:
			v.loose = true
			v.list = []text{computed("${"+n+"[@]}", e.line(s.Pos()))}
		case !ok:
			v.text = computed("${"+n+"}", e.line(s.Pos()))
		case name != "read":
			v.list = input.lines()
		case !whole && list:
			v.list = input.firstOf().fields()
		case list:
			v.list = input.fields()
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
				only = only && (len(n.Args) == 0 || slices.Contains([]string{"echo", "[", "test", "true", ":"}, n.Args[0].Lit()))
			case *syntax.ForClause, *syntax.WhileClause, *syntax.FuncDecl, *syntax.Subshell:
				only = false
			}
			return true
		})
	}
	return only
}

// mostItems are more options than a loop puts together.
const mostItems = 64

// loop runs the body once for each value where that only sets variables, and else once, with
// a variable that is open over several values.
func (e *evaluator) loop(c *syntax.ForClause) {
	words, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		e.run(c.Do)
		return
	}
	e.guarded++
	defer func() { e.guarded-- }()
	name, items := words.Name.Value, e.words(words.Items)
	vague := func(t text) bool { return t.isOpen() || strings.Contains(t.String(), "{") }
	switch plain := !slices.ContainsFunc(items, vague); {
	case len(items) == 1 && plain, len(items) > 1 && len(items) <= mostItems && plain && assigns(c.Do):
		for _, t := range items {
			e.state.variables[name] = variable{text: t}
			e.run(c.Do)
		}
		return
	}
	e.state.variables[name] = variable{text: computed("${"+name+"}", e.line(words.Name.Pos()))}
	e.run(c.Do)
}

// farther are the commands that start what one of their words says on other machines.
var farther = []string{"ssh", "pdsh", "clush"}

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
	name = path.Base(name)
	away := slices.Contains(farther, name)
	if t, ok := e.fed(s); ok && !e.certain && (away || slices.Contains(starters, name)) {
		e.shellOf(t, !away)
	}
}

// isScript reports a file that a script writes and that is one itself.
func isScript(d Document) bool {
	switch path.Ext(d.Path.Text) {
	case ".sh", ".bash", ".sbatch", ".slurm", ".job":
		return true
	}
	first, _, _ := strings.Cut(d.Content, "\n")
	return strings.HasPrefix(first, "#!") && strings.HasSuffix(first, "sh")
}
