package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// assignment is a change of a job as advice writes it.
var assignment = regexp.MustCompile(`([a-z_.]+) = ("[^"]*"|[0-9.]+|true|false|\[\])`)

// TestAdviceHolds: what is said to make a job fit does.
func TestAdviceHolds(t *testing.T) {
	for _, c := range []struct {
		cluster     string
		nodes       int
		model       string
		batch       int
		execution   string
		constraints string
		backend     string
		advice      []string // parts of it
	}{
		{"dgx_h100", 1, "llama3_8b", 128, "", "memory_headroom = \"40%\"\n layout {\n tensor_parallel = 2\n pipeline_parallel = 1\n context_parallel = 1\n micro_batch_size = 2\n zero_stage = 1\n recompute = \"none\"\n }", "megatron core_v0.19.2",
			[]string{`constraints.layout.recompute = "full"`, `constraints.memory_headroom = "5.6%" (now 40%) with execution.offload.optimizer`}},
		{"single_gpu", 1, "llama2_13b", 64, "offload {\n optimizer = false\n }", "memory_headroom = \"20%\"\n layout {\n zero_stage = 1\n }", "deepspeed 0.18.2",
			[]string{"constraints.layout.zero_stage = 3 and execution.offload.optimizer = true"}},
		{"aws_p5", 1, "llama3_70b", 64, "offload {\n optimizer = false\n }", "min_mfu = 0.5\n max_training_time = \"1h\"", "torchtitan 0.3.0",
			[]string{"execution.offload.optimizer = true and constraints.max_training_time = \"", "constraints.min_mfu = 0.", " with execution.offload.parameters"}},
		{"leonardo", 8, "llama3_1_405b", 64, "", "min_mfu = 0.5\n layout {\n micro_batch_size = 4\n }", "megatron core_v0.19.2",
			[]string{"constraints.layout.micro_batch_size = ", "cluster.nodes = "}},
		{"aws_p5", 2, "gpt_oss_20b", 128, "", "min_mfu = 0.5\n max_exposed_communication = \"10%\"\n layout {\n tensor_parallel = 4\n micro_batch_size = 4\n }", "torchtitan 0.3.0",
			[]string{"constraints.min_mfu = 0."}},
		{"dgx_h100", 1, "llama2_7b", 4, "", "layout {\n pipeline_parallel = 4\n virtual_pipeline = 8\n tensor_parallel = 1\n context_parallel = 1\n }", "megatron core_v0.19.2",
			[]string{"constraints.layout.virtual_pipeline = 1"}}, // with pipeline_parallel as it is
		{"dgx_h100", 3, "gpt3_1_7b", 64, "", "min_mfu = 0.9", "deepspeed 0.16.4",
			[]string{" and training.global_batch_size = 72 (now 64)"}}, // 60 is nearer, but tensor parallelism cannot cut this model
		{"dgx_b200", 1, "qwen3_8b", 256, "", "memory_headroom = \"85%\"\n layout {\n micro_batches = 4\n tensor_parallel = 1\n }", "deepspeed 0.18.2",
			[]string{"constraints.memory_headroom = \"84%\" (now 85%) with execution.offload.optimizer and execution.offload.parameters"}}, // activations stay on the GPU there
		{"dgx_h200", 16, "gpt3_175b", 64, "", "min_mfu = 0.6", "deepspeed 0.19.8",
			[]string{"constraints.min_mfu = 0.3", " and training.global_batch_size = 128 (now 64)"}},
		{"dgx_h100", 4, "llama3_8b", 128, "", "max_exposed_communication = \"0.5%\"\n layout {\n tensor_parallel = 8\n }", "megatron core_v0.19.2",
			[]string{"constraints.max_exposed_communication = \""}},
		{"dgx_h100", 1, "llama2_13b", 64, "", "max_oom_probability {\n start = 1e-9\n run = 1e-12\n }\n layout {\n tensor_parallel = 4\n pipeline_parallel = 1\n context_parallel = 1\n micro_batch_size = 8\n recompute = \"none\"\n }", "megatron core_v0.19.2",
			[]string{"constraints.max_oom_probability { start = 0.05, run = 0.001 } (now 1e-09 and 1e-12)"}},
	} {
		backend, version, _ := strings.Cut(c.backend, " ")
		t.Run(c.model+" "+c.cluster, func(t *testing.T) {
			t.Parallel()
			src := fmt.Sprintf(listJob, c.cluster, c.nodes, c.model, c.batch, c.execution, c.constraints, backend, version)
			file := filepath.Join(t.TempDir(), "job.hcl")
			if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
				t.Fatal(err)
			}
			p := planOf(t, []byte(src), backend).plan
			if p.Infeasible == nil {
				t.Fatal("feasible")
			}
			var all []string
			for _, f := range p.Infeasible.Fixes {
				all = append(all, f.Change)
				if strings.Contains(f.Change, "left free") || strings.Contains(f.Change, "{") {
					continue
				}
				change, with, _ := strings.Cut(f.Change, " with execution.")
				var sets []string
				for _, m := range assignment.FindAllString(change, -1) {
					sets = append(sets, strings.Replace(m, " = ", "=", 1))
				}
				for _, name := range strings.Split(with, " and execution.") {
					if name != "" {
						sets = append(sets, "execution."+name+"=true")
					}
				}
				var out, errs bytes.Buffer
				run([]string{"plan", "--json", "--compare", strings.Join(sets, "; "), file}, &out, &errs)
				if !strings.Contains(out.String(), `"feasible": true`) {
					t.Errorf("%q does not fit: %s%s", sets, out.String(), errs.String())
				}
			}
			said := strings.Join(all, "\n")
			t.Log(said)
			for _, part := range c.advice {
				if !strings.Contains(said, part) {
					t.Errorf("no advice %q", part)
				}
			}
		})
	}
}
