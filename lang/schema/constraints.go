package schema

import "github.com/ndc-dev/ndc/compiler/plan"

// Axes lists the layout axes that links can be asked of.
func Axes() []string {
	return []string{"tensor_parallel", "context_parallel", "pipeline_parallel", "expert_parallel",
		"expert_tensor_parallel", "data_parallel_replicate", "data_parallel_shard"}
}

var constraintsBlock = Block{
	Name: "constraints",
	Doc:  "Limits on the plan, and what makes one better than another.",
	Arguments: []Argument{
		{Name: "memory_headroom", Type: Share, Doc: "Share of GPU memory to leave free.", DefaultDoc: "the upper end of the prediction's 90 % range must fit"},
		{Name: "objective", Type: String, Default: `"throughput"`, Enum: []string{"throughput", "memory"}, Doc: "What to look for among plans that meet every limit."},
		{Name: "max_training_time", Type: Duration, Positive: true, Doc: "Longest time for the whole run."},
		{Name: "max_exposed_communication", Type: Share, Doc: "Largest share of a step that waits for communication."},
		{Name: "min_mfu", Type: Number, Limits: fraction, Doc: "Smallest model-FLOPs utilisation."},
		{Name: "nvlink_only", Type: StringList, Default: `["tensor_parallel"]`, Enum: Axes(), Doc: "Axes that may not leave an NVLink domain (a node, where there is no NVLink)."},
	},
	Blocks: []Block{layoutBlock},
}

