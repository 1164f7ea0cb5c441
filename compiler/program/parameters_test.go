package program

import (
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// The models below are the catalogue's by shape.

func llama3_8b() *job.Model {
	return &job.Model{Layers: 32, HiddenSize: 4096, FFNHiddenSize: 14336, Attention: job.Attention{Heads: 32, KVHeads: 8, HeadDim: 128},
		VocabSize: 128256, SequenceLength: 8192, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"},
		PositionEmbedding: job.PositionEmbedding{Kind: "rope"}}
}

func mixtral() *job.Model {
	m := llama3_8b()
	m.VocabSize, m.SequenceLength = 32000, 4096
	m.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 14336}
	return m
}

func deepseekV3() *job.Model {
	return &job.Model{Layers: 61, HiddenSize: 7168, FFNHiddenSize: 18432,
		Attention: job.Attention{Heads: 128, KVHeads: 128, HeadDim: 192, MLA: &job.MLA{QLoraRank: 1536, KVLoraRank: 512, QKNopeHeadDim: 128, QKRopeHeadDim: 64, VHeadDim: 128}},
		VocabSize: 129280, SequenceLength: 4096, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"}, MTP: job.MTP{Layers: 1},
		PositionEmbedding: job.PositionEmbedding{Kind: "rope"},
		MoE: &job.MoE{Experts: 256, TopK: 8, ExpertFFNHiddenSize: 2048, SharedExperts: 1, SharedExpertFFNHiddenSize: 2048,
			FirstDenseLayers: 3}}
}

// smallDeepSeek is the 16-layer model of the Megatron-LM runs in TestRanks.
func smallDeepSeek() *job.Model {
	m := deepseekV3()
	m.Layers, m.HiddenSize, m.FFNHiddenSize, m.Attention.Heads, m.Attention.KVHeads, m.VocabSize = 16, 2048, 10944, 16, 16, 102400
	m.MoE = &job.MoE{Experts: 64, TopK: 6, ExpertFFNHiddenSize: 1408, SharedExperts: 2, SharedExpertFFNHiddenSize: 2816, FirstDenseLayers: 1}
	return m
}

func gpt3_175b() *job.Model {
	return &job.Model{Layers: 96, HiddenSize: 12288, FFNHiddenSize: 49152, Attention: job.Attention{Heads: 96, KVHeads: 96, HeadDim: 128, Bias: true},
		VocabSize: 51200, SequenceLength: 2048, MaxPositions: 2048, Activation: job.Activation{Kind: "gelu"}, Norm: job.Norm{Kind: "layernorm"},
		MLPBias: true, TiedEmbeddings: true, PositionEmbedding: job.PositionEmbedding{Kind: "learned"}}
}

func gptOSS() *job.Model {
	return &job.Model{Layers: 24, HiddenSize: 2880, FFNHiddenSize: 2880,
		Attention: job.Attention{Heads: 64, KVHeads: 8, HeadDim: 64, Bias: true, Sinks: true, SlidingWindow: job.SlidingWindow{Size: 128, Pattern: 2}},
		VocabSize: 201088, SequenceLength: 4096, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"},
		MLPBias:           true,
		PositionEmbedding: job.PositionEmbedding{Kind: "rope"},
		MoE:               &job.MoE{Experts: 32, TopK: 4, ExpertFFNHiddenSize: 2880, Router: job.Router{Bias: true}}}
}

func gemma2() *job.Model {
	return &job.Model{Layers: 46, HiddenSize: 4608, FFNHiddenSize: 36864, Attention: job.Attention{Heads: 32, KVHeads: 16, HeadDim: 128},
		VocabSize: 256000, SequenceLength: 8192, Activation: job.Activation{Kind: "geglu"}, Norm: job.Norm{Kind: "rmsnorm", Post: true}, TiedEmbeddings: true,
		PositionEmbedding: job.PositionEmbedding{Kind: "rope"}}
}

