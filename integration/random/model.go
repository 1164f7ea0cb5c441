package random

import (
	"fmt"
	"strings"
)

// families are the architectures, by how often they are drawn.
var families = []string{"llama", "llama", "llama", "gpt", "qwen2", "qwen3", "mixtral", "qwen3_moe", "deepseek_v3", "glm4_moe", "gpt_oss", "gemma2", "nemotron_h", "qwen3_next"}

// builds are the families that a framework has.
var builds = map[string][]string{
	"megatron":   {"llama", "llama", "llama", "gpt", "qwen2", "qwen3", "mixtral", "qwen3_moe", "deepseek_v3", "deepseek_v3", "glm4_moe", "gpt_oss", "nemotron_h", "qwen3_next"},
	"torchtitan": {"llama", "llama", "qwen2", "qwen3", "qwen3_moe", "deepseek_v3", "gpt_oss"},
}

func (d *drawing) model() {
	family := d.suits(families, builds)
	for d.small && (family == "nemotron_h" || family == "qwen3_next") { // whose mixers are kernels
		family = d.suits(families, builds)
	}
	d.moe = family == "mixtral" || family == "qwen3_moe" || family == "deepseek_v3" || family == "glm4_moe" || family == "gpt_oss" || family == "qwen3_next"
	d.latent = family == "deepseek_v3"
	heads, width := sized(d, []int{8, 16, 32}, []int{4, 8}), sized(d, []int{64, 128}, []int{16, 32})
	d.block(`model "m"`, func() {
		d.line("architecture = %q", family)
		d.line("layers = %d", d.layers)
		d.line("hidden_size = %d", heads*width)
		d.line("ffn_hidden_size = %d", heads*width*pick(d, 2, 3, 4))
		d.line("attention_heads = %d", heads)
		vocabulary := sized(d, []int{32000, 50257, 128256}, []int{512, 600})
		d.line("vocab_size = %d", vocabulary)
		d.maybe(6, "padded_vocab_size", fmt.Sprint((vocabulary/512+1)*512))
		d.line("sequence_length = %d", d.length)
		d.line("norm_epsilon = %s", pick(d, "1e-5", "1e-6"))
		d.line("init_std = %s", pick(d, "0.02", "0.006"))
		d.maybe(20, "max_positions", fmt.Sprint(2*d.length))
		d.maybe(25, "tied_embeddings", "true", "false")
		d.parts(family, heads, width)
	})
}

// parts are what families have beside the sizes.
func (d *drawing) parts(family string, heads, width int) {
	switch family {
	case "deepseek_v3":
		d.mla()
		d.predictions()
	case "gpt":
		d.maybe(15, "mlp_bias", "false")
		d.maybe(15, "attention_bias", "false")
		d.maybe(40, "dropout", "0.1")
		d.maybe(30, "normalization", `"rmsnorm"`)
		d.maybe(30, "activation", `"relu2"`, `"swiglu"`)
	case "gpt_oss":
		d.window(80)
		d.line("head_dim = %d", width)
		d.line("kv_heads = %d", sized(d, []int{8}, []int{2, 4}))
		d.line("attention_sinks = true")
		d.line("activation_alpha = 1.702")
		d.line("activation_clamp = 7")
		d.line("activation_offset = 1")
	case "nemotron_h":
		d.line(`activation = "relu2"`)
		d.line("layer_pattern = %q", d.pattern("M-*-"))
		d.maybe(70, "kv_heads", "2", "8")
		d.block("mamba", func() {
			d.line("heads = %d", pick(d, 64, 128))
			d.line("head_dim = 64")
			d.line("state_dim = %d", pick(d, 64, 128))
			d.line("groups = 8")
			d.line("conv_kernel = 4")
		})
	case "qwen3_next":
		d.line("layer_pattern = %q", d.pattern("GE*E"))
		d.line("kv_heads = 2")
		d.line("zero_centered_norm = true")
		d.line("qk_norm = true")
		d.maybe(60, "attention_output_gate", "true")
		d.block("delta_net", func() {
			d.line("key_heads = 16")
			d.line("value_heads = %d", pick(d, 16, 32))
			d.line("key_head_dim = 128")
			d.line("value_head_dim = 128")
			d.line("conv_kernel = 4")
		})
	case "gemma2":
		d.line("post_norms = true")
		d.line("zero_centered_norm = true")
		d.line("attention_logit_softcap = 50")
		d.line("final_logit_softcap = 30")
		d.line("embedding_scale = pow(%d, 0.5)", heads*width)
		d.window(50)
	default:
		d.window(8)
		d.maybe(70, "kv_heads", "2", "4", fmt.Sprint(min(8, heads)), fmt.Sprint(heads))
	}
	if family == "qwen3" || family == "qwen3_moe" || family == "llama" {
		d.maybe(10, "qkv_bias", "true")
	}
	if family == "glm4_moe" {
		d.maybe(50, "qk_norm", "true")
		d.predictions()
	}
	if family == "llama" {
		d.maybe(15, "attention_bias", "true")
		d.maybe(10, "qk_norm", "true")
		d.maybe(10, "head_dim", fmt.Sprint(sized(d, []int{128, 96}, []int{24, 32})))
		d.maybe(6, "mlp_bias", "true")
		d.maybe(6, "attention_scale", "0.1")
		d.maybe(6, "normalization", `"layernorm"`)
		d.maybe(6, "activation", `"geglu"`)
		if d.framework == "megatron" {
			d.maybe(8, "zero_centered_norm", "true")
		}
	}
	d.positions(family)
	if d.moe {
		d.experts(family)
	}
}

