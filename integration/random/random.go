// Package random draws jobs for property tests: any model, cluster, layout,
// data and schedule that the language can say, most of them unusual. Whether a
// job is legal is for ndc to say; what ndc emits is for the frameworks to
// judge, which the tests here ask them to.
package random

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
)

// schedules are those of the language, in quotes.
var schedules = strings.Split(strings.Trim(quoted(option.FindAxis("pipeline_schedule").Values), "[]"), ", ")

// Draw returns the text of a job file for one backend and version. The same
// source of randomness gives the same text.
func Draw(r *rand.Rand, framework, version string) string {
	return draw(&drawing{r: r, framework: framework, version: version})
}

func draw(d *drawing) string {
	d.shape()
	d.model()
	d.cluster()
	d.job()
	return d.b.String()
}

// drawing is a job file in the making, with the choices that later blocks
// depend on.
type drawing struct {
	r                  *rand.Rand
	b                  strings.Builder
	depth              int
	framework, version string
	small              bool
	folder             string // of data, checkpoints and logs

	nodes, perNode int
	moe, latent    bool
	pins           bool
	saves          bool
	layers, length int
	steps, batch   int
	pp, vpp, cp    int
	gpu            string
}

func pick[T any](d *drawing, values ...T) T { return values[d.r.IntN(len(values))] }

// suits draws from all, but mostly from what the framework is known to have
// where that is less: jobs that are refused judge nothing.
func (d *drawing) suits(all []string, known map[string][]string) string {
	if some := known[d.framework]; some != nil && d.chance(93) {
		return pick(d, some...)
	}
	return pick(d, all...)
}

// chance is true in so many of a hundred draws.
func (d *drawing) chance(percent int) bool { return d.r.IntN(100) < percent }

func (d *drawing) line(format string, a ...any) {
	fmt.Fprintf(&d.b, strings.Repeat("  ", d.depth)+format+"\n", a...)
}

func (d *drawing) block(header string, body func()) {
	d.line("%s {", header)
	d.depth++
	body()
	d.depth--
	d.line("}")
}

// maybe writes an argument in so many of a hundred draws.
func (d *drawing) maybe(percent int, name string, values ...string) {
	if d.chance(percent) {
		d.line("%s = %s", name, pick(d, values...))
	}
}

// shape draws the size of the run.
func (d *drawing) shape() {
	d.perNode = sized(d, []int{8, 8, 8, 4}, []int{1, 2, 2, 2})
	d.nodes = sized(d, []int{1, 1, 2, 4, 8, 16}, []int{1, 1, 2})
	d.pp = sized(d, []int{1, 1, 2, 4}, []int{1, 1, 1, min(2, d.nodes*d.perNode)})
	d.vpp = 1
	if d.framework == "deepspeed" && d.chance(95) { // which has no pipelines
		d.pp = 1
	}
	if d.pp > 1 {
		d.vpp = pick(d, 1, 1, 2)
	}
	d.layers = d.pp * d.vpp * sized(d, []int{1, 2, 3, 4}, []int{1, 2})
	if d.chance(10) {
		d.layers++ // uneven stages
	}
	if d.cp = sized(d, []int{1, 1, 1, 2, 4}, []int{1, 1, 2}); d.chance(4) {
		d.cp = 2 * d.perNode // spans nodes
	}
	d.length = sized(d, []int{512, 2048, 4096, 8192, 32768}, []int{64})
	if d.small && d.cp > 1 && d.version == "0.3.0" { // TorchTitan splits masks of 128 rows
		d.length = 128 * d.cp
	}
	d.gpu = sized(d, []string{"h100", "h100", "a100", "h200", "b200"}, []string{"h100", "a100"})
	d.pins = d.chance(95)
}

func (d *drawing) cluster() {
	d.block(`cluster "c"`, func() {
		d.line("base = catalog.cluster.dgx_%s", d.gpu)
		d.line("nodes = %d", d.nodes)
		d.line("gpus_per_node = %d", d.perNode)
	})
}

