// Package resume proves what becomes of a checkpoint when the layout of its run
// changes, with the real frameworks on CPU ranks (tag conformance): a small job
// trains three steps in one layout and saves, another layout goes on from there
// for ten steps. What was loaded is saved again at once and compared, tensor by
// tensor, with what there was: weights, states of the optimizer, position in the
// data and random state; the losses with those of the run that kept its layout.
// Results are recorded in results.jsonl. What follows from them for any two
// layouts is the table of package review.
package resume

// Layout is one way to lay out a model over ranks.
type Layout struct {
	Name      string
	Ranks     int
	Lines     string // of constraints.layout
	Model     string // a file of testdata; dense by default
	Precision string // fp32 by default
}

// Framework is one framework with its layouts, and which of them go on from
// checkpoints of which.
type Framework struct {
	Name     string
	Versions []string
	Backend  string // lines of its backend block
	Layouts  []Layout
	Pairs    [][2]string // from, to
	Cheap    [][2]string // asked in CI
}

// Frameworks are those that are asked.
var Frameworks = []Framework{megatron, torchtitan, deepspeed}

var megatron = Framework{
	Name: "megatron", Versions: []string{"core_v0.18.2", "core_v0.19.2"},
	Layouts: []Layout{
		{Name: "single", Ranks: 1},
		{Name: "micro2", Ranks: 1, Lines: "micro_batch_size = 2"},
		{Name: "recompute", Ranks: 1, Lines: `recompute = "full"`},
		{Name: "dp2", Ranks: 2, Lines: "zero_stage = 0"},
		{Name: "tp2", Ranks: 2, Lines: "tensor_parallel = 2\n sequence_parallel = false"},
		{Name: "sp2", Ranks: 2, Lines: "tensor_parallel = 2\n sequence_parallel = true"},
		{Name: "pp2", Ranks: 2, Lines: "pipeline_parallel = 2\n virtual_pipeline = 1"},
		{Name: "uneven", Ranks: 2, Lines: "pipeline_parallel = 2\n stage_layers = [3, 1]"},
		{Name: "vpp2", Ranks: 2, Lines: "pipeline_parallel = 2\n virtual_pipeline = 2"},
		{Name: "tp2pp2", Ranks: 4, Lines: "tensor_parallel = 2\n pipeline_parallel = 2\n virtual_pipeline = 1"},

		{Name: "z0dp2", Ranks: 2, Precision: "bf16", Lines: "zero_stage = 0"},
		{Name: "z1dp2", Ranks: 2, Precision: "bf16", Lines: "zero_stage = 1"},
		{Name: "z1dp4", Ranks: 4, Precision: "bf16", Lines: "zero_stage = 1"},
		{Name: "z1rep2", Ranks: 4, Precision: "bf16", Lines: "zero_stage = 1\n data_parallel_replicate = 2\n data_parallel_shard = 2"},
		{Name: "z1tp2", Ranks: 4, Precision: "bf16", Lines: "zero_stage = 1\n tensor_parallel = 2"},
		{Name: "z1pp2", Ranks: 4, Precision: "bf16", Lines: "zero_stage = 1\n pipeline_parallel = 2\n virtual_pipeline = 1"},
		{Name: "z1vpp2", Ranks: 4, Precision: "bf16", Lines: "zero_stage = 1\n pipeline_parallel = 2\n virtual_pipeline = 2"},
		{Name: "z1uneven", Ranks: 4, Precision: "bf16", Lines: "zero_stage = 1\n pipeline_parallel = 2\n stage_layers = [3, 1]"},
		{Name: "z1cp2", Ranks: 4, Precision: "bf16", Lines: "zero_stage = 1\n context_parallel = 2"},

		{Name: "moe", Ranks: 1, Model: "moe"},
		{Name: "ep2", Ranks: 2, Model: "moe", Lines: "expert_parallel = 2"},
		{Name: "etp2", Ranks: 2, Model: "moe", Lines: "tensor_parallel = 2\n expert_tensor_parallel = 2"},
		{Name: "ep2tp2", Ranks: 4, Model: "moe", Lines: "expert_parallel = 2\n tensor_parallel = 2\n expert_tensor_parallel = 1"},
		{Name: "z1moe2", Ranks: 2, Model: "moe", Precision: "bf16", Lines: "zero_stage = 1\n expert_parallel = 1"},
		{Name: "z1ep2", Ranks: 2, Model: "moe", Precision: "bf16", Lines: "zero_stage = 1\n expert_parallel = 2"},
	},
	Pairs: [][2]string{
		{"single", "single"}, {"single", "micro2"}, {"single", "recompute"}, {"single", "dp2"}, {"dp2", "single"}, {"single", "tp2"}, {"tp2", "single"},
		{"tp2", "sp2"}, {"single", "pp2"}, {"pp2", "single"}, {"pp2", "uneven"}, {"pp2", "vpp2"}, {"vpp2", "uneven"}, {"tp2", "pp2"}, {"single", "tp2pp2"}, {"tp2pp2", "dp2"},
		{"z1dp2", "z1dp2"}, {"z1dp2", "z1dp4"}, {"z1dp4", "z1dp2"}, {"z1dp2", "z0dp2"}, {"z0dp2", "z1dp2"}, {"z1dp4", "z1rep2"}, {"z1rep2", "z1dp2"},
		{"z1dp2", "z1tp2"}, {"z1tp2", "z1dp4"}, {"z1dp2", "z1pp2"}, {"z1pp2", "z1dp4"}, {"z1pp2", "z1vpp2"}, {"z1tp2", "z1pp2"}, {"z1dp4", "z1cp2"}, {"z1cp2", "z1dp2"},
		{"z1pp2", "z1uneven"}, {"moe", "etp2"}, {"etp2", "moe"}, {"moe", "ep2"}, {"ep2", "moe"}, {"ep2", "etp2"}, {"etp2", "ep2tp2"}, {"z1moe2", "z1ep2"}, {"z1ep2", "z1moe2"},
	},
	Cheap: [][2]string{{"single", "tp2"}},
}

