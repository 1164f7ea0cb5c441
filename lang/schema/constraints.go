package schema

import (
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
)

var constraintsBlock = Block{
	Name: "constraints", Effect: Execution,
	Doc: "Limits on the plan, and what makes one better than another.",
	Arguments: []Argument{
		{Name: "memory_headroom", Type: Share, Doc: "Share of GPU memory to leave free.", DefaultDoc: "none, beside the margin of `max_oom_probability`"},
		{Name: "objective", Type: String, Default: `"throughput"`, Enum: []string{"throughput", "memory", "time", "gpu_hours", "cost"}, Doc: "What to look for among plans that meet every limit. `throughput` is per GPU; `memory` is the least memory among plans that take at most 5 % longer than the fastest; `time`, `gpu_hours` and `cost` are those of the whole run."},
		{Name: "max_training_time", Type: Duration, Positive: true, Doc: "Longest time for the whole run; where the cluster says how often it fails, 95 of 100 runs take no longer."},
		{Name: "max_gpu_hours", Type: Number, Limits: positive, Doc: "Most GPU-hours of the whole run, of all its GPUs."},
		{Name: "max_cost", Type: Number, Limits: positive, Doc: "Highest cost of the whole run, in the currency of the cluster's `price_per_gpu_hour`."},
		{Name: "max_exposed_communication", Type: Share, Doc: "Largest share of a step that waits for communication."},
		{Name: "min_mfu", Type: Number, Limits: fraction, Doc: "Smallest model-FLOPs utilisation."},
		{Name: "nvlink_only", Type: StringList, Default: `["tensor_parallel"]`, Enum: meshAxes(), Doc: "Axes that may not leave an NVLink domain (a node, where there is no NVLink)."},
		{Name: "prefer", Type: StringList, DefaultDoc: "nothing", Enum: parts(), Absent: ever(), Doc: "Axes and options that decide among plans which are tied with the fastest: the one that uses more of them goes first. A count is used above 1 (`zero_stage` above 0), a switch when it is on, a type of numbers when it is not fp32, `cross_entropy` when it is fused, `shard_buffers` when they stay. `offload` is anything that is kept in host memory."},
		{Name: "avoid", Type: StringList, DefaultDoc: "nothing", Enum: parts(), Absent: ever(), Doc: "The same, for the one that uses fewer of them."},
	},
	Blocks: []Block{oomBlock, layoutBlock},
}

var oomBlock = Block{
	Name: "max_oom_probability",
	Doc:  "How probable it may be that some rank runs out of the memory that a plan may use.",
	Arguments: []Argument{
		{Name: "start", Type: Number, Limits: chance, DefaultDoc: "0.05", Doc: "Up to the end of the first step, which costs minutes."},
		{Name: "run", Type: Number, Limits: chance, DefaultDoc: "0.001", Doc: "After it, which may cost a night."},
	},
}

var layoutBlock = Block{
	Name:      "layout",
	Doc:       "Narrows the search. Each argument is a value, which pins; a list, which leaves a choice; a range, `{ min, max }` or `{ min, max, step }`; or `{ not = [3, 5] }`, which leaves the others and is met where there is no value at all, as a layout without a pipeline has no schedule. What the target does not offer is cut from lists and ranges.",
	Arguments: layoutArguments(),
}

// meshAxes lists the layout axes that links can be asked of.
func meshAxes() []string {
	var names []string
	for i := range option.Axes {
		if option.Axes[i].Mesh {
			names = append(names, option.Axes[i].Name)
		}
	}
	return names
}

// parts lists what a plan may use: axes of the layout, options of execution, and
// offload as a whole.
func parts() []string {
	names := []string{option.Offload}
	for i := range option.Axes {
		if a := &option.Axes[i]; a.Kind != option.Counts && a.Kind != option.Names && !a.Always {
			names = append(names, a.Name)
		}
	}
	for i := range option.Options {
		if o := &option.Options[i]; !o.IsOffload() && !o.Always {
			names = append(names, o.Name)
		}
	}
	return names
}