func (d *drawing) job() {
	d.block(`job "random"`, func() {
		d.line("model = model.m")
		d.line("cluster = cluster.c")
		d.training()
		d.constraints()
		d.execution()
		d.block(fmt.Sprintf("backend %q", d.framework), func() {
			d.line("version = %q", d.version)
			if d.framework == "megatron" {
				d.line(`path = "/opt/megatron-lm"`)
			}
			d.maybe(10, "extra_args", extras[d.framework]...)
		})
		d.slurm()
	})
}

// extras are arguments of the frameworks for which the language has no words, or which
// replace what ndc emits.
var extras = map[string][]string{
	"megatron":   {`["--manual-gc-interval", "50"]`, `["--tensorboard-queue-size=5"]`},
	"torchtitan": {`["--debug.deterministic=true"]`, `["--comm.trace_buf_size=5"]`},
	"deepspeed":  {`["wall_clock_breakdown=true"]`, `["zero_optimization.round_robin_gradients=true"]`},
}

func (d *drawing) slurm() {
	d.block("slurm", func() {
		d.line(`time = "04:00:00"`)
		if d.saves {
			d.maybe(30, "chain", `"until_done"`, "3")
		}
		d.maybe(20, "gpus_directive", `"gpus_per_node"`, `"none"`)
		d.maybe(10, "requeue", "true", "false")
		d.maybe(10, "hang_timeout", `"20m"`, `"auto"`)
		d.maybe(15, "launcher", `"srun"`)
		d.maybe(10, "bind", `"node"`, `"socket"`, `"none"`)
		d.maybe(5, "spare_nodes", "1")
		if !d.small && d.chance(20) {
			d.block("container", func() {
				d.line(`image = "/images/it's one.sqsh"`)
				d.maybe(50, "runtime", `"apptainer"`)
				d.maybe(30, "mounts", `["/data:/data"]`)
			})
		}
	})
}

func (d *drawing) constraints() {
	d.block("constraints", func() {
		d.line(`memory_headroom = "0%%"`)
		d.block("layout", func() {
			d.line("pipeline_parallel = %d", d.pp)
			d.line("virtual_pipeline = %d", d.vpp)
			if !d.pins {
				return
			}
			d.pinned()
		})
	})
}

// pinned narrows some axes; what is left open is for the search.
func (d *drawing) pinned() {
	tensor, context, expert := sized(d, []int{1, 1, 2, 2, 4, 8}, []int{1, 1, 2, 4}), d.cp, sized(d, []int{1, 2, 4, 8}, []int{1, 2, 2})
	if d.framework == "deepspeed" && d.chance(90) { // whose three ways exclude one another
		switch d.r.IntN(3) {
		case 0:
			context, expert = 1, 1
		case 1:
			tensor, expert = 1, 1
		default:
			tensor, context = 1, 1
		}
	}
	d.maybe(95, "tensor_parallel", fmt.Sprint(tensor))
	d.maybe(30, "sequence_parallel", d.suits([]string{"true", "false"}, map[string][]string{"deepspeed": {"false"}}))
	d.maybe(95, "context_parallel", fmt.Sprint(context))
	if d.moe {
		d.maybe(80, "expert_parallel", fmt.Sprint(expert))
		d.maybe(50, "expert_tensor_parallel", d.suits([]string{"1", "1", "2"}, map[string][]string{"deepspeed": {"1"}}))
	}
	d.maybe(60, "data_parallel_replicate", "1", "1", "2")
	d.maybe(60, "zero_stage", d.suits([]string{"0", "1", "2", "3"}, map[string][]string{"megatron": {"0", "1", "1", "2", "3"}, "torchtitan": {"2", "3"}}))
	d.maybe(90, "micro_batch_size", "1", "1", "2")
	d.maybe(8, "data_parallel_shard", "2", "4")
	d.maybe(8, "micro_batches", "2", "4")
	if d.pp > 1 {
		if d.chance(15) {
			d.line("stage_layers = [%s]", d.stages())
		}
		d.maybe(30, "pipeline_schedule", d.suits(schedules, map[string][]string{"megatron": {`"1f1b"`, `"interleaved_1f1b"`}}))
	}
	if d.chance(70) {
		d.recompute()
	}
}

