package megatron

import (
	"fmt"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// recomputeWords are the words of --recompute-modules, the same from
// core_v0.15.0 to core_v0.19.0 for the models that ndc builds
// (transformer_config.py).
var recomputeWords = []struct {
	module plan.Modules
	word   string
}{
	{plan.ModuleCoreAttention, "core_attn"}, {plan.ModuleNorm, "layernorm"}, {plan.ModuleLatentUp, "mla_up_proj"},
	{plan.ModuleMLP, "mlp"}, {plan.ModuleMoE, "moe"}, {plan.ModuleExpertActivation, "moe_act"}, {plan.ModuleSharedExperts, "shared_experts"},
}

// recomputeArguments spells a set of modules as Megatron-LM does.
func recomputeArguments(set plan.Modules) []string {
	var words []string
	for _, w := range recomputeWords {
		if set.Has(w.module) {
			words = append(words, w.word)
			set &^= w.module
		}
	}
	if set != 0 {
		panic(fmt.Sprintf("megatron: no word for the recompute modules %v", set.Names()))
	}
	return words
}

// recomputes lists what the search may try: nothing, the sets of modules that
// matter for this model, and whole layers. A list pinned by the user is the
// only selective choice.
func (v *version) recomputes(j *job.Job) []target.RecomputeOption {
	options := []target.RecomputeOption{{Mode: plan.RecomputeNone}}
	for _, modules := range selective(j) {
		options = append(options, target.RecomputeOption{Mode: plan.RecomputeSelective, Modules: modules})
	}
	if !v.recomputesWhole(&j.Model) {
		return options
	}
	return append(options,
		target.RecomputeOption{Mode: plan.RecomputeFull, Method: "uniform", Layers: groups(j)},
		target.RecomputeOption{Mode: plan.RecomputeFull, Method: "block"},
	)
}

// groups lists how many layers uniform recompute puts in a group: one, which
// keeps the least memory busy, unless the job names other numbers.
func groups(j *job.Job) []int {
	choice := j.Constraints.Layout.RecomputeLayers
	if choice.Free() {
		return []int{1}
	}
	sizes := []int{}
	for n := 1; n <= j.Model.Layers; n++ {
		if choice.Allows(n) {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

// selective lists the module sets of selective recompute, cheapest first.
func selective(j *job.Job) []plan.Modules {
	if pinned := j.Constraints.Layout.RecomputeModules; pinned != nil {
		return []plan.Modules{plan.ModulesOf(pinned)}
	}
	cheap := cheapModules(j)
	sets := []plan.Modules{plan.ModuleCoreAttention}
	add := func(cheap plan.Modules) {
		if cheap != 0 {
			sets = append(sets, cheap)
		}
		if j.Model.MoE == nil || j.Model.MoE.FirstDenseLayers > 0 {
			sets = append(sets, cheap|plan.ModuleMLP)
		}
	}
	if j.Model.MoE != nil && asksWholeStep(j) { // whose buffers of experts exclude the activation
		add(cheap &^ plan.ModuleExpertActivation)
	}
	add(cheap)
	if j.Model.MoE != nil {
		sets = append(sets, cheap&^plan.ModuleExpertActivation|plan.ModuleMoE)
	}
	if j.Model.LayerPattern != "" {
		has := patternModules(&j.Model)
		sets = slices.DeleteFunc(sets, func(s plan.Modules) bool { return s&^has != 0 })
	}
	return sets
}

// cheapModules are those whose forward pass costs little to repeat: norms,
// expert activations and the up-projection of latent attention. Delayed
// scaling cannot repeat the first two.
func cheapModules(j *job.Job) (set plan.Modules) {
	delayed := j.Training.Precision == "fp8" && j.Training.FP8.Recipe == "delayed"
	if !delayed {
		set |= plan.ModuleNorm
	}
	if j.Model.Attention.MLA != nil {
		set |= plan.ModuleLatentUp
	}
	if j.Model.MoE != nil && !delayed {
		set |= plan.ModuleExpertActivation
	}
	return set
}

// checkRecompute reports modules that are not Megatron-LM's.
func checkRecompute(_ *version, j *job.Job, diags *diag.List) {
	var known plan.Modules
	for _, w := range recomputeWords {
		known |= w.module
	}
	for _, name := range j.Constraints.Layout.RecomputeModules {
		if !known.Has(plan.ModulesOf([]string{name})) {
			diags.Error(UnknownRecomputeModule, j.Sources.Range("constraints.layout.recompute_modules"), "Unknown module for recompute",
				fmt.Sprintf("Megatron-LM recomputes %s; it knows no module %q.%s", units.List(known.Names(), "and"), name, diag.DidYouMean(name, known.Names())))
		}
	}
}

// breaksRecomputeModule reports modules that the model does not have.
func breaksRecomputeModule(f *target.Facts) bool {
	var missing plan.Modules
	if f.Job.Model.Attention.MLA == nil {
		missing |= plan.ModuleLatentUp
	}
	if moe := f.Job.Model.MoE; moe == nil {
		missing |= plan.ModuleMoE | plan.ModuleExpertActivation | plan.ModuleSharedExperts
	} else if moe.SharedExpertFFNHiddenSize == 0 {
		missing |= plan.ModuleSharedExperts
	}
	if f.Job.Model.LayerPattern != "" {
		missing = ^patternModules(&f.Job.Model) | missing&plan.ModuleSharedExperts
	}
	return f.Layout.Recompute == plan.RecomputeSelective && f.Layout.RecomputeModules.Has(missing)
}
