package schema

// Kinds lists the kinds of blocks that others refer to and that may have a base.
func Kinds() []string { return []string{"model", "cluster", "gpu"} }

var baseArgument = Argument{Name: "base", Type: Any,
	Doc: "Another block of this kind or a catalogue entry to start from. What is written here overrides it: blocks merge argument by argument, and a block with another label replaces the base's."}

var withoutArgument = Argument{Name: "without", Type: StringList,
	Doc: "Names of blocks or arguments of the base to leave out, such as `[\"moe\"]`."}

var sourcesArgument = Argument{Name: "sources", Type: StringMap, Informs: true, Effect: Launch,
	Doc: "Where the numbers come from: argument names, or `\"*\"` for the rest, to a citation."}

// blockLetters are the blocks that a layer of a hybrid model may be.
var blockLetters = []Letter{{"mamba", "M"}, {"gated_delta_net", "G"}, {"attention", "*"}, {"mlp", "-"}, {"moe", "E"}}

var modelBlock = Block{
	Name:     "model",
	Label:    Identifier,
	Effect:   Convergence,
	LabelDoc: "the model's name, for `model.NAME`",
	Doc:      "A decoder-only transformer.",
	Arguments: []Argument{
		baseArgument, withoutArgument, sourcesArgument,
		{Name: "architecture", Type: String, Required: true,
			Enum: []string{"gpt", "llama", "mixtral", "deepseek_v3", "qwen2", "qwen3", "qwen3_moe", "glm4_moe", "gpt_oss", "gemma2", "nemotron_h", "qwen3_next"},
			Doc:  "The family of models, which decides the implementation that a framework uses."},
		{Name: "layers", Type: Count, Required: true, Limits: upTo(10_000), Doc: "Decoder layers, without multi-token-prediction layers."},
		{Name: "layer_pattern", Type: String, Letters: blockLetters, Doc: "For hybrid models: one letter for each layer, which is a single block between a norm and a sum with the residual stream. `M` is a Mamba-2 mixer, `G` a gated delta net, `*` attention, `-` a dense MLP, `E` a mixture of experts. Has as many letters as `layers` says.", DefaultDoc: "every layer is attention and an MLP or experts"},
		{Name: "hidden_size", Type: Count, Required: true, Limits: upTo(1 << 18), Doc: "Width of the residual stream."},
		{Name: "ffn_hidden_size", Type: Count, Limits: upTo(1 << 20), Doc: "Width of the dense MLP's inner layer. Needed unless every layer is a mixture of experts.", DefaultDoc: "`moe.expert_ffn_hidden_size` when no layer is dense"},
		{Name: "attention_heads", Type: Count, Required: true, Limits: upTo(1 << 14), Doc: "Query heads."},
		{Name: "kv_heads", Type: Count, Limits: upTo(1 << 14), Doc: "Key and value heads; fewer than `attention_heads` is grouped-query attention, which `mla` does not have.", DefaultDoc: "`attention_heads`"},
		{Name: "head_dim", Type: Count, Limits: upTo(1 << 14), Doc: "Width of one head.", DefaultDoc: "`hidden_size / attention_heads`; with `mla`, `qk_nope_head_dim + qk_rope_head_dim`"},
		{Name: "vocab_size", Type: Count, Required: true, Limits: upTo(1 << 27), Doc: "Tokens that the tokenizer knows."},
		{Name: "padded_vocab_size", Type: Count, Limits: Limits{Max: 1 << 27}, Doc: "Rows of the embedding when they are fixed.", DefaultDoc: "as the framework pads `vocab_size`"},
		{Name: "sequence_length", Type: Count, Required: true, Limits: upTo(1 << 27), Doc: "Tokens per training sequence."},
		{Name: "max_positions", Type: Count, Limits: upTo(1 << 30), Doc: "Positions that the model is built for.", DefaultDoc: "`sequence_length`"},
		{Name: "activation", Type: String, Enum: []string{"swiglu", "geglu", "gelu", "relu2"}, Doc: "Non-linearity of the MLP; `swiglu` and `geglu` are gated.", DefaultDoc: "by architecture: `gelu` for gpt, `geglu` for gemma2, `relu2` for nemotron_h, else `swiglu`"},
		{Name: "activation_alpha", Type: Number, Doc: "For `swiglu`: the gate is x·sigmoid(alpha·x); 0 and 1 are SiLU.", Default: "0"},
		{Name: "activation_clamp", Type: Number, Doc: "For `swiglu`: magnitude that gate and linear part are clamped to; 0 does not clamp.", Default: "0"},
		{Name: "activation_offset", Type: Number, Doc: "For `swiglu`: added to the linear part.", Default: "0"},
		{Name: "normalization", Type: String, Enum: []string{"rmsnorm", "layernorm"}, Doc: "Normalisation before attention and MLP.", DefaultDoc: "by architecture: `layernorm` for gpt, else `rmsnorm`"},
		{Name: "norm_epsilon", Type: Number, Limits: positive, Default: "1e-5", Doc: "Added to the variance before its root."},
		{Name: "zero_centered_norm", Type: Bool, Default: "false", Doc: "The norm's weight is stored as w−1."},
		{Name: "post_norms", Type: Bool, Default: "false", Doc: "Also normalise the outputs of attention and MLP."},
		{Name: "init_std", Type: Number, Limits: positive, Default: "0.02", Doc: "Standard deviation of initial weights."},
		{Name: "dropout", Type: Number, Limits: fraction, Default: "0", Doc: "Probability of hidden and attention dropout."},
		{Name: "tied_embeddings", Type: Bool, Doc: "Input embedding and output layer share one matrix.", DefaultDoc: "by architecture: `true` for gpt and gemma2, else `false`"},
		{Name: "embedding_scale", Type: Number, Default: "0", Doc: "Factor on the embedding's output; 0 means none."},
		{Name: "attention_bias", Type: Bool, Doc: "Biases on the query, key, value and output projections.", DefaultDoc: "by architecture: `true` for gpt and gpt_oss, else `false`"},
		{Name: "qkv_bias", Type: Bool, Doc: "Biases on the query, key and value projections alone; `attention_bias` has these and the output's.", DefaultDoc: "by architecture: `true` for qwen2 and glm4_moe, else `false`"},
		{Name: "mlp_bias", Type: Bool, Doc: "Biases in the MLP.", DefaultDoc: "by architecture: `true` for gpt and gpt_oss, else `false`"},
		{Name: "qk_norm", Type: Bool, Doc: "Normalise each query and key head.", DefaultDoc: "by architecture: `true` for qwen3, qwen3_moe and qwen3_next, else `false`"},
		{Name: "attention_scale", Type: Number, Default: "0", Doc: "Factor on attention logits; 0 means 1/√head_dim."},
		{Name: "attention_output_gate", Type: Bool, Doc: "The query projection makes a gate too, whose sigmoid scales attention's output before its projection.", DefaultDoc: "by architecture: `true` for qwen3_next, else `false`"},
		{Name: "attention_sinks", Type: Bool, Default: "false", Doc: "A learned logit per head that takes part in the softmax."},
		{Name: "attention_logit_softcap", Type: Number, Default: "0", Doc: "Bound of attention logits by tanh; 0 means none."},
		{Name: "final_logit_softcap", Type: Number, Default: "0", Doc: "Bound of output logits by tanh; 0 means none."},
		{Name: "mtp_layers", Type: Count, Limits: Limits{Max: 100}, Default: "0", Doc: "Multi-token-prediction layers after the decoder."},
		{Name: "mtp_layer_pattern", Type: String, Letters: blockLetters, Doc: "Beside `layer_pattern`: the blocks of one multi-token-prediction layer, such as `*E`.", DefaultDoc: "one layer like the decoder's last"},
		{Name: "mtp_loss_scale", Type: Number, Default: "0.1", Doc: "Weight of the multi-token-prediction loss."},
		{Name: "published", Type: StringMap, Effect: Launch,
			Doc: "Numbers that the model's published configuration states and that nobody is known to have trained with, by argument, such as `{ init_std = 0.02 }`. The argument itself has what a recipe trains with; a run from scratch with the published number gets a warning."},
	},
	Blocks: []Block{positionBlock, slidingWindowBlock, mlaBlock, mambaBlock, deltaNetBlock, moeBlock, builtByBlock},
}