// stages are layers of every chunk: as many for all, but that the first gives one to the
// last.
func (d *drawing) stages() string {
	chunks := d.pp * d.vpp
	layers := make([]string, chunks)
	for i := range layers {
		n := d.layers / chunks
		if i < d.layers%chunks {
			n++
		}
		switch {
		case i == 0 && n > 1:
			n--
		case i == chunks-1 && d.layers/chunks > 1:
			n++
		}
		layers[i] = fmt.Sprint(n)
	}
	return strings.Join(layers, ", ")
}

func (d *drawing) recompute() {
	mode := d.suits([]string{"none", "selective", "selective", "full", "full"}, map[string][]string{"deepspeed": {"none", "full"}})
	d.line("recompute = %q", mode)
	if mode == "full" && d.framework != "torchtitan" && d.chance(50) {
		d.line("recompute_method = %q", pick(d, "uniform", "block"))
		d.line("recompute_layers = %d", pick(d, 1, 1, 2))
	}
	if mode == "selective" && d.framework == "megatron" && d.chance(60) {
		d.modules()
	}
}

// modules draws one, or a set that the search may choose: those that repeat
// little, alone or beside a whole block.
func (d *drawing) modules() {
	sets := []string{"core_attn", "layernorm", "layernorm mlp", "mlp"}
	if d.moe {
		sets = []string{"core_attn", "core_attn shared_experts", "layernorm moe", "layernorm moe_act", "layernorm mlp moe_act", "mlp", "moe", "moe_act"}
	}
	if d.latent {
		sets = []string{"core_attn", "mla_up_proj", "mla_up_proj mlp", "mla_up_proj moe", "layernorm mla_up_proj", "layernorm mla_up_proj mlp", "layernorm mla_up_proj moe", "layernorm mla_up_proj moe_act",
			"layernorm mla_up_proj mlp moe_act", "moe shared_experts"}
	}
	d.line("recompute_modules = %s", quoted(strings.Fields(pick(d, sets...))))
}

func quoted(list []string) string { return `["` + strings.Join(list, `", "`) + `"]` }

func (d *drawing) execution() {
	d.block("execution", func() {
		if d.small {
			d.smallExecution()
			return
		}
		d.maybe(15, "attention", `"flash"`, `"fused"`, `"unfused"`, `"flex_flash"`, `"varlen"`)
		d.maybe(15, "overlap_gradient_reduce", "true", "false")
		d.maybe(15, "overlap_parameter_gather", "true", "false")
		d.maybe(5, "overlap_optimizer_gather", "true", "false")
		d.maybe(10, "overlap_tensor_parallel", "true", "false")
		if d.moe {
			d.maybe(10, "overlap_expert_parallel", "true", "false")
			d.maybe(30, "moe_dispatcher", `"allgather"`, `"alltoall"`, `"alltoall"`, `"deepep"`, `"hybridep"`)
		}
		d.maybe(15, "gradient_dtype", `"fp32"`, `"bf16"`)
		d.maybe(10, "optimizer_state_dtype", `"fp32"`, `"bf16"`, `"fp16"`, `"fp8"`)
		d.maybe(15, "cross_entropy", `"fused"`, `"unfused"`)
		d.maybe(10, "loss_chunks", "1", "4", "8")
		d.maybe(10, "cuda_graphs", `"none"`, `"layer"`, `"full"`, `["attention"]`, `["attention", "mlp"]`)
		d.maybe(10, "compile", "true", "false")
		d.maybe(15, "context_parallel_type", `"ring"`, `"all_gather"`, `"ulysses"`, `"hierarchical"`)
		d.maybe(10, "reshard_after_forward", "true", "false")
		d.maybe(10, "fully_sharded", "true", "false")
		d.maybe(5, "sharp", `"none"`, `"data_parallel"`, `"replicas"`)
		d.maybe(5, "shard_buffers", `"dynamic"`, `"double"`, `"registered"`)
		d.maybe(10, "zero_hpz_partition", "1", fmt.Sprint(d.perNode))
		if d.chance(10) {
			d.block("offload", func() {
				d.maybe(60, "optimizer", "true")
				d.maybe(40, "parameters", "true")
				d.maybe(30, "activations", "true")
			})
		}
	})
}
