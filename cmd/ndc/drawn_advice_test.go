package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
)

// drawLimited draws a job that pins and limits so much that it fits nowhere, as often as not.
func drawLimited(r *rand.Rand) string {
	in := func(n int) bool { return r.Intn(n) == 0 }
	pick := func(list ...string) string { return list[r.Intn(len(list))] }
	backend := strings.Fields(pick("megatron core_v0.19.2", "megatron core_v0.19.2", "megatron core_v0.19.2", "megatron core_v0.17.1", "torchtitan 0.3.0", "torchtitan 0.2.2", "deepspeed 0.19.8", "deepspeed 0.16.4"))
	var b, limits, layout, execution strings.Builder
	base := pick("single_gpu", "dgx_h100", "dgx_h100", "dgx_h100", "dgx_a100", "aws_p5", "dgx_b200")
	nodes := pick("1", "1", "2", "3", "4")
	if base == "single_gpu" {
		nodes = "1"
	}
	fmt.Fprintf(&b, "cluster \"c\" {\nbase = catalog.cluster.%s\nnodes = %s\nprice_per_gpu_hour = 2\n", base, nodes)
	if in(3) {
		fmt.Fprintf(&b, "host_memory = \"%dGiB\"\n", []int{16, 32, 64, 128}[r.Intn(4)])
	}
	if in(4) {
		b.WriteString("reliability {\ngpu_hours_between_failures = 500\nrestart = \"10m\"\n}\n")
	}
	b.WriteString("}\n")
	model := pick("llama3_8b", "llama3_8b", "llama2_7b", "qwen3_8b", "debug_moe", "mixtral_8x7b", "llama2_13b", "qwen3_30b_a3b")
	if backend[0] == "megatron" && in(3) {
		model = pick("llama3_2_1b", "llama3_2_3b", "gpt3_1_7b", "gpt3_7_5b", "gpt_oss_20b")
	}
	fmt.Fprintf(&b, "job \"j\" {\nmodel = catalog.model.%s\ncluster = cluster.c\n", model)
	fmt.Fprintf(&b, "training {\nglobal_batch_size = %s\nsteps = 1000\noptimizer \"adamw\" {\nlearning_rate = 1e-4\n}\ndata {\nmock = true\n}\n", pick("8", "16", "32", "64", "64", "72", "100", "128", "256"))
	if in(3) {
		b.WriteString("checkpoint {\npath = \"/c\"\ninterval = 100\n}\n")
	}
	b.WriteString("}\n")
	if in(3) {
		fmt.Fprintf(&limits, "memory_headroom = \"%d%%\"\n", []int{5, 20, 40, 60, 80, 95}[r.Intn(6)])
	}
	if in(4) {
		fmt.Fprintf(&limits, "min_mfu = %s\n", pick("0.3", "0.45", "0.5", "0.6", "0.9"))
	}
	if in(6) {
		fmt.Fprintf(&limits, "max_training_time = %q\n", pick("1m", "10m", "1h", "5h"))
	}
	if in(6) {
		fmt.Fprintf(&limits, "max_gpu_hours = %s\n", pick("0.5", "5", "20", "100"))
	}
	if in(6) {
		fmt.Fprintf(&limits, "max_cost = %s\n", pick("1", "10", "50"))
	}
	if in(4) {
		fmt.Fprintf(&limits, "max_exposed_communication = %q\n", pick("0.1%", "0.5%", "1%", "3%"))
	}
	if in(6) {
		fmt.Fprintf(&limits, "max_oom_probability {\nstart = %s\nrun = %s\n}\n", pick("1e-9", "1e-4", "0.01"), pick("1e-12", "1e-6", "1e-4"))
	}
	if in(5) {
		fmt.Fprintf(&limits, "nvlink_only = [%s]\n", pick(`"tensor_parallel", "context_parallel"`, `"expert_parallel"`, `"data_parallel_shard"`, `"tensor_parallel", "pipeline_parallel"`))
	}
	if in(6) {
		fmt.Fprintf(&limits, "objective = %q\n", pick("memory", "gpu_hours", "time"))
	}
	for _, p := range []string{"tensor_parallel = 2", "tensor_parallel = 8", "tensor_parallel = [1, 2]", "pipeline_parallel = 1", "pipeline_parallel = 4", "virtual_pipeline = 4", "context_parallel = 1", "context_parallel = 4",
		"zero_stage = 1", "zero_stage = 3", "zero_stage = 0", "data_parallel_replicate = 2", "data_parallel_shard = 8", "micro_batch_size = 2", "micro_batch_size = 4", "micro_batches = 8", "recompute = \"none\"", "recompute = \"full\"", "expert_parallel = 8", "sequence_parallel = false", "pipeline_schedule = \"1f1b\"", "recompute_method = \"block\"\nrecompute_layers = 2"} {
		name, _, _ := strings.Cut(p, " ")
		if strings.HasPrefix(name, "expert") && !strings.Contains(model, "moe") && !strings.Contains(model, "a3b") && !strings.Contains(model, "mixtral") || strings.Contains(name, "pipeline") && !strings.Contains(p, "= 1") && backend[0] == "deepspeed" ||
			strings.Contains(p, "block") && backend[0] != "megatron" || p == "zero_stage = 1" && backend[0] == "torchtitan" || p == "zero_stage = 3" && backend[0] == "megatron" || base == "single_gpu" && strings.Contains(name, "parallel") && name != "sequence_parallel" {
			continue
		}
		if in(9) && !strings.Contains(layout.String(), name+" ") {
			layout.WriteString(p + "\n")
		}
	}
	for _, o := range []string{"offload {\noptimizer = false\n}", "loss_chunks = 1", "gradient_dtype = \"fp32\"", "cuda_graphs = \"none\"", "attention = \"unfused\"", "overlap_gradient_reduce = false", "reshard_after_forward = true", "offload {\noptimizer = false\nparameters = false\nactivations = false\n}"} {
		name, _, _ := strings.Cut(o, " ")
		if in(8) && !strings.Contains(execution.String(), name+" ") {
			execution.WriteString(o + "\n")
		}
	}
	fmt.Fprintf(&b, "constraints {\n%slayout {\n%s}\n}\nexecution {\n%s}\nbackend %q {\nversion = %q\n}\n}\n", limits.String(), layout.String(), execution.String(), backend[0], backend[1])
	return b.String()
}

