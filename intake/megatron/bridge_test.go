package megatron

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/intake/draft"
)

// TestBridge reads what Megatron-Bridge prints into the log of a run.
func TestBridge(t *testing.T) {
	log, err := os.ReadFile("testdata/bridge.log")
	if err != nil {
		t.Fatal(err)
	}
	d := draft.New()
	if err := ReadBridge(d, "bridge.log", "", Bridge(log)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"model.layers": 32, "model.kv_heads": 8, "model.activation": "swiglu", "model.normalization": "rmsnorm", "model.tied_embeddings": false, "model.sequence_length": 8192,
		"model.vocab_size": 128256, "training.precision": "bf16", "training.optimizer.weight_decay": 0.033, "training.optimizer.epsilon": 1e-8, "training.schedule.warmup_steps": 500,
		"training.data.mock": true, "training.checkpoint.path": "/nemo/checkpoints", "constraints.layout.tensor_parallel": 2, "constraints.layout.context_parallel": 2,
		"constraints.layout.recompute": "none", "execution.cross_entropy": "fused", "execution.gradient_dtype": "fp32",
	} {
		if v, _ := d.Get(path); fmt.Sprint(v.Value) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", path, v.Value, want)
		}
	}
	lines := strings.Split(string(log), "\n")
	for _, f := range d.Findings {
		_, name, _ := strings.Cut(f.Name, ".")
		if (f.Verdict == draft.Unknown) != (f.Name == "model.surprise") {
			t.Errorf("line %d: %s: %s: %s", f.Line, f.Verdict, f.Name, f.Why)
		}
		if name != "" && !strings.Contains(lines[f.Line-1], name+":") {
			t.Errorf("%s is not in line %d, %q", f.Name, f.Line, lines[f.Line-1])
		}
	}
}

// TestBridgeKinds: recipes before they are completed, experts, blends, and what
// is no configuration.
func TestBridgeKinds(t *testing.T) {
	const head = bridgeTarget + "\nmodel:\n  num_layers: 4\n  hidden_size: 64\n  num_attention_heads: 4\n"
	for text, want := range map[string]string{
		head + "  seq_length: 128\nrerun_state_machine:\n  rerun_mode: disabled\n":                                     "training.rerun_mode = disabled",
		head + "  seq_length: 128\nrerun_state_machine:\n  check_for_spiky_loss: true\n":                               `backend["megatron"].extra_args = [--check-for-spiky-loss]`,
		head + "  seq_length: 128\nlogger:\n  timing_log_level: 2\n":                                                   `backend["megatron"].extra_args = [--timing-log-level 2]`,
		head + "  seq_length: 128\nlogger:\n  timing_log_level: 1\n":                                                   "training.logging.timers = true",
		head + "  seq_length: 128\nmixed_precision: bf16_mixed\n":                                                      "training.precision = bf16",
		head + "  moe_router_topk: 2\n  moe_layer_freq:\n  - 0\n  - 1\n  - 1\n  - 1\n  num_moe_experts: 8\n":           "model.moe.first_dense_layers = 1",
		head + "  seq_length: 128\ndataset:\n  blend:\n  - - /a\n    - /b\n  - - 0.3\n    - 0.7\n":                     `training.data.source["b"].weight = 0.7`,
		head + "  scale_factor: 32.0\n  rotary_base: 500000\n  position_embedding_type: rope\n":                        "model.position_embedding.scaling.factor = 32",
		head + "  seq_length: 128\n  attention_backend:\n    _args_: [1]\n    _target_: megatron.core.x.AttnBackend\n": "execution.attention = flash",
	} {
		d := draft.New()
		if err := ReadBridge(d, "x.yaml", "", Bridge([]byte(text))); err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, p := range d.Paths() {
			v, _ := d.Get(p)
			said = append(said, fmt.Sprintf("%s = %v", p, v.Value))
		}
		if !slices.Contains(said, want) {
			t.Errorf("%s\ngives\n%s\nwithout %s", text, strings.Join(said, "\n"), want)
		}
	}
	for _, text := range []string{bridgeTarget, head + "  a: *b\n", head + "\tx", head + "  a: &a\n  - *a\n  b: 1\n  c: 1\n"} {
		if err := ReadBridge(draft.New(), "x.yaml", "", Bridge([]byte(text))); err == nil {
			t.Errorf("%q is read", text)
		}
	}
	if Bridge([]byte("# "+head)) != nil || Bridge(nil) != nil {
		t.Error("a configuration is found where there is none")
	}
}

// TestBridgeChecks: a run whose losses alone are not checked is told why Megatron-LM's are.
func TestBridgeChecks(t *testing.T) {
	d := draft.New()
	text := bridgeTarget + "\nmodel:\n  num_layers: 4\n  hidden_size: 64\n  num_attention_heads: 4\n  seq_length: 128\nrerun_state_machine:\n  check_for_nan_in_loss: false\n"
	if err := ReadBridge(d, "x.yaml", "", Bridge([]byte(text))); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(d.Findings, func(f draft.Finding) bool {
		return f.Name == "rerun_state_machine.check_for_nan_in_loss" && strings.HasPrefix(f.Why, "Megatron-LM has one switch")
	}) {
		t.Errorf("%+v", d.Findings)
	}
}

// TestBridgeRules: every rule says one thing, of options that there are.
func TestBridgeRules(t *testing.T) {
	versions := megatron.Backend{}.Versions()
	table, _ := megatron.Tables(versions[len(versions)-1])
	for _, r := range bridgeRules() {
		for _, option := range []string{r.Option, r.Also} {
			if option != "" && !table.Has(option) {
				t.Errorf("there is no %s", option)
			}
		}
		if r.Prefix == "" && (r.Option == "") == (r.Left == "") || r.Prefix != "" && (r.Needs == "") == (r.Left == "") || (r.Prefix == "") == (len(r.Keys) == 0) {
			t.Errorf("%+v", r)
		}
	}
}
