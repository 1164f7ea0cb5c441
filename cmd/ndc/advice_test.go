package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang"
)

// assignment is a change of a job as advice writes it.
var assignment = regexp.MustCompile(`([a-z_.]+) = ("[^"]*"|[0-9.e-]+|true|false|\[[^\]]*\])`)

// limit is an assignment of a limit that more or less of suffices, and what it is now.
var limit = regexp.MustCompile(`^constraints\.(max_exposed_communication|max_gpu_hours|min_mfu|memory_headroom) = "?([0-9.]+)(%?)"? \(now ([0-9.]+)`)

// nearer is a limit of advice, when it is one, with its last digit one nearer to what the limit is
// now, and whether that lies between.
func nearer(t *testing.T, change string) (set string, is bool) {
	m := limit.FindStringSubmatch(change)
	if m == nil {
		return "", false
	}
	said, err := strconv.ParseFloat(m[2], 64)
	now, err2 := strconv.ParseFloat(m[4], 64)
	if err != nil || err2 != nil {
		t.Fatal(change)
	}
	_, decimals, _ := strings.Cut(m[2], ".")
	if m[1] == "memory_headroom" {
		decimals = "1" // it is told in thousandths
	}
	less := said + math.Copysign(math.Pow(10, -float64(len(decimals))), now-said)
	text := strconv.FormatFloat(less, 'f', len(decimals), 64) + m[3]
	if m[3] != "" {
		text = strconv.Quote(text)
	}
	return fmt.Sprintf("constraints.%s=%s", m[1], text), (now-less)*(now-said) > 0
}

// probabilities are the limits on running out of memory as advice writes them.
var probabilities = regexp.MustCompile(`constraints\.max_oom_probability { start = (\S+), run = (\S+) }`)

// searchFits reports whether a job fits with an argument set, without what would make it fit.
func searchFits(t *testing.T, file, set string) bool {
	t.Helper()
	w, diags := loadFrom(disk{}, file, &inputFlags{overrides: lang.ParseOverrides("--compare", set)})
	if diags.HasErrors() || len(w.Jobs) != 1 {
		t.Fatalf("%q: %d jobs, %v", set, len(w.Jobs), diags)
	}
	_, plans, refused := sketches(compiler.Settled(&w.Jobs[0]))
	if len(plans) == 0 {
		t.Fatalf("%q: %v", set, refused)
	}
	return slices.ContainsFunc(plans, func(p *plan.Plan) bool { return p.Feasible })
}

// TestAdviceHolds: what is said to make a job fit does, and of a limit no smaller change does.
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
			[]string{"constraints.max_exposed_communication = \"7.412%\" (now 0.5%)", "constraints.max_exposed_communication = \"16.5%\" (now 0.5%)"}},
		{"dgx_b200", 4, "llama3_8b", 32, "", "max_exposed_communication = \"0.1%\"", "deepspeed 0.16.4", // the options that expose least are not those that are recommended
			[]string{"constraints.max_exposed_communication = \""}},
		{"dgx_h100", 4, "llama3_8b", 512, "", "max_exposed_communication = \"0.1%\"\n layout {\n tensor_parallel = 2\n pipeline_parallel = 1\n context_parallel = 1\n micro_batch_size = 1\n zero_stage = 3\n data_parallel_replicate = 1\n recompute = \"full\"\n }", "torchtitan 0.3.0", // the fastest exposes the least
			[]string{"constraints.max_exposed_communication = \""}},
		{"dgx_b200", 3, "gpt_oss_20b", 96, "attention = [\"flash\", \"fused\"]", "", "deepspeed 0.19.8", // a list without what would do
			[]string{"execution.attention = \"unfused\""}},
		{"single_gpu", 1, "llama3_2_3b", 16, "optimizer_state_dtype = [\"fp32\", \"fp16\"]", "memory_headroom = \"27%\"", "torchtitan 0.3.0",
			[]string{"execution.optimizer_state_dtype = \"bf16\""}},
		{"dgx_b200", 8, "gpt_oss_20b", 216, "", "max_gpu_hours = 0.5", "torchtitan 0.3.0", // the rule of choice prefers one that takes longer
			[]string{"constraints.max_gpu_hours = 13.92 (now 0.5)"}},
		{"dgx_h100", 16, "llama3_8b", 768, "", "max_gpu_hours = 173", "megatron core_v0.19.2", // 8 nodes do, too
			[]string{"constraints.max_gpu_hours = 174.7 (now 173)", "cluster.nodes = 12 (now 16)"}},
		{"dgx_a100", 1, "llama3_8b", 64, "", "memory_headroom = \"5%\"\n max_gpu_hours = 20\n layout {\n recompute = \"none\"\n }", "megatron core_v0.19.2", // it prefers the same layout without an option
			[]string{"constraints.max_gpu_hours = 37.58 (now 20)"}},
		{"dgx_h100", 9, "llama3_8b", 16, "fully_sharded = true", "", "megatron core_v0.19.2", // nor do 72 sequences
			[]string{"training.global_batch_size = 18 (now 16)"}},
		{"leonardo", 6, "gpt3_1_7b", 136, "", "min_mfu = 0.7", "megatron core_v0.15.0",
			[]string{"constraints.min_mfu = 0.368 (now 0.7)"}},
		{"dgx_h100", 1, "gpt_oss_20b", 64, "", "memory_headroom = \"85%\"", "megatron core_v0.19.2",
			[]string{"constraints.memory_headroom = \""}},
		{"dgx_h100", 1, "llama2_13b", 64, "", "max_oom_probability {\n start = 1e-9\n run = 1e-12\n }\n layout {\n tensor_parallel = 4\n pipeline_parallel = 1\n context_parallel = 1\n micro_batch_size = 8\n recompute = \"none\"\n }", "megatron core_v0.19.2",
			[]string{"constraints.max_oom_probability { start = 0.0002, run = 1.6e-06 } (now 1e-09 and 1e-12) with execution.offload.optimizer"}},
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
			told := map[string]bool{}
			for _, f := range p.Infeasible.Fixes {
				if slices.Contains(all, f.Change) {
					t.Errorf("%s is told twice", f.Change)
				}
				all = append(all, f.Change)
				if strings.Contains(f.Change, "left free") {
					continue
				}
				change, with, _ := strings.Cut(f.Change, " with execution.")
				change = probabilities.ReplaceAllString(change, "constraints.max_oom_probability.start = $1 and constraints.max_oom_probability.run = $2")
				var sets []string
				for _, m := range assignment.FindAllString(change, -1) {
					sets = append(sets, strings.Replace(m, " = ", "=", 1))
				}
				for _, name := range strings.Split(with, " and execution.") {
					if name != "" {
						sets = append(sets, "execution."+name+"=true")
					}
				}
				changed := &inputFlags{overrides: lang.ParseOverrides("--compare", strings.Join(sets, "; "))}
				if plans, _, diags := plansOf(disk{}, file, changed); diags.HasErrors() || len(plans.list) != 1 || !plans.list[0].plan.Feasible {
					t.Errorf("%q does not fit: %v", sets, diags)
				}
				if set, is := nearer(t, f.Change); is && len(sets) == 1 && !told[set[:strings.Index(set, "=")]] && searchFits(t, file, set) {
					t.Errorf("%q fits, too, and %s is told", set, f.Change)
				}
				told[strings.Split(sets[0], "=")[0]] = true // the least change comes first
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