func qwen3_30b() *job.Model {
	return &job.Model{Layers: 48, HiddenSize: 2048, FFNHiddenSize: 6144, Attention: job.Attention{Heads: 32, KVHeads: 4, HeadDim: 128, QKNorm: true},
		VocabSize: 151936, SequenceLength: 4096, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"},
		PositionEmbedding: job.PositionEmbedding{Kind: "rope"},
		MoE:               &job.MoE{Experts: 128, TopK: 8, ExpertFFNHiddenSize: 768}}
}

// TestParameters compares with counts derived from the published config.json
// of each model. DeepSeek-V3's checkpoint holds 256 score-correction biases per
// MoE layer more, which no gradient trains.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		name          string
		model         *job.Model
		total, active int64
		mtp           int64
	}{
		{"llama3_8b", llama3_8b(), 8030261248, 8030261248, 0},
		{"mixtral_8x7b", mixtral(), 46702792704, 12879925248, 0},
		{"deepseek_v3", deepseekV3(), 671026404352, 37552282624, 11610067968},
		{"gpt_oss_20b", gptOSS(), 20914757184, 4187440704, 0},
		{"gemma2_27b", gemma2(), 27227128320, 27227128320, 0},
		{"qwen3_30b_a3b", qwen3_30b(), 30532122624, 3353032704, 0},
		{"gpt3_175b", gpt3_175b(), 174615846912, 174615846912, 0},
	} {
		a := New(c.model)
		if got := a.ParametersTotal(); got != c.total {
			t.Errorf("%s: total %d, want %d", c.name, got, c.total)
		}
		if got := a.ParametersActive(); got != c.active {
			t.Errorf("%s: active %d, want %d", c.name, got, c.active)
		}
		if got := a.ParametersMTP(); got != c.mtp {
			t.Errorf("%s: MTP %d, want %d", c.name, got, c.mtp)
		}
	}
}

// chunk is a consecutive part of the model.
type chunk struct {
	First, End int // decoder layers [First, End)
	// Embedding says that the input embedding is here: on the first chunk, and
	// as a copy on a later chunk that needs it (tied head, MTP).
	Embedding bool
	MTP       int  // MTP layers
	Head      bool // final norm and output head
}

// of is the number of elements of a chunk on one rank, for a vocabulary as
// built. A tied head adds nothing where the embedding is on the same chunk.
func (c chunk) of(p *Program, vocabulary int, s Split) Elements {
	e := p.Layers(c.First, c.End, s)
	if c.Embedding {
		e.Dense += p.WordEmbedding(vocabulary, s.TensorParallel)
		if c.First == 0 {
			e.Dense += p.positionTable()
		}
	}
	if c.Head {
		e = e.Add(Elements{Dense: p.FinalNorm(), Replicated: p.FinalNorm()})
		if !p.Model.TiedEmbeddings || !c.Embedding {
			e.Dense += p.WordEmbedding(vocabulary, s.TensorParallel)
		}
	}
	if c.MTP > 0 {
		e = e.Add(p.Elements(p.mtp, s).Times(c.MTP))
	}
	return e
}

