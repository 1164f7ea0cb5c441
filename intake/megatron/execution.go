package megatron

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/shell"
)

func (r *reading) sharding() {
	const layout = "constraints.layout."
	d := r.d
	fully := d.Bool("execution.fully_sharded")
	muon := r.given["optimizer"] != nil && r.given["optimizer"].first() == "dist_muon"
	strategy := r.given["data_parallel_sharding_strategy"]
	switch {
	case fully && strategy == nil:
		r.set(layout+"zero_stage", int64(0))
	case fully: // whatever else is said
		if v, ok := rows()["--data-parallel-sharding-strategy"].Values[strategy.first()]; ok && !strategy.open {
			r.d.Set(layout+"zero_stage", typed(layout+"zero_stage", v), r.at(strategy.line))
		} else {
			d.Remove(layout + "zero_stage")
		}
	case r.has("use_distributed_optimizer") || muon:
		r.set(layout+"zero_stage", int64(1))
	case strategy != nil:
		r.set(layout+"zero_stage", int64(0))
	default:
		r.unless(layout+"zero_stage", int64(0))
	}
	if d.Int(layout+"zero_stage") == 0 {
		d.Remove(layout + "data_parallel_replicate")
	}
	if !fully || d.Int(layout+"zero_stage") != 3 {
		d.Withdraw("execution.shard_buffers", "the language has such buffers under Megatron-FSDP with zero_stage 3 alone")
	}
}

func (r *reading) recompute() {
	const layout = "constraints.layout."
	d := r.d
	if o := r.given["recompute_activations"]; o != nil { // arguments.py: whatever granularity is said
		d.Set(layout+"recompute", "selective", r.at(o.line))
	}
	if o := r.given["activations_checkpoint_method"]; o != nil {
		d.Set(layout+"recompute", "full", r.at(o.line))
	}
	if r.has("activations_checkpoint_method") || r.has("checkpoint_activations") { // each layer by itself, where nothing else is said
		r.unless(layout+"recompute_method", "uniform")
		r.unless(layout+"recompute_layers", int64(1))
	}
	experts := r.given["moe_layer_recompute"]
	switch {
	case experts == nil:
	case d.Text(layout+"recompute") == "full":
		d.Correct(experts.line, experts.name, draft.Unknown, "", "Megatron-LM refuses it beside recompute of whole layers")
		experts = nil
	default: // transformer_config.py
		d.Set(layout+"recompute", "selective", r.at(experts.line))
	}
	r.unless(layout+"recompute", "none")
	if d.Text(layout+"recompute") != "selective" {
		d.Remove(layout + "recompute_modules")
	} else if !d.Has(layout + "recompute_modules") {
		names, _ := megatron.RecomputeModules([]string{"core_attn"}) // transformer_config.py
		r.set(layout+"recompute_modules", names)
	}
	if v, ok := d.Get(layout + "recompute_modules"); ok && experts != nil {
		names, _ := megatron.RecomputeModules([]string{"moe"})
		if said := v.Value.([]string); !slices.Contains(said, names[0]) {
			d.Set(layout+"recompute_modules", append(slices.Clone(said), names...), v.Place)
		}
	}
	if d.Text(layout+"recompute") != "full" {
		d.Remove(layout + "recompute_method")
		d.Remove(layout + "recompute_layers")
	}
}

func (r *reading) execution() {
	const x = "execution."
	d := r.d
	r.unless(x+"overlap_gradient_reduce", false)
	r.unless(x+"overlap_parameter_gather", false)
	r.unless(x+"cross_entropy", "unfused")
	r.graphs()
	r.unasked()
	if d.Int("constraints.layout.context_parallel") > 1 {
		r.unless(x+"context_parallel_type", "ring")
	} else {
		d.Remove(x + "context_parallel_type")
	}
	r.states()
}

// unasked says what Megatron-LM does only where it is asked to, and ndc by itself
// where it pays: the launch runs without. Where there is nothing to do it says nothing.
func (r *reading) unasked() {
	const x, layout = "execution.", "constraints.layout."
	for _, o := range []struct {
		path  string
		value any
		where bool
	}{
		{x + "overlap_tensor_parallel", false, r.d.Int(layout+"tensor_parallel") > 1},
		{x + "overlap_expert_parallel", false, r.d.Int(layout+"expert_parallel") > 1},
		{x + "overlap_optimizer_gather", false, r.d.Int(layout+"virtual_pipeline") > 1 && r.d.Bool(x+"overlap_parameter_gather")},
		{x + "cuda_graphs", "none", !slices.ContainsFunc(slices.Collect(maps.Keys(r.given)), func(dest string) bool { return strings.Contains(dest, "cuda_graph") })},
		{x + "offload.optimizer", false, r.d.Int(layout+"zero_stage") == 1},
	} {
		if o.where {
			r.unless(o.path, o.value)
		}
	}
}

// states settles the type of Adam's two moments, which a job has one argument for.
func (r *reading) states() {
	const path = "execution.optimizer_state_dtype"
	of := func(dest string) string {
		if o := r.given[dest]; o != nil {
			return o.first()
		}
		return "fp32" // arguments.py
	}
	first, second := of("exp_avg_dtype"), of("exp_avg_sq_dtype")
	switch {
	case first != second:
		r.d.Withdraw(path, fmt.Sprintf("the moments are kept in %s and %s, and a job has one type for both", first, second))
	case r.d.Text(path) == "fp32" && !r.has("use_precision_aware_optimizer"):
		r.d.Remove(path)
	}
	if o := r.given["use_precision_aware_optimizer"]; o != nil && first == "fp32" && second == "fp32" {
		if r.d.Bool("execution.offload.optimizer") {
			r.d.Correct(o.line, o.name, draft.Mapped, "execution.offload.optimizer", "")
		} else {
			r.d.Correct(o.line, o.name, draft.Unknown, "", "with moments in fp32 the job is without it: it keeps two bytes less of every master parameter, and no gradients in fp32 during the step")
		}
	}
	aware := r.d.Bool("execution.offload.optimizer") || r.d.Has(path) && r.d.Text(path) != "fp32"
	if o := r.given["main_params_dtype"]; o != nil && o.first() != "fp32" && !aware { // optimizer_config.py
		r.takeBack(o, draft.Unknown, "the release takes it beside --use-precision-aware-optimizer alone, which the job is without")
	}
}

