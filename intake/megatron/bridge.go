package megatron

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/intake/tree"
)

// bridgeTarget is the class of the configuration that Megatron-Bridge's dry run
// prints as YAML (scripts/performance/run_recipe.py), as it does into the log of
// a run and beside its checkpoints.
const bridgeTarget = "_target_: megatron.bridge.training.config.ConfigContainer"

// Bridge finds such a configuration in a file, which may be a log; nil where there
// is none. Lines are those of the file.
func Bridge(src []byte) []byte {
	i := bytes.Index(src, []byte(bridgeTarget))
	if i < 0 || i > 0 && src[i-1] != '\n' {
		return nil
	}
	end := len(src)
	if n := bytes.Index(src[i:], []byte("\n---")); n >= 0 {
		end = i + n + 1
	}
	return append(bytes.Repeat([]byte("\n"), bytes.Count(src[:i], []byte("\n"))), src[i:end]...)
}

//go:embed bridge.jsonl
var bridgeFile string

// bridgeRule is what the names of keys do not say. Its source is the class of
// configurations that has the key; what the option means Megatron-LM's arguments.py
// says.
type bridgeRule struct {
	Keys   []string `json:"keys"`
	When   string   `json:"when"`   // the value for which the rule is; "": any, which the option takes
	With   string   `json:"with"`   // the key that must be on for the rule; "": none
	Unless string   `json:"unless"` // the key that must be off for the rule; "": none
	Option string   `json:"option"` // of Megatron-LM
	Also   string   `json:"also"`   // an option that goes with it
	Left   string   `json:"left"`   // why there is none

	// Keys that begin with Prefix say nothing, for the reason in Left or as long as
	// the key Needs is off.
	Prefix string `json:"prefix"`
	Needs  string `json:"needs"`
	Source string `json:"source"`
}

var bridgeRules = sync.OnceValue(func() []bridgeRule {
	rules := facts.Lines[bridgeRule]("megatron: bridge.jsonl", bridgeFile)
	for _, r := range rules {
		if r.Source == "" {
			panic(fmt.Sprintf("megatron: bridge.jsonl: no source of %q", r.Keys))
		}
	}
	return rules
})

// bridge is one configuration on its way to options.
type bridge struct {
	d     *draft.Draft
	file  string
	table *schema.Table
	dests map[string]schema.Option // by the attribute that they set
	given map[string]tree.Node     // by path
	over  map[string]shell.Word    // overrides of the command line, by path
	words []shell.Word

	said shell.Word // the override that the key being read is of; the zero word: of the file
}

// ReadBridge reads a configuration of Megatron-Bridge as the launch of Megatron-LM
// that means the same: most keys have the names of its attributes. Overrides are the
// words SECTION.KEY=VALUE of a command that starts it, which count before the file.
func ReadBridge(d *draft.Draft, file, version string, src []byte, overrides ...shell.Word) error {
	n, err := tree.YAML(src)
	if err != nil {
		return err
	}
	versions := megatron.Backend{}.Versions()
	newest := versions[len(versions)-1]
	if version == "" {
		version = newest
	}
	table, _ := megatron.Tables(version)
	if table == nil {
		return fmt.Errorf("ndc does not emit for Megatron-LM %s", version)
	}
	b := &bridge{d: d, file: file, table: table, dests: map[string]schema.Option{}, given: map[string]tree.Node{}, over: map[string]shell.Word{}}
	for _, name := range table.Names() {
		if o, _ := table.Lookup(name); o.Dest != "" {
			b.dests[o.Dest] = o
		}
	}
	var keys []string
	for _, section := range n.Object() {
		if section.Key == "_target_" {
			continue
		}
		fields := section.Object()
		if fields == nil {
			fields = tree.Object{{Key: "", Node: section.Node}}
		}
		for _, m := range fields {
			if path := strings.TrimSuffix(section.Key+"."+m.Key, "."); m.Key != "_target_" {
				b.given[path] = m.Node
				keys = append(keys, path)
			}
		}
	}
	if len(keys) < enough {
		return errors.New("it has hardly any keys")
	}
	for _, w := range overrides {
		keys = b.override(w, keys)
	}
	for _, path := range keys {
		b.said = b.over[path]
		b.key(path)
	}
	return Read(d, file, version, shell.Command{Words: b.words})
}

