package intake

import (
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/settings"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/intake/tree"
)

//go:embed foreign.jsonl
var foreignFile string

// foreign is a program whose configurations ndc does not read, or that trains nothing, so
// that it is named: a line of foreign.jsonl.
type foreign struct {
	Program string   `json:"program"` // "": the name that the command has
	Starts  string   `json:"starts"`  // an expression for the words of a command that starts it; "": one that is read does
	Python  string   `json:"python"`  // an expression for what a configuration in Python imports; "": it has none
	Keys    []string `json:"keys"`    // of its YAML: one of them tells it from others
	JSON    []string `json:"json"`    // of its JSON
	Give    string   `json:"give"`    // what says of its run what ndc reads
	Does    string   `json:"does"`    // what it does where it trains nothing; "": it trains
	Source  string   `json:"source"`

	starts, python *regexp.Regexp
}

// foreigners are the lines of foreign.jsonl. The first that is one counts.
var foreigners = sync.OnceValue(func() []foreign {
	all := facts.Lines[foreign]("intake: foreign.jsonl", foreignFile)
	for i := range all {
		if all[i].Starts != "" {
			all[i].starts = regexp.MustCompile(all[i].Starts)
		}
		if all[i].Python != "" {
			all[i].python = regexp.MustCompile(all[i].Python)
		}
	}
	return all
})

// strange says whose configuration a file is that ndc does not read; "" where nobody knows.
func strange(f File) string {
	var has func(foreign) bool
	switch path.Ext(f.Name) {
	case ".py":
		has = func(p foreign) bool { return p.python != nil && p.python.Match(f.Content) }
	case ".yaml", ".yml":
		n, err := tree.YAML(f.Content)
		if err != nil {
			return fmt.Sprintf("It is no YAML that ndc reads: %v. ", err)
		}
		has = func(p foreign) bool { return hasAny(n.Object(), p.Keys) }
	case ".json":
		n, err := tree.JSON(f.Content)
		has = func(p foreign) bool { return err == nil && hasAny(n.Object(), p.JSON) }
	default:
		return ""
	}
	for _, p := range foreigners() {
		if has(p) && p.Does != "" {
			return fmt.Sprintf("It is a configuration of %s, which %s: a job is for training a model of language. ", p.Program, p.Does)
		}
		if has(p) {
			return fmt.Sprintf("It is a configuration of %s, which ndc does not read. %s ", p.Program, p.Give)
		}
	}
	return ""
}

// hasAny reports one of some keys.
func hasAny(o tree.Object, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, ok := at(o, key); return ok })
}

// at is the value of a key, with dots between the names of those it stands in.
func at(o tree.Object, key string) (tree.Node, bool) {
	name, rest, nested := strings.Cut(key, ".")
	n, ok := o.Find(name)
	if !nested || !ok {
		return n, ok
	}
	return at(n.Object(), rest)
}

// stranger is the program that a command starts and whose configuration ndc does not read;
// nil where it starts something else.
func stranger(c shell.Command) *foreign {
	return among(c.Words, func(p foreign) bool { return p.Does == "" })
}

// among is the first of some programs that the words of a command start; nil for none.
func among(words []shell.Word, some func(foreign) bool) *foreign {
	line := inOne(words)
	for i, p := range foreigners() {
		if some(p) && p.starts != nil && p.starts.MatchString(line) {
			return &foreigners()[i]
		}
	}
	return nil
}

// inOne is a command as one text.
func inOne(words []shell.Word) string {
	var texts []string
	for _, w := range words {
		texts = append(texts, w.Text)
	}
	return strings.Join(texts, " ")
}

// apart is the program with a configuration of its own, which ndc does not read, that a
// command starts with options of Megatron-LM; nil where the options say the run. Values
// of these have any words.
func apart(c shell.Command) *foreign {
	end := slices.IndexFunc(c.Words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "-") })
	for i, w := range c.Words {
		if strings.HasSuffix(w.Text, ".py") {
			end = i + 1
		}
	}
	return stranger(shell.Command{Words: c.Words[:max(end, 0)]})
}

// idle says what a command does that trains nothing; "" for another one.
func idle(c shell.Command) string {
	words := c.Words
	if i := slices.IndexFunc(words, func(w shell.Word) bool { return strings.HasSuffix(w.Text, ".py") }); i >= 0 {
		words = words[:i+1] // what stands behind is its options
	}
	p := among(words, func(foreign) bool { return true })
	if p == nil || p.Does == "" {
		return ""
	}
	starts := strings.Fields(p.starts.FindString(inOne(words)))
	return draft.Guarded("", cmp.Or(p.Program, path.Base(starts[len(starts)-1]))) + ", which " + p.Does
}

