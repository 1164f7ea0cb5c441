package intake

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/launcher"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/settings"
	"github.com/ndc-dev/ndc/intake/shell"
)

// noGPUs says at the head of the cluster that the launch is for other accelerators.
func (in *intake) noGPUs(by string) {
	in.d.Note("cluster", "the launch is for accelerators that are no GPUs, by its "+by+"; the plan is for the GPUs of this cluster")
}

// wrapped names a script that was not given and that starts the program with the options of
// a launch, to which it may add some, and reports whether there is one.
func (in *intake) wrapped(file string, s *shell.Script, c shell.Command) (found bool) {
	if slices.ContainsFunc(c.Words, func(w shell.Word) bool { return strings.HasSuffix(w.Text, ".py") }) {
		return false
	}
	for _, w := range absent(s, c) {
		at := megatron.Place(file, w)
		in.d.Find(draft.Finding{Place: at, Name: w.Text, Verdict: draft.Unknown,
			Why: "which program it starts, and what it adds to these options, is known where the file is given too"})
		in.d.Note("", fmt.Sprintf("%s:%d: %s was not given and may add options; what they set of training has the release's default here", at.File, at.Line, draft.Guarded("", w.Text)))
		found = true
	}
	return found
}

// unseen names the scripts that were not given and that a script starts which starts no
// program itself: the run may stand in them.
func (in *intake) unseen(file string, s *shell.Script) {
	if slices.ContainsFunc(s.Commands, func(c shell.Command) bool { return settings.Program(commandLine(file, c)) >= 0 }) {
		return
	}
	for _, c := range s.Commands {
		for _, w := range absent(s, c) {
			in.d.Find(draft.Finding{Place: megatron.Place(file, w), Name: draft.Guarded("", w.Text), Verdict: draft.Unknown,
				Why: "what it starts, and with which options, is known where the file is given too"})
		}
	}
}

// absent are the scripts that a command goes by and that were not given.
func absent(s *shell.Script, c shell.Command) (all []shell.Word) {
	started := multiplies(c.Words[0]) == nil // whose options may stand in front of what it starts
	for i, w := range c.Words {
		if strings.HasPrefix(w.Text, "--") {
			if started {
				break
			}
			continue
		}
		value := i > 0 && strings.HasPrefix(c.Words[i-1].Text, "-") && !strings.Contains(c.Words[i-1].Text, "=")
		started = started || i > 0 && !strings.HasPrefix(w.Text, "-") && (!value || path.Ext(w.Text) == ".sh")
		w.Text = lastField(w.Text) // of a command for another shell
		given := slices.ContainsFunc(s.Files, func(name string) bool { return path.Base(name) == path.Base(w.Text) })
		if !given && shell.IsScript(w.Text) {
			all = append(all, w)
		}
	}
	return all
}

// lastField is what stands behind the last blank that is not in parentheses.
func lastField(text string) string {
	text = strings.TrimSpace(text)
	depth := 0
	for i, b := range slices.Backward([]byte(text)) {
		switch {
		case b == ')':
			depth++
		case b == '(':
			depth--
		case depth == 0 && strings.IndexByte(" \t\n", b) >= 0:
			return text[i+1:]
		}
	}
	return text
}

//go:embed handlers.jsonl
var handlersFile string

// handling are the names of what reads, copies, sends, tests or ends what it is told, and starts
// none of it: programs, and modules of Python.
type handling struct{ programs, modules []string }

// handlers are those of handlers.jsonl.
var handlers = sync.OnceValue(func() (all handling) {
	type family struct {
		Programs []string `json:"programs"`
		Modules  []string `json:"modules"`
		Source   string   `json:"source"`
	}
	for _, f := range facts.Lines[family]("intake: handlers.jsonl", handlersFile) {
		all.programs, all.modules = append(all.programs, f.Programs...), append(all.modules, f.Modules...)
	}
	return all
})

// handles reports the words of a command up to one that such a program is told, be it for
// another machine and in one word.
func handles(words []shell.Word) bool {
	for i, w := range words {
		first, _, _ := strings.Cut(w.Text, " ")
		if slices.Contains(handlers().programs, path.Base(first)) && (i == 0 || !strings.HasPrefix(words[i-1].Text, "-")) {
			return true
		}
	}
	return false
}

