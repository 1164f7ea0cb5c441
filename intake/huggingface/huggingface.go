// Package huggingface reads the config.json of a model of Hugging Face
// transformers into the model of a job. Data files say what there is to know:
// families.jsonl what each class computes that no key says, with what the
// language has no word for; keys.jsonl which argument a key is; classes.jsonl
// what keys default to (tools/schema-transformers makes it). The inverse, which
// writes such a file, is in package backends/deepspeed. What no argument of the
// language says is listed, never guessed.
package huggingface

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
	"github.com/ndc-dev/ndc/lang/schema"
)

//go:embed families.jsonl
var familiesFile string

//go:embed keys.jsonl
var keysFile string

//go:embed classes.jsonl
var classesFile string

// family is what a model_type computes whatever its keys say.
type family struct {
	Type         string          `json:"type"`
	Class        string          `json:"class"` // whose defaults it has; "" for its own
	Architecture string          `json:"architecture"`
	Gated        bool            `json:"gated"` // the MLP has a gate
	Says         json.RawMessage `json:"says"`  // arguments of the job that the class settles
	Scaled       bool            `json:"scaled"`
	FFN          int64           `json:"ffn"`        // MLP's width over the hidden size, where no key says it
	FullEvery    int64           `json:"full_every"` // every how many layers one attends to everything beside a window, where no key says it; 0: none
	Unsaid       []string        `json:"unsaid"`     // what the language has no word for
	Source       string          `json:"source"`     // whose code computes it so
}

// rule says what a key is.
type rule struct {
	Keys     []string `json:"keys"`
	Types    []string `json:"types"` // nil: all
	Argument string   `json:"argument"`
	Call     string   `json:"call"`   // a function of this package that reads the value
	Left     string   `json:"left"`   // why a job has nothing to say of it
	Source   string   `json:"source"` // a class that has the key, where there is one
}

// tables are the data files, read once.
var tables = sync.OnceValue(func() (t struct {
	families map[string]family
	rules    map[string][]rule
	defaults map[string]tree.Object
}) {
	t.families = facts.By(facts.Lines[family]("huggingface: families.jsonl", familiesFile), func(f family) string { return f.Type })
	t.rules, t.defaults = map[string][]rule{}, map[string]tree.Object{}
	for _, r := range facts.Lines[rule]("huggingface: keys.jsonl", keysFile) {
		if r.Source == "" {
			panic(fmt.Sprintf("huggingface: keys.jsonl: no source of %q", r.Keys))
		}
		for _, k := range r.Keys {
			t.rules[k] = append(t.rules[k], r)
		}
	}
	for line := range strings.Lines(classesFile) {
		n, err := tree.JSON([]byte(line))
		if err != nil {
			panic("huggingface: classes.jsonl: " + err.Error())
		}
		name, _ := n.Object().Find("type")
		keys, _ := n.Object().Find("keys")
		t.defaults[name.Text()] = keys.Object()
	}
	return t
})

// Is reports whether a file is the configuration of a model.
func Is(o tree.Object) bool {
	_, typed := o.Find("model_type")
	_, named := o.Find("architectures")
	return typed || named
}

// reading is one file being read.
type reading struct {
	d       *draft.Draft
	file    string
	family  family
	object  tree.Object // the model's keys, those of the file first, then defaults of the class
	stated  int         // how many of them the file has
	windows bool        // the windows were settled
	prefix  string      // of keys in findings: text_config.
}

// Read reads a configuration into the draft. The error says what makes it
// unreadable as a whole.
func Read(d *draft.Draft, file string, root tree.Object) error {
	r := &reading{d: d, file: file, object: root}
	if text, ok := root.Find("text_config"); ok && text.Object() != nil {
		r.wrapped(root, text.Object())
	}
	name := r.modelType()
	f, ok := tables().families[name]
	if !ok {
		switch {
		case r.generates(root):
		case name == "":
			return errors.New("its model_type is missing or no text, so that it may be of any kind of model")
		default:
			return fmt.Errorf("a %q is no decoder-only language model, as far as its architectures say", name)
		}
		f = family{Type: name, Unsaid: []string{"what a " + name + " computes beyond what its keys say, which ndc does not know"}}
	}
	r.family = f
	r.stated = len(r.object)
	r.addDefaults()
	r.settle()
	for i, m := range r.object {
		if i < r.stated {
			r.key(m)
		} else if m.Value != nil {
			r.quietly(m)
		}
	}
	r.complete()
	return nil
}

