package catalog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/job"
)

// jobOf is the smallest job that names a model and a cluster of the catalogue.
// Every model is built by DeepSpeed, through transformers.
const jobOf = `
cluster "c" {
  base  = catalog.cluster.%s
  nodes = 1
  %s
}
job "facts" {
  model   = catalog.model.%s
  cluster = cluster.c

  training {
    global_batch_size = 1
    steps             = 1
    precision         = "fp32" # which every GPU has

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "deepspeed" {
    version = "0.19.8"
  }
}
`

// load resolves the job of a cluster of the catalogue, changed by a line of
// its block, and a model of the catalogue.
func load(t *testing.T, cluster, change, model string) *job.Job {
	t.Helper()
	fsys := fstest.MapFS{"job.hcl": {Data: fmt.Appendf(nil, jobOf, cluster, change, model)}}
	w, diags := lang.Load(fsys, "job.hcl", lang.Options{})
	for _, d := range diags {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
	if len(w.Jobs) != 1 {
		t.Fatalf("%d jobs, want 1", len(w.Jobs))
	}
	return &w.Jobs[0]
}

// published is one file of testdata/models.
type published struct {
	Name    string
	Config  map[string]any
	Sources map[string]string
}

func readPublished(t *testing.T, path string) published {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var p published
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&p); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return p
}

// TestModelsMatchPublishedConfigurations compares every field of every
// published configuration with the catalogue's entry. A field that no case
// knows fails, so that no published fact is passed over.
func TestModelsMatchPublishedConfigurations(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/models/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no published configurations: ", err)
	}
	checked := map[string]bool{"debug": true, "debug_moe": true} // defined by the catalogue itself
	for _, path := range paths {
		p := readPublished(t, path)
		checked[p.Name] = true
		t.Run(p.Name, func(t *testing.T) {
			m := load(t, "dgx_h100", "", p.Name).Model
			if p.Sources["*"] == "" {
				t.Error("the facts name no source")
			}
			apart := statedApart(t, &m)
			for key, want := range p.Config {
				if want == "kimi_k2" { // its own name for the architecture of DeepSeek-V3
					want = "deepseek_v3"
				}
				if stated, ok := apart[key]; ok { // trained with another number, which the entry says
					delete(apart, key)
					if v, _ := configValue(&m, key); cmp.Equal(normal(v), normal(stated)) {
						t.Errorf("%s: the entry trains with %v and says that nobody does", key, v)
					}
					if diff := cmp.Diff(want, normal(stated)); diff != "" {
						t.Errorf("%s (-published +what the entry calls published):\n%s", key, diff)
					}
					continue
				}
				got, ok := configValue(&m, key)
				if !ok {
					t.Errorf("no comparison for the published field %s", key)
				} else if diff := cmp.Diff(want, normal(got)); diff != "" {
					t.Errorf("%s (-published +catalogue):\n%s", key, diff)
				}
			}
			for key := range apart {
				t.Errorf("the entry has a published %s, which no published configuration here states", key)
			}
		})
	}
	for _, name := range catalog.Names("model") {
		if !checked[name] {
			t.Errorf("model %s has no published facts in testdata/models", name)
		}
	}
}

// statedApart are the published numbers that an entry keeps beside the ones
// that it trains with, by the key of the published configuration.
func statedApart(t *testing.T, m *job.Model) map[string]any {
	keys := map[string]string{"init_std": "initializer_range", "moe.router.aux_coefficient": "router_aux_loss_coef"}
	apart := map[string]any{}
	for _, p := range m.Published {
		value, err := strconv.ParseFloat(p.Value, 64)
		if err != nil || keys[p.Name] == "" {
			t.Errorf("published %s = %s: no comparison", p.Name, p.Value)
		}
		apart[keys[p.Name]] = value
	}
	return apart
}

// normal turns a value into what encoding/json would have read.
func normal(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var n any
	if err := json.Unmarshal(b, &n); err != nil {
		panic(err)
	}
	return n
}

