package deepspeed

import (
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/lang/job"
)

// family is a model class of Hugging Face transformers.
type family struct {
	modelType    string // "model_type" of its config.json
	transformers number // first release of transformers that has the class
	masks        number // first one whose class takes a mask of queries and keys; the zero value where it always did

	sdpa         bool     // torch's scaled dot product attention computes it in full
	autoTP       bool     // AutoTP cuts it
	ulysses      bool     // Ulysses spreads it
	expertPreset string   // AutoEP's name for it; "" when AutoEP does not know it
	leafModules  []string // classes of its expert layers, which stage 3 gathers whole; nil when dense
	auxLoss      bool     // its forward pass can return the router's logits
	routerDType  string   // precision of the router's product; "": that of the run
	// dropout says that the class drops hidden activations, not attention
	// weights alone.
	dropout bool
	biases  biases

	activations   []string
	normalization string
	positions     string
	qkNorm        bool // norms on queries and keys, always
	qkNormChoice  bool // the same, by config.json
	config        func(m *job.Model, f *family) render.Object
}

// biases says which of the attention's projections (query, key, value, output)
// can have biases in a class.
type biases int

const (
	biasesAllOrNone biases = iota // attention_bias of config.json: all four
	biasesAll                     // all four, always
	biasesNever
	biasesQKV       // query, key and value, always; the output never
	biasesQKVOrNone // attention_bias of config.json: query, key and value
)

// families by the architecture of the language, and by two names of ndc's own
// for architectures that transformers has several classes for.
var families = map[string]*family{
	"llama": {
		modelType: "llama", transformers: number{4, 45, 0}, sdpa: true, autoTP: true, ulysses: true,
		activations: []string{"swiglu"}, normalization: "rmsnorm", positions: "rope", config: llamaConfig,
	},
	"mistral": {
		modelType: "mistral", transformers: number{4, 45, 0}, sdpa: true, autoTP: true, biases: biasesNever,
		activations: []string{"swiglu"}, normalization: "rmsnorm", positions: "rope", config: mistralConfig,
	},
	"qwen2": {
		modelType: "qwen2", transformers: number{4, 48, 0}, sdpa: true, autoTP: true, ulysses: true, biases: biasesQKV,
		activations: []string{"swiglu"}, normalization: "rmsnorm", positions: "rope", config: qwen2Config,
	},
	"qwen3": {
		modelType: "qwen3", transformers: number{4, 51, 0}, sdpa: true, autoTP: true, ulysses: true, qkNorm: true,
		activations: []string{"swiglu"}, normalization: "rmsnorm", positions: "rope", config: qwen3Config,
	},
	"gemma2": {
		modelType: "gemma2", transformers: number{4, 45, 0}, autoTP: true,
		activations: []string{"geglu"}, normalization: "rmsnorm", positions: "rope", config: gemma2Config,
	},
	"gpt": {
		modelType: "gpt2", transformers: number{4, 45, 0}, masks: number{4, 52, 1}, sdpa: true, dropout: true, biases: biasesAll,
		activations: []string{"gelu"}, normalization: "layernorm", positions: "learned", config: gpt2Config,
	},
	"gpt_rope": {
		modelType: "gpt_neox", transformers: number{4, 48, 0}, sdpa: true, dropout: true,
		activations: []string{"gelu"}, normalization: "layernorm", positions: "rope", config: gptNeoXConfig,
	},
	"mixtral": {
		modelType: "mixtral", transformers: number{4, 45, 0}, sdpa: true, ulysses: true, expertPreset: "mixtral", biases: biasesNever,
		leafModules: []string{"MixtralSparseMoeBlock"}, auxLoss: true,
		activations: []string{"swiglu"}, normalization: "rmsnorm", positions: "rope", config: mixtralConfig,
	},
	"qwen3_moe": {
		modelType: "qwen3_moe", transformers: number{4, 51, 0}, sdpa: true, ulysses: true, expertPreset: "qwen3_moe", qkNorm: true,
		leafModules: []string{"Qwen3MoeSparseMoeBlock"}, auxLoss: true,
		activations: []string{"swiglu"}, normalization: "rmsnorm", positions: "rope", config: qwen3MoEConfig,
	},
	"deepseek_v3": {
		modelType: "deepseek_v3", transformers: number{4, 51, 0}, sdpa: true, expertPreset: "deepseek_v3",
		leafModules: []string{"DeepseekV3MoE"}, routerDType: "fp32",
		activations: []string{"swiglu"}, normalization: "rmsnorm", positions: "rope", config: deepseekV3Config,
	},
	"glm4_moe": {
		modelType: "glm4_moe", transformers: number{4, 54, 0}, sdpa: true, biases: biasesQKVOrNone, qkNormChoice: true,
		leafModules: []string{"Glm4MoeMoE"}, routerDType: "fp32",
		activations: []string{"swiglu"}, normalization: "rmsnorm", positions: "rope", config: glm4MoEConfig,
	},
	"gpt_oss": {
		modelType: "gpt_oss", transformers: number{4, 55, 0},
		leafModules: []string{"GptOssMLP"}, auxLoss: true,
		activations: []string{"swiglu"}, normalization: "rmsnorm", positions: "rope", config: gptOSSConfig,
	},
}

// familyOf picks the class for a model; nil when transformers has none.
func familyOf(m *job.Model) *family {
	switch {
	case m.Architecture == "llama" && m.Attention.SlidingWindow.Size > 0:
		return families["mistral"]
	case m.Architecture == "gpt" && m.PositionEmbedding.Kind == "rope":
		return families["gpt_rope"]
	}
	return families[m.Architecture]
}
