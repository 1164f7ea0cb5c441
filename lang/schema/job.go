package schema

var jobBlock = Block{
	Name:     "job",
	Label:    JobName,
	LabelDoc: "the job's name: letters, digits, `.`, `_` and `-`, at most 64, starting with a letter or digit",
	Effect:   Launch, // what model and cluster are called; their arguments have effects of their own
	Doc:      "One training run, on one or more backends.",
	Arguments: []Argument{
		{Name: "base", Type: JobRef, Doc: "Another job to start from: `job.NAME`. What is written here overrides it, argument by argument; `environment`, `directives` and `backend` blocks merge by key or label, mounts are appended, and other lists replace the base's."},
		{Name: "without", Type: StringList, Doc: "What to leave out of the base: blocks, arguments or entries of maps, such as `[\"backend.deepspeed\", \"training.checkpoint\"]`."},
		{Name: "for_each", Type: Any, Doc: "A map or a set of text, of which each element makes one job, named LABEL-KEY; inside, `each.key` and `each.value` are the element. Checkpoints and TensorBoard's files go to a folder of that name."},
		{Name: "count", Type: Count, Doc: "How many jobs this block makes, named LABEL-0 and so on; inside, `count.index` is the number. Either this or `for_each`."},
		{Name: "site", Type: SiteRef, Doc: "What the admins of the cluster say: `site.NAME` or `module.MODULE.site.NAME`. `--site` says another one.", DefaultDoc: "none"},
		{Name: "model", Type: ModelRef, Required: true, Doc: "What is trained: `model.NAME` or `catalog.model.NAME`."},
		{Name: "cluster", Type: ClusterRef, Required: true, Doc: "Where it runs: `cluster.NAME` or `catalog.cluster.NAME`. Needed unless the site has one."},
		{Name: "nodes", Type: CountChoice, Effect: Execution, Limits: upTo(MostNodes), Doc: "Size of the run. The cluster's `nodes` is then the most there are. Of a list, or a range such as `{ min = 8, max = 64, step = 8 }`, objective and limits decide.", DefaultDoc: "the cluster's"},
	},
	Blocks: []Block{trainingBlock, constraintsBlock, executionBlock, backendBlock, slurmBlock},
}

var backendBlock = Block{
	Name: "backend", Label: Choice, Labels: BackendKinds(), Repeatable: true,
	LabelDoc: "the framework",
	Effect:   Execution,
	Doc:      "A framework to emit for; a job has at least one. Its blocks are merged over the job's, argument by argument.",
	Arguments: []Argument{
		{Name: "version", Type: String, Required: true, Doc: "The framework's version as it spells it, such as `\"core_v0.18.2\"`."},
		{Name: "path", Type: String, Path: true, Effect: Launch, Doc: "The framework's checkout at run time."},
		{Name: "required", Type: Bool, Default: "true", Effect: Launch, Doc: "Without a feasible plan for this backend nothing is built; `false` leaves it out instead, and removes its stale files."},
		{Name: "extra_args", Type: StringList, Effect: Convergence, Doc: "Further options of the framework, checked against its version's table. Where ndc has a choice of its own, they stand in its place; what an argument of the job sets, or what would make another run, is refused; what the plan does not count gets a warning."},
		{Name: "environment", Type: Environment, Doc: "Environment variables for this backend only."},
	},
	Blocks: []Block{containerBlock, executionBlock, constraintsBlock,
		{Name: "training", Effect: Convergence, Doc: "What this backend scales 8 bits by, what it reads, where it saves, and what it says of itself.", Arguments: []Argument{rerunMode}, Blocks: []Block{fp8Block, dataBlock, checkpointBlock, loggingBlock}},
		slurmBlock},
}

var rerunMode = Argument{Name: "rerun_mode", Type: String, Effect: Execution, Enum: []string{"validate_results", "disabled"}, DefaultDoc: "the framework's; `validate_results` with megatron", Doc: "What happens where a loss is not finite: the step is computed again, to tell a broken GPU from a broken job, or nothing."}