// leavesOut is an argument that advice leaves out.
var leavesOut = regexp.MustCompile(`(constraints\.[a-z_]+) left out`)

// setsOf are the arguments that a change sets, as --compare takes them.
func setsOf(text string) (sets []string) {
	change, with, _ := strings.Cut(text, " with execution.")
	change = probabilities.ReplaceAllString(change, "constraints.max_oom_probability.start = $1 and constraints.max_oom_probability.run = $2")
	before, _, free := strings.Cut(change, "constraints.layout left free")
	if change = before; free {
		sets = append(sets, "constraints.layout=null")
	}
	for _, m := range leavesOut.FindAllStringSubmatch(change, -1) {
		sets = append(sets, m[1]+"=null")
	}
	for _, m := range assignment.FindAllString(change, -1) {
		sets = append(sets, strings.Replace(m, " = ", "=", 1))
	}
	for _, name := range strings.Split(with, " and execution.") {
		if name != "" {
			sets = append(sets, "execution."+name+"=true")
		}
	}
	return sets
}

// seedsOf are those that NAME_SEED and NAME_JOBS ask for, the first and how many, and whether
// these do; else those given.
func seedsOf(name string, given ...int64) (seeds []int64, drawn bool) {
	first, err := strconv.ParseInt(os.Getenv(name+"_SEED"), 10, 64)
	if err != nil {
		return given, false
	}
	for n, _ := strconv.ParseInt(os.Getenv(name+"_JOBS"), 10, 64); n > 0; n-- {
		seeds = append(seeds, first)
		first++
	}
	return seeds, true
}

