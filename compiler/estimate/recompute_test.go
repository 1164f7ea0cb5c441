package estimate

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestRecomputedCollectives: a module of selective recompute runs its collectives of the
// forward again, and nothing else.
func TestRecomputedCollectives(t *testing.T) {
	const tokens = units.Bytes(2 * 8192 * 4096) // 2·T·h of a micro-batch
	cut := func(tp, cp, ep int) plan.Layout {
		l := single(8 / tp / cp)
		l.TensorParallel, l.SequenceParallel, l.ContextParallel, l.ExpertParallel = tp, tp > 1, cp, ep
		l.Recompute = plan.RecomputeSelective
		return l
	}
	for _, c := range []struct {
		model             job.Model
		layout            plan.Layout
		module            plan.Modules
		group, collective string
		more              units.Bytes // with every micro-batch
	}{
		{moe(), cut(1, 1, 8), plan.ModuleMoE, "expert_parallel", "all_to_all", 31 * 2 * 2 * tokens},
		{moe(), cut(1, 1, 8), plan.ModuleExpertActivation, "expert_parallel", "all_to_all", 0},
		{dense(), cut(8, 1, 1), plan.ModuleMLP, "tensor_parallel", "all_gather", 32 * tokens},
		{dense(), cut(8, 1, 1), plan.ModuleMLP, "tensor_parallel", "reduce_scatter", 32 * tokens},
		{dense(), cut(8, 1, 1), plan.ModuleCoreAttention, "tensor_parallel", "all_gather", 0},
		{dense(), cut(1, 2, 1), plan.ModuleCoreAttention, "context_parallel", "point_to_point", 32 * tokens / 2 / 2}, // keys and values of 8 of 32 heads
		{latent(), cut(2, 1, 1), plan.ModuleLatentUp, "tensor_parallel", "all_gather", 32 * 2 * 8192 * (1536 + 512 + 64)},
		{latent(), cut(2, 1, 1), plan.ModuleLatentUp, "tensor_parallel", "reduce_scatter", 0},
	} {
		x := execution()
		e := New(jobOf(c.model, 1), targetOf(runtimes.Whole()))
		with, without := c.layout, c.layout
		with.RecomputeModules, without.Recompute = c.module, plan.RecomputeNone
		more, less := e.Describe(&with, &x), e.Describe(&without, &x)
		check(t, c.module.Names()[0]+", "+c.collective, collectiveBytes(&more, c.group, c.collective),
			collectiveBytes(&less, c.group, c.collective)+units.Bytes(c.layout.MicroBatches)*c.more)
	}
}

// latent is a model with latent attention.
func latent() job.Model {
	m := dense()
	m.Attention = job.Attention{Heads: 32, KVHeads: 32, HeadDim: 192, MLA: &job.MLA{QLoraRank: 1536, KVLoraRank: 512, QKNopeHeadDim: 128, QKRopeHeadDim: 64, VHeadDim: 128}}
	return m
}

// TestLatentGather: latent attention gathers its latents, not the stream, and scatters
// their gradients; its output is as wide as the stream.
func TestLatentGather(t *testing.T) {
	const stream, latents = units.Bytes(2 * 8192 * 4096), units.Bytes(2 * 8192 * (1536 + 512 + 64))
	l, x := single(8), execution()
	l.TensorParallel, l.SequenceParallel, l.DataParallelShard, l.MicroBatches = 8, true, 1, 512
	d := New(jobOf(latent(), 1), targetOf(runtimes.Whole())).Describe(&l, &x)
	check(t, "gathers", collectiveBytes(&d, "tensor_parallel", "all_gather"), 512*(32*(2*latents+stream)+32*3*stream+3*stream))
	check(t, "scatters", collectiveBytes(&d, "tensor_parallel", "reduce_scatter"), 512*(32*(latents+stream)+32*2*stream+2*stream))
}
