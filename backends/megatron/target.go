package megatron

import (
	"strings"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// Megatron-LM's default rank order is tp-cp-ep-dp-pp: tensor ranks are
// neighbours, pipeline stages are furthest apart. The data-parallel ranks of
// one optimizer instance are neighbours (megatron/core/parallel_state.py).
var (
	denseMesh  = []plan.Axis{plan.TensorParallel, plan.ContextParallel, plan.DataParallelShard, plan.DataParallelReplicate, plan.PipelineParallel}
	expertMesh = []plan.Axis{plan.ExpertTensorParallel, plan.ExpertParallel, plan.ExpertDataParallel, plan.PipelineParallel}
)

// vocabMultiple is Megatron-LM's --make-vocab-size-divisible-by.
const vocabMultiple = 128

// Target returns what the job's release can do for this job.
func (Backend) Target(j *job.Job) (*target.Target, diag.List) {
	v, diags := release(j)
	if v == nil {
		return nil, diags
	}
	diags.Append(check(v, j))
	slurm.CheckMounts(j, &diags)
	moe := j.Model.MoE != nil
	options := v.execution()
	return &target.Target{
		Backend:              "megatron",
		Version:              v.name,
		Runtime:              v.runtime(j),
		DenseMesh:            denseMesh,
		ExpertMesh:           expertMesh,
		Schedules:            []plan.Schedule{plan.Schedule1F1B, plan.ScheduleInterleaved1F1B},
		ZeroStages:           zeroStages(j),
		Recomputes:           v.recomputes(j),
		SequenceParallel:     sequenceParallel(&j.Model),
		ContextParallel:      j.Model.LayerPattern == "",
		PipelineParallel:     true,
		VirtualPipeline:      true,
		UnevenStages:         true,
		ExpertParallel:       moe,
		ExpertTensorParallel: moe,
		Replicate:            true,
		Alternatives:         v.alternatives(&j.Model),
		Rules:                v.rules(),
		Resolve:              options.Resolver(),
		For:                  Backend{}.Target,
		Variants:             options.Variants(),
		Offers:               options.Offers(j),
		PaddedVocab:          paddedVocab,
	}, diags
}

// alternatives says who has what this release lacks. Models with a layer pattern lack context
// parallelism because ndc does not predict it, and no other backend builds them; full recompute
// they lack where the release ignores it.
func (v *version) alternatives(m *job.Model) func(argument string, values []string) string {
	table := capability.Layout(nil)
	return func(argument string, values []string) string {
		switch {
		case argument == "context_parallel" && m.LayerPattern != "":
			return "ndc does not plan it for models with a layer pattern, which no other backend builds."
		case strings.HasPrefix(argument, "recompute") && !v.recomputesWhole(m):
			return "The release recomputes no whole layers of models with a layer pattern; Megatron-LM does from core_v0.18.0 on."
		}
		return table(argument, values)
	}
}

// zeroStages offers the distributed optimizer (1) and plain data parallelism
// (0), and Megatron-FSDP (2 and 3) only to a job that asks for it: it keeps its
// state and its checkpoints differently. Who only leaves out values asks for it
// when nothing else is left.
func zeroStages(j *job.Job) []int {
	asked := j.Constraints.Layout.ZeroStage
	fsdp, c := j.Execution.FullySharded, &j.Constraints
	switch {
	case fsdp.Set && fsdp.Value:
		return []int{1, 2, 3}
	case c.MayBe("fully_sharded", "true"):
		return []int{0, 1, 2, 3}
	case fsdp.Set || asked.Free():
		return []int{0, 1}
	case asked.Not != nil && asked.Min == 0 && asked.Max == 3 && (asked.Allows(0) || asked.Allows(1)): // { not = … } alone
		return []int{0, 1}
	}
	stages := []int{0, 1}
	for _, z := range []int{2, 3} {
		if asked.Allows(z) {
			stages = append(stages, z)
		}
	}
	return stages
}

// sequenceParallel offers what tensor parallelism may go with. Experts refuse
// to train without sequence parallelism (megatron/core/transformer/moe/moe_layer.py).
func sequenceParallel(m *job.Model) []bool {
	if m.MoE != nil {
		return []bool{true}
	}
	return []bool{true, false}
}

// paddedVocab rounds the vocabulary up to a multiple of 128·tp
// (megatron/training/tokenizer), unless the model states its padded size.
func paddedVocab(m *job.Model, tensorParallel int) int {
	if m.PaddedVocabSize > 0 {
		return m.PaddedVocabSize
	}
	multiple := vocabMultiple * tensorParallel
	return (m.VocabSize + multiple - 1) / multiple * multiple
}