// override lays a word of the command line over the file's keys, as Hydra spells it.
func (b *bridge) override(w shell.Word, keys []string) []string {
	name, value, _ := strings.Cut(w.Text, "=")
	path := strings.TrimLeft(name, "+")
	n := tree.Node{Value: value}
	if parsed, err := tree.YAML([]byte(value)); err == nil && !w.Open {
		n.Value = parsed.Value
	}
	n.Line = w.Line
	before, known := b.given[path]
	if known && !w.Open && before.String() == n.String() {
		return keys
	}
	if known && b.over[path].Text == "" {
		b.found(path, draft.Left, "the command line says it, which counts before the file")
	}
	b.given[path], b.over[path] = n, w
	if !known {
		keys = append(keys, path)
	}
	return keys
}

// key makes options of a key, or says why there are none.
func (b *bridge) key(path string) {
	n := b.given[path]
	section, name, _ := strings.Cut(path, ".")
	for _, r := range bridgeRules() {
		switch {
		case r.Prefix != "" && strings.HasPrefix(path, r.Prefix) && !b.on(r.Needs):
			b.found(path, draft.Left, cmp.Or(r.Left, "nothing without "+r.Needs))
			return
		case !slices.Contains(r.Keys, path), r.With != "" && !b.on(r.With), b.on(r.Unless), r.Left != "" && r.When != "" && n.String() != r.When:
		case r.Left != "":
			b.found(path, draft.Left, r.Left)
			return
		case r.When != "" && n.String() != r.When || r.When == "" && n.Value == nil:
			b.found(path, draft.Left, "nothing to say")
			return
		default:
			if r.Also != "" {
				b.add(r.Also, n.Line)
			}
			b.add(r.Option, n.Line, b.spell(n, r.Option, r.When != "")...)
			return
		}
	}
	switch {
	case section == "mixed_precision":
		b.precision(path, n)
	case path == "model.activation_func":
		b.activation(path, n)
	case path == "dataset.blend" || path == "dataset.data_path":
		b.blend(path, n)
	default:
		b.named(path, b.dests[name], n)
	}
}

// on reports whether a key switches something on.
func (b *bridge) on(path string) bool {
	n, ok := b.given[path]
	return ok && n.Value != nil && n.Value != false
}

// named reads a key that has the name of an attribute of Megatron-LM's.
func (b *bridge) named(path string, o schema.Option, n tree.Node) {
	on, isBool := n.Truth()
	switch {
	case n.Value == nil, n.Value == "":
		b.found(path, draft.Left, "nothing to say")
	case len(o.Names) == 0 && isBool && !on:
		b.found(path, draft.Left, "off")
	case len(o.Names) == 0 && n.Object() != nil:
		b.found(path, draft.Left, "code of the framework")
	case len(o.Names) == 0:
		b.found(path, draft.Unknown, "Megatron-LM has no option of this name")
	case strings.HasPrefix(o.Action, "Store") && o.Action != "Store":
		if !isBool || on != (o.Action == "StoreTrue") {
			b.found(path, draft.Left, "the default")
			return
		}
		b.add(o.Names[0], n.Line)
	case fmt.Sprint(o.Default) == strings.Join(b.spell(n, o.Names[0], false), " "):
		b.found(path, draft.Left, "the default")
	default:
		values := b.spell(n, o.Names[0], false)
		if values == nil {
			b.found(path, draft.Unknown, "no value of "+o.Names[0])
			return
		}
		b.add(o.Names[0], n.Line, values...)
	}
}

// attentionBackends are the numbers of Megatron-LM's AttnBackend
// (megatron/core/transformer/enums.py).
var attentionBackends = map[string]string{"1": "flash", "2": "fused", "3": "unfused", "4": "local", "5": "auto"}

// dtypes are words of Megatron-LM for types of torch.
var dtypes = map[string]string{"torch.float32": "fp32", "torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.uint8": "fp8"}

// spell writes a value as words of the command line; nil when it is none.
func (b *bridge) spell(n tree.Node, option string, bare bool) []string {
	o, _ := b.table.Lookup(option)
	switch v := n.Value.(type) {
	case nil:
		return nil
	case bool:
		if bare {
			return nil
		}
		return []string{fmt.Sprint(v)}
	case string:
		return []string{v}
	case []tree.Node:
		if strings.HasPrefix(o.Type, "moe_freq") {
			return []string{strings.ReplaceAll(n.String(), " ", "")}
		}
		var words []string
		for _, e := range v {
			words = append(words, b.spell(e, option, false)...)
		}
		return words
	case tree.Object:
		target, _ := v.Find("_target_")
		if word := dtypes[target.Text()]; word != "" {
			return []string{word}
		}
		args, _ := v.Find("_args_")
		if list, _ := args.Value.([]tree.Node); strings.HasSuffix(target.Text(), ".AttnBackend") && len(list) == 1 {
			if word := attentionBackends[list[0].String()]; word != "" {
				return []string{word}
			}
		}
		return nil
	}
	if i, ok := n.Int(); ok {
		return []string{fmt.Sprint(i)}
	}
	return []string{n.String()}
}