// TestRanks compares with what Megatron-LM (megatron-core 0.19.2, its real
// model, DDP buffers and distributed optimizer built on the meta device)
// reports for a rank. Replicated are the norms, the routers, and of latent attention
// the down-projections.
func TestRanks(t *testing.T) {
	const latent = 2*2048 + (1536+512+64)*2048 + 1536 + 512 // of a layer: its norms, two down-projections and their norms
	const router = 64 * 2048
	for _, c := range []struct {
		name   string
		model  *job.Model
		split  Split
		padded int // vocabulary, a multiple of 128·tp
		chunks []chunk
		want   Elements
	}{
		{"llama3-8B tp1 pp1", llama3_8b(), Split{TensorParallel: 1, ExpertParallel: 1, ExpertTensorParallel: 1}, 128256,
			[]chunk{{First: 0, End: 32, Embedding: true, Head: true}}, Elements{Dense: 8030261248, Replicated: 65 * 4096}},
		{"llama3-8B tp8 pp4 vpp8, rank 0", llama3_8b(), Split{TensorParallel: 8, ExpertParallel: 1, ExpertTensorParallel: 1}, 129024,
			[]chunk{{First: 0, End: 1, Embedding: true}, {First: 4, End: 11}}, Elements{Dense: 284229632, Replicated: 8 * 2 * 4096}},
		{"llama3-8B tp8 pp4 vpp8, rank 1023", llama3_8b(), Split{TensorParallel: 8, ExpertParallel: 1, ExpertTensorParallel: 1}, 129024,
			[]chunk{{First: 3, End: 10}, {First: 31, End: 32, Head: true}}, Elements{Dense: 284233728, Replicated: (8*2 + 1) * 4096}},
		{"llama3-8B tp4 pp4 vpp2, rank 48", llama3_8b(), Split{TensorParallel: 4, ExpertParallel: 1, ExpertTensorParallel: 1}, 128512,
			[]chunk{{First: 12, End: 16}, {First: 28, End: 32, Head: true}}, Elements{Dense: 567873536, Replicated: (8*2 + 1) * 4096}},
		{"mixtral-8x7B tp2 pp2 ep4 etp1, rank 0", mixtral(), Split{TensorParallel: 2, ExpertParallel: 4, ExpertTensorParallel: 1}, 32000,
			[]chunk{{First: 0, End: 16, Embedding: true}}, Elements{Dense: 6038880256 - 5637144576, Expert: 5637144576, Replicated: 16 * (2 + 8) * 4096}},
		{"mixtral-8x7B tp2 pp2 ep4 etp1, rank 32", mixtral(), Split{TensorParallel: 2, ExpertParallel: 4, ExpertTensorParallel: 1}, 32000,
			[]chunk{{First: 16, End: 32, Head: true}}, Elements{Dense: 6038884352 - 5637144576, Expert: 5637144576, Replicated: (16*(2+8) + 1) * 4096}},
		{"mixtral-8x7B tp2 pp1 ep4 etp2", mixtral(), Split{TensorParallel: 2, ExpertParallel: 4, ExpertTensorParallel: 2}, 32000,
			[]chunk{{First: 0, End: 32, Embedding: true, Head: true}}, Elements{Dense: 6440620032 - 5637144576, Expert: 5637144576, Replicated: (32*(2+8) + 1) * 4096}},
		{"small deepseek-v3-like pp2 ep8 mtp1, rank 0", smallDeepSeek(), Split{TensorParallel: 1, ExpertParallel: 8, ExpertTensorParallel: 1}, 102400,
			[]chunk{{First: 0, End: 9, Embedding: true}}, Elements{Dense: 1108137984 - 553648128, Expert: 553648128, Replicated: 9*latent + 8*router}},
		{"small deepseek-v3-like pp2 ep8 mtp1, rank 32", smallDeepSeek(), Split{TensorParallel: 1, ExpertParallel: 8, ExpertTensorParallel: 1}, 102400,
			[]chunk{{First: 9, End: 16, Embedding: true, MTP: 1, Head: true}}, Elements{Dense: 1243668480 - 553648128, Expert: 553648128, Replicated: 8*(latent+router) + (3+1)*2048}},
		{"small deepseek-v3-like Ettt|tttttt|tttt|tttmL, rank 0", smallDeepSeek(), Split{TensorParallel: 2, ExpertParallel: 8, ExpertTensorParallel: 1}, 102400,
			[]chunk{{First: 0, End: 3, Embedding: true}, {First: 9, End: 13}}, Elements{Dense: 675260416 - 415236096, Expert: 415236096, Replicated: 7*latent + 6*router}},
		{"small deepseek-v3-like Ettt|tttttt|tttt|tttmL, rank 32", smallDeepSeek(), Split{TensorParallel: 2, ExpertParallel: 8, ExpertTensorParallel: 1}, 102400,
			[]chunk{{First: 3, End: 9}, {First: 13, End: 16, Embedding: true, MTP: 1, Head: true}}, Elements{Dense: 1092161536 - 692060160, Expert: 692060160, Replicated: 10*(latent+router) + (3+1)*2048}},
	} {
		a := New(c.model)
		var got Elements
		for _, part := range c.chunks {
			got = got.Add(part.of(a, c.padded, c.split))
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