var fp8Block = Block{
	Name: "fp8",
	Doc:  "Recipe of 8-bit and 4-bit training.",
	Arguments: []Argument{
		{Name: "recipe", Type: String, Enum: []string{"delayed", "tensorwise", "rowwise", "blockwise"}, DefaultDoc: "`tensorwise` with precision fp8, which torchtitan 0.3.0 refuses (it has `rowwise`, which megatron refuses: a backend can have its own); mxfp8 and nvfp4 have their own", Doc: "How scales are chosen."},
		{Name: "parameter_gather", Type: Bool, Default: "false", Doc: "Gather parameters in 8 bits."},
		{Name: "bf16_first_layers", Type: Count, Default: "0", Doc: "Leading layers that stay in bf16."},
		{Name: "bf16_last_layers", Type: Count, Default: "0", Doc: "Final layers that stay in bf16."},
	},
}

var trainingBlock = Block{
	Name: "training", Required: true, Effect: Convergence,
	Doc: "What is learned, from what, and how.",
	Arguments: []Argument{
		{Name: "global_batch_size", Type: Count, Required: true, Limits: upTo(1 << 26), Doc: "Sequences per optimizer step."},
		{Name: "tokens", Type: Count, Limits: upTo(1e17), Doc: "Tokens of the whole run. Either this or `steps`."},
		{Name: "steps", Type: Count, Limits: upTo(1e10), Doc: "Optimizer steps of the whole run. Either this or `tokens`."},
		{Name: "precision", Type: String, Default: `"bf16"`, Enum: Precisions(), Doc: "Compute precision of the GEMMs."},
		{Name: "seed", Type: Count, Default: "1234", Limits: Limits{Max: 1<<31 - 1}, Doc: "Of initialisation and data order."},
		rerunMode,
	},
	Blocks: []Block{
		fp8Block,
		{
			Name: "batch_ramp",
			Doc:  "Grows the batch from a smaller one.",
			Arguments: []Argument{
				{Name: "start", Type: Count, Required: true, Limits: atLeastOne, Doc: "First batch size in sequences."},
				{Name: "increment", Type: Count, Required: true, Limits: atLeastOne, Doc: "Sequences added at each stage."},
				{Name: "sequences", Type: Count, Required: true, Limits: atLeastOne, Doc: "Sequences consumed when the ramp ends."},
			},
		},
		optimizerBlock, scheduleBlock, dataBlock, startBlock, checkpointBlock, loggingBlock, timeoutBlock,
	},
}

var timeoutBlock = Block{
	Name: "timeout", Effect: Launch,
	Doc: "How long ranks wait for one another before the run ends.",
	Arguments: []Argument{
		{Name: "collective", Type: Duration, Positive: true, Doc: "For a collective, checkpoints between steps included.", DefaultDoc: "by backend and number of GPUs"},
		{Name: "first_step", Type: Duration, Positive: true, Doc: "For collectives up to the end of the first step, which connects all ranks, loads and compiles.", DefaultDoc: "by backend and number of GPUs; with megatron as `collective`"},
	},
}

// Precisions lists the compute precisions.
func Precisions() []string { return []string{"bf16", "fp16", "fp32", "fp8", "mxfp8", "nvfp4"} }

var optimizerBlock = Block{
	Name: "optimizer", Label: Choice, Labels: []string{"adamw", "adam", "muon", "sgd"}, Required: true,
	LabelDoc: "the update rule",
	Doc:      "How gradients change the weights.",
	Arguments: []Argument{
		{Name: "learning_rate", Type: Number, Required: true, Limits: positive, Doc: "Peak learning rate."},
		{Name: "weight_decay", Type: Number, DefaultDoc: "0.1 for adamw and muon, else 0", Doc: "Decay of the weights; decoupled in adamw and muon."},
		{Name: "beta1", Type: Number, Labels: []string{"adamw", "adam", "muon"}, Limits: Limits{Max: 0.9999999}, Default: "0.9", Doc: "Decay of the first moment (adamw, adam, muon's embeddings)."},
		{Name: "beta2", Type: Number, Labels: []string{"adamw", "adam", "muon"}, Limits: Limits{Max: 0.9999999}, Default: "0.95", Doc: "Decay of the second moment (adamw, adam, muon's embeddings)."},
		{Name: "epsilon", Type: Number, Labels: []string{"adamw", "adam", "muon"}, Limits: positive, Default: "1e-8", Doc: "Added to the root of the second moment."},
		{Name: "gradient_clipping", Type: Number, Default: "1.0", Doc: "Largest global gradient norm; 0: none."},
		{Name: "momentum", Type: Number, Labels: []string{"muon", "sgd"}, Limits: Limits{Max: 0.9999999}, DefaultDoc: "0.95 for muon, 0.9 for sgd", Doc: "Momentum (muon, sgd)."},
	},
}

