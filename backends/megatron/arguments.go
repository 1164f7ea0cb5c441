package megatron

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// arguments collects the command line of pretrain_gpt.py. Every option is
// checked against the release's table as it is added; an option that fails is
// a defect of ndc, so it panics.
type arguments struct {
	v    *version
	j    *job.Job
	p    *plan.Plan
	list []slurm.Argument
	used map[string]bool

	replaced map[string]bool     // attributes that extra arguments set in ndc's place
	instead  map[string][]string // what ndc would have said, its option last
}

// section starts a group of arguments with a comment.
func (a *arguments) section(title string) {
	a.list = append(a.list, slurm.Argument{Why: title})
}

// from says where the value of a job argument comes from.
func (a *arguments) from(path string) string {
	return a.j.Sources[path].Origin.String() + ": " + path
}

// planned marks a value that the compiler chose.
func planned(field string) string { return "plan: " + field }

// add appends an option with values that are plain text.
func (a *arguments) add(why, name string, values ...string) {
	a.check(name, values)
	if a.replaces(name, values) {
		return
	}
	a.list = append(a.list, slurm.Option(why, name, values...))
}

// words appends an option whose values may refer to the cluster's environment.
// The texts are what the table checks.
func (a *arguments) words(why, name string, texts []string, words []render.Word) {
	a.check(name, texts)
	if a.replaces(name, texts) {
		return
	}
	a.list = append(a.list, slurm.Argument{Why: why, Words: append([]render.Word{render.Literal(name)}, words...)})
}

func (a *arguments) check(name string, values []string) {
	if p := a.v.options.Check(name, values...); p != nil {
		panic("megatron: emitted option: " + p.Error())
	}
	if a.used[name] {
		panic("megatron: option emitted twice: " + name)
	}
	a.used[name] = true
}

func (a *arguments) integer(why, name string, v int) { a.add(why, name, strconv.Itoa(v)) }

func (a *arguments) number(why, name string, v float64) { a.add(why, name, render.Number(v)) }

// flag appends an option without a value when on.
func (a *arguments) flag(why, name string, on bool) {
	if on {
		a.add(why, name)
	}
}

// path appends an option with one path, which may name variables of the
// cluster. A path that begins with a dash is joined to its option, so that it
// is not taken for one.
func (a *arguments) path(why, name, value string) {
	if strings.HasPrefix(value, "-") {
		a.check(name, []string{value})
		a.list = append(a.list, slurm.Argument{Why: why, Words: []render.Word{render.Shell(name + "=" + render.ExpandingPath(value).String())}})
		return
	}
	a.words(why, name, []string{value}, []render.Word{render.ExpandingPath(value)})
}

// own appends an option with shell text that ndc wrote.
func (a *arguments) own(why, name, text string) {
	a.words(why, name, []string{text}, []render.Word{render.Shell(text)})
}

// extra appends the user's own arguments, which were checked before.
func (a *arguments) extra() {
	for _, o := range occurrences(a.j.Backend.ExtraArgs) {
		a.list = append(a.list, slurm.Option(a.originOf(o.name), o.words[0], o.words[1:]...))
	}
}

// occurrence is one option of a command line with its words as written.
type occurrence struct {
	at     int // index of its first word
	name   string
	values []string
	words  []string
}

// occurrences cuts words into options, each with the values that follow it.
// Words before the first option form one without a name.
func occurrences(words []string) []occurrence {
	var all []occurrence
	for i, w := range words {
		if strings.HasPrefix(w, "--") {
			name, value, joined := strings.Cut(w, "=")
			o := occurrence{at: i, name: name, words: []string{w}}
			if joined {
				o.values = []string{value}
			}
			all = append(all, o)
			continue
		}
		if len(all) == 0 {
			all = append(all, occurrence{})
		}
		last := &all[len(all)-1]
		last.values, last.words = append(last.values, w), append(last.words, w)
	}
	return all
}

// spell writes a list of words for a message.
func spell(words []string) string { return fmt.Sprintf("%q", strings.Join(words, " ")) }