// precision reads the section's name of a recipe, or its switches.
func (b *bridge) precision(path string, n tree.Node) {
	name := n.Text()
	switch {
	case path == "mixed_precision.bf16" && n.Value == true, strings.HasPrefix(name, "bf16") && path == "mixed_precision":
		b.add("--bf16", n.Line)
	case path == "mixed_precision.fp16" && n.Value == true, strings.HasPrefix(name, "fp16") && path == "mixed_precision":
		b.add("--fp16", n.Line)
	case path == "mixed_precision.fp8" && name != "":
		b.add("--fp8-format", n.Line, name)
	case path == "mixed_precision.fp8_recipe" && b.on("mixed_precision.fp8") && name != "":
		b.add("--fp8-recipe", n.Line, name)
	case path == "mixed_precision.grad_reduce_in_fp32" && n.Value == true:
		b.add("--accumulate-allreduce-grads-in-fp32", n.Line)
	default:
		b.found(path, draft.Left, "the model and the optimizer say it, or it is off")
		return
	}
	if path == "mixed_precision" && strings.Contains(name, "fp8") {
		b.found(path, draft.Unknown, "which recipe of 8 bits "+name+" is, Megatron-Bridge's code says")
	}
}

// activation reads the function of the MLP, with its gate.
func (b *bridge) activation(path string, n tree.Node) {
	target, _ := n.Object().Find("_target_")
	name := target.Text()[strings.LastIndexByte(target.Text(), '.')+1:]
	switch gated := b.on("model.gated_linear_unit"); {
	case name == "silu" && gated:
		b.add("--swiglu", n.Line)
	case name == "squared_relu" && !gated:
		b.add("--squared-relu", n.Line)
	case name == "quick_gelu" && gated:
		b.add("--quick-geglu", n.Line)
	case name == "gelu" && !gated:
		b.found(path, draft.Left, "the default")
	default:
		b.found(path, draft.Unknown, fmt.Sprintf("no option of Megatron-LM is %s with gate: %v", name, gated))
	}
}

// blend reads what a run is trained on: prefixes, and their weights.
func (b *bridge) blend(path string, n tree.Node) {
	list, _ := n.Value.([]tree.Node)
	switch paths, _ := nodeAt(list, 0).Value.([]tree.Node); {
	case n.Value == nil && !b.on("dataset.blend") && !b.on("dataset.data_path"):
		if path == "dataset.blend" {
			b.add("--mock-data", n.Line)
		}
	case n.Value == nil:
	case len(paths) > 0:
		weights, _ := nodeAt(list, 1).Value.([]tree.Node)
		var words []string
		for i, p := range paths {
			if w := nodeAt(weights, i); w.Value != nil {
				words = append(words, w.String())
			}
			words = append(words, p.Text())
		}
		b.add("--data-path", n.Line, words...)
	default:
		b.add("--data-path", n.Line, strings.Fields(strings.Join(b.spell(n, "--data-path", false), " "))...)
	}
}

func nodeAt(list []tree.Node, i int) tree.Node {
	if i < len(list) {
		return list[i]
	}
	return tree.Node{}
}

// add writes an option, once.
func (b *bridge) add(option string, line int, values ...string) {
	if slices.ContainsFunc(b.words, func(w shell.Word) bool { return w.Text == option }) {
		return
	}
	b.words = append(b.words, shell.Word{Text: option, File: b.said.File, Line: line})
	for _, v := range values {
		b.words = append(b.words, shell.Word{Text: v, File: b.said.File, Line: line, Open: b.said.Open})
	}
}

func (b *bridge) found(path string, v draft.Verdict, why string) {
	n := b.given[path]
	value := n.Text()
	if value == "" {
		value = n.String()
	}
	if len(value) > 100 {
		value = value[:97] + "…"
	}
	if _, name, _ := strings.Cut(path, "."); len(b.dests[name].Names) == 0 {
		value = draft.Guarded(path, value)
	}
	b.d.Find(draft.Finding{Place: draft.Place{File: cmp.Or(b.said.File, b.file), Line: n.Line}, Name: path, Value: value, Verdict: v, Why: why})
}