// configValue is the value of a field of a Hugging Face config.json, or of a
// Megatron-LM argument, as the model of the catalogue has it.
func configValue(m *job.Model, key string) (any, bool) {
	for _, group := range []func(*job.Model, string) (any, bool){sizeValue, mixerValue, layerValue, moeValue, positionValue, megatronValue} {
		if v, ok := group(m, key); ok {
			return v, true
		}
	}
	return nil, false
}

func sizeValue(m *job.Model, key string) (any, bool) {
	switch key {
	case "num_hidden_layers", "num_layers":
		if m.Architecture == "qwen3_next" { // whose layers are two letters of the pattern each
			return m.Layers / 2, true
		}
		return m.Layers, true
	case "hidden_size":
		return m.HiddenSize, true
	case "intermediate_size", "ffn_hidden_size":
		return m.FFNHiddenSize, true
	case "num_attention_heads":
		return m.Attention.Heads, true
	case "num_key_value_heads":
		return m.Attention.KVHeads, true
	case "head_dim", "kv_channels":
		return m.Attention.HeadDim, true
	case "vocab_size", "padded_vocab_size":
		return m.VocabSize, true
	case "max_position_embeddings":
		return m.MaxPositions, true
	case "seq_length", "initial_context_length":
		return m.SequenceLength, true
	case "q_lora_rank":
		return m.Attention.MLA.QLoraRank, true
	case "kv_lora_rank":
		return m.Attention.MLA.KVLoraRank, true
	case "qk_nope_head_dim":
		return m.Attention.MLA.QKNopeHeadDim, true
	case "qk_rope_head_dim":
		return m.Attention.MLA.QKRopeHeadDim, true
	case "v_head_dim":
		return m.Attention.MLA.VHeadDim, true
	case "num_nextn_predict_layers":
		return m.MTP.Layers, true
	}
	return nil, false
}

// mixerValue reads what only hybrid models have.
func mixerValue(m *job.Model, key string) (any, bool) {
	if a := m.Mamba; a != nil {
		switch key {
		case "mamba_num_heads":
			return a.Heads, true
		case "mamba_head_dim":
			return a.HeadDim, true
		case "ssm_state_size":
			return a.StateDim, true
		case "n_groups":
			return a.Groups, true
		case "conv_kernel":
			return a.ConvKernel, true
		}
	}
	if d := m.DeltaNet; d != nil {
		switch key {
		case "linear_conv_kernel_dim":
			return d.ConvKernel, true
		case "linear_key_head_dim":
			return d.KeyHeadDim, true
		case "linear_value_head_dim":
			return d.ValueHeadDim, true
		case "linear_num_key_heads":
			return d.KeyHeads, true
		case "linear_num_value_heads":
			return d.ValueHeads, true
		case "full_attention_interval":
			return (strings.IndexByte(m.LayerPattern, job.AttentionBlock) + 2) / 2, true
		}
	}
	switch key {
	case "hybrid_override_pattern":
		return m.LayerPattern, true
	case "mlp_hidden_act":
		return m.Activation.Kind, true
	}
	return nil, false
}

