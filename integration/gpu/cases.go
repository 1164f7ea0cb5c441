package gpu

import "github.com/ndc-dev/ndc/integration/environment"

// Kinds are the frameworks in the order in which they run.
var Kinds = []string{"torchtitan", "deepspeed", "megatron"}

// WithoutEngine are arguments that build Megatron-LM's layers of plain torch,
// where Transformer Engine and apex are not installed.
var WithoutEngine = []string{"--transformer-impl", "local", "--no-rope-fusion", "--no-masked-softmax-fusion", "--no-persist-layer-norm", "--no-gradient-accumulation-fusion"}

// PlainAttention are the lines of the backend block that plan for them.
const PlainAttention = "execution {\n      attention = \"unfused\"\n    }"

// everyLayer runs all layers again in the backward pass.
const everyLayer = "recompute = \"full\"\n      recompute_method = \"uniform\"\n      recompute_layers = 1"

// precisions are measured on the larger of the small jobs.
var precisions = map[string][]string{"torchtitan": {"bf16", "fp8 rowwise", "fp8 tensorwise"}, "megatron": {"bf16", "fp8 tensorwise"}}

// SmallCases train on one GPU in seconds: the example tiny's model, four layers of
// Llama 3 8B in two micro-batch sizes and with recompute, eight in bf16 and in fp8,
// and four of Qwen3 30B-A3B. DeepSpeed has neither fp8 nor experts by itself.
func SmallCases() []Case {
	layouts := []string{wholeMicroBatch, "micro_batch_size = 2\n      recompute = \"none\"", "micro_batch_size = 2\n      " + everyLayer}
	var list []Case
	for _, kind := range Kinds {
		list = append(list, Case{Name: "tiny", Base: "debug", Layers: 4, Sequence: 512, Batch: 32, GPUs: 1, Layout: "micro_batch_size = 8\n      recompute = \"none\"",
			Framework: kind, Version: environment.Newest(kind), Steps: 20})
		for _, layout := range layouts {
			list = append(list, Case{Name: "small", Base: "llama3_8b", Layers: 4, Sequence: 4096, Batch: 4, GPUs: 1, Layout: layout,
				Framework: kind, Version: environment.Newest(kind), Steps: 12})
		}
		if kind == "deepspeed" {
			continue
		}
		for _, precision := range precisions[kind] {
			c := Case{Name: "small", Base: "llama3_8b", Layers: 8, Sequence: 4096, Batch: 8, GPUs: 1, Layout: layouts[1], Precision: precision,
				Framework: kind, Version: environment.Newest(kind), Steps: 12}
			if kind == "torchtitan" && precision == "fp8 tensorwise" { // later releases have no such recipe
				c.Version, c.Only = "0.2.2", true
			}
			list = append(list, c)
		}
		list = append(list, Case{Name: "mixture", Base: "qwen3_30b_a3b", Layers: 4, Sequence: 4096, Batch: 4, GPUs: 1, Layout: layouts[1],
			Framework: kind, Version: environment.Newest(kind), Steps: 12})
	}
	return list
}

// RankCases are large layouts of which one rank is run under a fake process
// group. Pipelines and experts are left out: shapes and counts of tokens come
// from other ranks there.
func RankCases() []Case {
	model := func(kind, base, layout string, layers, gpus int) Case {
		return Case{Name: base, Base: base, Layers: layers, Sequence: 8192, Batch: 2 * gpus, GPUs: gpus, Framework: kind, Version: environment.Newest(kind), Steps: 4, Layout: layout}
	}
	return []Case{
		model("torchtitan", "llama3_8b", "data_parallel_shard = 8\n      micro_batch_size = 1\n      "+everyLayer, 32, 8),
		model("torchtitan", "llama3_8b", "data_parallel_shard = 8\n      tensor_parallel = 8\n      micro_batch_size = 1\n      recompute = \"none\"", 32, 64),
		model("torchtitan", "llama3_70b", "data_parallel_shard = 32\n      tensor_parallel = 8\n      micro_batch_size = 1\n      "+everyLayer, 80, 256),
		model("megatron", "llama3_8b", "tensor_parallel = 4\n      sequence_parallel = true\n      micro_batch_size = 1\n      recompute = \"none\"\n      zero_stage = 1", 32, 64),
		model("deepspeed", "llama3_8b", "zero_stage = 3\n      micro_batch_size = 1\n      "+everyLayer, 32, 64),
	}
}

// crowded is a case that is run with less and less memory, and the shares of what
// is left that its peak of reserved memory would take without a limit.
func crowded(kind string) (Case, []float64) {
	return Case{Name: "small", Base: "llama3_8b", Layers: 8, Sequence: 4096, Batch: 8, GPUs: 1, Layout: wholeMicroBatch,
		Framework: kind, Version: environment.Newest(kind), Steps: 12}, []float64{0.8, 0.88, 0.93, 0.97, 1, 1.03}
}

// boundary is a case whose layers grow until memory runs out.
func boundary(kind, version string, layers int) Case {
	return Case{Name: "small", Base: "llama3_8b", Layers: layers, Sequence: 4096, Batch: 1, GPUs: 1, Layout: wholeMicroBatch,
		Framework: kind, Version: version, Steps: 3}
}
