package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
)

// What TorchTitan prints of a configuration in Python (Trainer.Config.to_dict,
// which debug.print_config and debug.save_config_file write) has the model in
// full, layer by layer, and no names of classes.

const modelKeys = "model_spec.model."

// running stands before what a log has of a configuration.
var running = []byte("Running with configs: ")

// rank is what torchrun puts before the lines of a rank.
var rank = regexp.MustCompile(`(?m)^\[[a-z]+\d*\]:`)

// Logged is the configuration that a log of TorchTitan has, on the lines where it
// stands; nil where it has none.
func Logged(src []byte) []byte {
	at := bytes.Index(src, running)
	if at < 0 || len(src) > tree.MaxBytes {
		return nil
	}
	at += len(running)
	var value json.RawMessage
	if json.NewDecoder(bytes.NewReader(rank.ReplaceAll(src[at:], nil))).Decode(&value) != nil {
		return nil
	}
	return append(bytes.Repeat([]byte("\n"), bytes.Count(src[:at], []byte("\n"))), value...)
}

// layered lays the layers of a printed model over one another, so that each of
// their keys is read once. It returns the layers too, nil for another file.
func layered(root tree.Object) (tree.Object, []tree.Node) {
	spec, _ := root.Find("model_spec")
	model, _ := spec.Object().Find("model")
	n, _ := model.Object().Find("layers")
	layers, _ := n.Value.([]tree.Node)
	if len(layers) == 0 {
		return root, nil
	}
	over := over(layers)
	return replaced(root, "model_spec", replaced(spec.Object(), "model", replaced(model.Object(), "layers", over.Object()))), layers
}

func replaced(o tree.Object, key string, by tree.Object) tree.Object {
	o = slices.Clone(o)
	for i := range o {
		if o[i].Key == key {
			o[i].Value = by
		}
	}
	return o
}

// address is where a function of Python was, which no two runs agree on.
var address = regexp.MustCompile(` at 0x[0-9a-f]+`)

// over is what values say that stand at one place of several layers: keys of
// objects one by one, which go before null, else the value that all have, or the
// list of those that differ.
func over(values []tree.Node) tree.Node {
	var objects []tree.Node
	same := true
	for _, v := range values {
		if v.Object() != nil {
			objects = append(objects, v)
		}
		same = same && plainly(v) == plainly(values[0])
	}
	switch {
	case same && len(objects) == 0:
		return values[0]
	case len(objects) == 0:
		return tree.Node{Line: values[0].Line, Value: values}
	}
	var all tree.Object
	for _, o := range objects {
		for _, m := range o.Object() {
			if _, ok := all.Find(m.Key); ok {
				continue
			}
			var there []tree.Node
			for _, o := range objects {
				if n, ok := o.Object().Find(m.Key); ok {
					there = append(there, n)
				}
			}
			all = append(all, tree.Member{Key: m.Key, Node: over(there)})
		}
	}
	return tree.Node{Line: objects[0].Line, Value: all}
}

func plainly(n tree.Node) string {
	if n.Object() != nil {
		return ""
	}
	return address.ReplaceAllString(n.String(), "")
}

// completePrinted settles what several keys of a printed configuration say
// together.
func (r *reading) completePrinted(layers []tree.Node) {
	const attention = modelKeys + "layers.attention."
	d := r.d
	first := draft.Place{File: r.file, Line: layers[0].Line}
	d.Set("model.layers", int64(len(layers)), first)
	d.Find(draft.Finding{Place: first, Name: modelKeys + "layers", Value: strconv.Itoa(len(layers)), Verdict: draft.Mapped, To: "model.layers"})
	r.experts(layers, first)
	if k := r.given[attention+"wo.bias"]; k.Value == true {
		d.Remove("model.qkv_bias")
		d.Set("model.attention_bias", true, r.at(k))
	}
	if n := r.whole(attention + "rope.dim"); n > 0 && !d.HasBlock("model.mla") && d.Int("model.head_dim") > 0 && n != d.Int("model.head_dim") {
		r.set("model.position_embedding.partial", float64(n)/float64(d.Int("model.head_dim")))
	}
	if d.HasBlock("model.mla") {
		for _, path := range []string{"model.kv_heads", "model.head_dim", "model.qk_norm"} {
			d.Remove(path)
		}
	}
	r.recomputed()
	if _, ok := r.given["loss.num_chunks"]; !ok {
		r.set("execution.loss_chunks", int64(1))
	}
	d.SetNote("training.precision", d.Text("training.precision"), "linear layers in 8 or 4 bits are not printed: say so here")
	if n := d.Int("training.checkpoint.interval"); n >= d.Int("training.steps") && n > 0 {
		d.SetNote("training.checkpoint.interval", n, "at the end alone, unless a clock says more that is not printed")
	}
	r.validation()
}