// wrapped takes the language model out of one that sees or hears too.
func (r *reading) wrapped(root, text tree.Object) {
	for _, m := range root {
		if m.Key == "text_config" || leftOut(m.Key) {
			continue
		}
		r.find(m, draft.Unknown, "", "the model has parts beside its language model, which alone is read")
	}
	if _, ok := text.Find("tie_word_embeddings"); !ok {
		if tied, ok := root.Find("tie_word_embeddings"); ok {
			text = append(slices.Clone(text), tree.Member{Key: "tie_word_embeddings", Node: tied})
		}
	}
	r.object, r.prefix = text, "text_config."
	r.d.Note("model", "the language model alone; the file has other parts beside it")
}

func leftOut(key string) bool {
	for _, rule := range tables().rules[key] {
		if rule.Left != "" && rule.Types == nil {
			return true
		}
	}
	return key == "tie_word_embeddings"
}

// modelType is the model_type, or the one of the class that is named.
func (r *reading) modelType() string {
	t, _ := r.object.Find("model_type")
	if name := t.Text(); name != "" {
		return name
	}
	all, _ := r.object.Find("architectures")
	names, _ := all.Value.([]tree.Node)
	if len(names) == 0 {
		return ""
	}
	class := names[0].Text()
	word := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(class, "ForCausalLM"), "LMHeadModel"))
	for name := range tables().families {
		if strings.ReplaceAll(name, "_", "") == word {
			return name
		}
	}
	return class
}

// generates reports whether a model of a type that ndc does not know writes text
// from left to right.
func (r *reading) generates(root tree.Object) bool {
	if n, _ := r.object.Find("is_encoder_decoder"); n.Value == true {
		return false
	}
	all, _ := root.Find("architectures")
	names, _ := all.Value.([]tree.Node)
	for _, n := range names {
		if strings.HasSuffix(n.Text(), "ForCausalLM") || strings.HasSuffix(n.Text(), "LMHeadModel") || strings.HasSuffix(n.Text(), "ForConditionalGeneration") {
			return true
		}
	}
	code, _ := root.Find("auto_map") // classes in the model's own files
	_, ok := code.Object().Find("AutoModelForCausalLM")
	return ok
}

// addDefaults appends what the class says where the file does not. A key of
// the same argument under another name counts.
func (r *reading) addDefaults() {
	class := r.family.Class
	if class == "" {
		class = r.family.Type
	}
	said := map[string]bool{}
	for _, m := range r.object {
		said[m.Key] = true
		if rule := r.rule(m.Key); rule != nil && rule.Argument != "" && rule.Call == "" {
			said[rule.Argument] = true
		}
	}
	object := slices.Clone(r.object)
	for _, m := range tables().defaults[class] {
		rule := r.rule(m.Key)
		if rule == nil || said[m.Key] || rule.Argument != "" && said[rule.Argument] || derived[m.Key] {
			continue
		}
		m.Line = 0
		object = append(object, m)
	}
	r.object = object
}

// derived are keys whose defaults are made of other keys by the class, or are
// those of one published size.
var derived = map[string]bool{
	"num_key_value_heads": true, "num_kv_heads": true, "head_dim": true, "ffn_hidden_size": true, "n_inner": true, "rope_scaling": true,
	"n_routed_experts": true, "n_shared_experts": true, "moe_intermediate_size": true, "moe_shared_expert_intermediate_size": true,
	"mtp_layers_block_type": true, "num_nextn_predict_layers": true, "initializer_range": true, "init_std": true,
}

// settle says what the class computes whatever its keys say.
func (r *reading) settle() {
	f := r.family
	at := draft.Place{}
	if f.Architecture != "" {
		r.d.Set("model.architecture", f.Architecture, at)
	}
	says, err := tree.JSON(orEmpty(f.Says))
	if err != nil {
		panic("huggingface: families.jsonl: " + err.Error())
	}
	for _, m := range says.Object() {
		v, ok := convert(m.Key, m.Node)
		if !ok {
			panic("huggingface: families.jsonl: " + f.Type + " says " + m.Key)
		}
		r.d.Set(m.Key, v, at)
	}
	for _, text := range f.Unsaid {
		r.unsaid("model_type", f.Type, text)
	}
}

func orEmpty(raw json.RawMessage) []byte {
	if raw == nil {
		return []byte("{}")
	}
	return raw
}

// unsaid lists what the language has no word for, in the report and in the job.
func (r *reading) unsaid(name, value, why string) {
	line := 0
	if m, ok := r.object.Find(name); ok {
		line = m.Line
	}
	r.d.Find(draft.Finding{Place: draft.Place{File: r.file, Line: line}, Name: r.prefix + name, Value: value, Verdict: draft.Unknown, Why: why})
	r.d.Note("model", draft.NotSaid+why)
}

