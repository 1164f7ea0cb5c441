package megatron

import (
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// launch is one job with its plan, as the tests of this package and the
// conformance suite hand them to Emit.
type launch struct {
	name string
	job  *job.Job
	plan *plan.Plan
}

// baseJob is a small run with everything written out that a Megatron-LM launch
// reads: mock data, no tokenizer.
func baseJob(version string) *job.Job {
	return &job.Job{
		Name:    "test",
		Backend: job.Backend{Kind: "megatron", Version: version, Path: "/opt/megatron-lm"},
		Cluster: job.Cluster{
			Name: "dgx", Nodes: 8, GPUsPerNode: 8,
			GPU:    job.GPU{Name: "h100_sxm", ComputeCapability: "9.0", Memory: 80 * units.GiB},
			NVLink: job.NVLink{Domain: 8},
		},
		Model: llama(),
		Training: job.Training{
			GlobalBatchSize: 256, Steps: 1000, Precision: "bf16", Seed: 1234,
			Optimizer: job.Optimizer{Kind: "adamw", LearningRate: 3e-4, WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8, GradientClipping: 1},
			Schedule:  job.Schedule{Kind: "cosine", WarmupSteps: 100, MinimumLearningRate: 3e-5},
			Data:      job.Data{Format: "megatron", Mock: true, Tokenizer: job.Tokenizer{Kind: "none"}, Workers: 2},
			Start:     job.Start{From: "scratch"},
			Checkpoint: job.Checkpoint{
				Path: "/checkpoints/test/megatron", IntervalSteps: 500, SaveOptimizer: true,
			},
			Logging: job.Logging{Interval: 10},
		},
		Slurm: job.Slurm{Time: 4 * 3600},
	}
}

func llama() job.Model {
	return job.Model{
		Name: "llama3_8b", Architecture: "llama", Layers: 32, HiddenSize: 4096, FFNHiddenSize: 14336,
		Attention: job.Attention{Heads: 32, KVHeads: 8, HeadDim: 128}, VocabSize: 128256, SequenceLength: 8192, MaxPositions: 8192,
		Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm", Epsilon: 1e-5}, InitStd: 0.02,
		PositionEmbedding: job.PositionEmbedding{Kind: "rope", Theta: 500000},
	}
}

func nemotronH() job.Model {
	return job.Model{
		Name: "nemotron_h_8b", Architecture: "nemotron_h", Layers: 52, LayerPattern: "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
		HiddenSize: 4096, FFNHiddenSize: 21504, Attention: job.Attention{Heads: 32, KVHeads: 8, HeadDim: 128}, VocabSize: 131072, SequenceLength: 8192, MaxPositions: 8192,
		Activation: job.Activation{Kind: "relu2"}, Norm: job.Norm{Kind: "rmsnorm", Epsilon: 1e-5}, InitStd: 0.02,
		PositionEmbedding: job.PositionEmbedding{Kind: "none"},
		Mamba:             &job.Mamba{Heads: 128, HeadDim: 64, StateDim: 128, Groups: 8, ConvKernel: 4},
	}
}

// nemotronMoE is a small Nemotron 3 Super: latent experts and a layer of
// multi-token prediction.
func nemotronMoE() job.Model {
	m := nemotronH()
	m.Name, m.Layers, m.LayerPattern, m.FFNHiddenSize, m.Attention.KVHeads = "nemotron_moe", 16, "MEMEMEM*EMEMEMEM", 2688, 2
	m.MTP.Layers, m.MTP.LayerPattern, m.MTP.LossScale = 1, "*E", 0.3
	m.MoE = &job.MoE{
		Experts: 64, TopK: 6, ExpertFFNHiddenSize: 2688, SharedExperts: 1, SharedExpertFFNHiddenSize: 5376, LatentSize: 1024, LayerFrequency: 1,
		Router: job.Router{Score: "sigmoid", Balance: "bias", BiasUpdateRate: 0.001, AuxCoefficient: 1e-4, ScalingFactor: 5, Normalize: true, DType: "fp32"},
	}
	return m
}

// qwen3Next is a small Qwen3-Next.
func qwen3Next() job.Model {
	return job.Model{
		Name: "qwen3_next", Architecture: "qwen3_next", Layers: 16, LayerPattern: "GEGEGE*EGEGEGE*E",
		HiddenSize: 2048, FFNHiddenSize: 512,
		Attention: job.Attention{Heads: 16, KVHeads: 2, HeadDim: 256, QKNorm: true, Gate: true}, VocabSize: 151936, SequenceLength: 4096, MaxPositions: 262144,
		Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm", Epsilon: 1e-6, ZeroCentered: true}, InitStd: 0.02,
		PositionEmbedding: job.PositionEmbedding{Kind: "rope", Theta: 1e7, Partial: 0.25},
		DeltaNet:          &job.DeltaNet{KeyHeads: 16, ValueHeads: 32, KeyHeadDim: 128, ValueHeadDim: 128, ConvKernel: 4},
		MoE: &job.MoE{
			Experts: 512, TopK: 10, ExpertFFNHiddenSize: 512, SharedExperts: 1, SharedExpertFFNHiddenSize: 512, SharedExpertGate: true, LayerFrequency: 1,
			Router: job.Router{Score: "softmax", Balance: "aux_loss", AuxCoefficient: 0.001, Normalize: true, DType: "fp32"},
		},
	}
}

func gpt() job.Model {
	return job.Model{
		Name: "gpt3_7_5b", Architecture: "gpt", Layers: 36, HiddenSize: 4096, FFNHiddenSize: 16384,
		Attention: job.Attention{Heads: 32, KVHeads: 32, HeadDim: 128, Bias: true}, VocabSize: 51200, SequenceLength: 2048, MaxPositions: 2048,
		Activation: job.Activation{Kind: "gelu"}, Norm: job.Norm{Kind: "layernorm", Epsilon: 1e-5}, InitStd: 0.02, Dropout: 0.1,
		TiedEmbeddings: true, MLPBias: true,
		PositionEmbedding: job.PositionEmbedding{Kind: "learned"},
	}
}

func mixtral() job.Model {
	m := llama()
	m.Name, m.Architecture, m.VocabSize, m.SequenceLength, m.MaxPositions = "mixtral_8x7b", "mixtral", 32000, 4096, 32768
	m.PositionEmbedding.Theta = 1e6
	m.MoE = &job.MoE{
		Experts: 8, TopK: 2, ExpertFFNHiddenSize: 14336, LayerFrequency: 1,
		Router: job.Router{Score: "softmax", Balance: "aux_loss", AuxCoefficient: 0.02, Normalize: true, DType: "fp32"},
	}
	return m
}

func deepseek() job.Model {
	return job.Model{
		Name: "deepseek_v3", Architecture: "deepseek_v3", Layers: 61, HiddenSize: 7168, FFNHiddenSize: 18432,
		Attention: job.Attention{Heads: 128, KVHeads: 128, HeadDim: 192, MLA: &job.MLA{QLoraRank: 1536, KVLoraRank: 512, QKNopeHeadDim: 128, QKRopeHeadDim: 64, VHeadDim: 128}}, VocabSize: 129280, SequenceLength: 4096, MaxPositions: 163840,
		Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm", Epsilon: 1e-6}, InitStd: 0.006, MTP: job.MTP{Layers: 1, LossScale: 0.3},
		PositionEmbedding: job.PositionEmbedding{Kind: "rope", Theta: 10000, Scaling: &job.RopeScaling{
			Type: "yarn", Factor: 40, OriginalLength: 4096, BetaFast: 32, BetaSlow: 1, MScale: 1, MScaleAllDim: 1}},
		MoE: &job.MoE{
			Experts: 256, TopK: 8, ExpertFFNHiddenSize: 2048, SharedExperts: 1, SharedExpertFFNHiddenSize: 2048,
			FirstDenseLayers: 3, LayerFrequency: 1,
			Router: job.Router{Score: "sigmoid", Balance: "bias", AuxCoefficient: 1e-4, BiasUpdateRate: 1e-3,
				Groups: 8, GroupTopK: 4, ScalingFactor: 2.5, Normalize: true, DType: "fp32"},
		},
	}
}

func qwen3() job.Model {
	m := llama()
	m.Name, m.Architecture, m.Layers, m.VocabSize, m.Attention.QKNorm = "qwen3_8b", "qwen3", 36, 151936, true
	m.FFNHiddenSize, m.Norm.Epsilon, m.PositionEmbedding.Theta = 12288, 1e-6, 1e6
	return m
}

func gptOSS() job.Model {
	return job.Model{
		Name: "gpt_oss_20b", Architecture: "gpt_oss", Layers: 24, HiddenSize: 2880, FFNHiddenSize: 2880,
		Attention: job.Attention{Heads: 64, KVHeads: 8, HeadDim: 64, Bias: true, Sinks: true, SlidingWindow: job.SlidingWindow{Size: 128, Pattern: 2}}, VocabSize: 201088, SequenceLength: 4096, MaxPositions: 131072,
		Activation: job.Activation{Kind: "swiglu", Alpha: 1.702, Clamp: 7, Offset: 1},
		Norm:       job.Norm{Kind: "rmsnorm", Epsilon: 1e-5}, InitStd: 0.02, MLPBias: true,
		PositionEmbedding: job.PositionEmbedding{Kind: "rope", Theta: 150000, Scaling: &job.RopeScaling{
			Type: "yarn", Factor: 32, OriginalLength: 4096, BetaFast: 32, BetaSlow: 1, Untruncated: true}},
		MoE: &job.MoE{Experts: 32, TopK: 4, ExpertFFNHiddenSize: 2880, LayerFrequency: 1,
			Router: job.Router{Score: "softmax", Balance: "aux_loss", AuxCoefficient: 0.9, Normalize: true, Bias: true, DType: "bf16"}},
	}
}

// static makes a launch one with a graph of the whole step over experts that drop no
// token.
func static(j *job.Job, l *plan.Layout) {
	j.Model, j.Training.Precision = mixtral(), "mxfp8"
	j.Cluster.GPU.Name, j.Cluster.GPU.ComputeCapability = "b200", "10.0"
	j.Execution.CUDAGraphs, j.Execution.MoEDispatcher = job.Some("full"), job.Some("hybridep")
	l.ExpertParallel = 8
}

// base is a layout of one axis; the cases set the others.
func base() plan.Layout {
	return plan.Layout{
		TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1,
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 1,
		ZeroStage: 1, MicroBatchSize: 1,
	}
}

// finish derives what the search derives: the sharding group from the GPUs,
// the micro-batches from the batch, even stages, the resolved execution.
func finish(j *job.Job, l plan.Layout) *plan.Plan {
	data := j.Cluster.GPUs() / (l.TensorParallel * l.ContextParallel * l.PipelineParallel)
	switch {
	case l.ZeroStage == 0:
		l.DataParallelReplicate, l.DataParallelShard = data, 1
	default:
		l.DataParallelShard = data / l.DataParallelReplicate
	}
	l.MicroBatches = j.Training.GlobalBatchSize / (l.MicroBatchSize * data)
	if l.StageLayers == nil {
		for range l.Chunks() {
			l.StageLayers = append(l.StageLayers, j.Model.Layers/l.Chunks())
		}
	}
	switch {
	case l.VirtualPipeline > 1:
		l.PipelineSchedule = plan.ScheduleInterleaved1F1B
	case l.PipelineParallel > 1:
		l.PipelineSchedule = plan.Schedule1F1B
	}
	p := &plan.Plan{
		Backend: "megatron", BackendVersion: j.Backend.Version, Feasible: true,
		Layout: l, Time: plan.Time{StepSeconds: 4}, Run: plan.Run{Checkpoints: goodput.Checkpoints(j, 4)},
	}
	v, _ := release(j)
	v.execution().Resolver()(j, &l, &p.Execution)
	return p
}

// broken names the first rule that the plan breaks, or "".
func broken(t *target.Target, j *job.Job, p *plan.Plan) string {
	f := &target.Facts{Job: j, Layout: &p.Layout, Exec: &p.Execution, GPUs: j.Cluster.GPUs()}
	for _, r := range t.Rules {
		if r.Breaks(f) {
			return string(r.ID)
		}
	}
	return ""
}