// ever says of what every plan uses why none of them can be preferred for it.
func ever() map[string]string {
	why := map[string]string{}
	for i := range option.Options {
		if o := &option.Options[i]; o.Always {
			why[o.Name] = "No plan uses more of it than another: execution." + o.Name + " says which it is, or lists those to choose from."
		}
	}
	return why
}

// layoutArguments makes an argument of every axis.
func layoutArguments() []Argument {
	types := map[option.Kind]Type{option.Count: CountChoice, option.Switch: BoolChoice, option.Name: StringChoice, option.Counts: CountList, option.Names: StringList}
	list := make([]Argument, len(option.Axes))
	for i := range option.Axes {
		list[i] = rowArgument(&option.Axes[i].Row, option.Axes[i].Name, types)
	}
	return list
}

func rowArgument(r *option.Row, name string, types map[option.Kind]Type) Argument {
	effect := Execution
	if r.Numerics {
		effect = Convergence
	}
	return Argument{Name: name, Effect: effect, Type: types[r.Kind], Enum: r.Values, Absent: r.Absent, Parts: r.Parts, Limits: Limits{Min: float64(r.Min), Max: float64(r.Max)}, Doc: r.Doc}
}

var executionBlock = newExecutionBlock()

// newExecutionBlock makes an argument of every option; those with a dot in
// their names stand in the block before it.
func newExecutionBlock() Block {
	types := map[option.Kind]Type{option.Count: Count, option.Switch: Bool, option.Name: String}
	b := Block{
		Name: "execution", Effect: Execution,
		Doc:    "How the framework runs the layout. What is left out is what is recommended for the backend, version and GPU. A list of values leaves the choice among them to ndc; values that the backend refuses are cut from it.",
		Blocks: []Block{{Name: option.Offload, Doc: "What lives in host memory."}},
		Arguments: []Argument{{Name: "tensor_parallel_overlap_config", Type: String, Path: true, Effect: Launch,
			Doc: "YAML file on the cluster with Transformer Engine's user buffers, GEMM by GEMM, for `overlap_tensor_parallel`."}},
	}
	for i := range option.Options {
		r, in := &option.Options[i].Row, &b
		block, name, nested := strings.Cut(r.Name, ".")
		if !nested {
			name = block
		} else if in = b.Block(block); in == nil {
			panic("schema: no block " + block + " in execution")
		}
		a := rowArgument(r, name, types)
		a.Several = true
		in.Arguments = append(in.Arguments, a)
	}
	return b
}

var containerBlock = Block{
	Name: "container", Effect: Launch,
	Doc: "The image that the ranks run in. Without an image they run on the node itself.",
	Arguments: []Argument{
		{Name: "image", Type: String, Path: true, Effect: Execution, Doc: "A squashfs file, a SIF file or an image of a registry, such as `nvcr.io/nvidia/pytorch:25.04-py3`; the scripts spell it as the runtime reads it."},
		{Name: "mounts", Type: StringList, Path: true, Appends: true, Doc: "`SRC:DST` or `SRC:DST:OPTIONS`."},
		{Name: "workdir", Type: String, Path: true, Doc: "Working directory inside."},
		{Name: "runtime", Type: String, Default: `"pyxis"`, Enum: []string{"pyxis", "apptainer"}, Doc: "What starts it."},
		{Name: "mount_home", Type: Bool, Default: "false", Doc: "Mount the user's home."},
	},
}

