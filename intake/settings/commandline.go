package settings

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/launcher"
	"github.com/ndc-dev/ndc/intake/tree"
)

// Word is a word of a command line and where it stands.
type Word struct {
	Text string
	At   draft.Place
	Open bool // a part, or whether it is there, is known only when the script runs
}

// Option is an option of a command line, which counts before a configuration.
type Option struct{ key key }

// Underscored is the name of an option of those that are taken with either sign between their
// words, such as accelerate's, written with underscores.
func Underscored(name string) string {
	if words, ok := strings.CutPrefix(name, "--"); ok {
		return "--" + strings.ReplaceAll(words, "-", "_")
	}
	return name
}

// Program is the place of the program that a command starts, behind its launcher where it has
// one: a file of Python or a module behind -m or --module; -1 where there is none.
func Program(words []Word) int {
	isProgram := func(i int) bool {
		return strings.HasSuffix(words[i].Text, ".py") || i > 0 && (words[i-1].Text == "-m" || words[i-1].Text == "--module") &&
			!strings.HasPrefix(words[i].Text, "-") && launcher.Of(words[i].Text) == ""
	}
	start := AccelerateLaunch(words)
	if start < 0 {
		start = slices.IndexFunc(words, func(w Word) bool { return launcher.Of(w.Text) != "" })
	}
	first := -1
	for i := range words {
		if isProgram(i) && i > start {
			return i
		} else if isProgram(i) && first < 0 {
			first = i
		}
	}
	return first // what looks like a launcher is an option's value
}

// spelledOption is an option among words.
type spelledOption struct {
	name   string   // without its dashes
	values []string // nil: none
	at     draft.Place
	open   bool // as of a word
}

// spelledOptions are the options among the words of a command: --name=value, --name and
// the words behind it up to the next option.
func spelledOptions(words []Word) (all []spelledOption) {
	for i := 0; i < len(words); i++ {
		name, dashes := strings.CutPrefix(words[i].Text, "--")
		if !dashes {
			continue
		}
		o := spelledOption{at: words[i].At, open: words[i].Open}
		name, value, joined := strings.Cut(name, "=")
		if o.name = name; joined {
			o.values = []string{value}
		}
		for !joined && i+1 < len(words) && !strings.HasPrefix(words[i+1].Text, "--") && !loose(words[i+1], len(o.values)) {
			i++
			o.values, o.open = append(o.values, words[i].Text), o.open || words[i].Open
		}
		all = append(all, o)
	}
	return all
}

// loose reports a word that is no value of an option with some values: it may be options
// itself, which nobody knows.
func loose(w Word, values int) bool {
	return w.Open && (values > 0 || slices.Contains([]string{"$@", "$*", "${@}", "${*}"}, w.Text))
}

// Loose are the words behind a command's program that may be options and that nobody knows.
func Loose(words []Word) (all []Word) {
	values := -1 // of the option before; -1: before the program's
	for i, w := range words {
		name, _, joined := strings.Cut(w.Text, "=")
		dashes := strings.HasPrefix(name, "--")
		switch {
		case strings.HasSuffix(w.Text, ".py") || i > 0 && words[i-1].Text == "-m":
			values = 1
		case values < 0 && !(dashes && strings.Contains(name, ".")):
		case dashes && joined:
			values = 1
		case dashes:
			values = 0
		case loose(w, values):
			all = append(all, w)
		default:
			values++
		}
	}
	return all
}

// TitanOptions are the options of TorchTitan among the words of a command, which
// count before what its configuration says: --training.steps=10, --training.steps 10,
// --training.seq-len 10, --compile.enable, --compile.no-enable. nil where the command starts something else.
func TitanOptions(words []Word) []Option {
	table, _ := torchtitan.Tables(lastTOML)
	renamed := rulesOf("torchtitan.jsonl")
	entryOf := func(name string) (schema.Option, bool) {
		if u := renamed.of(name); u != nil && u.Now != "" {
			name = u.Now
		}
		return table.Lookup(name)
	}
	var all []Option
	known := false
	for _, o := range spelledOptions(words) {
		name, values := strings.ReplaceAll(o.name, "-", "_"), o.values // tyro takes either
		if !strings.Contains(name, ".") {
			continue
		}
		k := key{path: name, at: o.at, open: o.open}
		entry, ok := entryOf(name)
		if negated := strings.Replace(name, ".no_", ".", 1); !ok && negated != name && len(values) == 0 {
			if entry, ok = entryOf(negated); ok {
				k.path, values = negated, []string{"false"}
			}
		}
		known = known || ok
		k.Value = spoken(entry, values)
		all = append(all, Option{k})
	}
	if !known {
		return nil
	}
	return all
}

// spoken is what words say of an option.
func spoken(entry schema.Option, words []string) any {
	if entry.Type == "list" || entry.Count.Max < 0 {
		var list []tree.Node
		for _, w := range words {
			for part := range strings.SplitSeq(w, ",") {
				list = append(list, tree.Node{Value: part})
			}
		}
		return list
	}
	switch text := strings.Join(words, " "); {
	case len(words) == 0:
		return true
	case entry.Type == "bool" && (text == "true" || text == "True"):
		return true
	case entry.Type == "bool" && (text == "false" || text == "False"):
		return false
	case entry.Type == "int" || entry.Type == "float" || entry.Names == nil: // one of a fork
		return numeral(strings.ReplaceAll(text, "_", ""), text)
	default:
		return text
	}
}

// numeral is the number that a text spells as Python does, as in 0. and .03; otherwise where
// it spells none.
func numeral(text, otherwise string) any {
	if n, err := tree.JSON([]byte(text)); err == nil {
		if number, ok := n.Value.(json.Number); ok {
			return number
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err == nil && math.IsInf(f, 1):
		return infinite
	case err == nil && !math.IsInf(f, 0) && !math.IsNaN(f):
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return otherwise
}

// over lays options of the command line over the keys of a configuration: of an
// option that stands twice the last counts.
func (r *reading) over(all []key, options []Option) []key {
	for _, option := range options {
		o := option.key
		o.path = r.renamed(o.path)
		i := slices.IndexFunc(all, func(k key) bool { return k.path == o.path })
		if i < 0 {
			all = append(all, o)
			continue
		}
		why := "the command line says it, which counts before the file"
		if all[i].at != (draft.Place{}) {
			why = "the command line says it again, and the last counts"
		}
		r.d.Find(draft.Finding{Place: r.at(all[i]), Name: all[i].path, Value: shortened(all[i].written()), Verdict: draft.Left, Why: why})
		all[i] = o
	}
	return all
}
