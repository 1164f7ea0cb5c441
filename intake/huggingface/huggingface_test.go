package huggingface

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
	"github.com/ndc-dev/ndc/lang/schema"
)

func read(t testing.TB, src string) (*draft.Draft, error) {
	n, err := tree.JSON([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	d := draft.New()
	return d, Read(d, "config.json", n.Object())
}

// TestEveryFamilyReadsItsDefaults: the defaults of every class become a model,
// and every rule that the data files name exists.
func TestEveryFamilyReadsItsDefaults(t *testing.T) {
	for name := range tables().families {
		d, err := read(t, `{"model_type": "`+name+`", "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 4, "vocab_size": 1000}`)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Text("model.architecture") == "" || d.Int("model.hidden_size") == 0 {
			t.Errorf("%s: no architecture or size", name)
		}
	}
	for key, rules := range tables().rules {
		for _, r := range rules {
			if r.Call != "" && readers[r.Call] == nil {
				t.Errorf("%s: no reader %q", key, r.Call)
			}
			if a, _ := schema.At(r.Argument); r.Argument != "" && r.Call == "" && a == nil {
				t.Errorf("%s: no argument %q", key, r.Argument)
			}
			if (r.Left != "") == (r.Argument != "" || r.Call != "") {
				t.Errorf("%s is either left out or read", key)
			}
		}
	}
}

// TestFamiliesHaveSources: each row says whose code computes what it says.
func TestFamiliesHaveSources(t *testing.T) {
	for name, f := range tables().families {
		if f.Source == "" {
			t.Errorf("%s has no source", name)
		}
	}
}

// TestMPTPositions: what says where tokens stand in MPT is said in its attention; a
// rotation that the language does not have is named, and never learned positions.
func TestMPTPositions(t *testing.T) {
	for _, c := range []struct {
		says    string
		want    string
		theta   float64
		unknown bool
	}{
		{`"attn_config": {"alibi": true}`, "alibi", 0, false},
		{`"attn_config": {"alibi": false}`, "learned", 0, false},
		{`"attn_config": {"alibi": false}, "learned_pos_emb": false`, "none", 0, false},
		{`"attn_config": {"alibi": false, "rope": true}, "learned_pos_emb": false`, "rope", 10000, false},
		{`"attn_config": {"alibi": false, "rope": true, "rope_theta": 500000, "rope_impl": "hf", "rope_hf_config": {"type": "no_scaling"}}`, "rope", 500000, false},
		{`"attn_config": {"alibi": false, "rope": true, "rope_impl": "dail", "rope_dail_config": {"type": "xpos"}}`, "xpos", 0, true},
		{`"attn_config": {"alibi": false, "rope": true, "rope_impl": "hf", "rope_hf_config": {"type": "dynamic"}}`, "dynamic", 0, true},
	} {
		d, err := read(t, `{"model_type": "mpt", "n_layers": 4, "d_model": 256, "n_heads": 4, "vocab_size": 1000, `+c.says+`}`)
		if err != nil {
			t.Fatal(err)
		}
		unknown := false
		for _, f := range d.Findings {
			unknown = unknown || f.Name == "attn_config" && f.Verdict == draft.Unknown
		}
		if got := d.Text("model.position_embedding"); got != c.want || d.Float("model.position_embedding.theta") != c.theta || unknown != c.unknown {
			t.Errorf("%s: %s with theta %v, not understood: %v", c.says, got, d.Float("model.position_embedding.theta"), unknown)
		}
	}
}

// TestNormType: a layer norm is what such models have, however MPT and StarCoder2 spell it.
func TestNormType(t *testing.T) {
	for says, want := range map[string]draft.Verdict{
		`"model_type": "starcoder2", "norm_type": "layer_norm"`:       draft.Left,
		`"model_type": "starcoder2", "norm_type": "rms_norm"`:         draft.Unknown,
		`"model_type": "mpt", "norm_type": "low_precision_layernorm"`: draft.Left,
	} {
		d, err := read(t, `{"hidden_size": 64, `+says+`}`)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(d.Findings, func(f draft.Finding) bool { return f.Name == "norm_type" })
		if i < 0 || d.Findings[i].Verdict != want {
			t.Errorf("%s: finding %d of %v, want %s", says, i, d.Findings, want)
		}
	}
}

// TestGenerates: a model of a type that ndc does not know is read where its classes, those of
// its own files too, write text from left to right.
func TestGenerates(t *testing.T) {
	const code = `"auto_map": {"AutoModelForCausalLM": "modeling_chatglm.ChatGLMForConditionalGeneration"}`
	for says, want := range map[string]bool{
		`"model_type": "telechat", "architectures": ["TelechatForCausalLM"]`:                                            true,
		`"model_type": "chatglm", "architectures": ["ChatGLMModel"], ` + code:                                           true,
		`"model_type": "chatglm", "architectures": ["ChatGLMModel"]`:                                                    false,
		`"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": true, ` + code:      false,
		`"model_type": "clip_text_model", "architectures": ["CLIPTextModel"], "auto_map": {"AutoModel": "m.CLIPModel"}`: false,
	} {
		if _, err := read(t, `{"hidden_size": 64, `+says+`}`); (err == nil) != want {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestKeyHeads: latent attention has no heads of keys to be told of.
func TestKeyHeads(t *testing.T) {
	for says, want := range map[string]float64{`"model_type": "deepseek_v3", "kv_lora_rank": 512`: 0, `"model_type": "llama"`: 4} {
		d, err := read(t, `{"num_hidden_layers": 4, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 1000, `+says+`}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Float("model.kv_heads"); got != want {
			t.Errorf("%s: %v heads of keys, want %v", says, got, want)
		}
	}
}

// TestActivation: an activation that the language does not have stands in the model under its
// own word, since the class has another one where nothing is said.
func TestActivation(t *testing.T) {
	for word, want := range map[string]string{"silu": "swiglu", "xielu": "xielu", "a\\nb": "unread"} {
		d, err := read(t, `{"model_type": "llama", "hidden_size": 64, "hidden_act": "`+word+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		named := false
		for _, f := range d.Findings {
			named = named || f.Name == "hidden_act" && f.Verdict == draft.Unknown
		}
		if got := d.Text("model.activation"); got != want || named != (word != "silu") {
			t.Errorf("%s: %s, named %v", word, got, named)
		}
	}
}
