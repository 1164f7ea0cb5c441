package megatron

import (
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// Hybrid models, whose layers are single blocks, have a script and a model class
// of their own. core_v0.18.0 renamed both.

// script is the program of the checkout that trains the model.
func (v *version) script(m *job.Model) string {
	switch {
	case m.LayerPattern == "":
		return "pretrain_gpt.py"
	case v.atLeast(18, 0):
		return "pretrain_hybrid.py"
	}
	return "pretrain_mamba.py"
}

// pattern adds the layers of a hybrid model, with a bar between the chunks of
// the pipeline and the blocks of each multi-token-prediction layer at the end.
// Megatron-LM takes number of layers and chunks from it.
func (a *arguments) pattern(m *job.Model) {
	pattern := barred(m.LayerPattern, a.p.Layout.StageLayers) + strings.Repeat("/"+m.MTP.LayerPattern, m.MTP.Layers)
	a.add(a.from("model.layer_pattern"), "--hybrid-layer-pattern", pattern)
	if a.v.atLeast(18, 0) {
		a.add("ndc: the layers that the plan counts", "--spec", "megatron.core.models.hybrid.hybrid_layer_specs", "hybrid_stack_spec")
	} else {
		a.add("ndc: the layers that the plan counts", "--spec", "megatron.core.models.mamba.mamba_layer_specs", "mamba_stack_spec")
	}
	if s := m.Mamba; s != nil {
		a.integer(a.from("model.mamba.heads"), "--mamba-num-heads", s.Heads)
		a.integer(a.from("model.mamba.head_dim"), "--mamba-head-dim", s.HeadDim)
		a.integer(a.from("model.mamba.state_dim"), "--mamba-state-dim", s.StateDim)
		a.integer(a.from("model.mamba.groups"), "--mamba-num-groups", s.Groups)
	}
	if d := m.DeltaNet; d != nil {
		a.integer(a.from("model.delta_net.key_heads"), "--linear-num-key-heads", d.KeyHeads)
		a.integer(a.from("model.delta_net.value_heads"), "--linear-num-value-heads", d.ValueHeads)
		a.integer(a.from("model.delta_net.key_head_dim"), "--linear-key-head-dim", d.KeyHeadDim)
		a.integer(a.from("model.delta_net.value_head_dim"), "--linear-value-head-dim", d.ValueHeadDim)
		a.integer(a.from("model.delta_net.conv_kernel"), "--linear-conv-kernel-dim", d.ConvKernel)
	}
}

// barred puts a bar between the chunks of a pattern.
func barred(pattern string, stages []int) string {
	var chunks []string
	for _, n := range stages {
		chunks = append(chunks, pattern[:n])
		pattern = pattern[n:]
	}
	return strings.Join(append(chunks, pattern)[:max(len(stages), 1)], "|")
}

// mixerKernel is the number of tokens that the convolution of Megatron-LM's
// Mamba-2 mixer sees, which no option changes (megatron/core/ssm/mamba_mixer.py).
const mixerKernel = 4

// hybridRules: the mixers divide heads and groups by the tensor group
// (megatron/core/ssm); the script of hybrid models takes the options that its
// model class has.
var hybridRules = []target.Rule{
	{ID: RuleMixerHeads, Mesh: true, Reason: "heads and groups of mixers must be divisible by tensor_parallel", Breaks: func(f *target.Facts) bool {
		m, tp := &f.Job.Model, f.Layout.TensorParallel
		return m.Mamba != nil && (m.Mamba.Heads%tp != 0 || m.Mamba.Groups%tp != 0) ||
			m.DeltaNet != nil && (m.DeltaNet.KeyHeads%tp != 0 || m.DeltaNet.ValueHeads%tp != 0)
	}},
	{ID: RuleHybrid, Reason: "models with a layer pattern run without Megatron-FSDP, overlap_expert_parallel, offload.activations and, but for modules, cuda_graphs", Breaks: func(f *target.Facts) bool {
		x := f.Exec
		return f.Job.Model.LayerPattern != "" && (x.FullySharded || x.OverlapExpertParallel || x.OffloadActivations || x.CUDAGraphs == "layer" || x.CUDAGraphs == "full")
	}},
}

// mixerFills reports whether the outputs of a mixer's projection on each tensor rank
// are whole blocks of n.
func mixerFills(m *job.Model, tp, n int) bool {
	return (m.Mamba == nil || (2*m.Mamba.InnerSize()+2*m.Mamba.Groups*m.Mamba.StateDim+m.Mamba.Heads)/tp%n == 0) &&
		(m.DeltaNet == nil || 2*(m.DeltaNet.KeyHeads*m.DeltaNet.KeyHeadDim+m.DeltaNet.ValueHeads*(m.DeltaNet.ValueHeadDim+1))/tp%n == 0)
}

// recomputesWhole reports whether the release runs whole layers of the model
// again: those of hybrid models it does since core_v0.18.0, and before it
// ignores that it should (megatron/core/ssm/mamba_block.py).
func (v *version) recomputesWhole(m *job.Model) bool {
	return m.LayerPattern == "" || v.atLeast(18, 0)
}

// patternModules are the modules of selective recompute that a pattern has.
func patternModules(m *job.Model) (set plan.Modules) {
	for letter, modules := range map[rune]plan.Modules{
		job.AttentionBlock: plan.ModuleCoreAttention, job.MLPBlock: plan.ModuleMLP,
		job.ExpertsBlock: plan.ModuleNorm | plan.ModuleMoE | plan.ModuleExpertActivation | plan.ModuleSharedExperts,
	} {
		if strings.ContainsRune(m.LayerPattern, letter) {
			set |= modules
		}
	}
	return set
}