var positionBlock = Block{
	Name: "position_embedding", Label: Choice, Labels: []string{"rope", "learned", "alibi", "none"},
	LabelDoc: "the kind",
	Doc:      "How positions enter the model. Default by architecture: `learned` for gpt, `none` for nemotron_h, else `rope`.",
	Arguments: []Argument{
		{Name: "theta", Type: Number, Labels: []string{"rope"}, Limits: positive, Default: "10000", Doc: "Base of the rotation frequencies (rope)."},
		{Name: "partial", Type: Number, Labels: []string{"rope"}, Limits: Limits{Open: true, Max: 1}, Default: "1", Doc: "Share of the head dimension that rotates; partial_rotary_factor in Hugging Face (rope)."},
	},
	Blocks: []Block{{
		Name: "scaling",
		Doc:  "Stretches rope beyond its original length.",
		Arguments: []Argument{
			{Name: "type", Type: String, Required: true, Enum: []string{"llama3", "yarn", "linear"}, Doc: "The method."},
			{Name: "factor", Type: Number, Required: true, Limits: atLeastOne, Doc: "How many times the original length."},
			{Name: "original_length", Type: Count, Limits: atLeastOne, Doc: "Positions before scaling. Needed by llama3 and yarn."},
			{Name: "low_frequency_factor", Type: Number, Limits: positive, Default: "1", Doc: "llama3: wavelengths above original_length over this are scaled in full."},
			{Name: "high_frequency_factor", Type: Number, Limits: positive, Default: "4", Doc: "llama3: wavelengths below original_length over this are left alone."},
			{Name: "beta_fast", Type: Number, Limits: positive, Default: "32", Doc: "yarn: rotations above which a dimension is left alone."},
			{Name: "beta_slow", Type: Number, Limits: positive, Default: "1", Doc: "yarn: rotations below which a dimension is scaled in full."},
			{Name: "mscale", Type: Number, Default: "1", Doc: "yarn: factor of the attention temperature."},
			{Name: "mscale_all_dim", Type: Number, Default: "0", Doc: "yarn: as mscale, for all dimensions."},
			{Name: "truncate", Type: Bool, Default: "true", Doc: "yarn: round the correction range to whole dimensions."},
		},
	}},
}

