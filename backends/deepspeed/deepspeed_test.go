package deepspeed

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// tinyLlama is a job of four layers on n GPUs.
func tinyLlama(n int) *job.Job {
	return &job.Job{
		Name:    "tiny",
		Backend: job.Backend{Kind: "deepspeed", Version: "0.19.8"},
		Model: job.Model{
			Name: "tiny", Architecture: "llama", Layers: 4, HiddenSize: 64, FFNHiddenSize: 128,
			Attention: job.Attention{Heads: 4, KVHeads: 2, HeadDim: 16}, VocabSize: 512, SequenceLength: 64, MaxPositions: 256,
			Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm", Epsilon: 1e-5}, InitStd: 0.02,
			PositionEmbedding: job.PositionEmbedding{Kind: "rope", Theta: 10000},
		},
		Cluster: job.Cluster{Name: "box", Nodes: 1, GPUsPerNode: n, GPU: job.GPU{Name: "h100"}},
		Training: job.Training{
			GlobalBatchSize: 8, Steps: 4, Precision: "fp32", Seed: 1234,
			Optimizer:  job.Optimizer{Kind: "adamw", LearningRate: 1e-3, WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8, GradientClipping: 1},
			Schedule:   job.Schedule{Kind: "cosine", WarmupSteps: 2, MinimumLearningRate: 1e-4},
			Data:       job.Data{Mock: true, Format: "megatron", Tokenizer: job.Tokenizer{Kind: "none"}},
			Start:      job.Start{From: "scratch"},
			Checkpoint: job.Checkpoint{SaveOptimizer: true},
			Logging:    job.Logging{Interval: 1},
		},
	}
}

// tinyMoE is tinyLlama with two layers of four experts.
func tinyMoE(n int) *job.Job {
	j := tinyLlama(n)
	m := &j.Model
	m.Architecture, m.Layers = "mixtral", 2
	m.MoE = &job.MoE{Experts: 4, TopK: 2, ExpertFFNHiddenSize: 128,
		Router: job.Router{Score: "softmax", Balance: "none", Normalize: true, DType: "bf16"}}
	return j
}

// planFor spreads a job plainly: what is left of the ranks is data parallel.
func planFor(t *testing.T, j *job.Job, change func(*plan.Layout)) *plan.Plan {
	t.Helper()
	l := plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, StageLayers: []int{j.Model.Layers},
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, ZeroStage: 1, MicroBatchSize: 1}
	change(&l)
	dp := j.Cluster.GPUs() / (l.TensorParallel * l.ContextParallel)
	if l.ZeroStage == 0 {
		l.DataParallelReplicate, l.DataParallelShard = dp, 1
	} else {
		l.DataParallelShard = dp / l.DataParallelReplicate
	}
	l.MicroBatches = j.Training.GlobalBatchSize / (l.MicroBatchSize * dp)
	tg, diags := Backend{}.Target(j)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return &plan.Plan{Backend: "deepspeed", BackendVersion: j.Backend.Version, Feasible: true, Layout: l, Execution: tg.Resolved(j, &l), Run: plan.Run{Checkpoints: goodput.Checkpoints(j, 4)}}
}

// broken lists the rules that a plan breaks.
func broken(t *testing.T, j *job.Job, p *plan.Plan) []diag.ID {
	t.Helper()
	tg, diags := Backend{}.Target(j)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var ids []diag.ID
	f := &target.Facts{Job: j, Layout: &p.Layout, Exec: &p.Execution, GPUs: p.Layout.GPUs()}
	for _, r := range tg.Rules {
		if r.Breaks(f) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