// experts says which layers have experts, and how many of them all tokens see.
func (r *reading) experts(layers []tree.Node, first draft.Place) {
	d := r.d
	sparse := func(n tree.Node) bool { moe, _ := n.Object().Find("moe"); return moe.Object() != nil }
	dense := slices.IndexFunc(layers, sparse)
	name := r.given["model_spec.name"]
	if all := torchtitan.Architectures(r.version, name.Text()); len(all) > 0 {
		last := all[0]
		if dense >= 0 {
			last = all[len(all)-1]
		}
		d.Derive("model.architecture", last)
	}
	if dense < 0 {
		return
	}
	if !slices.ContainsFunc(layers[dense:], func(n tree.Node) bool { return !sparse(n) }) {
		d.Set("model.moe.first_dense_layers", int64(dense), first)
	} else {
		d.Find(draft.Finding{Place: first, Name: modelKeys + "layers", Verdict: draft.Unknown, Why: "dense layers between those with experts"})
	}
	if dense == 0 {
		d.Remove("model.ffn_hidden_size")
	}
	if shared, size := d.Int("model.moe.shared_expert_ffn_hidden_size"), d.Int("model.moe.expert_ffn_hidden_size"); size > 0 && shared%size == 0 && shared > 0 {
		r.set("model.moe.shared_experts", shared/size)
		d.Remove("model.moe.shared_expert_ffn_hidden_size")
	}
	if d.Text("model.moe.router.score") == "softmax" && !d.Bool("model.moe.router.normalize") {
		r.set("model.moe.router.pre_softmax", true) // the scores of all experts, of which some are taken
	}
}

// recomputed tells the kinds of recompute apart by their keys.
func (r *reading) recomputed() {
	const key = "activation_checkpoint"
	_, none := r.given[key]
	_, selective := r.given[key+".force_recompute_mm_shapes_by_fqns"]
	_, budget := r.given[key+".memory_budget"]
	how := "full"
	switch {
	case none:
		how = "none"
	case selective:
		how = "selective"
	case budget:
		return
	}
	r.set("constraints.layout.recompute", how)
	r.d.Remove("constraints.layout.recompute_modules")
	if selective {
		r.set("constraints.layout.recompute_modules", []string{"op"})
	}
}

// validation counts steps of validation in global batches, as a job does.
func (r *reading) validation() {
	const block = "training.data.validation"
	k := r.given["validator.enable"]
	if k.Value != true {
		r.d.RemoveBlock(block)
		return
	}
	calls := r.whole("validator.steps")
	replicas := r.number("parallelism.data_parallel_shard_degree", 1) * r.number("parallelism.data_parallel_replicate_degree", 1)
	perBatch := int64(float64(r.d.Int("training.global_batch_size")) / (r.number("training.local_batch_size", 1) * max(replicas, 1)))
	if calls > 0 && perBatch > 0 && calls%perBatch == 0 {
		r.set(block+".steps", calls/perBatch)
	}
}

// agrees sets an argument that several keys say, unless they say different
// things.
func agrees(r *reading, k key, u *rule) outcome {
	if k.Value == nil {
		return left("none")
	}
	v, ok := convert(u.Argument, k.Node)
	before, said := r.d.Get(u.Argument)
	switch {
	case !ok:
		return unknown("not a value of " + u.Argument)
	case said && before.Value != v:
		return unknown(fmt.Sprintf("another %s than the model has elsewhere", u.Argument))
	case !said:
		r.d.Set(u.Argument, v, r.at(k))
	}
	return outcome{to: u.Argument}
}

// present sets a truth: whether the model has the part.
func present(r *reading, k key, u *rule) outcome {
	r.d.Set(u.Argument, k.Value != nil, r.at(k))
	return outcome{to: u.Argument}
}

// counted sets the number of parts.
func counted(r *reading, k key, u *rule) outcome {
	parts, _ := k.Value.([]tree.Node)
	if len(parts) == 0 {
		return left("none")
	}
	r.d.Set(u.Argument, int64(len(parts)), r.at(k))
	return outcome{to: u.Argument}
}

// architecture is settled when all keys are read.
func architecture(r *reading, k key, _ *rule) outcome {
	if torchtitan.Architectures(r.version, k.Text()) == nil {
		return unknown("a model of TorchTitan's that ndc has no word for")
	}
	return outcome{to: "model.architecture"}
}

