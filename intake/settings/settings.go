// Package settings reads configurations that are trees of keys, TOML of
// TorchTitan and JSON of DeepSpeed, into a job, by the tables of options that the
// backends write them by. Most keys say their argument as it stands; of the rest
// data files (*.jsonl) say what they are, or which function here reads them. Launch scripts are read by package intake/shell, command
// lines of Megatron-LM by package intake/megatron.
package settings

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
	language "github.com/ndc-dev/ndc/lang/schema"
)

// key is one leaf of the tree.
type key struct {
	path string      // with dots, as the release spells it
	at   draft.Place // of a key of the command line; the zero place: of the file
	open bool        // its value is known only when a script runs
	tree.Node
}

// outcome is what became of a key; the zero outcome is that it was mapped.
type outcome struct {
	verdict draft.Verdict
	to, why string
}

func unknown(why string) outcome { return outcome{verdict: draft.Unknown, why: why} }
func left(why string) outcome    { return outcome{verdict: draft.Left, why: why} }

// dialect is what a framework's configurations have of their own.
type dialect struct {
	kind    string
	version string
	table   *schema.Table
	classes *schema.Classes
	rules   rules
	// strange is what is said of a key that no table and no rule has; "": that the version has none.
	strange string
	// spell writes a key as one of extra_args.
	spell func(key) string
}

// reading is one configuration being read.
type reading struct {
	*dialect
	d      *draft.Draft
	file   string
	given  map[string]key
	passed []string

	earlier bool // keys are of a release before 0.2.0
}

// read takes all keys of a configuration.
func (x *dialect) read(d *draft.Draft, file string, root tree.Object, options ...Option) *reading {
	r := &reading{dialect: x, d: d, file: file, given: map[string]key{}}
	var all []key
	r.flatten("", root, &all)
	all = r.over(all, options)
	for _, k := range all {
		r.given[k.path] = k
	}
	for _, k := range all {
		r.key(k)
	}
	block := draft.Labelled("backend", x.kind)
	if x.version != "" {
		d.Set(block+".version", x.version, draft.Place{})
	}
	if len(r.passed) > 0 {
		d.Set(block+".extra_args", r.passed, draft.Place{})
	}
	return r
}

func (r *reading) flatten(prefix string, o tree.Object, all *[]key) {
	for _, m := range o {
		path := m.Key
		if prefix != "" {
			path = prefix + "." + m.Key
		}
		u := r.rules.of(path)
		path = r.renamed(path)
		if in, ok := m.Value.(tree.Object); ok && len(in) > 0 && (u == nil || !u.Whole) {
			r.flatten(path, in, all)
			continue
		}
		*all = append(*all, key{path: path, Node: m.Node})
	}
}

// renamed is the later name of a key, and notes where it is of an earlier release.
func (r *reading) renamed(path string) string {
	u := r.rules.of(path)
	if u == nil || u.Now == "" {
		return path
	}
	r.earlier = r.earlier || strings.HasPrefix(u.Source, "torchtitan 0.1.0") || strings.HasPrefix(u.Source, "torchtitan commit")
	return u.Now
}

func (r *reading) at(k key) draft.Place { return cmp.Or(k.at, draft.Place{File: r.file, Line: k.Line}) }

func (r *reading) key(k key) {
	var entry schema.Option
	var class schema.Class
	known := false
	if r.table != nil {
		entry, known = r.table.Lookup(k.path)
		class, _ = r.classes.Of(entry)
	}
	u := r.rules.of(k.path)
	var o outcome
	value := shortened(k.written())
	switch {
	case k.open && class.Kind == schema.Chosen && strings.Contains(k.Text(), "BASH_SOURCE"):
		o = left("beside the script, where ndc has a place of its own")
	case k.open && (u == nil || u.Left == ""):
		o = unknown(draft.OnlyRunKnows)
		if u != nil {
			r.label(k, u.Argument, "")
		}
	case k.Value == "auto":
		o = left("the launcher fills it in")
	case u != nil:
		o = r.ruled(k, u)
	case !known:
		o = unknown(cmp.Or(r.strange, cmp.Or(r.version, "ndc")+" has no such key"))
		value = draft.Guarded(k.path, value)
	case class.Kind == schema.Job:
		if o = r.plain(k, class.Argument); o.verdict == draft.Unknown && same(entry.Default, k.Node) {
			o = left("the default")
		}
	case class.Kind == schema.Fixed || class.Kind == schema.Planned:
		if same(entry.Default, k.Node) {
			o = left("the default")
		} else {
			o = unknown(class.Why)
		}
	case class.Kind == schema.Unread:
		o = left("the program does not read it; it is for " + class.Why)
	case same(entry.Default, k.Node):
		o = left("the default")
	case draft.IsSecret(k.path, value):
		o = unknown(draft.NoSecrets)
		value = draft.Guarded(k.path, value)
	case (entry.Type == "int" || entry.Type == "float") && schema.IsNumber(k.Text()):
		o = unknown(quoted)
	default:
		if problem := r.refused(entry, k); problem != nil {
			o = unknown(problem.Error())
			break
		}
		r.passed = append(r.passed, r.spell(k))
		o = outcome{verdict: draft.Passed, why: class.Why}
	}
	if o.verdict == "" {
		o.verdict = draft.Mapped
	}
	if o.verdict == draft.Mapped && o.to == "" {
		o.to = class.Argument
	}
	r.d.Find(draft.Finding{Place: r.at(k), Name: k.path, Value: value, Verdict: o.verdict, To: o.to, Why: o.why})
}

