package main

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// targetOf is the target of the row's backend.
func targetOf(j *job.Job) (*target.Target, string) {
	t := &target.Target{
		Backend: j.Backend.Kind, Version: j.Backend.Version, Engine: target.Megatron,
		DenseMesh:   []plan.Axis{plan.TensorParallel, plan.ContextParallel, plan.DataParallelShard, plan.DataParallelReplicate, plan.PipelineParallel},
		ExpertMesh:  []plan.Axis{plan.ExpertTensorParallel, plan.ExpertParallel, plan.ExpertDataParallel, plan.PipelineParallel},
		PaddedVocab: padded,
		Resolve:     resolve,
	}
	if j.Backend.Kind == "deepspeed" {
		t.Engine = target.DeepSpeed
	}
	if j.Backend.Kind == "torchtitan" {
		t.Engine = target.FSDP2
		t.PaddedVocab = func(m *job.Model, _ int) int { return m.VocabSize }
	}
	return t, ""
}

func padded(m *job.Model, tp int) int {
	if m.PaddedVocabSize > 0 {
		return m.PaddedVocabSize
	}
	return (m.VocabSize + 128*tp - 1) / (128 * tp) * 128 * tp
}

func resolve(j *job.Job, l *plan.Layout) plan.Execution {
	u := &j.Execution
	kernel, titan := "flash", j.Backend.Kind == "torchtitan"
	if !titan && j.Cluster.GPU.ComputeCapability >= "9" || j.Cluster.GPU.ComputeCapability == "10.0" || j.Cluster.GPU.ComputeCapability == "10.3" {
		kernel = "fused"
	}
	overlap := l.DataParallel()*l.ContextParallel > 1
	x := plan.Execution{
		Attention: u.Attention.Or(kernel), OverlapGradientReduce: u.OverlapGradientReduce.Or(overlap),
		OverlapTensorParallel: u.OverlapTensorParallel.Or(false), OverlapExpertParallel: u.OverlapExpertParallel.Or(false),
		GradientDType: u.GradientDType.Or("fp32"), OptimizerStateDType: u.OptimizerStateDType.Or("fp32"),
		CrossEntropy: u.CrossEntropy.Or("fused"), LossChunks: 1, CUDAGraphs: u.CUDAGraphs.Or("none"), Compile: u.Compile.Or(titan),
		MoEDispatcher: u.MoEDispatcher.Or("alltoall"), ContextParallelType: u.ContextParallelType.Or("ring"),
		ReshardAfterForward: l.ZeroStage == 3, FullySharded: u.FullySharded.Or(false), ZeroHPZPartition: 1,
	}
	x.OverlapParameterGather = u.OverlapParameterGather.Or(x.OverlapGradientReduce)
	if titan {
		x.OverlapGradientReduce, x.OverlapParameterGather = true, true
	}
	return x
}