var scheduleBlock = Block{
	Name: "schedule", Label: Choice, Labels: []string{"cosine", "linear", "wsd", "constant"},
	LabelDoc: "the shape",
	Doc:      "The learning rate over the run: warm-up, then the labelled shape (`wsd`: warm-up, stable, decay). Without the block the rate is constant.",
	Arguments: []Argument{
		{Name: "warmup_steps", Type: Count, Default: "0", Doc: "Steps over which the rate rises from zero."},
		{Name: "warmup_tokens", Type: Count, Doc: "The same in tokens."},
		{Name: "decay_steps", Type: Count, Limits: atLeastOne, Labels: []string{"cosine", "linear", "wsd"}, DefaultDoc: "to the end of the run; for wsd a tenth of the run, or what the warm-up leaves", Doc: "Steps over which the rate falls."},
		{Name: "decay_tokens", Type: Count, Limits: atLeastOne, Labels: []string{"cosine", "linear", "wsd"}, Doc: "The same in tokens."},
		{Name: "decay_shape", Type: String, Labels: []string{"wsd"}, Enum: []string{"linear", "cosine", "exponential", "minus_sqrt"}, DefaultDoc: "`linear` for wsd", Doc: "How wsd falls."},
		{Name: "minimum_learning_rate", Type: Number, Labels: []string{"cosine", "linear", "wsd"}, Default: "0", Doc: "Rate at the end of the decay."},
	},
}

// madeUp are words for data that nobody wrote, which is no format.
var madeUp = map[string]string{"mock": isMock, "synthetic": isMock, "random": isMock, "dummy": isMock}

const isMock = "Write mock = true in place of format."

var dataBlock = Block{
	Name: "data", Required: true,
	Doc: "What is read.",
	Arguments: []Argument{
		{Name: "format", Type: String, Enum: []string{"megatron", "tokens", "jsonl"}, Absent: madeUp, Doc: "`megatron`: prefixes of .bin and .idx files; `tokens`: flat binary files of ids; `jsonl`: text, tokenised on the fly. Needed unless `mock` is set."},
		{Name: "split", Type: String, Doc: "Shares of the sources for training, validation and test, such as `\"99,1,0\"`."},
		{Name: "reset_position_ids", Type: Bool, Default: "false", Doc: "Positions restart at each document."},
		{Name: "document_mask", Type: Bool, Default: "false", Doc: "Tokens attend only within their document."},
		{Name: "workers", Type: Count, Effect: Execution, Default: "2", Doc: "Loader processes per rank."},
		{Name: "cache_path", Type: String, Path: true, Effect: Launch, Doc: "Folder for index files."},
		{Name: "mock", Type: Bool, Default: "false", Doc: "Train on made-up tokens; nothing is read."},
	},
	Blocks: []Block{
		{
			Name: "source", Label: FreeName, Repeatable: true, LabelDoc: "a name",
			Doc: "One corpus of the blend.",
			Arguments: []Argument{
				{Name: "path", Type: String, Path: true, Required: true, Doc: "Where it lies on the cluster: of format `megatron` what both names have in common, without .bin and .idx; else a file, or a folder of `*.bin` or `*.jsonl` files, read in the order of their names."},
				{Name: "weight", Type: Number, Default: "1", Doc: "Its share of the blend, relative to the others; 0 leaves it out."},
			},
		},
		{
			Name: "validation", Effect: Execution, // it is not learned from
			Doc: "Held-out data.",
			Arguments: []Argument{
				{Name: "path", Type: String, Path: true, Doc: "Where it lies; without it, `split` sets some aside."},
				{Name: "interval", Type: Count, Required: true, Limits: atLeastOne, Doc: "Steps between evaluations."},
				{Name: "steps", Type: Count, Required: true, Limits: atLeastOne, Doc: "Batches of `global_batch_size` sequences per evaluation."},
			},
		},
		{
			Name: "tokenizer", Label: Choice, Labels: []string{"huggingface", "sentencepiece", "tiktoken", "none"}, LabelDoc: "the kind",
			Doc: "Turns text into ids. Without the block there is none.",
			Arguments: []Argument{
				{Name: "path", Type: String, Path: true, Doc: "Where it lies on the cluster. Needed unless the kind is none."},
				{Name: "end_of_document_id", Type: Count, Doc: "The id that ends documents.", DefaultDoc: "as the tokenizer says"},
			},
		},
	},
}

