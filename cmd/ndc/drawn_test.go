package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/compiler/plan/file"
	_ "github.com/ndc-dev/ndc/tools/draws"
	"github.com/ndc-dev/ndc/view"
)

// drawnJob is filled with pins of every kind.
const drawnJob = `
model "m" {
  base   = catalog.model.%s
  layers = %d
}
gpu "own" {
  memory           = "80GB"
  memory_bandwidth = "3TB/s"
  peak_flops {
    bf16 = "900TFLOPS"
  }
}
cluster "c" {
  base  = catalog.cluster.dgx_h100
  gpu   = %s
  nodes = %d
}
job "drawn" {
  model   = model.m
  cluster = cluster.c
  training {
    global_batch_size = %d
    steps             = %d
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  constraints {
    memory_headroom = %s
    layout {
%s    }
  }
  execution {
%s  }
  backend %q {
    version = %q
  }
}
`

// drawJob draws a job whose layout is pinned to a pipeline of any schedule,
// with few and many micro-batches.
func drawJob(t *rapid.T) string {
	backend := rapid.SampledFrom([][2]string{{"megatron", "core_v0.19.2"}, {"torchtitan", "0.3.0"}, {"torchtitan", "0.2.2"}, {"deepspeed", "0.19.8"}}).Draw(t, "backend")
	model := rapid.SampledFrom([]string{"llama3_8b", "llama3_70b", "qwen3_30b_a3b"}).Draw(t, "model")
	pp := rapid.SampledFrom([]int{1, 4, 8, 16}).Draw(t, "pipeline")
	if backend[0] == "deepspeed" {
		pp = 1
	}
	gpu := rapid.SampledFrom([]string{"catalog.gpu.h100_sxm", "gpu.own"}).Draw(t, "gpu")
	nodes := max(1, pp/2) * rapid.IntRange(1, 2).Draw(t, "nodes")
	batches := rapid.SampledFrom([]int{pp, 2 * pp, 8 * pp, pp / 2}).Draw(t, "micro-batches")
	var pins, execution strings.Builder
	fmt.Fprintf(&pins, "pipeline_parallel = %d\nmicro_batches = %d\n", pp, max(batches, 1))
	if pp > 1 {
		fmt.Fprintf(&pins, "pipeline_schedule = %q\n", rapid.SampledFrom([]string{"1f1b", "gpipe", "interleaved_1f1b", "interleaved_1f1b"}).Draw(t, "schedule"))
	}
	if rapid.Bool().Draw(t, "recompute") {
		fmt.Fprintf(&pins, "recompute = %q\n", rapid.SampledFrom([]string{"none", "selective", "full"}).Draw(t, "how"))
	}
	if backend[0] == "megatron" && rapid.Bool().Draw(t, "offload") {
		execution.WriteString("offload {\noptimizer = true\n}\n")
	}
	if backend[0] == "megatron" && rapid.Bool().Draw(t, "fully sharded") {
		execution.WriteString("fully_sharded = true\n")
	}
	batch := 8 * nodes * max(batches, 1)
	steps := rapid.SampledFrom([]int{1, 1000}).Draw(t, "steps")
	headroom := rapid.SampledFrom([]string{"null", `"5%"`, `"40%"`}).Draw(t, "headroom")
	return fmt.Sprintf(drawnJob, model, rapid.SampledFrom([]int{16, 32, 48}).Draw(t, "layers"), gpu, nodes, batch, steps, headroom, pins.String(), execution.String(), backend[0], backend[1])
}

// drawn is how many jobs are drawn.
const drawn = 40

// TestDrawnPlans: what the real targets plan keeps the sums and limits of a plan,
// feasible or not, and what the screen and the files say is English. That the
// search judged what is printed is held by a panic of package compiler.
func TestDrawnPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("plans many jobs, which -short leaves out")
	}
	spec, planned, feasible := filepath.Join(t.TempDir(), "job.hcl"), 0, 0
	jobs := rapid.Custom(drawJob)
	for seed := range drawn {
		text, out := jobs.Example(seed), t.TempDir()
		if err := os.WriteFile(spec, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := run([]string{"build", "--json", spec, "-o", out}, &stdout, &stderr)
		for _, words := range oddWords("messages.txt", stderr.String()) {
			t.Errorf("%s\n%s", words, text)
		}
		if code == exitInput {
			continue // this target has no such thing
		}
		planned++
		if err := checkDocuments(stdout.Bytes()); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		var d file.Document
		if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		for i := range d.Plans {
			if d.Plans[i].Feasible {
				feasible++
			}
			for _, words := range oddWords("screen.txt", view.Summary("drawn", d.Plans[i].Decision())) {
				t.Errorf("%s\n%s", words, text)
			}
		}
		for _, words := range oddWordsIn(t, out) {
			t.Errorf("%s\n%s", words, text)
		}
	}
	if feasible < 10 || planned-feasible < 3 {
		t.Errorf("%d planned and %d feasible: too few of either to say anything", planned, feasible)
	}
}