// TestDrawnAdvice: for jobs drawn at random that fit nowhere, each change that is said to make
// them fit does, with the step and the memory that are told, and what is told of the nearest layout is true of it.
// Each of the seeds found a fault; NDC_ADVICE_SEED and NDC_ADVICE_JOBS draw others.
func TestDrawnAdvice(t *testing.T) {
	seeds, drawn := seedsOf("NDC_ADVICE", 24, 51, 65, 66, 92, 1392, 4018, 4032)
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if advised := judgeAdvice(t, drawLimited(rand.New(rand.NewSource(seed)))); !advised && !drawn {
				t.Error("no advice")
			}
		})
	}
}

// TestToldAdvice: jobs of which advice told another layout than the changed job takes.
func TestToldAdvice(t *testing.T) {
	for name, src := range map[string]string{
		// what asks for the offload that is told may run layouts that fit without, and expose too much then
		"offload": fmt.Sprintf(listJob, "dgx_h100", 3, "llama2_13b", 32, "", `memory_headroom = "60%"
    max_exposed_communication = "0.5%"
    nvlink_only = ["pipeline_parallel"]
    layout {
      tensor_parallel   = 1
      context_parallel  = [2, 4]
      pipeline_parallel = 6
      virtual_pipeline  = 1
      micro_batch_size  = 2
      recompute         = "selective"
    }`, "megatron", "core_v0.19.2"),
		// of layouts that expose no more than the fastest, others than of all need the least memory
		"memory": fmt.Sprintf(strings.Replace(listJob, "nodes = %d", "nodes = %d\n  host_memory = \"256GiB\"", 1), "aws_p4d", 3, "llama3_8b", 8, "", `max_exposed_communication = "0.5%"
    objective                 = "memory"
    layout {
      zero_stage = 2
    }`, "torchtitan", "0.2.2"),
		// of several changes that are tried together the limit on time turns out to be none
		"time": fmt.Sprintf(strings.Replace(listJob, "nodes = %d", "nodes = %d\n  host_memory = \"16GiB\"", 1), "dgx_h100", 1, "llama3_8b", 16, "", `max_gpu_hours = 25
    max_exposed_communication = "0.5%"
    layout {
      tensor_parallel   = 2
      context_parallel  = [2, 4]
      pipeline_parallel = 2
      virtual_pipeline  = [2, 4]
      zero_stage        = 1
      micro_batch_size  = 4
      recompute_method  = "block"
    }`, "megatron", "core_v0.17.1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !judgeAdvice(t, src) {
				t.Error("no advice")
			}
		})
	}
}

// limitOf is the argument of a limit on time, cost or communication that a reason tells of.
var limitOf = map[string]string{
	string(search.IDTrainingTime): "max_training_time", string(search.IDGPUHours): "max_gpu_hours", string(search.IDCost): "max_cost",
	string(search.IDMFU): "min_mfu", string(search.IDExposed): "max_exposed_communication",
}

// judgeNumbers: what advice on limits of time and cost alone gives is the layout that the reasons are about,
// unless these tell of a limit that it fails and the advice leaves, or memory asks for a variant.
func judgeNumbers(t *testing.T, p, got *plan.Plan, sets []string, change string) {
	timed, moved := false, map[string]bool{}
	for _, set := range sets {
		name := strings.TrimPrefix(strings.Split(set, "=")[0], "constraints.")
		timed, moved[name] = timed || name != "max_exposed_communication", true
		if !slices.Contains(slices.Collect(maps.Values(limitOf)), name) {
			return
		}
	}
	stays := slices.ContainsFunc(p.Infeasible.Reasons, func(r plan.Reason) bool { return limitOf[r.ID] != "" && r.Needed > 0 && !moved[limitOf[r.ID]] })
	varies := got.Execution.LossChunks != p.Execution.LossChunks || got.Memory.Host.BytesPerNode != p.Memory.Host.BytesPerNode
	if of, told := got.Time.StepSeconds, p.Time.StepSeconds; timed && !stays && !varies && limitOf[p.Infeasible.Reasons[0].ID] != "" && math.Abs(float64(of/told)-1) > roundedAway {
		t.Errorf("%q is about a step of %v, the reasons about one of %v: %+v", change, of, told, p.Infeasible.Reasons)
	}
}

