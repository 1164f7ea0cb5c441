package megatron

import (
	_ "embed" // the tables beside this file
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/shell"
	language "github.com/ndc-dev/ndc/lang/schema"
)

//go:embed options.jsonl
var optionsFile string

// row is what the table of a release does not say of an option: one line of
// options.jsonl.
type row struct {
	Option   string         `json:"option"`
	Argument string         `json:"argument"` // of the job; "": that of the option's class
	Values   map[string]any `json:"values"`   // what its words are in the language, null for nothing to say; nil: they stand as they are
	Former   map[string]any `json:"former"`   // what words are that forks have and no release takes
	Says     any            `json:"says"`     // what the option's being there says, whatever its value
	Silent   string         `json:"silent"`   // why its default says nothing by itself; "": it does
	Source   string         `json:"source"`   // where the framework declares it
}

// rows are the lines of options.jsonl by their options.
var rows = lines(optionsFile, "options.jsonl", func(r row) string { return r.Option })

// lines are the lines of a file by what they are about, read once.
func lines[R any](content, name string, about func(R) string) func() map[string]R {
	return sync.OnceValue(func() map[string]R { return facts.By(facts.Lines[R]("megatron: "+name, content), about) })
}

//go:embed former.jsonl
var formerFile string

// former are options of earlier releases and of forks, which no release has that
// ndc emits for: lines of former.jsonl.
var former = lines(formerFile, "former.jsonl", func(r formerRow) string { return r.Option })

// formerRow is a row of one of them: what it says, why a job says nothing of it,
// or why ndc does not read it.
type formerRow struct {
	row
	Left  string   `json:"left"`
	Why   string   `json:"why"`
	Opens string   `json:"opens"` // an argument that the launch says elsewhere
	Other string   `json:"other"` // what is trained where its value is none of Only, and no job says
	Only  []string `json:"only"`
	Sets  string   `json:"sets"` // an attribute of the releases that it sets too
	As    string   `json:"as"`   // the option of the releases that it is read as

	With   map[string]any    `json:"with"`   // what its being there says of other arguments
	Apart  map[string]string `json:"apart"`  // words that the argument has, too, and that say something else here
	Tokens string            `json:"tokens"` // the attribute that it sets to a number of tokens, which steps are made of
}

func (w formerRow) read(r *reading, o *option) outcome {
	if w.Opens != "" {
		r.unread[w.Opens] = true
	}
	switch {
	case w.Left != "":
		return left(w.Left)
	case w.Why != "":
		if w.Sets != "" { // and is settled with others
			r.given[w.Sets] = o
		}
		return unknown(w.Why)
	case w.Tokens != "":
		if n, ok := r.number(o); !ok || n <= 0 {
			return unknown(draft.OnlyRunKnows)
		}
		r.given[w.Tokens] = o
		return outcome{to: w.Argument}
	}
	var result outcome
	if w.As != "" {
		as := *o
		as.long = w.As
		if w.Sets != "" { // as of an option of the release, known or not
			r.given[w.Sets] = o
		}
		result = r.value(&as, w.Argument)
	} else if why := w.Apart[o.first()]; why != "" {
		return unknown(why)
	} else {
		result = w.row.read(r, o)
	}
	if w.Sets != "" && result.verdict == "" {
		r.given[w.Sets] = o
	}
	for path, v := range w.With {
		r.d.Set(path, typed(path, v), r.at(o.line))
	}
	return result
}

// read sets the row's argument.
func (w row) read(r *reading, o *option) outcome {
	if w.Says != nil {
		r.d.Set(w.Argument, typed(w.Argument, w.Says), r.at(o.line))
		if word, ok := w.Says.(string); ok { // a fork may have one that the language has not, at which the job is refused
			if a, _ := language.At(w.Argument); a != nil && a.Enum != nil && !slices.Contains(a.Enum, word) {
				return unknown("no value of " + w.Argument)
			}
		}
		return outcome{to: w.Argument}
	}
	if o.open {
		return unknown(draft.OnlyRunKnows)
	}
	v, ok := w.Former[o.first()]
	if !ok && w.Values == nil {
		result := r.plain(o, w.Argument)
		result.to = w.Argument
		return result
	}
	if !ok {
		v, ok = w.Values[o.first()]
	}
	switch {
	case o.first() == "auto" && !ok, o.first() == "AttnBackend.auto":
		return left("the choice is left open")
	case !ok:
		return unknown("no value of " + w.Argument)
	case v == nil:
		return left("as it is where nothing is said")
	case r.quiet && r.d.Has(w.Argument):
		return outcome{}
	}
	r.d.Set(w.Argument, typed(w.Argument, v), r.at(o.line))
	return outcome{to: w.Argument}
}

// typed is a value of options.jsonl as a draft has it.
func typed(path string, v any) any {
	if f, ok := v.(float64); ok {
		if a, _ := language.At(path); a == nil || a.Type != language.Number {
			return int64(f)
		}
	}
	return v
}

//go:embed programs.jsonl
var programsFile string

// program is one that is built on Megatron-LM: a line of programs.jsonl.
type program struct {
	Program string         `json:"program"`
	Option  string         `json:"option"`  // which it alone has, and is known by; "": Command or Script
	Command string         `json:"command"` // that starts it
	Module  string         `json:"module"`  // the package of the module that Command starts; "": nobody starts it by itself
	Script  string         `json:"script"`  // of Megatron-LM's own, that is started
	Trains  string         `json:"trains"`  // the architecture, where it is none of the language's
	Sets    map[string]any `json:"sets"`    // arguments of the job, whatever the defaults of Megatron-LM
	Source  string         `json:"source"`

	Later  []string          `json:"later"`  // options of its own that are read when all are known
	Counts map[string]string `json:"counts"` // options of its own that say a number of the cluster, by the argument
	Apart  map[string]string `json:"apart"`  // options of Megatron-LM that say something else here, which no job says: what
	Width  int64             `json:"width"`  // of an MLP, gated or not, in widths of the layer, where none is said; 0: as Megatron-LM has it
	Blocks []string          `json:"blocks"` // letters of a pattern of layers that are other blocks here, each before that of the language
}

// programs are the lines of programs.jsonl by their names.
var programs = lines(programsFile, "programs.jsonl", func(p program) string { return p.Program })

// counting is what number of the cluster an option of such a program says; "" for none.
func counting(option string) string {
	for _, p := range programs() {
		if argument := p.Counts[option]; argument != "" {
			return argument
		}
	}
	return ""
}

// apart is what else an option of Megatron-LM says in the program that the launch is of; "" where
// it says the same.
func (r *reading) apart(option string) string {
	for _, p := range programs() {
		if why := p.Apart[option]; why != "" && r.words[p.Option] {
			return why
		}
	}
	return ""
}

// starts reports whether a launch, of which some words stand before the options, is one of
// the program.
func (p program) starts(r *reading, before []shell.Word) bool {
	if p.Option != "" {
		return r.words[p.Option]
	}
	if len(before) == 0 {
		return false
	}
	if p.Script != "" {
		return path.Base(before[len(before)-1].Text) == p.Script
	}
	name := strings.ReplaceAll(strings.TrimSuffix(before[len(before)-1].Text, ".py"), "/", ".")
	return path.Base(before[0].Text) == p.Command || p.Module != "" && strings.Contains(name, p.Module+".")
}

// installed reports whether some words start such a program by its command.
func installed(words []shell.Word) bool {
	for _, p := range programs() {
		if p.Command != "" && len(words) > 0 && p.Command == path.Base(words[0].Text) {
			return true
		}
	}
	return false
}