// launched is the launch of Megatron-LM of a script, as megatron.Command finds it, without
// the commands that train nothing.
func launched(s *shell.Script) (shell.Command, bool) {
	trains := *s
	trains.Commands = slices.DeleteFunc(slices.Clone(s.Commands), func(c shell.Command) bool { return idle(c) != "" })
	if len(trains.Commands) < len(s.Commands) {
		trains.Lists = nil // they are options of what was left out
	}
	return megatron.Command(&trains)
}

// bridge is Megatron-Bridge, of which ndc reads what it prints.
const bridge = "Megatron-Bridge"

// override is a word of a command line that sets a key of a configuration of Megatron-Bridge.
var override = regexp.MustCompile(`^\+{0,2}[a-z_]+(\.[a-z_0-9]+)+=`)

// overrides are such words of the command that starts Megatron-Bridge.
func (in *intake) overrides() (all []shell.Word) {
	for f, s := range in.whole() {
		for _, c := range s.Commands {
			p := stranger(c)
			if p == nil || p.Program != bridge || len(all) > 0 {
				continue
			}
			for _, w := range c.Words {
				if override.MatchString(w.Text) {
					w.File = megatron.Place(f.Name, w).File
					all = append(all, w)
				}
			}
		}
	}
	return all
}

// assigned is a word that sets an option of LLaMA-Factory.
var assigned = regexp.MustCompile(`^[a-z][a-z_0-9]*=`)

// trainerOptions are the options of the command that starts the Trainer with a file of them:
// behind its program, with dashes or, as LLaMA-Factory takes them, without.
func (in *intake) trainerOptions(f File) []settings.Option {
	for o, s := range in.whole() {
		for _, c := range s.Commands {
			words := commandLine(o.Name, c)
			named := slices.IndexFunc(words, func(w settings.Word) bool {
				return path.Base(w.Text) == path.Base(f.Name) || strings.HasSuffix(w.Text, "="+path.Base(f.Name))
			})
			if named < 0 {
				continue
			}
			program := settings.Program(words)
			if program < 0 {
				program = named
			}
			options := slices.Clone(words[program+1:])
			for i, w := range options {
				if assigned.MatchString(w.Text) {
					options[i].Text = "--" + w.Text
				}
			}
			return settings.TrainerOptions(options)
		}
	}
	return nil
}

// unread names the commands of a script whose programs have configurations that ndc does
// not read.
func (in *intake) unread(file string, commands []shell.Command) {
	for i, c := range commands {
		at := megatron.Place(file, c.Words[0])
		if what := idle(c); what != "" {
			in.d.Find(draft.Finding{Place: at, Name: c.Words[0].Text, Verdict: draft.Left, Why: "it starts " + what})
		}
		p := stranger(c)
		if p == nil {
			continue
		}
		inner := false // of a script that it starts, which is named itself
		for _, below := range commands[i+1 : i+1+c.Inner] {
			inner = inner || stranger(below) != nil
		}
		if inner {
			continue
		}
		if p.Program == bridge && in.launch == megatron.Kind {
			megatron.Started(in.d, file, c.Words)
			in.d.Find(draft.Finding{Place: at, Name: c.Words[0].Text, Verdict: draft.Left, Why: "it starts Megatron-Bridge, whose printed configuration is read; overrides here count before that"})
			continue
		}
		if in.trained {
			in.d.Find(draft.Finding{Place: at, Name: c.Words[0].Text, Verdict: draft.Left, Why: "it starts " + p.Program + ", whose options are read; those here count before the file"})
			continue
		}
		if in.launch == settings.DeepSpeedKind && settings.Trainer(draft.New(), file, commandLine(file, c)) {
			in.d.Find(draft.Finding{Place: at, Name: c.Words[0].Text, Verdict: draft.Left, Why: "it starts " + p.Program + ", whose options are read as the Trainer's"})
			continue
		}
		in.d.Find(draft.Finding{Place: at, Name: c.Words[0].Text, Verdict: draft.Unknown,
			Why: fmt.Sprintf("it starts %s, and what its options and its configuration say is not read. %s", p.Program, p.Give)})
	}
}
