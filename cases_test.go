package ndc_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang"
)

// gptOnA100 is a GPT of width 4,096 under data parallelism alone, with the settings of a
// case.
const gptOnA100 = `
gpu "a100" {
  base   = catalog.gpu.a100_80gb
  memory = "%dGiB"
}
cluster "c" {
  base  = catalog.cluster.dgx_a100
  gpu   = gpu.a100
  nodes = %d
}
model "gpt" {
  architecture    = "gpt"
  layers          = %d
  hidden_size     = 4096
  ffn_hidden_size = 16384
  attention_heads = 32
  vocab_size      = 51200
  sequence_length = 1024
  activation      = "gelu"
  normalization   = "layernorm"
  position_embedding "learned" {}
}
job "j" {
  model   = model.gpt
  cluster = cluster.c
  training {
    global_batch_size = %d
    steps             = 1000
    precision         = "bf16"
    optimizer "adam" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  constraints {
    layout {
      zero_stage       = %d
      micro_batch_size = 1
      recompute        = "full"
    }
  }
  execution {
    gradient_dtype = "bf16" # two bytes, as the paper has them
    offload {
      optimizer  = false
      parameters = false
    }
  }
  slurm {
    time = "24:00:00"
  }
  backend "deepspeed" {
    version = "0.19.8"
  }
}
`

// planned is the plan of a case; fits is false where its memory does not.
func planned(t *testing.T, memory, nodes, layers, stage int) (p *plan.Plan, fits bool) {
	t.Helper()
	return compiled(t, fmt.Sprintf(gptOnA100, memory, nodes, layers, 8*nodes, stage))
}

// compiled is the plan of the only job of a file.
func compiled(t *testing.T, source string) (p *plan.Plan, fits bool) {
	t.Helper()
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(source)}}, "job.hcl", lang.Options{NDCVersion: "1.0.0"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	to, diags := emitterOf(&w.Jobs[0]).Target(&w.Jobs[0])
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, diags, err := compiler.Compile(context.Background(), &w.Jobs[0], to)
	if err != nil || diags.HasErrors() {
		t.Fatal(err, diags)
	}
	return p, p.Feasible
}

// onPage holds the lines of a table on docs/case-studies.md to what was computed.
func onPage(t *testing.T, header string, rows []string) {
	t.Helper()
	text, err := os.ReadFile("docs/case-studies.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := header + "\n" + strings.Join(rows, "\n") + "\n\n"; !strings.Contains(string(text), want) {
		t.Errorf("docs/case-studies.md has no table\n%s", want)
	}
}

// TestZeroTable: weights, gradients and Adam of a 7.5B model on 64 GPUs, beside
// figure 1 of the ZeRO paper.
func TestZeroTable(t *testing.T) {
	var rows []string
	for stage, published := range []float64{120, 31.4, 16.6, 1.9} {
		p, fits := planned(t, 250, 8, 36, stage)
		if !fits {
			t.Fatalf("stage %d does not fit: %v", stage, p.Infeasible.Reasons)
		}
		held := map[string]float64{}
		for _, l := range p.Memory.Stages[0].Ledger {
			held[l.ID] = float64(l.Bytes) / 1e9
		}
		weights, gradients, master, moments := held["parameters"], held["gradients"], held["master_parameters"], held["optimizer_moments"]
		rows = append(rows, fmt.Sprintf("| %d | %.4g GB | %.3g GB | %.3g | %.3g | %.3g | %.3g |", stage, published, weights+gradients+master+moments, weights, gradients, master, moments))
	}
	onPage(t, "|---|---|---|---|---|---|---|", rows)
}

// TestLargestModels: how many layers of width 4,096 fit on 8 A100 of 80 GiB by stage, and
// that one more does not.
func TestLargestModels(t *testing.T) {
	var rows []string
	for stage, c := range []struct {
		bytes  float64 // per parameter, of the ZeRO paper's formulas for 8 ranks
		layers int
	}{{16, 13}, {4 + 12.0/8, 56}, {2 + 14.0/8, 75}, {16.0 / 8, 157}} {
		p, fits := planned(t, 80, 1, c.layers, stage)
		if _, more := planned(t, 80, 1, c.layers+1, stage); !fits || more {
			t.Fatalf("stage %d: %d layers fit: %v, one more: %v", stage, c.layers, fits, more)
		}
		rows = append(rows, fmt.Sprintf("| %d | %.4g | %.1fB | %.1fB | %d |", stage, c.bytes, 80/c.bytes, float64(p.Input.ParametersTotal)/1e9, c.layers))
	}
	onPage(t, "|---|---|---|---|---|", rows)
}

// TestCongestedSharding: what hybrid sharding gains over plain sharding in examples/hsdp, as
// docs/collectives.md says.
func TestCongestedSharding(t *testing.T) {
	example, err := os.ReadFile("examples/hsdp/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	step := func(congestion, replicas int) float64 {
		network := fmt.Sprintf("nodes = local.nodes\n  network {\n    congestion = \"%d%%\"\n  }\n", congestion)
		source := strings.NewReplacer("nodes = local.nodes\n", network, "default     = 6", fmt.Sprint("default     = ", replicas)).Replace(string(example))
		p, fits := compiled(t, source)
		if !fits || p.Layout.DataParallelReplicate != replicas {
			t.Fatalf("%d replicas: %+v", replicas, p.Layout)
		}
		return float64(p.Time.StepSeconds)
	}
	text, err := os.ReadFile("docs/collectives.md")
	if err != nil {
		t.Fatal(err)
	}
	says := strings.Join(strings.Fields(string(text)), " ")
	gain := func(congestion int) float64 { return 100 * (step(congestion, 1)/step(congestion, 6) - 1) }
	for _, want := range []string{
		fmt.Sprintf("takes %.2f s a step with six replicas and %.2f s with one, %.1f %% more", step(0, 6), step(0, 1), gain(0)),
		fmt.Sprintf("with a congestion of 9 %% it is %.1f %%, with 20 %% it is %.1f %%", gain(9), gain(20)),
	} {
		if !strings.Contains(says, want) {
			t.Errorf("docs/collectives.md does not say: %s", want)
		}
	}
}