var slidingWindowBlock = Block{
	Name: "sliding_window",
	Doc:  "Limits attention to the nearest keys in some layers.",
	Arguments: []Argument{
		{Name: "size", Type: Count, Required: true, Limits: atLeastOne, Doc: "Keys that a query sees, itself included."},
		{Name: "pattern", Type: Count, Default: "0", Doc: "Every pattern-th layer attends to everything; 0: none does."},
	},
}

var mlaBlock = Block{
	Name: "mla",
	Doc:  "Multi-head latent attention (DeepSeek-V2).",
	Arguments: []Argument{
		{Name: "q_lora_rank", Type: Count, Limits: Limits{Max: 1 << 18}, Default: "0", Doc: "Rank of the query's latent; 0: queries are projected directly."},
		{Name: "kv_lora_rank", Type: Count, Required: true, Limits: upTo(1 << 18), Doc: "Rank of the key and value latent."},
		{Name: "qk_nope_head_dim", Type: Count, Required: true, Limits: upTo(1 << 14), Doc: "Head width without positions."},
		{Name: "qk_rope_head_dim", Type: Count, Required: true, Limits: upTo(1 << 14), Doc: "Head width with rotary positions."},
		{Name: "v_head_dim", Type: Count, Required: true, Limits: upTo(1 << 14), Doc: "Width of a value head."},
	},
}

var mambaBlock = Block{
	Name: "mamba",
	Doc:  "The Mamba-2 mixers of `layer_pattern`.",
	Arguments: []Argument{
		{Name: "heads", Type: Count, Required: true, Limits: upTo(1 << 14), Doc: "Heads of the state-space model."},
		{Name: "head_dim", Type: Count, Limits: upTo(1 << 14), Default: "64", Doc: "Width of one head; heads × head_dim is the inner width."},
		{Name: "state_dim", Type: Count, Limits: upTo(1 << 14), Default: "128", Doc: "Width of a head's state."},
		{Name: "groups", Type: Count, Limits: upTo(1 << 14), Default: "8", Doc: "Groups of heads that share input and output projections of the state."},
		{Name: "conv_kernel", Type: Count, Limits: upTo(64), Default: "4", Doc: "Tokens that the causal convolution sees."},
	},
}

var deltaNetBlock = Block{
	Name: "delta_net",
	Doc:  "The gated delta nets of `layer_pattern`.",
	Arguments: []Argument{
		{Name: "key_heads", Type: Count, Required: true, Limits: upTo(1 << 14), Doc: "Heads of queries and keys."},
		{Name: "value_heads", Type: Count, Required: true, Limits: upTo(1 << 14), Doc: "Heads of values; a multiple of key_heads."},
		{Name: "key_head_dim", Type: Count, Limits: upTo(1 << 14), Default: "128", Doc: "Width of a query or key head."},
		{Name: "value_head_dim", Type: Count, Limits: upTo(1 << 14), Default: "128", Doc: "Width of a value head."},
		{Name: "conv_kernel", Type: Count, Limits: upTo(64), Default: "4", Doc: "Tokens that the causal convolution sees."},
	},
}

