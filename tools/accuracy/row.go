package main

import (
	"encoding/json"
	"slices"
	"strings"
)

// row is one published measurement, as far as a prediction needs it.
type row struct {
	ID     string `json:"id"`
	Source struct {
		Name  string `json:"name"`
		Where string `json:"where"`
	} `json:"source"`
	Task  string `json:"task"`
	Model struct {
		Name      string  `json:"name"`
		Layers    int     `json:"layers"`
		Hidden    int     `json:"hidden"`
		FFN       int     `json:"ffn"`
		Heads     int     `json:"heads"`
		KVHeads   int     `json:"kv_heads"`
		HeadDim   int     `json:"head_dim"`
		Vocab     int     `json:"vocab"`
		SeqLen    int     `json:"seq_len"`
		ParamsB   float64 `json:"params_b"`
		MTPLayers int     `json:"mtp_layers"`
		Gated     *bool   `json:"gated"` // whether the MLP is; nil: by its width
		Tied      *bool   `json:"tied"`
		Window    any     `json:"window"`

		ArchitectureSource string `json:"arch_source"`

		Hybrid         any          `json:"hybrid"`
		HybridPattern  string       `json:"hybrid_pattern"`
		Mamba          *mambaSizes  `json:"mamba"`
		EncoderDecoder bool         `json:"encoder_decoder"`
		MoE            *expertSizes `json:"moe"`
		MLA            *latentSizes `json:"mla"`
	} `json:"model"`
	Cluster struct {
		GPU         string `json:"gpu"`
		GPUsPerNode int    `json:"gpus_per_node"`
		GPUs        int    `json:"nodes_or_gpus"`
	} `json:"cluster"`
	Precision string `json:"precision"`
	Detail    struct {
		Recipe string `json:"fp8_recipe"` // delayed, tensorwise, …; with a remark behind it
	} `json:"precision_detail"`
	Layout struct {
		TP           int             `json:"tp"`
		SP           *bool           `json:"sp"`
		PP           int             `json:"pp"`
		VPP          int             `json:"vpp"`
		CP           int             `json:"cp"`
		EP           int             `json:"ep"`
		ETP          int             `json:"etp"`
		DP           float64         `json:"dp"`
		DPReplicate  int             `json:"dp_replicate"`
		DPShard      int             `json:"dp_shard"`
		ZeroStage    *int            `json:"zero_stage"`
		FSDP         json.RawMessage `json:"fsdp"`
		MBS          int             `json:"mbs"`
		GBS          int             `json:"gbs"`
		Recompute    recomputeChoice `json:"recompute"`
		Overlaps     json.RawMessage `json:"overlaps"`
		Optimizer    any             `json:"optimizer"`
		MoERouting   string          `json:"moe_routing"`
		Schedule     string          `json:"schedule"`
		PPPartition  string          `json:"pp_partition"`
		StageLayers  []int           `json:"stage_layers"`
		MoEDispatchr string          `json:"moe_dispatcher"`
		RankOrder    string          `json:"rank_order"` // innermost first, where it is not the framework's usual one
		Attention    struct {
			LowPrecision *bool `json:"fp8_dot_product_attention"`
		} `json:"attention"`
	} `json:"layout"`
	Measured struct {
		StepTime         float64 `json:"step_time_s"`
		Tokens           float64 `json:"tokens_per_s_per_gpu"`
		TFLOPS           float64 `json:"tflops_per_gpu"`
		TFLOPSDefinition string  `json:"tflops_definition"`
		MFUDefinition    string  `json:"mfu_definition"`
		Peak             float64 `json:"peak_memory_gb"`
		PeakDefinition   string  `json:"peak_memory_definition"`
		Reserved         float64 `json:"peak_reserved_gb"`
		OOM              any     `json:"oom"`
		// OOMEvidence grades how sure it is that a run without a report ran out of
		// memory: reported, certain, strong, probable, unclear or contrary.
		OOMEvidence string `json:"oom_evidence"`
	} `json:"measured"`
	LayoutUncertain bool `json:"layout_uncertain"`
	Quality         struct {
		FullySpecified *bool `json:"fully_specified"`
		OOM            bool  `json:"oom"`
	} `json:"quality"`

	Notes string         `json:"notes"`
	Args  map[string]any `json:"args"` // of the launch, by flag

	file     string
	Evidence string `json:"evidence"` // why a run without a report ended: a grade as measured.oom_evidence, and a remark

	odd string // the first field that is of another kind than stated above
}

// expertSizes are those of a mixture of experts.
type expertSizes struct {
	Experts        int     `json:"experts"`
	TopK           int     `json:"topk"`
	FFN            int     `json:"moe_ffn"`
	Shared         int     `json:"shared"`
	SharedFFN      int     `json:"shared_ffn"`
	FirstDense     int     `json:"first_dense"`
	LayerFrequency any     `json:"layer_freq"`
	CapacityFactor float64 `json:"capacity_factor"`
	Dispatcher     string  `json:"dispatcher"`
	Latent         int     `json:"latent"`
}

// mambaSizes are those of Mamba-2 mixers.
type mambaSizes struct {
	Heads   int `json:"heads"`
	HeadDim int `json:"head_dim"`
	State   int `json:"state"`
	Groups  int `json:"groups"` // 0: eight, as every published model has
}

// latentSizes are those of multi-head latent attention.
type latentSizes struct {
	QLoraRank  int `json:"q_lora_rank"`
	KVLoraRank int `json:"kv_lora_rank"`
	NopeDim    int `json:"qk_nope_dim"`
	RopeDim    int `json:"qk_rope_dim"`
	VDim       int `json:"v_head_dim"`
}

// recomputeChoice is what is recomputed in the backward pass.
type recomputeChoice struct {
	Mode    string          `json:"mode"`
	Layers  any             `json:"layers"`
	Method  string          `json:"method"`
	Modules json.RawMessage `json:"modules"` // a list, or prose
	Note    string          `json:"note"`
}

// stated reports whether modules stand in for a mode.
func (c *recomputeChoice) stated() bool { return len(c.names()) > 0 }

// modules that Megatron-LM can recompute, as it names them.
var modules = []string{"core_attn", "layernorm", "moe_act", "mla_up_proj", "mlp", "moe", "shared_experts"}

// names lists the modules, from a list or from prose that names them.
func (c *recomputeChoice) names() []string {
	var list []string
	if json.Unmarshal(c.Modules, &list) == nil {
		return list
	}
	for _, word := range strings.FieldsFunc(c.prose(), func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		if slices.Contains(modules, word) && !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}

// prose is what stands in place of a list.
func (c *recomputeChoice) prose() string {
	var s string
	_ = json.Unmarshal(c.Modules, &s) // a list has no prose
	return strings.ToLower(s)
}

// option finds an option of the row's overlaps by any of its names, in lower
// case.
func (r *row) option(names ...string) (string, bool) {
	if s, ok := r.called(names...); ok {
		return s, true
	}
	s, ok := r.optionText(names...)
	return strings.ToLower(s), ok
}

// routing is what the row says about tokens beyond an expert's capacity; where
// it says that the remark stands beside the model's name, it is read there.
func (r *row) routing() string {
	if strings.HasPrefix(r.Layout.MoERouting, "see model name") {
		_, remark, _ := strings.Cut(r.Model.Name, "(")
		return remark
	}
	return r.Layout.MoERouting
}

// toString formats a JSON value.
func toString(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}
