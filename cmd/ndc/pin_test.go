package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang"
)

// TestPinnedGivesThePlan: what --pin prints of a plan or of an alternative, in
// place of the layout and over the execution of the job, gives just that.
func TestPinnedGivesThePlan(t *testing.T) {
	for _, c := range []struct{ example, backend string }{{"llama3-8b", "megatron"}, {"hsdp", "torchtitan"}, {"qwen3-30b-a3b", "megatron"}, {"llama3-8b", "deepspeed"}} {
		src, err := os.ReadFile(filepath.Join("../../examples", c.example, "job.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		first := planOf(t, src, c.backend)
		for n := range min(3, len(first.plan.Alternatives)) + 1 {
			text, diags := pinned(first, n)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			want, step := first.plan.Layout, first.plan.Time.StepSeconds
			if n > 0 {
				want, step = first.plan.Alternatives[n-1].Layout, first.plan.Alternatives[n-1].StepSeconds
			}
			got := planOf(t, pasted(t, src, text), c.backend).plan
			if d := cmp.Diff(want, got.Layout); d != "" || got.Time.StepSeconds != step {
				t.Errorf("%s on %s, %d: another plan, of %v s instead of %v s, with\n%s%s", c.example, c.backend, n, got.Time.StepSeconds, step, text, d)
			}
			if d := cmp.Diff(first.plan.Execution, got.Execution); n == 0 && d != "" {
				t.Errorf("%s on %s: other options with\n%s%s", c.example, c.backend, text, d)
			}
		}
	}
}

// TestPinnedOfLists: with values listed, the blocks say which was chosen, so that the job
// with its lists has the plan, and each alternative, and what is pinned alone does.
func TestPinnedOfLists(t *testing.T) {
	src := []byte(`
cluster "eight" {
  base  = catalog.cluster.dgx_h100
  nodes = 8
}
job "listed" {
  model   = catalog.model.mixtral_8x7b
  cluster = cluster.eight
  training {
    global_batch_size = 512
    steps             = 1000
    precision         = "bf16"
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  execution {
    gradient_dtype = ["fp32", "bf16"]
    cuda_graphs    = ["none", "full"]
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}
`)
	first := planOf(t, src, "megatron")
	if first.plan.Execution.GradientDType != "bf16" {
		t.Fatalf("gradients in %s", first.plan.Execution.GradientDType)
	}
	for n := range min(3, len(first.plan.Alternatives)) + 1 {
		text, diags := pinned(first, n)
		if diags.HasErrors() || !strings.Contains(text, "gradient_dtype") || !strings.Contains(text, "cuda_graphs") {
			t.Fatalf("%v\n%s", diags, text)
		}
		want, step := first.plan.Execution, first.plan.Time.StepSeconds
		if n > 0 {
			want, step = first.plan.Alternatives[n-1].Execution, first.plan.Alternatives[n-1].StepSeconds
		}
		got := planOf(t, pasted(t, src, text), "megatron").plan
		if d := cmp.Diff(want, got.Execution); d != "" || got.Time.StepSeconds != step {
			t.Errorf("%d: another plan, of %v s instead of %v s, with\n%s%s", n, got.Time.StepSeconds, step, text, d)
		}
	}
}

// TestPinnedWithAnother: an option of a list that needs another brings it along, which
// the job does not say: with what is pinned it has the same plan.
func TestPinnedWithAnother(t *testing.T) {
	src := []byte(`
cluster "two" {
  base  = catalog.cluster.dgx_h100
  nodes = 2
}
job "offloaded" {
  model   = catalog.model.debug_moe
  cluster = cluster.two
  training {
    global_batch_size = 256
    steps             = 1000
    precision         = "bf16"
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  constraints {
    objective = "memory"
    layout {
      virtual_pipeline = 1
      recompute        = "selective"
    }
  }
  execution {
    offload {
      optimizer = [true, false]
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
`)
	first := planOf(t, src, "torchtitan")
	offloads := 0
	for n := range len(first.plan.Alternatives) + 1 {
		text, diags := pinned(first, n)
		if diags.HasErrors() {
			t.Fatalf("%d: %v", n, diags)
		}
		want, step := first.plan.Execution, first.plan.Time.StepSeconds
		if n > 0 {
			want, step = first.plan.Alternatives[n-1].Execution, first.plan.Alternatives[n-1].StepSeconds
		}
		if want.OffloadOptimizer {
			offloads++
		}
		got := planOf(t, pasted(t, src, text), "torchtitan").plan
		if d := cmp.Diff(want, got.Execution); d != "" || got.Time.StepSeconds != step {
			t.Errorf("%d: another plan, of %v s instead of %v s, with\n%s%s", n, got.Time.StepSeconds, step, text, d)
		}
	}
	if offloads == 0 {
		t.Error("no plan offloads")
	}
}

func planOf(t *testing.T, src []byte, backend string) *compiled {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "job.hcl"), src, 0o666); err != nil {
		t.Fatal(err)
	}
	plans, _, diags := plansOf(os.DirFS(dir), "job.hcl", &inputFlags{backend: backend})
	if diags.HasErrors() || len(plans.list) != 1 {
		t.Fatalf("%d plans: %v", len(plans.list), diags)
	}
	return plans.list[0]
}

// pasted puts the blocks into the job of a source.
func pasted(t *testing.T, src []byte, text string) []byte {
	t.Helper()
	parse := func(src []byte) *hclwrite.File {
		f, diags := hclwrite.ParseConfig(src, "job.hcl", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return f
	}
	f := parse(src)
	for _, b := range f.Body().Blocks() {
		if b.Type() != "job" {
			continue
		}
		constraints := b.Body().FirstMatchingBlock("constraints", nil)
		if constraints == nil {
			constraints = b.Body().AppendNewBlock("constraints", nil)
		}
		if layout := constraints.Body().FirstMatchingBlock("layout", nil); layout != nil {
			constraints.Body().RemoveBlock(layout)
		}
		for _, pin := range parse([]byte(text)).Body().Blocks() {
			has := b.Body().FirstMatchingBlock(pin.Type(), nil)
			switch {
			case pin.Type() == "layout":
				constraints.Body().AppendBlock(pin)
			case has == nil:
				b.Body().AppendBlock(pin)
			default:
				for name, a := range pin.Body().Attributes() {
					has.Body().SetAttributeRaw(name, a.Expr().BuildTokens(nil))
				}
				for _, nested := range pin.Body().Blocks() {
					if old := has.Body().FirstMatchingBlock(nested.Type(), nil); old != nil {
						has.Body().RemoveBlock(old)
					}
					has.Body().AppendBlock(nested)
				}
			}
		}
	}
	return f.Bytes()
}

// TestExecutionBlock: what is named is set, what is offloaded in its block.
func TestExecutionBlock(t *testing.T) {
	wanted := &plan.Execution{Attention: "flash", LossChunks: 8, OffloadOptimizer: true}
	if got := executionBlock(wanted, nil); got != "" {
		t.Errorf("for nothing: %s", got)
	}
	text, diags := lang.Format([]byte(executionBlock(wanted, map[string]bool{"attention": true, "loss_chunks": true, "offload.optimizer": true})), "pin")
	want := "execution {\n  attention   = \"flash\"\n  loss_chunks = 8\n  offload {\n    optimizer = true\n  }\n}\n"
	if string(text) != want || diags.HasErrors() {
		t.Errorf("got\n%s\nwant\n%s %v", text, want, diags)
	}
}