// window reads the size of sliding windows and which layers have none.
func window(r *reading, k key, u *rule) outcome {
	layers, varies := k.Value.([]tree.Node)
	if !varies {
		layers = []tree.Node{k.Node}
	}
	var size, pattern int64
	for i, n := range layers {
		switch w, ok := n.Int(); {
		case ok && (size == 0 || w == size):
			size = w
		case ok:
			return unknown("windows of several sizes")
		case pattern == 0:
			pattern = int64(i + 1)
		}
	}
	for i, n := range layers {
		if whole := n.Value == nil; size > 0 && whole != (pattern > 0 && int64(i+1)%pattern == 0) {
			return unknown("windows that no pattern says")
		}
	}
	if size == 0 {
		return left("none")
	}
	r.d.Set(u.Argument+".size", size, r.at(k))
	r.d.Set(u.Argument+".pattern", pattern, r.at(k))
	return outcome{to: u.Argument}
}

// balance reads the rate of the experts' bias, which is all that TorchTitan
// balances by: its own rate says nothing of what the model was trained with.
func balance(r *reading, k key, u *rule) outcome {
	rate, ok := k.Float()
	switch {
	case k.Value == nil:
		r.d.Set(u.Argument, "none", r.at(k))
	case ok && rate != torchtitan.BalanceRate:
		r.d.Set(u.Argument, "bias", r.at(k))
		r.d.Set("model.moe.router.bias_update_rate", rate, r.at(k))
	default:
		return left("the framework's own")
	}
	return outcome{to: u.Argument}
}

var normal = regexp.MustCompile(`<function normal_[^>]*>, std=([0-9.e-]+)\)`)

// initial reads the standard deviation that the head starts with.
func initial(r *reading, k key, u *rule) outcome {
	weight, _ := k.Object().Find("weight")
	m := normal.FindStringSubmatch(weight.Text())
	if m == nil {
		return unknown("weights start otherwise than ndc's, which are normal with model.init_std")
	}
	std, err := strconv.ParseFloat(m[1], 64)
	if err != nil || std <= 0 {
		return unknown("no standard deviation")
	}
	r.d.Set(u.Argument, std, r.at(k))
	return outcome{to: u.Argument}
}

// groups reads the optimizer of the parameters. The last group is that of most;
// one for what does not decay is emitted too.
func groups(r *reading, k key, _ *rule) outcome {
	list, _ := k.Value.([]tree.Node)
	if len(list) == 0 {
		return unknown("no group of parameters")
	}
	last := list[len(list)-1].Object()
	get := func(o tree.Object, path string) tree.Node { n, _ := find(o, path); return n }
	name := get(last, "optimizer_name").Text()
	kind := map[string]string{"AdamW": "adamw", "Adam": "adam"}[name]
	betas, _ := get(last, "optimizer_kwargs.betas").Value.([]tree.Node)
	if kind == "" || len(betas) != 2 {
		r.label(k, "training.optimizer", name)
		return unknown("no optimizer that ndc has for TorchTitan")
	}
	r.d.Set("training.optimizer", kind, r.at(k))
	for path, n := range map[string]tree.Node{"learning_rate": get(last, "optimizer_kwargs.lr"), "beta1": betas[0], "beta2": betas[1],
		"epsilon": get(last, "optimizer_kwargs.eps"), "weight_decay": get(last, "optimizer_kwargs.weight_decay")} {
		if f, ok := n.Float(); ok {
			r.d.Set("training.optimizer."+path, f, r.at(k))
		}
	}
	if len(list) == 2 && get(list[0].Object(), "pattern").Text() == torchtitan.NotDecayed {
		list = list[1:]
	}
	if len(list) > 1 {
		return unknown("groups of parameters with settings of their own; the last one's are read")
	}
	return outcome{to: "training.optimizer"}
}

// varlen reads that attention is told where documents begin. Of a model with sinks it
// is not taken over, because no job can have it.
func varlen(r *reading, k key, u *rule) outcome {
	if word(r.given["model_spec.name"].Node) == "gpt_oss" {
		return left("varlen learns wrong queries and keys beside sinks (torch 2.14 drops a gradient): attention is flash, which does not")
	}
	r.d.Set(u.Argument, "varlen", r.at(k))
	return outcome{to: u.Argument}
}

// implementation reads how the update runs, which says what its state is kept in.
func implementation(r *reading, k key, _ *rule) outcome {
	if k.Text() == "fused_opt_states_bf16" {
		r.d.Set("execution.optimizer_state_dtype", "bf16", r.at(k))
		return outcome{to: "execution.optimizer_state_dtype"}
	}
	if k.Text() == "fused" {
		return left("as emitted")
	}
	r.passed = append(r.passed, r.spell(k))
	return outcome{verdict: draft.Passed}
}
