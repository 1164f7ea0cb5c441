package torchtitan

import (
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// denseModel is a small llama.
func denseModel() job.Model {
	return job.Model{
		Name: "small", Architecture: "llama", Layers: 4, HiddenSize: 64, FFNHiddenSize: 176,
		Attention: job.Attention{Heads: 4, KVHeads: 2, HeadDim: 16}, VocabSize: 512, SequenceLength: 128, MaxPositions: 256,
		Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm", Epsilon: 1e-5}, InitStd: 0.02,
		PositionEmbedding: job.PositionEmbedding{Kind: "rope", Theta: 500000},
	}
}

// expertModel is a small Qwen3 with experts.
func expertModel() job.Model {
	m := denseModel()
	m.Name, m.Architecture, m.Attention.QKNorm, m.Attention.HeadDim, m.Norm.Epsilon = "small_moe", "qwen3_moe", true, 32, 1e-6
	m.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 48, LayerFrequency: 1,
		Router: job.Router{Score: "softmax", Balance: "aux_loss", AuxCoefficient: 1e-3, Normalize: true, PreSoftmax: true, DType: "fp32"}}
	return m
}

// latentModel is a small DeepSeek-V3.
func latentModel() job.Model {
	m := denseModel()
	m.Name, m.Architecture, m.Attention.KVHeads = "small_mla", "deepseek_v3", 4
	m.Attention.MLA = &job.MLA{QLoraRank: 24, KVLoraRank: 16, QKNopeHeadDim: 16, QKRopeHeadDim: 8, VHeadDim: 16}
	m.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 48, SharedExperts: 1, SharedExpertFFNHiddenSize: 48, FirstDenseLayers: 1, LayerFrequency: 1,
		Router: job.Router{Score: "sigmoid", Balance: "bias", BiasUpdateRate: 1e-3, Groups: 4, GroupTopK: 2, ScalingFactor: 2.5, Normalize: true, DType: "fp32"}}
	m.PositionEmbedding.Scaling = &job.RopeScaling{Type: "yarn", Factor: 40, OriginalLength: 64, BetaFast: 32, BetaSlow: 1, MScale: 1, MScaleAllDim: 1}
	return m
}

// sinkModel is a small gpt-oss.
func sinkModel() job.Model {
	m := denseModel()
	m.Name, m.Architecture, m.Attention.Sinks, m.Attention.Bias, m.MLPBias = "small_sink", "gpt_oss", true, true, true
	m.Activation.Alpha, m.Activation.Clamp, m.Activation.Offset = 1.702, 7, 1
	m.Attention.SlidingWindow = job.SlidingWindow{Size: 32, Pattern: 2}
	m.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 48, LayerFrequency: 1,
		Router: job.Router{Score: "softmax", Balance: "aux_loss", AuxCoefficient: 0.9, DType: "fp32", Bias: true}}
	m.PositionEmbedding.Scaling = &job.RopeScaling{Type: "yarn", Factor: 32, OriginalLength: 4096, BetaFast: 32, BetaSlow: 1, MScale: 1, Untruncated: true}
	return m
}

// testJob is a job of ranks GPUs on one version.
func testJob(version string, m job.Model, gpus int) *job.Job {
	return &job.Job{
		Name: "small", Backend: job.Backend{Kind: "torchtitan", Version: version}, Model: m,
		Cluster: job.Cluster{Name: "node", Nodes: 1, GPUsPerNode: gpus, CPUsPerNode: 8,
			GPU: job.GPU{Name: "h100", Memory: 80 * units.GiB, ComputeCapability: "9.0", PeakFLOPS: job.PeakFLOPS{BF16: 1e15, FP8: 2e15}}},
		Training: job.Training{
			GlobalBatchSize: 8, Steps: 6, Precision: "bf16", Seed: 1234,
			Optimizer: job.Optimizer{Kind: "adamw", LearningRate: 3e-3, WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8, GradientClipping: 1},
			Schedule:  job.Schedule{Kind: "cosine", WarmupSteps: 2, MinimumLearningRate: 3e-4},
			Data: job.Data{Format: "megatron", Sources: []job.DataSource{{Name: "text", Path: "/data/text_document", Weight: 0.75}, {Name: "code", Path: "/data/code_document", Weight: 0.25}},
				Tokenizer: job.Tokenizer{Kind: "none"}},
			Start:      job.Start{From: "scratch"},
			Checkpoint: job.Checkpoint{Path: "/checkpoints/small/torchtitan", IntervalSteps: 3, SaveOptimizer: true},
			Logging:    job.Logging{Interval: 1},
		},
		Slurm:   job.Slurm{Partition: "gpu", Time: 3600, GPUsDirective: "gres"},
		Sources: job.Sources{},
	}
}

// testPlan is a plan with one layer list per chunk, as even as possible.
func testPlan(j *job.Job, l plan.Layout) *plan.Plan {
	v, _ := findVersion(j)
	if l.StageLayers == nil {
		for c := range l.Chunks() {
			l.StageLayers = append(l.StageLayers, (c+1)*j.Model.Layers/l.Chunks()-c*j.Model.Layers/l.Chunks())
		}
	}
	p := &plan.Plan{Backend: "torchtitan", BackendVersion: j.Backend.Version, Feasible: true, Layout: l}
	v.execution().Resolver()(j, &l, &p.Execution)
	p.Time.StepSeconds = 2
	p.Run.Checkpoints = goodput.Checkpoints(j, 2)
	return p
}

// layoutOf is a layout with every degree at least 1.
func layoutOf(change func(*plan.Layout)) plan.Layout {
	l := plan.Layout{TensorParallel: 1, SequenceParallel: true, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1,
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 1, ZeroStage: 3,
		MicroBatchSize: 1, MicroBatches: 1, Recompute: plan.RecomputeSelective, RecomputeModules: plan.ModuleOperators}
	if change != nil {
		change(&l)
	}
	return l
}