var torchtitan = Framework{
	Name: "torchtitan", Versions: []string{"0.2.2", "0.3.0"}, Backend: "execution {\n compile = false\n }\n",
	Layouts: []Layout{
		{Name: "single", Ranks: 1, Precision: "bf16", Lines: "data_parallel_shard = 1"},
		{Name: "micro2", Ranks: 2, Precision: "bf16", Lines: "data_parallel_shard = 2\n micro_batch_size = 2"},
		{Name: "fsdp2", Ranks: 2, Precision: "bf16", Lines: "data_parallel_shard = 2\n zero_stage = 3\n micro_batch_size = 4"},
		{Name: "zero2", Ranks: 2, Precision: "bf16", Lines: "data_parallel_shard = 2\n zero_stage = 2\n micro_batch_size = 4"},
		{Name: "fsdp4", Ranks: 4, Precision: "bf16", Lines: "data_parallel_shard = 4"},
		{Name: "hsdp", Ranks: 4, Precision: "bf16", Lines: "data_parallel_shard = 2\n data_parallel_replicate = 2"},
		{Name: "tp2", Ranks: 4, Precision: "bf16", Lines: "data_parallel_shard = 2\n tensor_parallel = 2"},
		{Name: "pp2", Ranks: 4, Precision: "bf16", Lines: "data_parallel_shard = 2\n pipeline_parallel = 2\n pipeline_schedule = \"1f1b\"\n micro_batch_size = 1"},
		{Name: "uneven", Ranks: 4, Precision: "bf16", Lines: "data_parallel_shard = 2\n pipeline_parallel = 2\n pipeline_schedule = \"1f1b\"\n stage_layers = [3, 1]\n micro_batch_size = 1"},
		{Name: "vpp2", Ranks: 4, Precision: "bf16", Lines: "data_parallel_shard = 2\n pipeline_parallel = 2\n virtual_pipeline = 2\n pipeline_schedule = \"interleaved_1f1b\"\n micro_batch_size = 1"},
	},
	Pairs: [][2]string{
		{"fsdp2", "fsdp2"}, {"fsdp2", "micro2"}, {"fsdp2", "zero2"}, {"fsdp2", "single"}, {"single", "fsdp2"}, {"fsdp2", "fsdp4"}, {"fsdp4", "fsdp2"}, {"fsdp4", "hsdp"}, {"hsdp", "fsdp2"},
		{"fsdp2", "tp2"}, {"tp2", "fsdp4"}, {"fsdp2", "pp2"}, {"pp2", "fsdp4"}, {"pp2", "uneven"}, {"pp2", "vpp2"}, {"tp2", "pp2"},
	},
	Cheap: [][2]string{{"fsdp2", "single"}},
}

var deepspeed = Framework{
	Name: "deepspeed", Versions: []string{"0.19.8"}, Backend: `extra_args = ["optimizer.params.torch_adam=true"]`,
	Layouts: []Layout{
		{Name: "z1x1", Ranks: 1, Lines: "zero_stage = 1\n micro_batch_size = 2"},
		{Name: "z0x2", Ranks: 2, Lines: "zero_stage = 0\n micro_batch_size = 2"},
		{Name: "z1x2", Ranks: 2, Lines: "zero_stage = 1\n micro_batch_size = 2"},
		{Name: "z1x2micro1", Ranks: 2, Lines: "zero_stage = 1\n micro_batch_size = 1"},
		{Name: "z1x4", Ranks: 4, Lines: "zero_stage = 1\n micro_batch_size = 2"},
		{Name: "z2x2", Ranks: 2, Lines: "zero_stage = 2\n micro_batch_size = 2"},
		{Name: "z3x2", Ranks: 2, Lines: "zero_stage = 3\n micro_batch_size = 2"},
		{Name: "z3x4", Ranks: 4, Lines: "zero_stage = 3\n micro_batch_size = 2"},
		{Name: "tp2", Ranks: 2, Lines: "zero_stage = 1\n tensor_parallel = 2\n micro_batch_size = 2"},
		{Name: "cp2", Ranks: 2, Lines: "zero_stage = 1\n context_parallel = 2\n micro_batch_size = 2"},
	},
	Pairs: [][2]string{
		{"z1x2", "z1x2"}, {"z1x2", "z1x2micro1"}, {"z1x2", "z1x1"}, {"z1x2", "z1x4"}, {"z1x4", "z1x2"}, {"z0x2", "z1x2"}, {"z1x2", "z0x2"}, {"z1x2", "z2x2"}, {"z2x2", "z1x2"},
		{"z1x2", "z3x2"}, {"z3x2", "z1x2"}, {"z3x2", "z3x2"}, {"z3x2", "z3x4"}, {"z3x4", "z3x2"}, {"z1x2", "tp2"}, {"tp2", "z1x2"}, {"z1x2", "cp2"},
	},
	Cheap: [][2]string{{"z1x2", "z1x1"}},
}