func (r *reading) find(m tree.Member, v draft.Verdict, to, why string) {
	r.d.Find(draft.Finding{Place: draft.Place{File: r.file, Line: m.Line}, Name: r.prefix + m.Key, Value: r.value(m), Verdict: v, To: to, Why: why})
}

// value spells the value of a key of the file, for the report and the job.
func (r *reading) value(m tree.Member) string {
	if r.rule(m.Key) == nil {
		return draft.Guarded(m.Key, short(m.Node))
	}
	return short(m.Node)
}

// short spells a value for a report.
func short(n tree.Node) string {
	if s, ok := n.Value.(string); ok {
		return s
	}
	s := n.String()
	if len(s) > 60 {
		return s[:57] + "…"
	}
	return s
}

// rule is what is known about a key of the model's type.
func (r *reading) rule(key string) *rule {
	all := tables().rules[key]
	for i := range all {
		if all[i].Types == nil || slices.Contains(all[i].Types, r.family.Type) {
			return &all[i]
		}
	}
	return nil
}

// key reads one key of the file and reports on it.
func (r *reading) key(m tree.Member) {
	rule := r.rule(m.Key)
	switch {
	case rule == nil && m.Value == nil:
		r.find(m, draft.Left, "", "null")
	case rule == nil:
		r.find(m, draft.Unknown, "", "no key that ndc knows of a "+r.family.Type)
		r.d.Note("model", fmt.Sprintf(draft.NotSaid+"%s = %s", m.Key, r.value(m)))
	case rule.Left != "":
		r.find(m, draft.Left, "", rule.Left)
	case m.Value == nil:
		r.find(m, draft.Left, "", "null: the class has none")
	case rule.Call != "":
		r.report(m, rule, readers[rule.Call](r, m))
	default:
		r.report(m, rule, r.plain(m, rule.Argument))
	}
}

// quietly reads a default of the class, which nobody wrote.
func (r *reading) quietly(m tree.Member) {
	rule := r.rule(m.Key)
	if rule.Left != "" {
		return
	}
	o := outcome{}
	if rule.Call != "" {
		o = readers[rule.Call](r, m)
	} else if !r.d.Has(rule.Argument) {
		o = r.plain(m, rule.Argument)
	}
	if o.verdict == draft.Unknown {
		r.unsaid(m.Key, short(m.Node), o.why)
	}
}

// outcome is what became of a key; the zero outcome is that it was mapped.
type outcome struct {
	verdict draft.Verdict
	to, why string
}

func (r *reading) report(m tree.Member, rule *rule, o outcome) {
	if o.verdict == "" {
		o.verdict = draft.Mapped
	}
	if o.verdict == draft.Mapped && o.to == "" {
		o.to = rule.Argument
	}
	r.find(m, o.verdict, o.to, o.why)
	if o.verdict == draft.Unknown {
		r.d.Note("model", draft.NotSaid+m.Key+" = "+short(m.Node)+": "+o.why)
	}
}

// plain sets an argument that the key says as it is.
func (r *reading) plain(m tree.Member, path string) outcome {
	v, ok := convert(path, m.Node)
	if !ok {
		return outcome{verdict: draft.Unknown, why: "not a value of " + path}
	}
	r.set(path, v, m)
	return outcome{}
}

func (r *reading) set(path string, v any, m tree.Member) {
	at := draft.Place{}
	if m.Line > 0 {
		at = draft.Place{File: r.file, Line: m.Line}
	}
	r.d.Set(path, v, at)
}

// convert makes a value of the type that an argument has; labels of blocks are
// text.
func convert(path string, n tree.Node) (any, bool) {
	a, _ := schema.At(path)
	if a == nil {
		s, ok := n.Value.(string)
		return s, ok
	}
	switch a.Type {
	case schema.Count:
		v, ok := n.Int()
		return v, ok && a.Limits.Allows(float64(v))
	case schema.Number:
		v, ok := n.Float()
		return v, ok && (a.Limits == schema.Limits{} || a.Limits.Allows(v))
	case schema.Bool:
		return n.Value, isType[bool](n.Value)
	case schema.String:
		return n.Value, isType[string](n.Value) && (a.Enum == nil || slices.Contains(a.Enum, n.Text()))
	}
	return nil, false
}

func isType[T any](v any) bool { _, ok := v.(T); return ok }