var moeBlock = Block{
	Name: "moe",
	Doc:  "Mixture-of-experts layers.",
	Arguments: []Argument{
		{Name: "experts", Type: Count, Required: true, Limits: upTo(1 << 16), Doc: "Routed experts per layer."},
		{Name: "top_k", Type: Count, Required: true, Limits: upTo(1 << 16), Doc: "Experts that see each token."},
		{Name: "expert_ffn_hidden_size", Type: Count, Required: true, Limits: upTo(1 << 20), Doc: "Width of one expert's inner layer."},
		{Name: "shared_experts", Type: Count, Limits: Limits{Max: 1 << 10}, Default: "0", Doc: "Experts that see every token."},
		{Name: "shared_expert_ffn_hidden_size", Type: Count, Limits: Limits{Max: 1 << 20}, Doc: "Width of all shared experts together.", DefaultDoc: "`shared_experts × expert_ffn_hidden_size`"},
		{Name: "shared_expert_gate", Type: Bool, Default: "false", Doc: "A learned sigmoid gate scales the shared experts' output for each token."},
		{Name: "latent_size", Type: Count, Limits: Limits{Max: 1 << 18}, Default: "0", Doc: "Width that tokens are projected to before the routed experts and from after them; 0: none."},
		{Name: "first_dense_layers", Type: Count, Default: "0", Doc: "Leading layers with a dense MLP."},
		{Name: "layer_frequency", Type: Count, Limits: atLeastOne, Default: "1", Doc: "Every n-th layer after the dense ones is a mixture of experts."},
		{Name: "token_drop", Type: Bool, Default: "false", Doc: "Drop tokens beyond an expert's capacity."},
		{Name: "capacity_factor", Type: Number, Limits: positive, Default: "1", Doc: "Capacity over the mean load, when tokens are dropped."},
		{Name: "load_imbalance", Type: Number, Effect: Execution, Limits: atLeastOne, Default: "1", Doc: "Tokens of the busiest expert rank over the mean, for the prediction."},
	},
	Blocks: []Block{{
		Name: "router",
		Doc:  "How tokens choose experts.",
		Arguments: []Argument{
			{Name: "score", Type: String, Default: `"softmax"`, Enum: []string{"softmax", "sigmoid"}, Doc: "Function from logits to scores."},
			{Name: "balance", Type: String, Default: `"aux_loss"`, Enum: []string{"aux_loss", "sequence_aux_loss", "global_aux_loss", "bias", "none"}, Doc: "What keeps the experts evenly loaded: a loss over each micro-batch, over each sequence or over the whole batch, or a bias on their scores."},
			{Name: "aux_coefficient", Type: Number, DefaultDoc: "0.01 with an auxiliary loss, else 0", Doc: "Weight of the auxiliary loss; beside `bias`, of its complementary sequence-wise loss."},
			{Name: "z_loss_coefficient", Type: Number, Default: "0", Doc: "Weight of the loss on large logits."},
			{Name: "bias_update_rate", Type: Number, DefaultDoc: "0.001 with `bias`, else 0", Doc: "Step of the expert bias."},
			{Name: "groups", Type: Count, Default: "0", Doc: "Groups of experts of which a token may use only some; 0 and 1: none."},
			{Name: "group_top_k", Type: Count, Default: "0", Doc: "Groups that a token may use."},
			{Name: "scaling_factor", Type: Number, Limits: positive, Default: "1", Doc: "Factor on the experts' weights."},
			{Name: "normalize", Type: Bool, Default: "true", Doc: "Weights of the chosen experts sum to one."},
			{Name: "pre_softmax", Type: Bool, Default: "false", Doc: "Softmax over all experts before the choice, rather than over the chosen."},
			{Name: "dtype", Type: String, Default: `"fp32"`, Enum: []string{"fp32", "bf16", "fp64"}, Doc: "Precision of routing."},
			{Name: "bias", Type: Bool, Default: "false", Doc: "The router's linear layer has a trained bias."},
		},
	}},
}

var builtByBlock = Block{
	Name: "built_by", Effect: Launch, Label: Choice, Labels: BackendKinds(), Repeatable: true,
	LabelDoc: "the backend",
	Doc:      "Which versions of a backend can build the model. Catalogue entries state it.",
	Arguments: []Argument{
		{Name: "versions", Type: String, Doc: "A version constraint in the framework's spelling; empty for none."},
		{Name: "reason", Type: String, Doc: "Why other versions cannot."},
	},
}

// BackendKinds lists the labels of backend blocks.
func BackendKinds() []string { return []string{"megatron", "torchtitan", "deepspeed"} }
