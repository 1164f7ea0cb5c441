//go:build conformance

package deepspeed

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// exact is what summing in another order may cost in fp32.
const exact = 2e-5

func zero(stage int) func(*plan.Layout) { return func(l *plan.Layout) { l.ZeroStage = stage } }

// denseTrials spread one dense job every way that every release can.
func denseTrials() []trial {
	all := []trial{{name: "ref", ranks: 1, layout: zero(1)}}
	for stage := range 4 {
		all = append(all, trial{name: fmt.Sprintf("zero%d-w2", stage), ranks: 2, layout: zero(stage), same: "ref", tolerance: exact})
	}
	all = append(all,
		trial{name: "zero3-w4", ranks: 4, layout: zero(3), same: "ref", tolerance: exact},
		trial{name: "hpz2-w4", ranks: 4, layout: zero(3), same: "ref", tolerance: exact,
			change: func(j *job.Job) { j.Execution.ZeroHPZPartition = job.Some(2) }},
		trial{name: "recompute", ranks: 2, same: "ref", tolerance: exact,
			layout: func(l *plan.Layout) { l.ZeroStage, l.Recompute, l.RecomputeMethod = 3, plan.RecomputeFull, "uniform" }},
		trial{name: "recompute-block", ranks: 2, same: "ref", tolerance: exact,
			layout: func(l *plan.Layout) {
				l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "block", 2
			}},
		trial{name: "chunks", ranks: 2, layout: zero(2), same: "ref", tolerance: exact,
			change: func(j *job.Job) { j.Execution.LossChunks = job.Some(4) }},
		trial{name: "chunks-zero3", ranks: 2, layout: zero(3), same: "ref", tolerance: exact,
			change: func(j *job.Job) { j.Execution.LossChunks = job.Some(4) }},
	)
	bf16 := func(j *job.Job) { j.Training.Precision = "bf16" }
	for stage := 1; stage < 4; stage++ {
		all = append(all, trial{name: fmt.Sprintf("bf16-zero%d", stage), ranks: 2, layout: zero(stage), change: bf16, same: "ref", tolerance: 2e-3})
	}
	return append(all, trial{name: "bf16-zero0-w1", ranks: 1, layout: zero(0), same: "ref", tolerance: 2e-3,
		change: func(j *job.Job) {
			bf16(j)
			j.Constraints.Layout.ZeroStage = job.IntChoice{Values: []int{0}} // asked for
		}})
}

// halfTrials train in fp16, where the release and the processor can.
func halfTrials() []trial {
	var all []trial
	fp16 := func(j *job.Job) { j.Training.Precision = "fp16" }
	for stage := 1; stage < 4; stage++ {
		all = append(all, trial{name: fmt.Sprintf("fp16-zero%d", stage), ranks: 2, layout: zero(stage), change: fp16, same: "ref", tolerance: 2e-3})
	}
	return all
}

// tensorTrials use AutoTP.
func tensorTrials() []trial {
	var all []trial
	for stage := 1; stage < 4; stage++ {
		all = append(all, trial{name: fmt.Sprintf("tp2-zero%d", stage), ranks: 2, same: "ref", tolerance: exact,
			layout: func(l *plan.Layout) { l.TensorParallel, l.ZeroStage = 2, stage }})
	}
	two := func(l *plan.Layout) { l.TensorParallel, l.ZeroStage = 2, 1 }
	return append(all,
		trial{name: "tp2-dp2", ranks: 4, same: "ref", tolerance: exact, layout: two},
		trial{name: "tp2-chunks", ranks: 2, same: "ref", tolerance: exact,
			change: func(j *job.Job) { j.Execution.LossChunks = job.Some(4) },
			layout: func(l *plan.Layout) {
				two(l)
				l.Recompute, l.RecomputeMethod = plan.RecomputeFull, "uniform"
			}})
}

// overlapTrials hide AutoTP's communication.
func overlapTrials() []trial {
	return []trial{{name: "tp2-overlap", ranks: 2, same: "ref", tolerance: exact,
		layout: func(l *plan.Layout) { l.TensorParallel, l.ZeroStage = 2, 1 },
		change: func(j *job.Job) { j.Execution.OverlapTensorParallel = job.Some(true) }}}
}

// stateTrials keep state where and as it can be kept beside ZeRO's stages.
func stateTrials() []trial {
	var all []trial
	offload := func(parameters bool) func(*job.Job) {
		return func(j *job.Job) {
			j.Backend.ExtraArgs = nil // DeepSpeed's own Adam runs on a CPU
			j.Execution.OffloadOptimizer, j.Execution.OffloadParameters = job.Some(true), job.Some(parameters)
		}
	}
	for stage := 1; stage < 4; stage++ {
		all = append(all, trial{name: fmt.Sprintf("offload-zero%d", stage), ranks: 2, layout: zero(stage), change: offload(false), same: "ref", tolerance: exact})
	}
	return append(all,
		trial{name: "offload-parameters", ranks: 2, layout: zero(3), change: offload(true), same: "ref", tolerance: exact},
		trial{name: "offload-parameters-alone", ranks: 2, layout: zero(3), same: "ref", tolerance: exact,
			change: func(j *job.Job) {
				j.Execution.OffloadOptimizer, j.Execution.OffloadParameters = job.Some(false), job.Some(true)
			}},
		trial{name: "mics-w4", ranks: 4, same: "ref", tolerance: exact,
			layout: func(l *plan.Layout) { l.ZeroStage, l.DataParallelReplicate = 3, 2 }},
		trial{name: "unfused", ranks: 2, layout: zero(3), same: "ref", tolerance: exact,
			change: func(j *job.Job) { j.Execution.Attention = job.Some("unfused") }},
		trial{name: "gradients-bf16", ranks: 2, layout: zero(3), same: "ref", tolerance: 2e-3,
			change: func(j *job.Job) { j.Training.Precision, j.Execution.GradientDType = "bf16", job.Some("bf16") }},
		trial{name: "sgd-ref", ranks: 1, layout: zero(1), change: sgd},
		trial{name: "sgd-zero3", ranks: 2, layout: zero(3), change: sgd, same: "sgd-ref", tolerance: exact},
		trial{name: "adam-ref", ranks: 1, layout: zero(1), change: adam},
		trial{name: "adam-zero3", ranks: 2, layout: zero(3), change: adam, same: "adam-ref", tolerance: exact})
}

