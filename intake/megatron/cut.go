package megatron

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/lang/units"
)

// option is one option of the command line with its values.
type option struct {
	name    string // as written, but for underscores that stand for dashes
	long    string // as the release spells it
	values  []shell.Word
	line    draft.Place
	open    bool // a value is known only when the script runs
	own     bool // and is that of a variable which the script itself sets
	maybe   bool // so is whether it is there
	unnamed bool // only a run knows its name, as of --$PRECISION
}

func (o *option) texts() []string {
	texts := make([]string, len(o.values))
	for i, v := range o.values {
		texts[i] = v.Text
	}
	return texts
}

func (o *option) first() string {
	if len(o.values) == 0 {
		return ""
	}
	return o.values[0].Text
}

// cut takes a command line apart: what stands before the program's options, and
// the options with their values.
func cut(file string, words []shell.Word) (before []shell.Word, options []option) {
	start := behind(shell.Command{Words: words})
	for _, w := range words[start:] {
		name, value, joined := strings.Cut(w.Text, "=")
		_, err := strconv.ParseFloat(w.Text, 64)
		switch {
		case strings.HasPrefix(w.Text, "-") && err != nil && len(w.Text) > 1:
			o := option{name: name, long: name, line: Place(file, w), maybe: w.Maybe, unnamed: w.Open && strings.ContainsAny(name, "$`")}
			if joined {
				o.values, o.open, o.own = []shell.Word{{Text: value, File: w.File, Line: w.Line, Open: w.Open}}, w.Open, w.Own
			}
			options = append(options, o)
		case len(options) > 0:
			last := &options[len(options)-1]
			last.values = append(last.values, w)
			last.open, last.own, last.maybe = last.open || w.Open, last.own || w.Own, last.maybe || w.Maybe
		}
	}
	if start == 0 { // no script: a program that is installed
		start = max(0, slices.IndexFunc(words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "-") }))
	}
	return words[:start], options
}

// fit is the newest release of those that know the most of some options.
func fit(options []option) string {
	best, most := "", -1
	for _, version := range slices.Backward(megatron.Backend{}.Versions()) {
		table, _ := megatron.Tables(version)
		n := 0
		for _, o := range options {
			if _, ok := lookup(table, o.name); ok {
				n++
			}
		}
		if n > most {
			best, most = version, n
		}
	}
	return best
}

// underscored reports a program that is built on Megatron-LM and spells its options with
// underscores, as one does that declares its arguments in dataclasses: it says a degree of
// model parallelism so, or, where it is named as one of Megatron-LM's, its layers. Other
// programs have options of the same words.
func underscored(words []shell.Word) bool {
	own := slices.ContainsFunc(words, func(w shell.Word) bool {
		return strings.HasPrefix(path.Base(w.Text), "pretrain_") && strings.HasSuffix(w.Text, ".py")
	})
	return slices.ContainsFunc(words, func(w shell.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		return strings.HasSuffix(name, "_model_parallel_size") && dashed(name) != name || own && name == "--num_layers"
	})
}

// dashed is an option as Megatron-LM spells it, where it is one of a release, or a former
// one, with dashes for its underscores.
func dashed(name string) string {
	other := strings.ReplaceAll(name, "_", "-")
	if other == name || !strings.HasPrefix(name, "--") || spelled(name) || !spelled(other) {
		return name
	}
	return other
}

// spelled reports whether a release or a fork has an option of just that name.
func spelled(name string) bool {
	_, fork := former()[name]
	return fork || slices.ContainsFunc(megatron.Backend{}.Versions(), func(version string) bool {
		table, _ := megatron.Tables(version)
		return table.Has(name)
	})
}

// lookup finds an option by its name or, as argparse does, by a beginning that
// no other has.
func lookup(t *schema.Table, name string) (schema.Option, bool) {
	if o, ok := t.Lookup(name); ok || !strings.HasPrefix(name, "--") || len(name) < 5 {
		return o, ok
	}
	found := ""
	for _, n := range t.Names() {
		if strings.HasPrefix(n, name) {
			if found != "" {
				return schema.Option{}, false
			}
			found = n
		}
	}
	return t.Lookup(found)
}

// loose takes away the words behind an option that are not among its values, as most are,
// and that may be options themselves, which nobody knows.
func (r *reading) loose(o *option, most int, known bool) {
	kept, lost := o.values[:0:0], o.values[:0:0]
	for i, w := range o.values {
		if i >= most && most >= 0 && r.isLoose(w) && (known || !begun.MatchString(w.Text)) || i > 0 && most < 0 && w.Open && manyWords.MatchString(w.Text) {
			lost = append(lost, w)
			continue
		}
		kept = append(kept, w)
	}
	r.unknownWords(lost)
	if len(kept) < len(o.values) {
		o.values = kept
		o.open = slices.ContainsFunc(kept, func(w shell.Word) bool { return w.Open })
		o.own = slices.ContainsFunc(kept, func(w shell.Word) bool { return w.Own })
	}
}

// isLoose reports a word that may stand for options: argparse reads them from @FILE where
// a program lets it.
func (r *reading) isLoose(w shell.Word) bool {
	return w.Open && !below.MatchString(w.Text) || strings.HasPrefix(w.Text, "@")
}

// below is a file or folder of one that a variable names, and so no options.
var below = regexp.MustCompile(`^\$(\w+|\{\w+\})/[^$]*$`)

// begun is a word that begins with text of its own, and so with no option: it is a value of
// an option that nobody knows, which may take several.
var begun = regexp.MustCompile(`^[\w./]`)

// manyWords are those that hardly are one value of a list of values: the script's arguments,
// what a command prints, and variables that are named as options are.
var manyWords = regexp.MustCompile(`(?i)^(\$[@*]|\$\{[@*]\}|\$\(.*|\$\{?\w*(arg|opt|option|flag)s?(\[[@*]\])?\}?)$`)

// unknownWords names words of the launch that may be options: of those that one command
// prints, as one does for every source of data, the first, and how many follow. What they
// would set is then the release's default, which the job says at its head.
func (r *reading) unknownWords(words []shell.Word) {
	by := func(w shell.Word) string {
		command, _, _ := strings.Cut(w.Text, " ")
		return command
	}
	for i, w := range words {
		alike := func(o shell.Word) bool { return by(o) == by(w) }
		if slices.ContainsFunc(words[:i], alike) {
			continue
		}
		text, more := draft.Guarded("", w.Text), 0
		for _, o := range words[i+1:] {
			if alike(o) {
				more++
			}
		}
		if more > 0 {
			text += fmt.Sprintf(" and %s alike", units.Count(more, "word"))
		}
		why := "only a run knows which options it stands for; what they set has the release's default here"
		if slices.Contains([]string{"$@", "$*", "${@}", "${*}"}, w.Text) {
			why = "the script's arguments stand behind --; what options among them set has the release's default here"
		}
		at := Place(r.file, w)
		r.d.Find(draft.Finding{Place: at, Name: text, Verdict: draft.Unknown, Why: why})
		r.d.Note("", fmt.Sprintf("%s:%d: %s may be any options of the launch; what they set has the release's default here", at.File, at.Line, text))
		for _, path := range []string{"training.precision", "training.global_batch_size"} { // the defaults of which nobody trains with
			r.unread[path] = true
		}
	}
}
