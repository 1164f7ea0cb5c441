package shell

import (
	"bytes"
	_ "embed" // the table beside this file
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ndc-dev/ndc/facts"
)

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

//go:embed starters.jsonl
var startersFile string

// starter is a family of commands that may start a script that is one of their words: a line of
// starters.jsonl.
type starter struct {
	Programs []string `json:"programs"`
	Away     bool     `json:"away"` // they start what one of their words says, on other machines
	Source   string   `json:"source"`
}

var starters = sync.OnceValue(func() []starter { return facts.Lines[starter]("shell: starters.jsonl", startersFile) })

// starterOf is the family of a command, nil for any other command.
func starterOf(name string) *starter {
	for i := range starters() {
		if s := &starters()[i]; slices.Contains(s.Programs, path.Base(name)) {
			return s
		}
	}
	return nil
}

// start evaluates the script that a command starts, where it is given:
// with the words behind it for arguments, and of the variables those that are
// exported.
func (e *evaluator) start(words []text) (started bool) {
	if e.depth >= maxDepth || len(e.script.Files) >= mostFiles {
		return false
	}
	for i, w := range words {
		if i > 0 {
			if by := starterOf(words[0].String()); by == nil || by.Away {
				break
			}
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
				asked = append(asked, Directive{Name: s.Name, Value: s.Value, Line: s.Line - file*fileLines})
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
	if by := starterOf(words[0].String()); by != nil && by.Away && !e.certain {
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