// isModule reports a word that names a module which Python or a launcher of it starts.
func isModule(words []shell.Word, i int) bool {
	by := func(w shell.Word) bool {
		return strings.HasPrefix(path.Base(w.Text), "python") || launcher.Starts(w.Text)
	}
	return i > 1 && (words[i-1].Text == "-m" || words[i-1].Text == "--module") && !strings.HasPrefix(words[i].Text, "-") &&
		launcher.Of(words[i].Text) == "" && !slices.Contains(handlers().modules, words[i].Text) && slices.ContainsFunc(words[:i-1], by)
}

// starts says what a script starts last that says nothing of a run to ndc, and what would: a
// program, or a script that was not given; "" where it starts neither.
func (in *intake) starts() string {
	known := func(file string) string {
		if strings.Contains(file, "$(") { // in a folder that only a run knows
			return path.Base(file)
		}
		return file
	}
	alone := ""
	for _, s := range in.whole() {
		for _, c := range slices.Backward(s.Commands) {
			if idle(c) != "" {
				continue
			}
			if scripts := absent(s, c); len(scripts) > 0 {
				return fmt.Sprintf(" On line %d it starts %s: give that file, too.", c.Line, draft.Guarded("", known(scripts[0].Text)))
			}
			for i, w := range slices.Backward(c.Words) {
				if !strings.HasSuffix(w.Text, ".py") && !isModule(c.Words, i) || handles(c.Words[:i+1]) {
					continue
				}
				behind := c.Words[i+1:]
				what := fmt.Sprintf(" On line %d it starts %s", c.Line, draft.Guarded("", known(lastField(w.Text))))
				k := -1 // of the first that is no value of an option
				for n, w := range behind {
					value := n > 0 && strings.HasPrefix(behind[n-1].Text, "-") && !argument.MatchString(w.Text)
					if w.Open && strings.HasPrefix(w.Text, "$") && !value {
						k = n
						break
					}
				}
				switch {
				case k < 0:
					return what + ", whose options say no run that ndc reads."
				case argument.MatchString(behind[k].Text):
					return what + " with arguments of its own, which stand behind --."
				case behind[k].Own:
					return fmt.Sprintf("%s with %s, of which only a run knows what the script makes it.", what, draft.Guarded("", behind[k].Text))
				}
				return fmt.Sprintf("%s with %s, which nothing given says: give the file that sets it, too.", what, draft.Guarded("", behind[k].Text))
			}
			if i := slices.IndexFunc(c.Words, func(w shell.Word) bool { return launcher.Of(w.Text) == launcher.Torch }); i >= 0 && i+1 < len(c.Words) && strings.HasPrefix(c.Words[i+1].Text, "-") {
				return fmt.Sprintf(" On line %d %s starts a program of which no file says the name.", c.Line, path.Base(c.Words[i].Text))
			}
		}
		switch {
		case len(s.Commands) == 0 && len(s.Exports) > 0:
			alone = " It sets variables alone: give the script that starts the run with them, too."
		default:
			for _, w := range s.Sources {
				if !shell.IsEnvironment(w) {
					alone = fmt.Sprintf(" On line %d it reads %s, where what it starts may stand: give that file, too.", w.Line, draft.Guarded("", known(w.Text)))
				}
			}
		}
	}
	return alone
}

// cut names options that a launch is without, since the line above them does not go on.
func (in *intake) cut(file string, s *shell.Script) {
	isOption := func(w shell.Word) bool { return strings.HasPrefix(w.Text, "--") }
	told := map[draft.Finding]bool{}
	for _, c := range s.Cut {
		for i, w := range c.Words {
			if i > 0 && !isOption(w) {
				continue
			}
			name, value, joined := strings.Cut(w.Text, "=")
			for _, v := range c.Words[i+1:] {
				if joined || isOption(v) {
					break
				}
				value = strings.TrimSpace(value + " " + v.Text)
			}
			f := draft.Finding{Place: megatron.Place(file, w), Name: name, Value: draft.Guarded(name, value), Verdict: draft.Unknown,
				Why: "bash runs " + c.Words[0].Text + " as a command: the line before does not go on, and its command is without this option"}
			if !told[f] { // a loop comes by again
				in.d.Find(f)
			}
			told[f] = true
		}
	}
}
