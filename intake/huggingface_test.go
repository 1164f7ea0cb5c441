package intake

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublishedModelsAreRecognised: the published configuration of every model
// of the catalogue becomes that entry.
func TestPublishedModelsAreRecognised(t *testing.T) {
	paths, err := filepath.Glob("../testdata/models/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no published configurations: ", err)
	}
	n := 0
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var p struct {
			Name    string
			Format  string `json:"config_format"`
			Config  map[string]any
			Sources map[string]string
		}
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(p.Format, "Hugging Face") || p.Config["model_type"] == nil {
			continue
		}
		for key, source := range p.Sources {
			if strings.Contains(source, "not a key of config.json") {
				delete(p.Config, key)
			}
		}
		config, err := json.Marshal(p.Config)
		if err != nil {
			t.Fatal(err)
		}
		n++
		r, diags := Import([]File{{Name: p.Name + "/config.json", Content: config}}, Options{})
		if diags.HasErrors() {
			t.Errorf("%s: %v", p.Name, diags)
			continue
		}
		if r.Model != p.Name {
			t.Errorf("%s is recognised as %q", p.Name, r.Model)
		}
	}
	if n < 20 {
		t.Errorf("%d published configurations were tried", n)
	}
}

// TestStrangeModelsAreNone: a model of which something is not understood is no entry of the
// catalogue, whatever its numbers.
func TestStrangeModelsAreNone(t *testing.T) {
	const config = `{"architectures": ["%s"], "model_type": "%s", "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336,
		"max_position_embeddings": 8192, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
		"rope_theta": 500000.0, "tie_word_embeddings": false, "vocab_size": 128256%s}`
	for _, c := range []struct{ class, kind, more, want string }{
		{"LlamaForCausalLM", "llama", "", "llama3_8b"},
		{"FancyNewForCausalLM", "fancy_new", "", ""},
		{"LlamaForCausalLM", "llama", `, "wavelets": 3`, ""},
	} {
		r, diags := Import([]File{{Name: "config.json", Content: fmt.Appendf(nil, config, c.class, c.kind, c.more)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if r.Model != c.want || c.want == "" && !strings.Contains(string(r.Job), "# not said: ") {
			t.Errorf("%s%s is recognised as %q, want %q:\n%s", c.kind, c.more, r.Model, c.want, r.Job)
		}
	}
}
