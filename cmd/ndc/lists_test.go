package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// listJob is a job with some options of execution.
const listJob = `
cluster "c" {
  base  = catalog.cluster.%s
  nodes = %d
}
job "j" {
  model   = catalog.model.%s
  cluster = cluster.c
  training {
    global_batch_size = %d
    steps             = 1000
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  execution {
    %s
  }
  constraints {
    %s
  }
  backend %q {
    version = %q
  }
}
`

// TestListsAreNoWorseThanTheirMembers: a list of values of an option, and an option left
// open, give a plan that is no slower than the best value pinned, but for what the rule
// of choice may give up for other merits; the objective memory one that needs no more of it.
func TestListsAreNoWorseThanTheirMembers(t *testing.T) {
	offload := "offload {\n      %s = %s\n    }"
	for _, c := range []struct {
		model, cluster string
		nodes, batch   int
		backend        string
		option         string   // with holes for its name and value, or its name alone
		values         []string // of which the first is what an open job may have, too
	}{
		{"llama3_8b", "single_gpu", 1, 128, "megatron core_v0.19.2", fmt.Sprintf(offload, "optimizer", "%s"), []string{"true", "false"}},
		{"llama3_8b", "single_gpu", 1, 128, "deepspeed 0.18.2", fmt.Sprintf(offload, "optimizer", "%s"), []string{"true", "false"}},
		{"gpt3_18b", "single_gpu", 1, 256, "deepspeed 0.18.2", fmt.Sprintf(offload, "optimizer", "%[1]s\n      parameters = %[1]s"), []string{"true", "false"}},
		{"qwen3_30b_a3b", "dgx_h100", 1, 128, "deepspeed 0.18.2", fmt.Sprintf(offload, "parameters", "%s"), []string{"true", "false"}},
		{"gpt3_18b", "dgx_h100", 2, 64, "deepspeed 0.18.2", "loss_chunks = %s", []string{"1", "8"}},
		{"qwen2_5_32b", "aws_p4d", 4, 128, "torchtitan 0.3.0", "loss_chunks = %s", []string{"8", "1"}},
		{"qwen3_235b_a22b", "dgx_h100", 16, 128, "megatron core_v0.19.2", "gradient_dtype = %s", []string{`"fp32"`, `"bf16"`}},
	} {
		backend, version, _ := strings.Cut(c.backend, " ")
		measure := func(execution, objective string) (step, memory float64) {
			src := fmt.Sprintf(listJob, c.cluster, c.nodes, c.model, c.batch, execution, fmt.Sprintf("objective = %q", objective), backend, version)
			p := planOf(t, []byte(src), backend).plan
			if p.Infeasible != nil {
				return math.Inf(1), math.Inf(1)
			}
			return float64(p.Time.StepSeconds), float64(p.Memory.Peak.DeviceBytes)
		}
		t.Run(c.model+" "+c.backend+" "+strings.Join(strings.Fields(fmt.Sprintf(c.option, "…")), " "), func(t *testing.T) {
			t.Parallel()
			best, first := math.Inf(1), math.Inf(1)
			for i, v := range c.values {
				step, _ := measure(fmt.Sprintf(c.option, v), "throughput")
				if best = min(best, step); i == 0 {
					first = step
				}
			}
			list, _ := measure(fmt.Sprintf(c.option, "["+strings.Join(c.values, ", ")+"]"), "throughput")
			open, spent := measure("", "throughput")
			_, least := measure("", "memory")
			t.Logf("best of the values %.4g s, their list %.4g s; the first %.4g s, open %.4g s; %.1f GiB, and %.1f where memory is the objective", best, list, first, open, spent/(1<<30), least/(1<<30))
			const given = 1.03 // what the rule of choice may
			if math.IsInf(best, 1) || list > best*given {
				t.Errorf("the list takes %.4g s, the best of its values %.4g s", list, best)
			}
			if open > first*given {
				t.Errorf("left open it takes %.4g s, with %s %.4g s", open, c.values[0], first)
			}
			if least > spent {
				t.Errorf("where memory is the objective it needs %.1f GiB, else %.1f", least/(1<<30), spent/(1<<30))
			}
		})
	}
}