var startBlock = Block{
	Name: "start",
	Doc:  "The weights before the first step.",
	Arguments: []Argument{
		{Name: "from", Type: String, Default: `"scratch"`, Enum: []string{"scratch", "checkpoint", "huggingface"}, Doc: "Random weights, a checkpoint of the same framework, or a Hugging Face model."},
		{Name: "path", Type: String, Path: true, Doc: "Where they lie. Needed unless from scratch."},
		{Name: "reset_optimizer", Type: Bool, Default: "false", Doc: "Forget the optimizer's state."},
		{Name: "reset_schedule", Type: Bool, Default: "false", Doc: "Start the schedule anew."},
		{Name: "reset_data", Type: Bool, Default: "false", Doc: "Read the data from its beginning."},
	},
}

var checkpointBlock = Block{
	Name: "checkpoint", Effect: Launch,
	Doc: "What is saved. Without the block nothing is.",
	Arguments: []Argument{
		{Name: "path", Type: String, Path: true, Required: true, Doc: "Folder on the cluster; the backend's name is appended."},
		{Name: "interval", Type: Interval, Default: `"auto"`, Doc: "Steps or time between checkpoints; `\"auto\"` is a time that ndc chooses, the same on every backend ([slurm.md](slurm.md#checkpoints))."},
		{Name: "keep_last", Type: Count, Default: "0", Doc: "Checkpoints to keep; 0: all. Megatron-LM keeps all or one, TorchTitan two or more."},
		{Name: "save_optimizer", Type: Bool, Effect: Convergence, Default: "true", Doc: "Save the optimizer's state too."},
		{Name: "async", Type: Bool, Effect: Execution, Default: "false", Doc: "Save while training goes on."},
	},
}

var loggingBlock = Block{
	Name: "logging", Effect: Launch,
	Doc: "What the run says about itself.",
	Arguments: []Argument{
		{Name: "interval", Type: Count, Limits: atLeastOne, Default: "10", Doc: "Steps between lines."},
		{Name: "tensorboard_path", Type: String, Path: true, Doc: "Folder for TensorBoard; the backend's name is appended."},
		{Name: "timers", Type: Bool, Default: "false", Doc: "Report how long parts of a step take, such as its passes and its update ([slurm.md](slurm.md#what-a-run-says-of-itself))."},
		{Name: "memory", Type: Bool, Default: "false", Doc: "Report the memory that the allocator holds, with every line."},
		{Name: "norms", Type: Bool, Default: "false", Doc: "Report the norm of the parameters and how many gradients are zero, beside the norm of the gradients."},
		{Name: "stragglers", Type: Bool, Default: "false", Doc: "Report the slowest and the fastest rank with every line, by the time of their kernels."},
		{Name: "per_rank", Type: Bool, Default: "true", Doc: "Keep the lines of each rank in files of its own, and those of a few ranks in the log of the job; otherwise all lines are in that log."},
	},
	Blocks: []Block{
		{
			Name: "wandb",
			Doc: "Weights & Biases. Its key comes from the cluster's environment, never from this file. Sent online, all launches of a job that keeps checkpoints " +
				"are one run there, which the job's name and that folder name; WANDB_RUN_ID in an environment block names another.",
			Arguments: []Argument{
				{Name: "project", Type: String, Required: true, Doc: "The project."},
				{Name: "entity", Type: String, Doc: "The user or team."},
				{Name: "mode", Type: String, Default: `"online"`, Enum: []string{"online", "offline", "disabled"}, Doc: "Whether it sends."},
			},
		},
		{
			Name: "profile",
			Doc:  "Records a trace.",
			Arguments: []Argument{
				{Name: "start_step", Type: Count, Required: true, Doc: "First step of it."},
				{Name: "end_step", Type: Count, Required: true, Limits: atLeastOne, Doc: "Step after its last."},
				{Name: "ranks", Type: CountList, DefaultDoc: "`[0]`; TorchTitan: all", Doc: "Ranks that are traced."},
				{Name: "tool", Type: String, Default: `"torch"`, Enum: []string{"torch", "nsys"}, Doc: "torch's profiler, or Nsight Systems, which must be on the nodes ([slurm.md](slurm.md#traces))."},
			},
		},
	},
}