var layoutBlock = Block{
	Name: "layout",
	Doc:  "Narrows the search. Each argument is a value, which pins; a list, which leaves a choice; or `{ min, max }`. What the target does not offer is cut from lists and ranges.",
	Arguments: []Argument{
		{Name: "tensor_parallel", Type: CountChoice, Limits: atLeastOne, Doc: "Ranks per tensor group."},
		{Name: "sequence_parallel", Type: BoolChoice, Doc: "Megatron-style sequence parallelism."},
		{Name: "context_parallel", Type: CountChoice, Limits: atLeastOne, Doc: "Ranks per sequence."},
		{Name: "pipeline_parallel", Type: CountChoice, Limits: atLeastOne, Doc: "Pipeline ranks."},
		{Name: "virtual_pipeline", Type: CountChoice, Limits: atLeastOne, Doc: "Model chunks per pipeline rank; 1: none."},
		{Name: "pipeline_schedule", Type: StringChoice, Enum: []string{"gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "zb_h2", "zbv", "dualpipe", "dualpipev"}, Doc: "Order of forward and backward passes."},
		{Name: "stage_layers", Type: CountList, Doc: "Decoder layers per chunk in pipeline order, a list of length pipeline × virtual."},
		{Name: "expert_parallel", Type: CountChoice, Limits: atLeastOne, Doc: "Ranks that share the experts of a layer."},
		{Name: "expert_tensor_parallel", Type: CountChoice, Limits: atLeastOne, Doc: "Tensor ranks within an expert."},
		{Name: "data_parallel_replicate", Type: CountChoice, Limits: atLeastOne, Doc: "Replicas of the sharded state."},
		{Name: "data_parallel_shard", Type: CountChoice, Limits: atLeastOne, Doc: "Ranks that shard the state, context parallelism not counted."},
		{Name: "zero_stage", Type: CountChoice, Limits: Limits{Max: 3}, Doc: "What is sharded: 0 nothing, 1 optimizer, 2 and gradients, 3 and parameters."},
		{Name: "micro_batch_size", Type: CountChoice, Limits: atLeastOne, Doc: "Sequences per forward pass."},
		{Name: "micro_batches", Type: CountChoice, Limits: atLeastOne, Doc: "Forward passes per replica and step."},
		{Name: "recompute", Type: StringChoice, Enum: []string{"none", "selective", "full"}, Doc: "How much of the forward pass is run again."},
		{Name: "recompute_modules", Type: StringList, Enum: plan.ModuleNames(), Doc: "Modules of selective recompute; `op` is a policy over single operations."},
		{Name: "recompute_method", Type: StringChoice, Enum: []string{"uniform", "block"}, Doc: "Which layers full recompute takes."},
		{Name: "recompute_layers", Type: CountChoice, Limits: atLeastOne, Doc: "Layers per chunk (block) or per group (uniform)."},
	},
}

var executionBlock = Block{
	Name: "execution",
	Doc:  "How the framework runs the layout. What is left out is what is recommended for the backend, version and GPU.",
	Arguments: []Argument{
		{Name: "attention", Type: String, Enum: []string{"flash", "fused", "unfused"}, Doc: "Attention kernel."},
		{Name: "overlap_gradient_reduce", Type: Bool, Doc: "Reduce gradients behind the backward pass."},
		{Name: "overlap_parameter_gather", Type: Bool, Doc: "Gather parameters behind the forward pass."},
		{Name: "overlap_tensor_parallel", Type: Bool, Doc: "Hide tensor-parallel communication behind matrix products."},
		{Name: "overlap_expert_parallel", Type: Bool, Doc: "Hide the experts' all-to-all."},
		{Name: "gradient_dtype", Type: String, Enum: []string{"fp32", "bf16"}, Doc: "Of gradient accumulation and reduction."},
		{Name: "optimizer_state_dtype", Type: String, Enum: []string{"fp32", "bf16", "fp16", "fp8"}, Doc: "Of the optimizer's moments."},
		{Name: "cross_entropy", Type: String, Enum: []string{"unfused", "fused"}, Doc: "Kernel of the loss."},
		{Name: "loss_chunks", Type: Count, Limits: atLeastOne, Doc: "Pieces in which logits and loss are computed; 1: at once."},
		{Name: "cuda_graphs", Type: String, Enum: []string{"none", "layer", "full"}, Doc: "What is captured."},
		{Name: "compile", Type: Bool, Doc: "torch.compile."},
		{Name: "moe_dispatcher", Type: String, Enum: []string{"allgather", "alltoall", "deepep", "hybridep"}, Doc: "How tokens reach their experts."},
		{Name: "context_parallel_type", Type: String, Enum: []string{"ring", "all_gather", "ulysses", "hierarchical"}, Doc: "How context-parallel ranks exchange keys and values."},
		{Name: "reshard_after_forward", Type: Bool, Doc: "Free gathered parameters after the forward pass."},
		{Name: "fully_sharded", Type: Bool, Doc: "Megatron-FSDP."},
		{Name: "zero_hpz_partition", Type: Count, Limits: atLeastOne, Doc: "Ranks of DeepSpeed's secondary parameter partition; 1: none."},
	},
	Blocks: []Block{{
		Name: "offload",
		Doc:  "What lives in host memory.",
		Arguments: []Argument{
			{Name: "optimizer", Type: Bool, Doc: "Optimizer state."},
			{Name: "parameters", Type: Bool, Doc: "Parameters."},
			{Name: "activations", Type: Bool, Doc: "Saved activations."},
		},
	}},
}

var containerBlock = Block{
	Name: "container",
	Doc:  "The image that the ranks run in. Without an image they run on the node itself.",
	Arguments: []Argument{
		{Name: "image", Type: String, Doc: "A squashfs file, SIF file or registry reference."},
		{Name: "mounts", Type: StringList, Doc: "`SRC:DST` or `SRC:DST:OPTIONS`."},
		{Name: "workdir", Type: String, Doc: "Working directory inside."},
		{Name: "runtime", Type: String, Default: `"pyxis"`, Enum: []string{"pyxis", "apptainer"}, Doc: "What starts it."},
		{Name: "mount_home", Type: Bool, Default: "false", Doc: "Mount the user's home."},
	},
}

var slurmBlock = Block{
	Name: "slurm",
	Doc:  "How the job is submitted.",
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
		{Name: "cpus_per_task", Type: Count, Limits: atLeastOne, Doc: "`--cpus-per-task`: the CPUs of a node's one task, which its ranks share.", DefaultDoc: "all CPUs of the node with `exclusive`, else `cpus_per_node`"},
		{Name: "memory", Type: String, Doc: "`--mem`, as Slurm reads it: `\"0\"` is all of the node's."},
		{Name: "exclusive", Type: Bool, DefaultDoc: "`true`", Doc: "`--exclusive`."},
		{Name: "requeue", Type: Bool, DefaultDoc: "the site's; off in a chain", Doc: "`--requeue` or `--no-requeue`."},
		{Name: "chain", Type: Chain, Limits: atLeastOne, Doc: "Submissions of the same job one after another: a number, or `\"until_done\"`, which ends at the last step, at a stop file, after repeated failures, or without progress."},
		{Name: "segment", Type: Count, Limits: atLeastOne, Doc: "Nodes per block of the topology (`--segment`)."},
		{Name: "directives", Type: StringMap, Doc: "Any other #SBATCH option, by its long name."},
		{Name: "environment", Type: Environment, Doc: "Environment variables of the run."},
		{Name: "env_file", Type: String, Doc: "File on the cluster that the script reads, for secrets."},
		{Name: "modules", Type: StringList, Doc: "Environment modules to load."},
		{Name: "setup", Type: StringList, Doc: "Shell lines to run on every node before the launch: the one place where text becomes shell code."},
		{Name: "log_path", Type: String, Doc: "Folder for logs; the backend's name is appended.", DefaultDoc: "beside the script"},
	},
	Blocks: []Block{
		{
			Name: "node_check",
			Doc:  "A command that every node must pass before the launch.",
			Arguments: []Argument{
				{Name: "command", Type: String, Required: true, Doc: "What to run."},
				{Name: "timeout", Type: Duration, Positive: true, Default: `"5m"`, Doc: "How long it may take."},
			},
		},
		containerBlock,
	},
}
