//go:build conformance

package deepspeed

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// modelTrials train one small model of every family that the pinned
// transformers has, on one rank and on two.
func modelTrials(version string) []trial {
	models := map[string]func(*job.Job){"gpt": gpt, "gemma2": gemma2, "mistral": mistral}
	names := []string{"gpt", "gemma2", "mistral"}
	if version != "0.16.4" { // whose transformers is of 2025-02
		for name, change := range map[string]func(*job.Job){"qwen3": qwen3, "qwen3-moe": qwen3MoE, "gpt-oss": gptOSS, "deepseek-v3": deepseekV3} {
			models[name] = change
		}
		names = append(names, "qwen3", "qwen3-moe", "gpt-oss", "deepseek-v3")
	}
	var all []trial
	for _, name := range names {
		all = append(all,
			trial{name: name + "-ref", ranks: 1, layout: zero(1), change: models[name]},
			trial{name: name + "-w2", ranks: 2, layout: zero(3), change: models[name], same: name + "-ref", tolerance: exact},
			trial{name: name + "-recompute", ranks: 2, change: models[name], same: name + "-ref", tolerance: exact,
				layout: func(l *plan.Layout) { l.ZeroStage, l.Recompute, l.RecomputeMethod = 2, plan.RecomputeFull, "uniform" }})
	}
	return all
}

func gpt(j *job.Job) {
	m := &j.Model
	m.Architecture, m.Activation, m.Normalization = "gpt", "gelu", "layernorm"
	m.KVHeads, m.AttentionBias, m.MLPBias, m.TiedEmbeddings = 4, true, true, true
	m.PositionEmbedding = job.PositionEmbedding{Kind: "learned"}
}

func mistral(j *job.Job) { j.Model.SlidingWindow.Size = 16 }

func gemma2(j *job.Job) {
	m := &j.Model
	m.Architecture, m.Activation, m.PostNorms, m.ZeroCenteredNorm, m.TiedEmbeddings = "gemma2", "geglu", true, true, true
	m.AttentionSoftcap, m.FinalSoftcap, m.EmbeddingScale, m.AttentionScale = 50, 30, 8, math.Pow(24, -0.5)
	m.SlidingWindow = job.SlidingWindow{Size: 16, Pattern: 2}
}

func qwen3(j *job.Job) { j.Model.Architecture, j.Model.QKNorm = "qwen3", true }

func qwen3MoE(j *job.Job) {
	m := &j.Model
	m.Architecture, m.QKNorm = "qwen3_moe", true
	m.MoE = &job.MoE{Experts: 4, TopK: 2, ExpertFFNHiddenSize: 32, FirstDenseLayers: 1,
		Router: job.Router{Score: "softmax", Balance: "aux_loss", AuxCoefficient: 0.01, Normalize: true, DType: "bf16"}}
}

func gptOSS(j *job.Job) {
	m := &j.Model
	m.Architecture, m.AttentionBias, m.MLPBias, m.AttentionSinks = "gpt_oss", true, true, true
	m.ActivationAlpha, m.ActivationClamp, m.ActivationOffset = 1.702, 7, 1
	m.SlidingWindow = job.SlidingWindow{Size: 16, Pattern: 2}
	m.PositionEmbedding.Scaling = &job.RopeScaling{Type: "yarn", Factor: 32, OriginalLength: 16, BetaFast: 32, BetaSlow: 1, Untruncated: true}
	m.MoE = &job.MoE{Experts: 4, TopK: 2, ExpertFFNHiddenSize: 32,
		Router: job.Router{Score: "softmax", Balance: "none", Normalize: true, DType: "bf16", Bias: true}}
}

func deepseekV3(j *job.Job) {
	m := &j.Model
	m.Architecture, m.KVHeads, m.HeadDim = "deepseek_v3", 4, 24
	m.MLA = &job.MLA{QLoraRank: 32, KVLoraRank: 16, QKNopeHeadDim: 16, QKRopeHeadDim: 8, VHeadDim: 16}
	m.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 32, FirstDenseLayers: 1, SharedExperts: 1, SharedExpertFFNHiddenSize: 32,
		Router: job.Router{Score: "sigmoid", Balance: "none", Groups: 4, GroupTopK: 2, ScalingFactor: 2.5, Normalize: true, DType: "fp32"}}
}