// refused says why a release does not take a value that would be passed on to it, as
// its backend would say of extra_args; nil where it does.
func (r *reading) refused(entry schema.Option, k key) *schema.Problem {
	if r.kind != TorchTitanKind {
		return nil
	}
	words := []string{k.written()}
	if list, ok := k.Value.([]tree.Node); ok && entry.Count.Max != 1 {
		words = nil
		for _, n := range list {
			words = append(words, n.Text())
		}
	}
	return r.table.Check(k.path, words...)
}

// written is the value of a key: text without quotes, else as JSON.
func (k *key) written() string {
	if s := k.Text(); s != "" {
		return s
	}
	return k.Node.String()
}

func shortened(value string) string {
	if len(value) > 100 {
		return value[:97] + "…"
	}
	return value
}

// same reports whether a value is the default of a table.
func same(standard any, n tree.Node) bool {
	if f, ok := n.Float(); ok {
		g, isNumber := standard.(float64)
		return isNumber && f == g
	}
	if n.Value == nil {
		return standard == nil
	}
	b, err := json.Marshal(standard)
	if err != nil {
		return false
	}
	text := strings.ReplaceAll(n.String(), ", ", ",")
	return strings.ReplaceAll(text, ": ", ":") == string(b)
}

// quoted is why a number in quotes says nothing.
const quoted = "in quotes it is text, and a number is expected"

// plain sets an argument that a key says as it is.
func (r *reading) plain(k key, path string) outcome {
	v, ok := convert(path, k.Node)
	switch {
	case !ok && schema.IsNumber(k.Text()):
		return unknown(quoted)
	case !ok:
		return unknown("not a value of " + path)
	}
	r.d.Set(path, v, r.at(k))
	return outcome{to: path}
}

// label sets the label of a block, of which the language has another kind, to its own word.
func (r *reading) label(k key, path, word string) {
	if a, blocks := language.At(path); a == nil && len(blocks) > 0 && blocks[len(blocks)-1].Labels != nil {
		r.d.Set(path, draft.Label(word), r.at(k))
	}
}

// convert makes a value of the type that an argument has, or a label of a block.
func convert(path string, n tree.Node) (any, bool) {
	a, blocks := language.At(path)
	if blocks == nil {
		return nil, false
	}
	if a == nil {
		s, ok := n.Value.(string)
		labels := blocks[len(blocks)-1].Labels
		return s, ok && (labels == nil || slices.Contains(labels, s))
	}
	switch a.Type {
	case language.Count, language.CountChoice, language.Interval:
		v, ok := n.Int()
		return v, ok && a.Limits.Allows(float64(v))
	case language.Number:
		v, ok := n.Float()
		return v, ok && (a.Limits == (language.Limits{}) || a.Limits.Allows(v))
	case language.Bool, language.BoolChoice:
		v, ok := n.Truth()
		return v, ok
	case language.String, language.StringChoice:
		s, ok := n.Value.(string)
		return s, ok && (a.Enum == nil || slices.Contains(a.Enum, s))
	case language.CountList:
		list, ok := n.Value.([]tree.Node)
		var counts []int64
		for _, e := range list {
			v, whole := e.Int()
			counts, ok = append(counts, v), ok && whole && a.Limits.Allows(float64(v))
		}
		return counts, ok && len(counts) > 0
	case language.Duration:
		v, ok := n.Int()
		return strconv.FormatInt(v, 10) + "s", ok && v > 0
	}
	return nil, false
}

// number is a key's value, of the file or by default.
func (r *reading) number(path string, otherwise float64) float64 {
	if k, ok := r.given[path]; ok {
		if f, ok := k.Float(); ok {
			return f
		}
		return otherwise
	}
	if r.table == nil {
		return otherwise
	}
	if entry, ok := r.table.Lookup(path); ok {
		if f, ok := entry.Default.(float64); ok {
			return f
		}
	}
	return otherwise
}

// opened reports whether one of some keys has a value that only a run knows.
func (r *reading) opened(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return r.given[path].open })
}

// set says what follows from several keys.
func (r *reading) set(path string, v any) { r.d.Set(path, v, draft.Place{}) }