var slurmBlock = Block{
	Name: "slurm", Effect: Launch,
	Doc: "How the job is submitted.",
	Arguments: []Argument{
		{Name: "account", Type: String, Doc: "`--account`."},
		{Name: "partition", Type: String, Doc: "`--partition`."},
		{Name: "qos", Type: String, Doc: "`--qos`."},
		{Name: "reservation", Type: String, Doc: "`--reservation`."},
		{Name: "time", Type: Duration, Positive: true, Doc: "Limit of one submission.", DefaultDoc: "the partition's"},
		{Name: "nodelist", Type: String, Doc: "`--nodelist`."},
		{Name: "exclude", Type: String, Doc: "`--exclude`."},
		{Name: "constraint", Type: String, Doc: "`--constraint`."},
		{Name: "gpus_directive", Type: String, Default: `"gres"`, Enum: []string{"gres", "gpus_per_node", "none"}, Doc: "How GPUs are asked for."},
		{Name: "cpus_per_task", Type: Count, Effect: Execution, Limits: atLeastOne, Doc: "`--cpus-per-task`: the CPUs of a node's one task, which its ranks share.", DefaultDoc: "all CPUs of the node with `exclusive`, else `cpus_per_node`"},
		{Name: "memory", Type: String, Doc: "`--mem`, as Slurm reads it: `\"0\"` is all of the node's."},
		{Name: "exclusive", Type: Bool, DefaultDoc: "`true`", Doc: "`--exclusive`."},
		{Name: "requeue", Type: Bool, DefaultDoc: "the site's; off in a chain", Doc: "`--requeue` or `--no-requeue`."},
		{Name: "chain", Type: Chain, Limits: atLeastOne, Doc: "Submissions of the same job one after another: a number, or `\"until_done\"`, which ends at the last step, at a stop file, after repeated failures, or without progress."},
		{Name: "segment", Type: Count, Limits: atLeastOne, Doc: "Nodes per block of the topology (`--segment`)."},
		{Name: "directives", Type: StringMap, Doc: "Any other #SBATCH option, by its long name."},
		{Name: "environment", Type: Environment, Doc: "Environment variables of the run."},
		{Name: "env_file", Type: String, Path: true, Doc: "File on the cluster that the script reads, for secrets."},
		{Name: "modules", Type: StringList, Doc: "Environment modules to load."},
		{Name: "setup", Type: StringList, Doc: "Shell lines to run on every node before the launch. They and the `templates` of a site are the places where text becomes shell code."},
		{Name: "log_path", Type: String, Path: true, Doc: "Folder for logs; the backend's name is appended.", DefaultDoc: "beside the script"},
		{Name: "signal", Type: String, Doc: "`--signal`: warns the ranks before the time limit, who then save and end; `\"auto\"` leaves time for a step and a save ([slurm.md](slurm.md#signals)).", DefaultDoc: "none: the programs look at the clock; `\"auto\"` with `spare_nodes` or the directive `time-min`"},
		{Name: "launcher", Type: String, Default: `"torchrun"`, Enum: []string{"torchrun", "srun"}, Doc: "What starts the ranks of a node: `torchrun` in one task of Slurm, or `srun` itself, in a task for each GPU."},
		{Name: "spare_nodes", Type: Count, Limits: Limits{Max: 100_000}, Doc: "Nodes that the allocation has beyond those of the layout: with `segment` for each segment. Nodes are checked before every start, and a run goes on without those that are bad ([slurm.md](slurm.md#spare-nodes)).", DefaultDoc: "none"},
		{Name: "check_speed", Type: Bool, Doc: "Whether the nodes compute and talk to each other before every start, and those that are slower than predicted are left out ([slurm.md](slurm.md#speed)).", DefaultDoc: "`true` with `spare_nodes`"},
		{Name: "hang_timeout", Type: Timeout, Positive: true, Doc: "Ends a run whose ranks have reported nothing for so long, such as `\"30m\"`, after a dump of the flight recorder; `\"auto\"` learns from the run ([slurm.md](slurm.md#hangs)).", DefaultDoc: "none: collectives time out"},
		{Name: "bind", Type: String, Default: `"none"`, Enum: []string{"node", "socket", "none"}, Doc: "CPUs that a rank runs on: those of its GPU's NUMA node, of its socket, or all of the task's."},
	},
	Blocks: []Block{
		nodeCheckBlock,
		containerBlock,
	},
}

var nodeCheckBlock = Block{
	Name: "node_check",
	Doc:  "A command that every node must pass before the launch.",
	Arguments: []Argument{
		{Name: "command", Type: String, Required: true, Doc: "What to run."},
		{Name: "timeout", Type: Duration, Positive: true, Default: `"5m"`, Doc: "How long it may take."},
	},
}
