package pairs

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/lang/schema"
)

// TestValues: every option of the execution block and each of its words is among
// the values.
func TestValues(t *testing.T) {
	block := executionBlock(t)
	for _, b := range append([]schema.Block{block}, block.Blocks...) {
		prefix := ""
		if b.Name != block.Name {
			prefix = b.Name + "."
		}
		for _, a := range b.Arguments {
			choices := a.Enum
			switch a.Type {
			case schema.Bool:
				choices = []string{"true", "false"}
			case schema.Count:
				choices = []string{"1"}
			}
			for _, c := range choices {
				if name := prefix + a.Name + "=" + c; !slices.ContainsFunc(values, func(v Value) bool { return v.Name() == name }) {
					t.Errorf("no value %s", name)
				}
			}
		}
	}
}

func executionBlock(t *testing.T) schema.Block {
	t.Helper()
	for _, b := range schema.File.Blocks {
		if i := slices.IndexFunc(b.Blocks, func(b schema.Block) bool { return b.Name == "execution" }); i >= 0 {
			return b.Blocks[i]
		}
	}
	t.Fatal("the language has no execution block")
	return schema.Block{}
}

// TestNeeds: what values need exists, and no value stands twice.
func TestNeeds(t *testing.T) {
	seen := map[string]bool{}
	for i := range values {
		v := &values[i]
		if seen[v.Name()] {
			t.Errorf("%s stands twice", v.Name())
		}
		seen[v.Name()] = true
		for _, n := range v.needs {
			named(n) // panics where there is none
		}
	}
}

// TestAsk: ndc's own words about some pairs. The first is the one of which
// Megatron-LM 0.19 refused the launch: it offloaded what it recomputes. DeepSpeed
// 0.18.2 takes bf16 for fp16 in stage 1, so that stage 3 is asked where no stage
// is chosen.
func TestAsk(t *testing.T) {
	for _, c := range []struct {
		framework, version, kind, a, b string
		legal, written                 bool
	}{
		{"megatron", "core_v0.19.2", "latent", "offload.activations=true", "recompute=moe", true, true},
		{"megatron", "core_v0.19.2", "latent", "offload.activations=true", "recompute=uniform", false, true},
		{"megatron", "core_v0.15.0", "latent", "offload.activations=true", "recompute=none", false, false},
		{"megatron", "core_v0.18.2", "latent", "offload.activations=true", "cuda_graphs=attention+moe_router+moe_preprocess", false, true},
		{"megatron", "core_v0.19.2", "latent", "offload.activations=true", "cuda_graphs=attention+moe_router+moe_preprocess", true, true},
		{"megatron", "core_v0.19.2", "latent", "offload.activations=true", "cuda_graphs=moe_router", false, true},
		{"torchtitan", "0.3.0", "dense", "cuda_graphs=full", "pipeline_schedule=1f1b", false, true},
		{"torchtitan", "0.3.0", "dense", "cuda_graphs=full", "recompute=uniform", true, true},
		{"deepspeed", "0.19.8", "dense", "zero_hpz_partition=8", "zero_stage=2", false, true},
		{"deepspeed", "0.18.2", "dense", "precision=bf16", "recompute=none", true, true},
		{"deepspeed", "0.18.2", "dense", "precision=bf16", "zero_stage=1", false, true},
		{"deepspeed", "0.19.8", "dense", "offload.parameters=true", "precision=fp16", true, true},
	} {
		b, err := Load(c.framework, c.version)
		if err != nil {
			t.Fatal(err)
		}
		a := b.Ask(Case{c.kind, named(c.a), named(c.b)})
		if a.Legal != c.legal || (a.Launch != nil) != c.written {
			t.Errorf("%s %s, %s: legal %t (breaks %v), written %t", c.framework, c.version, a, a.Legal, a.Broken, a.Launch != nil)
		}
	}
}

// TestReasons: every reviewed reason names a rule of the newest release, and
// values that exist.
func TestReasons(t *testing.T) {
	list := own()
	rules := map[string]bool{}
	for framework, kinds := range kinds {
		versions := artifacts.Backends[framework].Versions()
		b, err := Load(framework, versions[len(versions)-1])
		if err != nil {
			t.Fatal(err)
		}
		target, _ := artifacts.Backends[framework].Target(b[kinds[0]])
		for _, r := range target.Rules {
			rules[string(r.ID)] = true
		}
	}
	for _, r := range list {
		if !rules[string(r.Rule)] || r.Why == "" {
			t.Errorf("no rule %s, or no reason", r.Rule)
		}
		for _, w := range r.With {
			if !slices.ContainsFunc(values, func(v Value) bool { return v.is(w) }) {
				t.Errorf("%s: no value is %s", r.Rule, w)
			}
		}
	}
}

// TestCovers: a reason holds for pairs of the values that it names only.
func TestCovers(t *testing.T) {
	r := Reason{Rule: "rule", With: []string{"moe_dispatcher", "expert_parallel=1"}}
	for _, c := range []struct {
		rule, a, b string
		want       bool
	}{
		{"rule", "moe_dispatcher=deepep", "expert_parallel=1", true},
		{"rule", "expert_parallel=1", "moe_dispatcher=hybridep", true},
		{"rule", "moe_dispatcher=deepep", "expert_parallel=2", false},
		{"other", "moe_dispatcher=deepep", "expert_parallel=1", false},
	} {
		if got := r.covers(diag.ID(c.rule), &Case{"experts", named(c.a), named(c.b)}); got != c.want {
			t.Errorf("%v: %t", c, got)
		}
	}
}

// TestKey: a default that is written asks the same as one that is not; another
// GPU asks something else.
func TestKey(t *testing.T) {
	b, err := Load("megatron", "core_v0.19.2")
	if err != nil {
		t.Fatal(err)
	}
	of := func(x, y string) string { return key(b.Ask(Case{"dense", named(x), named(y)}).Launch) }
	if of("cross_entropy=fused", "zero_stage=1") != of("cuda_graphs=none", "recompute=none") {
		t.Error("two launches with the same arguments differ")
	}
	if of("cross_entropy=fused", "gpu=h100") == of("cross_entropy=fused", "gpu=b200") {
		t.Error("launches on two GPUs are the same")
	}
}