func layerValue(m *job.Model, key string) (any, bool) {
	switch key {
	case "model_type":
		return m.Architecture, true
	case "hidden_act", "hidden_activation":
		return map[string]string{"swiglu": "silu", "geglu": "gelu_pytorch_tanh"}[m.Activation.Kind], true
	case "rms_norm_eps", "norm_epsilon", "layer_norm_epsilon":
		return m.Norm.Epsilon, true
	case "initializer_range", "init_method_std":
		return m.InitStd, true
	case "tie_word_embeddings":
		return m.TiedEmbeddings, true
	case "attention_bias":
		if m.Architecture == "glm4_moe" { // whose output projection has none
			return m.Attention.QKVBias && !m.Attention.Bias, true
		}
		return m.Attention.Bias, true
	case "attention_qkv_bias":
		return m.Attention.QKVBias && !m.Attention.Bias, true
	case "use_qk_norm":
		return m.Attention.QKNorm, true
	case "use_sliding_window":
		return m.Attention.SlidingWindow.Size > 0, true
	case "mlp_bias":
		return m.MLPBias, true
	case "attention_dropout", "hidden_dropout":
		return m.Dropout, true
	case "swiglu_limit":
		return m.Activation.Clamp, true
	case "query_pre_attn_scalar":
		return math.Round(1 / (m.Attention.Scale * m.Attention.Scale)), true
	case "attn_logit_softcapping":
		return m.Attention.Softcap, true
	case "final_logit_softcapping":
		return m.FinalSoftcap, true
	case "sliding_window":
		return m.Attention.SlidingWindow.Size, true
	case "layer_types":
		if m.Attention.SlidingWindow.Pattern == 2 {
			return "alternating sliding_attention, full_attention, sliding first", true
		}
		return "", true
	}
	return nil, false
}

func moeValue(m *job.Model, key string) (any, bool) {
	e := m.MoE
	if e == nil {
		return nil, false
	}
	switch key {
	case "num_local_experts", "num_experts", "n_routed_experts":
		return e.Experts, true
	case "num_experts_per_tok":
		return e.TopK, true
	case "moe_intermediate_size":
		return e.ExpertFFNHiddenSize, true
	case "moe_shared_expert_intermediate_size", "shared_expert_intermediate_size":
		return e.SharedExpertFFNHiddenSize, true
	case "moe_latent_size":
		return e.LatentSize, true
	case "n_shared_experts":
		return e.SharedExperts, true
	case "first_k_dense_replace":
		return e.FirstDenseLayers, true
	case "moe_layer_freq", "decoder_sparse_step":
		return max(e.LayerFrequency, 1), true
	case "mlp_only_layers":
		return make([]int, e.FirstDenseLayers), true
	case "scoring_func":
		return e.Router.Score, true
	case "topk_method":
		return map[string]string{"bias": "noaux_tc"}[e.Router.Balance], true
	case "norm_topk_prob":
		return e.Router.Normalize, true
	case "n_group":
		return e.Router.Groups, true
	case "topk_group":
		return e.Router.GroupTopK, true
	case "routed_scaling_factor":
		return e.Router.ScalingFactor, true
	case "router_aux_loss_coef":
		return e.Router.AuxCoefficient, true
	}
	return nil, false
}

func positionValue(m *job.Model, key string) (any, bool) {
	switch key {
	case "rope_theta":
		return m.PositionEmbedding.Theta, true
	case "partial_rotary_factor":
		return m.PositionEmbedding.Partial, true
	case "rope_scaling":
		return scalingValue(m.PositionEmbedding.Scaling), true
	}
	return nil, false
}

// scalingValue is rope_scaling with the keys that its type has.
func scalingValue(s *job.RopeScaling) map[string]any {
	if s == nil {
		return nil
	}
	v := map[string]any{"rope_type": s.Type, "factor": s.Factor, "original_max_position_embeddings": s.OriginalLength}
	switch {
	case s.Type == "llama3":
		v["low_freq_factor"], v["high_freq_factor"] = s.LowFrequencyFactor, s.HighFrequencyFactor
	case s.Untruncated:
		v["beta_fast"], v["beta_slow"], v["truncate"] = s.BetaFast, s.BetaSlow, false
	default:
		v["beta_fast"], v["beta_slow"] = s.BetaFast, s.BetaSlow
		v["mscale"], v["mscale_all_dim"] = s.MScale, s.MScaleAllDim
	}
	return v
}