// roundedAway is by what share a step may be another one than told, because the limit that
// admits it is written in three or four digits, and so admits others.
const roundedAway = 0.01

// judgeAdvice holds what is said of a job that does not fit to what becomes of it, and
// reports whether anything would make it fit.
func judgeAdvice(t *testing.T, src string) (advised bool) {
	file := filepath.Join(t.TempDir(), "job.hcl")
	if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	planned := func(sets ...string) (*plan.Plan, diag.List) {
		flags := &inputFlags{}
		if sets != nil {
			flags.overrides = lang.ParseOverrides("--compare", strings.Join(sets, "; "))
		}
		plans, _, diags := plansOf(disk{}, file, flags)
		if diags.HasErrors() || len(plans.list) != 1 {
			return nil, diags
		}
		return plans.list[0].plan, nil
	}
	p, diags := planned()
	if p == nil || p.Infeasible == nil {
		t.Logf("fits, or is refused: %v", diags)
		return false
	}
	t.Log(src, p.Infeasible.Reasons[0].Summary)
	if r := &p.Infeasible.Reasons[0]; r.Needed <= r.Available && r.Needed != 0 {
		t.Errorf("%v needed, %v available: %s", r.Needed, r.Available, r.Summary)
	}
	if list := p.Infeasible.Nearest; len(list) > 0 && (list[0].PeakDeviceBytes != p.Memory.Peak.DeviceBytes || list[0].StepSeconds != p.Time.StepSeconds) {
		t.Errorf("the nearest layout needs %v, and the plan %v", list[0].PeakDeviceBytes, p.Memory.Peak.DeviceBytes)
	}
	told := map[string]bool{}
	for _, f := range p.Infeasible.Fixes {
		sets := setsOf(f.Change)
		t.Logf("%s (%v, %v): %q", f.Change, f.PeakDeviceBytes, f.StepSeconds, sets)
		got, diags := planned(sets...)
		switch {
		case sets == nil || slices.Contains(sets, "constraints.min_mfu=0.000"):
			t.Errorf("%q limits nothing", f.Change)
			continue
		case got == nil:
			t.Errorf("%q is refused: %v", f.Change, diags)
			continue
		case !got.Feasible:
			t.Errorf("%q does not fit: %s", f.Change, got.Infeasible.Reasons[0].Summary)
			continue
		}
		step := got.Time.StepSeconds
		if off := math.Abs(float64(step/f.StepSeconds) - 1); off > roundedAway || off == 0 && got.Memory.Peak.DeviceBytes != f.PeakDeviceBytes {
			t.Errorf("%q takes %v and %v, not %v and %v", f.Change, step, got.Memory.Peak.DeviceBytes, f.StepSeconds, f.PeakDeviceBytes)
		}
		if _, free, is := strings.Cut(f.Change, "layout left free: "); is && !strings.HasPrefix(free, fmt.Sprintf("tensor_parallel %d, context_parallel %d, pipeline_parallel %d", got.Layout.TensorParallel, got.Layout.ContextParallel, got.Layout.PipelineParallel)) {
			t.Errorf("%q gives %+v", f.Change, got.Layout)
		}
		if set, is := nearer(t, f.Change); is && len(sets) == 1 && !told[set[:strings.Index(set, "=")]] && searchFits(t, file, set) {
			t.Errorf("%q fits, too, and %s is told", set, f.Change)
		}
		told[strings.Split(sets[0], "=")[0]] = true
		judgeNodes(t, file, f.Change, p)
		judgeNumbers(t, p, got, sets, f.Change)
	}
	return len(p.Infeasible.Fixes) > 0
}