// predictions are multi-token-prediction layers.
func (d *drawing) predictions() {
	if d.chance(40) {
		d.line("mtp_layers = %d", pick(d, 1, 1, 2))
		d.maybe(30, "mtp_loss_scale", "0.3")
	}
}

// pattern is the layers of a hybrid: pairs of a mixer and another block, most
// often the first of two pairs.
func (d *drawing) pattern(pairs string) string {
	var b strings.Builder
	for b.Len() < d.layers {
		next := pairs[:2]
		if b.Len() > 0 && d.chance(25) {
			next = pairs[2:]
		}
		b.WriteString(next)
	}
	return b.String()[:d.layers]
}

func (d *drawing) window(percent int) {
	if d.chance(percent) {
		d.block("sliding_window", func() {
			d.line("size = %d", sized(d, []int{128, 4096}, []int{16, 4096}))
			d.maybe(80, "pattern", "2")
		})
	}
}

func (d *drawing) mla() {
	d.block("mla", func() {
		d.maybe(70, "q_lora_rank", fmt.Sprint(sized(d, []int{256, 512}, []int{32, 48})))
		d.line("kv_lora_rank = %d", sized(d, []int{128, 512}, []int{32, 64}))
		d.line("qk_nope_head_dim = %d", sized(d, []int{64, 128}, []int{16, 32}))
		d.line("qk_rope_head_dim = %d", sized(d, []int{64}, []int{16}))
		d.line("v_head_dim = %d", sized(d, []int{64, 128}, []int{16, 32}))
	})
}

func (d *drawing) positions(family string) {
	if family == "gpt" && d.chance(60) {
		return
	}
	if family == "nemotron_h" {
		d.block(`position_embedding "none"`, func() {})
		return
	}
	d.block(`position_embedding "rope"`, func() {
		d.line("theta = %s", pick(d, "10000", "500000", "1e6"))
		if family == "gpt" || family == "glm4_moe" {
			d.maybe(50, "partial", "0.5", "0.25")
		}
		if d.chance(30) || family == "deepseek_v3" {
			d.scaling(family)
		}
	})
}

func (d *drawing) scaling(family string) {
	kind := pick(d, "llama3", "yarn", "linear")
	if family == "deepseek_v3" || family == "gpt_oss" {
		kind = "yarn"
	}
	d.block("scaling", func() {
		d.line("type = %q", kind)
		d.line("factor = %d", pick(d, 8, 8, 32))
		if kind == "llama3" {
			d.maybe(10, "low_frequency_factor", "2")
			d.maybe(10, "high_frequency_factor", "8")
		}
		if kind != "linear" {
			d.line("original_length = %d", sized(d, []int{4096, 8192, 8192}, []int{32, 64}))
		}
		if kind == "yarn" {
			percent := 50
			switch family { // TorchTitan has one alone of each
			case "deepseek_v3":
				percent = 85
			case "gpt_oss":
				percent = 15
			}
			d.maybe(percent, "mscale_all_dim", "1")
			d.maybe(10, "mscale", "0.707")
			d.maybe(10, "beta_fast", "16")
			d.maybe(10, "beta_slow", "2")
			d.maybe(30, "truncate", "false")
		}
	})
}

func (d *drawing) experts(family string) {
	experts := sized(d, []int{8, 16, 32}, []int{4, 8})
	d.block("moe", func() {
		d.line("experts = %d", experts)
		d.line("top_k = %d", pick(d, 1, 2, 4))
		d.line("expert_ffn_hidden_size = %d", sized(d, []int{512, 1024}, []int{32, 64}))
		if family == "deepseek_v3" || family == "glm4_moe" {
			d.maybe(70, "shared_experts", "1", "2")
			d.maybe(60, "first_dense_layers", "1")
			d.maybe(10, "layer_frequency", "2")
			d.maybe(8, "shared_expert_ffn_hidden_size", fmt.Sprint(sized(d, []int{768}, []int{48})))
		}
		if family == "qwen3_next" && d.chance(60) {
			d.line("shared_experts = 1")
			d.maybe(60, "shared_expert_gate", "true")
		}
		if d.framework == "megatron" && !d.small {
			d.maybe(8, "latent_size", fmt.Sprint(sized(d, []int{256}, []int{32})))
		}
		d.maybe(15, "load_imbalance", "1.3")
		if d.chance(d.drops(family)) {
			d.line("token_drop = true")
			d.line("capacity_factor = 1.25")
		}
		d.block("router", func() { d.router(family) })
	})
}

// drops is in how many of a hundred models experts drop tokens.
func (d *drawing) drops(family string) int {
	switch {
	case family == "mixtral":
		return 15
	case d.framework == "megatron":
		return 8
	}
	return 0
}

func (d *drawing) router(family string) {
	if family == "deepseek_v3" || family == "glm4_moe" {
		d.line(`score = %q`, pick(d, "sigmoid", "sigmoid", "softmax"))
		if d.chance(40) {
			d.line("groups = 4")
			d.line("group_top_k = 2")
		}
		d.maybe(50, "scaling_factor", "2.5")
	}
	if family == "gpt_oss" {
		d.line("bias = true")
	}
	d.maybe(70, "balance", `"aux_loss"`, `"sequence_aux_loss"`, `"global_aux_loss"`, `"bias"`, `"none"`)
	d.maybe(15, "aux_coefficient", "0.001")
	d.maybe(8, "bias_update_rate", "0.002")
	d.maybe(20, "z_loss_coefficient", "0.001")
	d.maybe(20, "normalize", "true", "false")
	d.maybe(15, "pre_softmax", "true")
	d.maybe(20, "dtype", `"fp32"`, `"bf16"`, `"fp64"`)
}