func megatronValue(m *job.Model, key string) (any, bool) {
	switch key {
	case "position_embedding_type":
		return map[string]string{"learned": "learned_absolute"}[m.PositionEmbedding.Kind], true
	case "normalization":
		return map[string]string{"layernorm": "LayerNorm"}[m.Norm.Kind], true
	case "untie_embeddings_and_output_weights":
		return !m.TiedEmbeddings, true
	case "add_bias_linear":
		return m.Attention.Bias && m.MLPBias, true
	case "swiglu":
		return m.Activation.Kind == "swiglu", true
	}
	return nil, false
}

// TestClusters resolves every cluster and asks for what a prediction needs.
func TestClusters(t *testing.T) {
	for _, name := range catalog.Names("cluster") {
		c := load(t, name, "", "debug").Cluster
		if c.GPUsPerNode > 1 && (c.NVLink.Domain == 0 || c.Network.NICsPerNode == 0 || c.PCIe.Bandwidth == 0) {
			t.Errorf("%s: links are missing: %+v", name, c)
		}
		if n := c.NVLink.Domain; n > c.GPUsPerNode && n%c.GPUsPerNode != 0 {
			t.Errorf("%s: an NVLink domain of %d does not hold whole nodes of %d", name, n, c.GPUsPerNode)
		}
	}
}

// TestGPUs resolves every GPU and holds its figures to one another: torch sees
// less than the driver, fp16 and bf16 agree where both exist, fp8 is twice that.
func TestGPUs(t *testing.T) {
	for _, name := range catalog.Names("gpu") {
		g := load(t, "dgx_h100", "gpu = catalog.gpu."+name, "debug").Cluster.GPU
		if g.Catalog != name {
			t.Errorf("%s resolves to %q", name, g.Catalog)
		}
		if g.TorchMemory >= g.Memory || float64(g.TorchMemory) < 0.95*float64(g.Memory) {
			t.Errorf("%s: torch can use %d of %d bytes", name, g.TorchMemory, g.Memory)
		}
		p := g.PeakFLOPS
		if p.BF16 != 0 && p.BF16 != p.FP16 {
			t.Errorf("%s: bf16 %g, fp16 %g", name, p.BF16, p.FP16)
		}
		if p.FP8 != 0 && math.Abs(float64(p.FP8/p.BF16)-2) > 0.002 {
			t.Errorf("%s: fp8 is %g of bf16", name, p.FP8/p.BF16)
		}
		if g.SMs == 0 || g.Power == 0 || g.MemoryBandwidth == 0 || g.ComputeCapability == "" {
			t.Errorf("%s: figures are missing: %+v", name, g)
		}
	}
}

// TestEveryEntryHasSources asks every file for a source of everything ("*"),
// and for sources of nothing that the block does not have.
func TestEveryEntryHasSources(t *testing.T) {
	for _, kind := range catalog.Kinds() {
		for _, name := range catalog.Names(kind) {
			src := string(catalog.Source(kind, name))
			if !strings.Contains(src, "sources = {\n    \"*\"") {
				t.Errorf("%s %s has no sources[\"*\"]", kind, name)
			}
			if !strings.Contains(src, fmt.Sprintf("%s %q {", kind, name)) {
				t.Errorf("the file of %s %s holds another block", kind, name)
			}
			formatted, diags := lang.Format([]byte(src), name+".hcl")
			if len(diags) > 0 {
				t.Errorf("%s %s: %v", kind, name, diags)
			}
			if diff := cmp.Diff(src, string(formatted)); diff != "" {
				t.Errorf("%s %s is not formatted (-file +formatted):\n%s", kind, name, diff)
			}
		}
	}
}

// TestNoOtherEntries: kinds and names that the catalogue does not have have nothing. Those that it
// has are pinned by docs/language.md, which is made of them.
func TestNoOtherEntries(t *testing.T) {
	if names := catalog.Names("planet"); names != nil {
		t.Errorf("planets %v", names)
	}
	if src := catalog.Source("model", "none"); src != nil {
		t.Errorf("a model that is none: %s", src)
	}
}