func sgd(j *job.Job) {
	j.Training.Optimizer.Kind, j.Training.Optimizer.Momentum, j.Backend.ExtraArgs = "sgd", 0.9, nil
}

func adam(j *job.Job) { j.Training.Optimizer.Kind = "adam" }

// contextTrials use Ulysses.
func contextTrials() []trial {
	var all []trial
	for stage := 1; stage < 4; stage++ {
		all = append(all, trial{name: fmt.Sprintf("cp2-zero%d", stage), ranks: 2, same: "ref", tolerance: exact,
			layout: func(l *plan.Layout) { l.ContextParallel, l.ZeroStage = 2, stage }})
	}
	return append(all, trial{name: "cp2-dp2", ranks: 4, same: "ref", tolerance: exact,
		layout: func(l *plan.Layout) { l.ContextParallel, l.ZeroStage = 2, 3 }},
		trial{name: "cp4", ranks: 4, same: "ref", tolerance: exact, // key-value heads repeated
			layout: func(l *plan.Layout) { l.ContextParallel, l.ZeroStage = 4, 2 }},
		trial{name: "cp2-chunks", ranks: 2, same: "ref", tolerance: exact,
			change: func(j *job.Job) { j.Execution.LossChunks = job.Some(4) },
			layout: func(l *plan.Layout) {
				l.ContextParallel, l.ZeroStage, l.Recompute, l.RecomputeMethod = 2, 3, plan.RecomputeFull, "uniform"
			}},
		trial{name: "cp2-balanced", ranks: 2, change: balanced, same: "moe-balanced-ref", tolerance: exact,
			layout: func(l *plan.Layout) { l.ContextParallel, l.ZeroStage = 2, 2 }},
		trial{name: "cp2-balanced-dp2", ranks: 4, change: balanced, same: "moe-balanced-ref", tolerance: exact,
			layout: func(l *plan.Layout) {
				l.ContextParallel, l.ZeroStage, l.Recompute, l.RecomputeMethod = 2, 3, plan.RecomputeFull, "uniform"
			}})
}

func mixtral(j *job.Job) {
	m := &j.Model
	m.Architecture, m.Layers = "mixtral", 2
	m.MoE = &job.MoE{Experts: 4, TopK: 2, ExpertFFNHiddenSize: 128,
		Router: job.Router{Score: "softmax", Balance: "none", Normalize: true, DType: "bf16"}}
}

func balanced(j *job.Job) {
	mixtral(j)
	j.Model.MoE.Router.Balance, j.Model.MoE.Router.AuxCoefficient, j.Model.MoE.Router.ZLossCoefficient = "sequence_aux_loss", 0.02, 0.001
}

// expertTrials train mixtures, with whole experts on every rank.
func expertTrials() []trial {
	all := []trial{
		{name: "moe-ref", ranks: 1, layout: zero(1), change: mixtral},
		{name: "moe-balanced-ref", ranks: 1, layout: zero(1), change: balanced},
		{name: "moe-balanced-w2", ranks: 2, layout: zero(2), change: balanced, same: "moe-balanced-ref", tolerance: exact},
		{name: "moe-balanced-recompute", ranks: 2, change: balanced, same: "moe-balanced-ref", tolerance: exact,
			layout: func(l *plan.Layout) { l.ZeroStage, l.Recompute, l.RecomputeMethod = 3, plan.RecomputeFull, "uniform" }},
	}
	for stage := 1; stage < 4; stage++ {
		all = append(all, trial{name: fmt.Sprintf("moe-zero%d", stage), ranks: 2, layout: zero(stage), change: mixtral, same: "moe-ref", tolerance: exact})
	}
	return all
}

// autoEPTrials spread the experts.
func autoEPTrials() []trial {
	var all []trial
	for stage := 1; stage < 4; stage++ {
		all = append(all, trial{name: fmt.Sprintf("ep2-zero%d", stage), ranks: 2, change: mixtral, same: "moe-ref", tolerance: exact,
			layout: func(l *plan.Layout) { l.ExpertParallel, l.ZeroStage = 2, stage }})
	}
	return append(all, trial{name: "ep2-dp4", ranks: 4, change: mixtral, same: "moe-ref", tolerance: exact,
		layout: func(l *plan.Layout) { l.ExpertParallel, l.ZeroStage, l.MicroBatchSize = 2, 2, 1 }},
		trial{name: "ep2-balanced", ranks: 2, change: balanced, same: "moe-balanced-ref", tolerance: exact,
			layout: func(l *plan.Layout) { l.ExpertParallel, l.ZeroStage = 2, 2 }})
}
