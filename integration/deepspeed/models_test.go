//go:build conformance

package deepspeed

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// modelTrials train one small model of every family that the pinned
// transformers has, on one rank, sharded, recomputed, and cut where AutoTP cuts
// it.
func modelTrials(version string) []trial {
	tied := func(j *job.Job) { j.Model.TiedEmbeddings = true }
	biased := func(j *job.Job) { j.Model.Attention.Bias, j.Model.MLPBias = true, true }
	models := []struct {
		name   string
		change func(*job.Job)
		cut    bool
	}{
		{"tied", tied, true}, {"biased", biased, true}, {"mistral", mistral, true}, {"gemma2", gemma2, true}, {"gpt", gpt, false}, {"gpt-rope", gptRope, false},
		{"qwen3", qwen3, true}, {"qwen3-moe", qwen3MoE, false}, {"gpt-oss", gptOSS, false}, {"deepseek-v3", deepseekV3, false},
		{"qwen2", qwen2, true}, {"glm4-moe", glm4MoE, false},
	}
	if version == "0.16.4" { // whose transformers is of 2025-02
		models = models[:6]
	}
	var all []trial
	for _, m := range models {
		all = append(all,
			trial{name: m.name + "-ref", ranks: 1, layout: zero(1), change: m.change},
			trial{name: m.name + "-w2", ranks: 2, layout: zero(3), change: m.change, same: m.name + "-ref", tolerance: exact},
			trial{name: m.name + "-recompute", ranks: 2, change: m.change, same: m.name + "-ref", tolerance: exact,
				layout: func(l *plan.Layout) { l.ZeroStage, l.Recompute, l.RecomputeMethod = 1, plan.RecomputeFull, "uniform" }})
		if m.cut {
			all = append(all, trial{name: m.name + "-tp2", ranks: 2, change: m.change, same: m.name + "-ref", tolerance: exact,
				layout: func(l *plan.Layout) { l.TensorParallel, l.ZeroStage = 2, 1 }})
		}
	}
	return all
}

func gpt(j *job.Job) {
	m := &j.Model
	m.Architecture, m.Activation.Kind, m.Norm.Kind = "gpt", "gelu", "layernorm"
	m.Attention.KVHeads, m.Attention.Bias, m.MLPBias, m.TiedEmbeddings = 4, true, true, true
	m.PositionEmbedding = job.PositionEmbedding{Kind: "learned"}
}

func gptRope(j *job.Job) {
	gpt(j)
	j.Model.PositionEmbedding = job.PositionEmbedding{Kind: "rope", Theta: 10000, Partial: 0.5}
}

func mistral(j *job.Job) { j.Model.Attention.SlidingWindow.Size = 16 }

func gemma2(j *job.Job) {
	m := &j.Model
	m.Architecture, m.Activation.Kind, m.Norm.Post, m.Norm.ZeroCentered, m.TiedEmbeddings = "gemma2", "geglu", true, true, true
	m.Attention.Softcap, m.FinalSoftcap, m.EmbeddingScale, m.Attention.Scale = 50, 30, 8, math.Pow(24, -0.5)
	m.Attention.SlidingWindow = job.SlidingWindow{Size: 16, Pattern: 2}
}

// qwen3 has weights so large that its norms of queries and keys matter.
func qwen3(j *job.Job) {
	j.Model.Architecture, j.Model.Attention.QKNorm, j.Model.InitStd = "qwen3", true, 0.2
}

func qwen2(j *job.Job) {
	j.Model.Architecture, j.Model.Attention.QKVBias = "qwen2", true
}

func glm4MoE(j *job.Job) {
	m := &j.Model
	m.Architecture, m.Attention.QKVBias, m.Attention.QKNorm, m.PositionEmbedding.Partial = "glm4_moe", true, true, 0.5
	m.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 32, FirstDenseLayers: 1, SharedExperts: 1, SharedExpertFFNHiddenSize: 32,
		Router: job.Router{Score: "sigmoid", Balance: "none", ScalingFactor: 2.5, Normalize: true, DType: "fp32"}}
}

func qwen3MoE(j *job.Job) {
	m := &j.Model
	m.Architecture, m.Attention.QKNorm = "qwen3_moe", true
	m.MoE = &job.MoE{Experts: 4, TopK: 2, ExpertFFNHiddenSize: 32, FirstDenseLayers: 1,
		Router: job.Router{Score: "softmax", Balance: "aux_loss", AuxCoefficient: 0.01, Normalize: true, DType: "bf16"}}
}

func gptOSS(j *job.Job) {
	m := &j.Model
	m.Architecture, m.Attention.Bias, m.MLPBias, m.Attention.Sinks = "gpt_oss", true, true, true
	m.Activation.Alpha, m.Activation.Clamp, m.Activation.Offset = 1.702, 7, 1
	m.Attention.SlidingWindow = job.SlidingWindow{Size: 16, Pattern: 2}
	m.PositionEmbedding.Scaling = &job.RopeScaling{Type: "yarn", Factor: 32, OriginalLength: 16, BetaFast: 32, BetaSlow: 1, Untruncated: true}
	m.MoE = &job.MoE{Experts: 4, TopK: 2, ExpertFFNHiddenSize: 32,
		Router: job.Router{Score: "softmax", Balance: "none", Normalize: true, DType: "bf16", Bias: true}}
}

func deepseekV3(j *job.Job) {
	m := &j.Model
	m.Architecture, m.Attention.KVHeads, m.Attention.HeadDim = "deepseek_v3", 4, 24
	m.Attention.MLA = &job.MLA{QLoraRank: 32, KVLoraRank: 16, QKNopeHeadDim: 16, QKRopeHeadDim: 8, VHeadDim: 16}
	m.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 32, FirstDenseLayers: 1, SharedExperts: 1, SharedExpertFFNHiddenSize: 32,
		Router: job.Router{Score: "sigmoid", Balance: "none", Groups: 4, GroupTopK: 2, ScalingFactor: 2.5, Normalize: true, DType: "fp32"}}
}
