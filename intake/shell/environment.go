package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// set runs set, which says what the script is called with, and whether all variables
// are exported.
func (e *evaluator) set(words []text) {
	for i, w := range words {
		s := w.String()
		on := strings.HasPrefix(s, "-")
		switch {
		case s == "--":
			e.state.called(words[i+1:])
			return
		case len(s) < 2 || !on && s[0] != '+':
			return
		case strings.HasSuffix(s, "o") && i+1 < len(words) && words[i+1].String() == "allexport":
			e.state.allExported = on
			return
		case strings.HasSuffix(s, "o"):
			continue
		case strings.Contains(s, "a"):
			e.state.allExported = on
		}
	}
}

// environment sets the variables that one command alone sees: those in front of it,
// and those that env, srun, sbatch, a launcher or a container hands over. What it returns takes them back.
func (e *evaluator) environment(assigns []*syntax.Assign, words []text) func() {
	given := handed(words)
	if len(assigns) == 0 && len(given) == 0 {
		return func() {}
	}
	before := map[string]variable{}
	keep := func(name string) {
		if _, kept := before[name]; !kept {
			before[name] = e.state.variables[name]
		}
	}
	for _, a := range assigns {
		if a.Name != nil {
			keep(a.Name.Value)
			e.assign(a, true)
		}
	}
	for name, value := range given {
		keep(name)
		e.state.variables[name] = variable{text: unquoted(value), exported: true}
	}
	for name := range before {
		if e.certain {
			break // it is not known of which command
		}
		v := e.state.variables[name]
		if len(v.text) > 0 && !slices.ContainsFunc(e.script.alone, func(x Export) bool { return x.Name == name }) {
			e.script.alone = append(e.script.alone, Export{Name: name, Value: v.text.word()})
		}
	}
	return func() {
		for name, v := range before {
			if e.state.variables[name] = v; v.text == nil && !v.isList {
				delete(e.state.variables, name)
			}
		}
	}
}

// handing are the options by which a launcher or a container is told a variable of what it
// starts (Open MPI 5.0, mpirun(1); Docker 28, docker run; Apptainer 1.4, apptainer exec).
var handing = map[string][]string{
	"mpirun": {"-x"}, "mpiexec": {"-x"}, "orterun": {"-x"}, "prterun": {"-x"},
	"docker": {"-e", "--env"}, "podman": {"-e", "--env"}, "podman-hpc": {"-e", "--env"}, "nvidia-docker": {"-e", "--env"},
	"singularity": {"--env"}, "apptainer": {"--env"},
}

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*=`)

// handed are the variables that a command hands over to what it starts.
func handed(words []text) map[string]text {
	all := map[string]text{}
	add := func(t text) {
		if name, _, ok := strings.Cut(t.String(), "="); ok && assignment.MatchString(t.String()) {
			all[name] = t[len(name)+1:]
		}
	}
	command := ""
	for i, w := range words {
		s := w.String()
		switch base := path.Base(s); {
		case slices.Contains([]string{"env", "srun", "sbatch"}, base) || handing[base] != nil:
			command = base
		case slices.Contains(handing[command], s) && i+1 < len(words):
			add(words[i+1])
		case slices.ContainsFunc(handing[command], func(option string) bool { return strings.HasPrefix(s, option+"=") }):
			add(w[strings.IndexByte(s, '=')+1:])
		case command == "env" && assignment.MatchString(s):
			add(w)
		case command == "env" && !strings.HasPrefix(s, "-") && words[i-1].String() != "-u":
			command = ""
		case (command == "srun" || command == "sbatch") && strings.HasPrefix(s, "--export="):
			for _, t := range w[len("--export="):].split(',') {
				add(t)
			}
		case (command == "srun" || command == "sbatch") && s == "--export" && i+1 < len(words):
			for _, t := range words[i+1].split(',') {
				add(t)
			}
		case strings.HasSuffix(s, ".py") || strings.HasSuffix(s, ".sh"):
			return all // what follows are its arguments
		}
	}
	return all
}

// split cuts a text at a character.
func (t text) split(at byte) []text {
	var all []text
	for {
		i := slices.IndexFunc(t, func(c cell) bool { return c.b == at })
		if i < 0 {
			return append(all, t)
		}
		all, t = append(all, t[:i]), t[i+1:]
	}
}

// Submission is an option of a command line of sbatch, which counts before the
// directives of the script that it starts.
type Submission struct {
	Directive
	File   string // that it stands in; "": the script itself
	Script string // that it starts, of those given
}

// submits are the options of a command of sbatch, in front of the script that it starts.
func submits(words []text, script string) []Submission {
	at := slices.IndexFunc(words, func(t text) bool { return path.Base(t.String()) == "sbatch" })
	if at < 0 {
		return nil
	}
	var all []Submission
	for words = words[at+1:]; len(words) > 0; words = words[1:] {
		w := words[0].String()
		s := Submission{Script: script, Directive: Directive{Line: int(words[0].firstLine()), Open: words[0].isOpen()}}
		joined := true
		switch {
		case strings.HasPrefix(w, "--"):
			s.Name, s.Value, joined = strings.Cut(w[2:], "=")
		case len(w) > 1 && w[0] == '-' && short[w[1:2]] != "":
			s.Name, s.Value = short[w[1:2]], strings.TrimPrefix(w[2:], "=")
			joined = s.Value != ""
		default:
			continue
		}
		if !joined && len(words) > 1 && !strings.HasPrefix(words[1].String(), "-") {
			words = words[1:]
			s.Value, s.Open = words[0].String(), words[0].isOpen()
		}
		all = append(all, s)
	}
	return all
}

// wrapped evaluates the command that sbatch makes a script of by itself.
func (e *evaluator) wrapped(words []text) {
	for i, w := range words {
		script := text(nil)
		switch {
		case strings.HasPrefix(w.String(), "--wrap="):
			script = w[len("--wrap="):]
		case i > 0 && words[i-1].String() == "--wrap":
			script = w
		default:
			continue
		}
		for _, s := range submits(words, "") {
			if s.Name != "wrap" {
				e.script.Submissions = append(e.script.Submissions, s)
			}
		}
		e.apartFrom(func() { e.nested(script) })
		return
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