// graphs settles what CUDA graphs capture: with the implementation of Transformer
// Engine the modules of the scope, or without one the layers.
func (r *reading) graphs() {
	const path = "execution.cuda_graphs"
	var scope []string
	for _, dest := range []string{"cuda_graph_scope", "cuda_graph_scope_deprecated", "cuda_graph_modules"} {
		if o := r.given[dest]; o != nil {
			scope = o.texts()
		}
	}
	modules, other := megatron.GraphModules(scope)
	switch kind := r.d.Text(path); {
	case (kind == "local" || kind == "full") && slices.Equal(other, []string{"full_iteration"}):
		r.set(path, "full")
	case kind == "local":
		r.d.Withdraw(path, "ndc has graphs of Transformer Engine's layers and modules, and of whole iterations")
	case kind == "layer" && len(modules) > 0:
		r.set(path, modules)
	}
}

// ends16 are the layers at both ends that stay in bf16.
func (r *reading) ends16() {
	const first, last = "training.fp8.bf16_first_layers", "training.fp8.bf16_last_layers"
	if !r.has("first_last_layers_bf16") {
		r.d.Remove(first)
		r.d.Remove(last)
		return
	}
	r.unless(first, int64(r.defaultOf("--num-layers-at-start-in-bf16", 1)))
	r.unless(last, int64(r.defaultOf("--num-layers-at-end-in-bf16", 1)))
}

// programmed says what a program on top of Megatron-LM sets by itself, unless the launch does.
func (r *reading) programmed(before []shell.Word) {
	for _, name := range slices.Sorted(maps.Keys(programs())) {
		p := programs()[name]
		if !p.starts(r, before) {
			continue
		}
		for _, argument := range slices.Sorted(maps.Keys(p.Sets)) {
			if !r.unread[argument] && !r.off[argument] {
				r.unless(argument, typed(argument, p.Sets[argument]))
			}
		}
		if pattern, said := r.d.Get("model.layer_pattern"); said && p.Blocks != nil {
			r.d.Set("model.layer_pattern", strings.NewReplacer(p.Blocks...).Replace(pattern.Value.(string)), pattern.Place)
		}
		if p.Trains != "" && len(before) > 0 {
			script := before[len(before)-1]
			r.trains = p.Trains
			r.d.Note("model", draft.NotSaid+path.Base(script.Text)+" trains no decoder of language alone")
			r.d.Find(draft.Finding{Place: Place(r.file, script), Name: script.Text, Verdict: draft.Unknown,
				Why: "it trains another model than a decoder of language, which ndc does not plan; the job has its options and is refused at its architecture"})
		}
	}
}

// besideFewer says what a launch in 8 or 4 bits has beside them where that is not bf16, the
// only type that ndc has there.
func (r *reading) besideFewer() string {
	switch o := r.given["fp16"]; {
	case r.fewer == nil || r.has("bf16") || r.own && !r.pretrain:
	case o != nil:
		const why = "the launch has fp16 beside fewer bits, ndc bf16"
		r.d.Correct(o.line, o.name, draft.Unknown, "", why)
		return why
	default:
		return "the launch has fp32 beside fewer bits, ndc bf16"
	}
	return ""
}

func (r *reading) precision() {
	d := r.d
	if r.has("fp16") && r.has("bf16") {
		d.Withdraw("training.precision", "Megatron-LM refuses to start with both --bf16 and --fp16")
		return
	}
	if r.fewer != nil { // beside --bf16, in any order
		d.Put("training.precision", *r.fewer)
	}
	if !d.Has("training.precision") && r.own && !r.pretrain {
		return // a program on top of Megatron-LM may choose one by itself
	}
	r.unless("training.precision", "fp32")
	switch d.Text("training.precision") {
	case "fp8":
		r.unless("training.fp8.recipe", "delayed")
		if d.Text("training.fp8.recipe") == "mxfp8" {
			d.Set("training.precision", "mxfp8", r.fewer.Place)
			d.Remove("training.fp8.recipe")
		}
		r.ends16()
	case "nvfp4":
		d.Remove("training.fp8.recipe")
		r.ends16()
	default:
		for _, path := range d.Paths() {
			if strings.HasPrefix(path, "training.fp8.") {
				d.Withdraw(path, "it acts in fewer bits alone, which no --fp8-format or --fp4-format asks for")
			}
		}
	}
	if why := r.besideFewer(); why != "" {
		v, _ := d.Get("training.precision")
		v.Note = why
		d.Put("training.precision", v)
	}
	switch d.Text("training.precision") {
	case "bf16", "fp8", "mxfp8", "nvfp4":
		r.unless("execution.gradient_dtype", "fp32") // arguments.py accumulates in fp32 with bf16
	case "fp16":
		if !r.has("accumulate_allreduce_grads_in_fp32") { // the parameters' type (core/distributed/param_and_grad_buffer.py)
			d.SetNote("execution.gradient_dtype", "fp32", "the launch has its gradients in fp16, which ndc does not offer")
		}
	}
}
