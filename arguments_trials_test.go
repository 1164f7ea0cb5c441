package ndc_test

// common is what all jobs of the trials have, on two nodes of four GPUs.
const common = `
gpu "g" {
  memory             = "80GiB"
  memory_bandwidth   = "3.35TB/s"
  compute_capability = "9.0"
  peak_flops {
    bf16 = "989TFLOPS"
  }
}
cluster "c" {
  gpu           = gpu.g
  nodes         = 2
  gpus_per_node = 4
  nvlink {
    domain    = 4
    bandwidth = "450GB/s"
  }
  network {
    kind          = "infiniband"
    nics_per_node = 4
    bandwidth     = "400Gb/s"
  }
}
model "m" {
  architecture    = "llama"
  layers          = 8
  hidden_size     = 1024
  ffn_hidden_size = 4096
  attention_heads = 16
  vocab_size      = 32000
  sequence_length = 4096
}
job "j" {
  model   = model.m
  cluster = cluster.c
  training {
    global_batch_size = 64
    steps             = 1000
    optimizer "adamw" {
      learning_rate = 1e-3
    }
    schedule "cosine" {
      warmup_steps = 10
    }
    data {
      mock = true
    }
    checkpoint {
      path     = "/checkpoints"
      interval = 100
    }
  }
  slurm {
    time = "24:00:00"
  }
}
`

// base is a backend with a model.
type base struct{ name, settings string }

var bases = []base{
	{"megatron", `job.backend:megatron.version = "core_v0.19.2"; job.backend:megatron.path = "/opt/megatron-lm"`},
	{"torchtitan", `job.backend:torchtitan.version = "0.3.0"`},
	{"deepspeed", `job.backend:deepspeed.version = "0.19.8"`},
}

// What stands around arguments in more than one trial.
const (
	experts    = `model.architecture = "mixtral"; model.moe.experts = 8; model.moe.top_k = 2; model.moe.expert_ffn_hidden_size = 1024`
	latent     = `model.mla.q_lora_rank = 256; model.mla.kv_lora_rank = 256; model.mla.qk_nope_head_dim = 64; model.mla.qk_rope_head_dim = 32; model.mla.v_head_dim = 64`
	mamba      = `model.layers = 8; model.layer_pattern = "M-M-M*M-"; model.mamba.heads = 32`
	delta      = `model.layers = 8; model.layer_pattern = "G-G-G*G-"; model.delta_net.key_heads = 8; model.delta_net.value_heads = 16`
	yarn       = `model.position_embedding:rope.scaling.type = "yarn"; model.position_embedding:rope.scaling.factor = 8; model.position_embedding:rope.scaling.original_length = 1024`
	llama3     = `model.position_embedding:rope.scaling.type = "llama3"; model.position_embedding:rope.scaling.factor = 8; model.position_embedding:rope.scaling.original_length = 1024`
	gemma      = `model; model.base = catalog.model.gemma2_27b; model.layers = 4; model.vocab_size = 32000`
	corpus     = `job.training.data.mock = false; job.training.data.format = "megatron"; job.training.data.source:a.path = "/data/a"; job.training.data.source:b.path = "/data/b"; job.training.data.tokenizer:huggingface.path = "/data/tokenizer"`
	validation = corpus + `; job.training.data.validation.path = "/data/held_out"; job.training.data.validation.interval = 100; job.training.data.validation.steps = 10`
	start      = `job.training.start.from = "checkpoint"; job.training.start.path = "/start"`
	fp8        = `job.training.precision = "fp8"; gpu.peak_flops.fp8 = "1979TFLOPS"`
	ramp       = `job.training.batch_ramp.start = 16; job.training.batch_ramp.increment = 16; job.training.batch_ramp.sequences = 1000`
	wandb      = `job.training.logging.wandb.project = "p"`
	image      = `job.slurm.container.image = "image.sqsh"; job.slurm.container.mounts = ["/checkpoints:/checkpoints"]`
	reliable   = `cluster.reliability.gpu_hours_between_failures = 2000`
	full       = `job.constraints.layout.recompute = "full"`
)

// host is offloading, and the link that it takes.
const host = `cluster.pcie.bandwidth = "60GB/s"; job.execution.offload.optimizer = true`

// elsewhere are the arguments whose effect no single build shows, and the test that
// does.
var elsewhere = map[string]string{
	"variable.nullable":            "what becomes of null from outside: lang, TestVariableFiles",
	"job.backend.required":         "what becomes of the other backends: testdata/script/required.txtar",
	"policy.condition":             "what it stops: testdata/script/policies.txtar",
	"policy.error_message":         "what it stops: testdata/script/policies.txtar",
	"policy.severity":              "what it stops: testdata/script/policies.txtar",
	"site.policy.condition":        "which jobs it is for: lang, TestSitePolicies",
	"site.policy.error_message":    "which jobs it is for: lang, TestSitePolicies",
	"site.policy.severity":         "which jobs it is for: lang, TestSitePolicies",
	"job.base":                     "what becomes of it: lang, TestBaseOfJobs",
	"job.without":                  "what becomes of it: lang, TestBaseOfJobs",
	"job.for_each":                 "which jobs there are: lang, TestInstances",
	"job.count":                    "which jobs there are: lang, TestInstances",
	"module.source":                "what is in the folder: lang, TestModules",
	"module.version":               "what is fetched: lang, TestModules",
	"module.for_each":              "which modules there are: lang, TestModules",
	"module.count":                 "which modules there are: lang, TestModules",
	"output.value":                 "what others read: lang, TestModules",
	"output.description":           "for readers",
	"model.built_by.versions":      "printed by ndc catalog: TestBuiltBy says whether it is true",
	"model.built_by.reason":        "printed by ndc catalog: TestBuiltBy says whether it is true",
	"cluster.calibration":          "what it says: testdata/script/calibrate.txtar",
	"site.calibration":             "what it says: testdata/script/calibrate.txtar",
	"site.templates.sbatch_header": "what it makes: testdata/script/templates.txtar",
	"site.templates.before_launch": "what it makes: testdata/script/templates.txtar",
	"site.templates.after_launch":  "what it makes: testdata/script/templates.txtar",
}

// answers are the pairs of arguments that decide what is accepted or warned of.
var answers = []trial{
	{argument: "ndc.required_version", to: `">= 2.0"`},
	{argument: "variable:v.validation.condition", around: `variable:v.default = 1; variable:v.validation.error_message = "No."`, from: "var.v > 0", to: "var.v > 1"},
	{argument: "variable:v.validation.error_message", around: `variable:v.default = 1; variable:v.validation.condition = var.v > 1`, from: `"No."`, to: `"Not at all."`},
	{argument: "model.published", around: "model.init_std = 0.02", to: "{ init_std = 0.02 }"},
	// Of Gemma, which transformers builds so and not otherwise; no other backend has it.
	{argument: "model.post_norms", base: "deepspeed", around: gemma, from: "true", to: "false"},
	{argument: "model.embedding_scale", base: "deepspeed", around: gemma, to: "2"},
	// Megatron-LM has one switch for it and mlp_bias; TorchTitan has no choice.
	{argument: "model.moe.router.bias", base: "megatron", around: experts + "; model.attention_bias = true; model.mlp_bias = true", from: "true", to: "false"},
	// Megatron-LM has no other than four.
	{argument: "model.mamba.conv_kernel", base: "megatron", around: mamba, to: "3"},
	// Without it, normalize = false says nothing.
	{argument: "model.moe.router.pre_softmax", base: "megatron", around: experts + "; model.moe.router.normalize = false", from: "true", to: "false"},
}

// trials are pairs that do not follow from the type.
var trials = []trial{
	{"job.site", "", `site:s.environment = { A = "1" }; site:t.environment = { B = "1" }`, "site.s", "site.t", false},
	{"site:s.cluster", "", "cluster:small.base = cluster.c; cluster:small.nodes = 1; job.cluster = null", "cluster.c", "cluster.small", false},
	{"site:s.values", "", "job.training.seed = here.seed", "{ seed = 1 }", "{ seed = 2 }", false},
	{"variable:v.description", "", `variable:v.default = "7"; job.training.seed = var.v`, "", `"a seed"`, false},
	{"variable:v.type", "", `variable:v.default = "010"; job.slurm.environment = { V = var.v }`, "", "number", false},
	{"variable:v.default", "", `variable:v.default = 1; job.training.seed = var.v`, "1", "2", false},

	{"gpu.base", "", "gpu", "catalog.gpu.h100_sxm", "catalog.gpu.b200", false},
	{"gpu.sms", "", `gpu.compute_capability = "8.0"`, "100", "108", false},
	{"gpu.without", "", `gpu; gpu.base = catalog.gpu.h100_sxm`, "", `["compute_capability"]`, false},
	{"gpu.compute_capability", "", "", "", `"10.0"`, false},
	{"gpu.peak_flops.fp32", "", `job.training.precision = "fp32"`, `"30TFLOPS"`, `"60TFLOPS"`, false},
	{"gpu.peak_flops.tf32", "torchtitan", `job.training.precision = "fp32"; gpu.peak_flops.fp32 = "60TFLOPS"`, "", `"400TFLOPS"`, false},
	{"gpu.peak_flops.fp16", "", `job.training.precision = "fp16"`, `"500TFLOPS"`, `"900TFLOPS"`, false},
	{"gpu.peak_flops.fp8", "", fp8, `"1000TFLOPS"`, `"2000TFLOPS"`, false},
	{"gpu.peak_flops.fp4", "", `job.training.precision = "nvfp4"; gpu.compute_capability = "10.0"; gpu.peak_flops.fp8 = "4000TFLOPS"`, `"5000TFLOPS"`, `"9000TFLOPS"`, false},

	{"cluster.base", "", "cluster; cluster.nodes = 1", "catalog.cluster.dgx_h100", "catalog.cluster.dgx_a100", false},
	{"cluster.without", "", `cluster; cluster.base = catalog.cluster.dgx_h100; cluster.nodes = 1`, "", `["nvlink"]`, false},
	{"cluster.gpu", "", "", "", "catalog.gpu.b200", false},
	{"cluster.host_memory", "", host, "", `"1GiB"`, false},
	{"cluster.host_memory_bandwidth", "", host, "", `"6GB/s"`, false},
	{"cluster.cpus_per_node", "", `job.slurm.exclusive = false`, "", "64", false},
	{"cluster.pcie.bandwidth", "", host, "", `"6GB/s"`, false},
	{"cluster.pcie.latency", "", `cluster.nvlink = null; cluster.pcie.bandwidth = "60GB/s"`, "", `"5ms"`, false},
	{"cluster.network.gpus_per_pod", "", `cluster.nodes = 4; cluster.network.oversubscription = 4`, "4", "8", false},
	{"cluster.network.oversubscription", "", `cluster.network.gpus_per_pod = 4`, "", "4", false},
	{"cluster.network.topology", "", `cluster.nodes = 4; cluster.network.gpus_per_pod = 4; cluster.network.oversubscription = 4`, "", `"dragonfly"`, false},
	{"cluster.network.rails", "megatron", experts + `; model.moe.experts = 16; cluster.nodes = 4; cluster.nvlink = null; cluster.network.gpus_per_pod = 8; cluster.network.oversubscription = 4; job.constraints.layout.expert_parallel = 16`, "", "1", false},
	{"cluster.network.congestion", "", `cluster.nodes = 4`, "", `"20%"`, false},
	{"cluster.network.environment", "", "", "", `{ NCCL_IB_HCA = "mlx5" }`, false},

	{"model.base", "", "model; model.layers = 4", "catalog.model.llama3_8b", "catalog.model.llama2_7b", false},
	{"model.without", "", `model; model.base = catalog.model.llama3_1_8b`, "", `["position_embedding"]`, false},
	{"model.head_dim", "", "", "", "128", false},
	{"model.hidden_size", "", "", "", "2048", false},
	{"model.padded_vocab_size", "", "", "", "32768", false},
	{"model.max_positions", "", "", "", "8192", false},
	{"model.activation_alpha", "megatron", "", "", "1.702", false},
	{"model.attention_scale", "deepspeed", gemma, "", "0.1", false},
	{"model.attention_logit_softcap", "deepspeed", gemma, "", "40", false},
	{"model.final_logit_softcap", "deepspeed", gemma, "", "40", false},
	{"model.mtp_layers", "megatron", "", "", "1", false},
	{"model.mtp_loss_scale", "megatron", `model.mtp_layers = 1`, "", "0.5", false},
	{"model.position_embedding.theta", "", `model.position_embedding:rope`, "", "5000", false},
	{"model.position_embedding.partial", "", `model.position_embedding:rope`, "", "0.5", false},
	{"model.position_embedding.scaling.type", "", llama3, "", `"yarn"`, false},
	{"model.position_embedding.scaling.factor", "", llama3, "", "16", false},
	{"model.position_embedding.scaling.original_length", "", yarn, "", "2048", false},
	{"model.position_embedding.scaling.low_frequency_factor", "", llama3, "", "2", false},
	{"model.position_embedding.scaling.high_frequency_factor", "", llama3, "", "8", false},
	{"model.position_embedding.scaling.beta_fast", "", yarn, "", "16", false},
	{"model.position_embedding.scaling.beta_slow", "", yarn, "", "2", false},
	{"model.position_embedding.scaling.mscale", "", yarn + "; " + latent + `; model.position_embedding.scaling.original_length = 4096`, "", "0.7", false},
	{"model.position_embedding.scaling.mscale_all_dim", "", yarn + "; " + latent + `; model.position_embedding.scaling.original_length = 4096`, "", "0.8", false},
	{"model.position_embedding:rope.scaling.truncate", "", `model; model.base = catalog.model.gpt_oss_20b; model.layers = 4`, "", "true", false},
	{"model.layer_pattern", "megatron", mamba, "", `"M-M-M-M*"`, false},
	{"model.mtp_layer_pattern", "megatron", mamba + `; model.mtp_layers = 1`, `"*-"`, `"M-"`, false},
	{"model.attention_output_gate", "megatron", "", "", "true", false},
	{"model.mamba.heads", "megatron", mamba, "", "16", false},
	{"model.mamba.head_dim", "megatron", mamba, "", "128", false},
	{"model.mamba.state_dim", "megatron", mamba, "", "64", false},
	{"model.mamba.groups", "megatron", mamba, "", "4", false},
	{"model.delta_net.key_heads", "megatron", delta, "", "16", false},
	{"model.delta_net.value_heads", "megatron", delta, "", "32", false},
	{"model.delta_net.key_head_dim", "megatron", delta, "", "64", false},
	{"model.delta_net.value_head_dim", "megatron", delta, "", "64", false},
	{"model.delta_net.conv_kernel", "megatron", delta, "", "3", false},
	{"model.sliding_window.pattern", "", `model.sliding_window.size = 512`, "", "2", false},
	{"model.mla.q_lora_rank", "megatron", latent, "", "128", false},
	{"model.mla.kv_lora_rank", "", latent, "", "128", false},
	{"model.mla.qk_nope_head_dim", "", latent, "", "128", false},
	{"model.mla.qk_rope_head_dim", "", latent, "", "64", false},
	{"model.mla.v_head_dim", "", latent, "", "128", false},
	{"model.moe.experts", "", experts, "", "16", false},
	{"model.moe.top_k", "", experts, "", "1", false},
	{"model.moe.expert_ffn_hidden_size", "", experts, "", "2048", false},
	{"model.moe.shared_experts", "megatron", experts, "", "1", false},
	{"model.moe.shared_expert_ffn_hidden_size", "megatron", experts + `; model.moe.shared_experts = 1`, "", "2048", false},
	{"model.moe.shared_expert_gate", "megatron", experts + `; model.moe.shared_experts = 1`, "", "true", false},
	{"model.moe.latent_size", "megatron", experts, "", "256", false},
	{"model.moe.first_dense_layers", "", experts, "", "1", false},
	{"model.moe.layer_frequency", "", experts, "", "2", false},
	{"model.moe.token_drop", "", experts, "", "true", false},
	{"model.moe.capacity_factor", "", experts + `; model.moe.token_drop = true`, "", "2", false},
	{"model.moe.load_imbalance", "", experts, "", "2", false},
	{"model.moe.router.score", "", experts + `; model.moe.router.balance = "none"`, "", `"sigmoid"`, false},
	{"model.moe.router.balance", "", experts, "", `"none"`, false},
	{"model.moe.router.aux_coefficient", "", experts, "", "0.5", false},
	{"model.moe.router.z_loss_coefficient", "", experts, "", "0.5", false},
	{"model.moe.router.bias_update_rate", "", experts + `; model.moe.router.score = "sigmoid"; model.moe.router.balance = "bias"`, "", "0.5", false},
	{"model.moe.router.groups", "", experts + `; model.moe.router.groups = 2; model.moe.router.group_top_k = 1`, "", "4", false},
	{"model.moe.router.group_top_k", "", experts + `; model.moe.router.groups = 4; model.moe.router.group_top_k = 1`, "", "2", false},
	{"model.moe.router.scaling_factor", "", experts + `; model.moe.router.score = "sigmoid"; model.moe.router.balance = "bias"`, "", "2", false},
	{"model.moe.router.normalize", "", experts + `; model.moe.router.pre_softmax = true`, "", "false", false},
	{"model.moe.router.dtype", "", experts, "", `"fp64"`, false},

	{"job.model", "", "", "", "catalog.model.llama2_7b", false},
	{"job.cluster", "", "", "", "catalog.cluster.single_gpu", false},
	{"job.training.precision", "", `gpu.peak_flops.fp16 = "989TFLOPS"`, "", `"fp16"`, false},
	{"job.training.tokens", "", `job.training.steps = null`, "1e9", "2e9", false},
	{"job.training.fp8.recipe", "", fp8, `"tensorwise"`, `"blockwise"`, false},
	{"job.training.fp8.recipe", "", fp8, `"tensorwise"`, `"delayed"`, false},
	{"job.training.fp8.parameter_gather", "", fp8, "", "true", false},
	{"job.training.fp8.bf16_first_layers", "", fp8, "", "1", false},
	{"job.training.fp8.bf16_last_layers", "", fp8, "", "1", false},
	{"job.training.batch_ramp.start", "", ramp, "", "32", false},
	{"job.training.batch_ramp.increment", "", ramp, "", "8", false},
	{"job.training.batch_ramp.sequences", "", ramp, "", "2000", false},
	{"job.training.optimizer.momentum", "", `job.training.optimizer:sgd; job.training.optimizer.learning_rate = 1e-3`, "", "0.5", false},
	{"job.training.schedule.warmup_tokens", "", `job.training.schedule:cosine.warmup_steps = null`, "1e7", "2e7", false},
	{"job.training.schedule.decay_tokens", "", "", "1e7", "2e7", false},
	{"job.training.schedule.decay_shape", "", `job.training.schedule:wsd`, "", `"cosine"`, false},
	{"job.training.schedule.minimum_learning_rate", "", "", "", "1e-4", false},
	{"job.training.data.format", "deepspeed", corpus, `"tokens"`, `"jsonl"`, false},
	{"job.training.data.mock", "", corpus, "", "true", false},
	{"job.training.data.split", "megatron", corpus, "", `"90,5,5"`, false},
	{"job.training.data.cache_path", "megatron", corpus, "", `"/cache"`, false},
	{"job.training.data.source:a.path", "megatron", corpus, "", `"/data/other"`, false},
	{"job.training.data.source:a.weight", "megatron", corpus, "", "3", false},
	{"job.training.data.validation.path", "megatron", validation, "", `"/data/other"`, false},
	{"job.training.data.validation.interval", "megatron", validation, "", "200", false},
	{"job.training.data.validation.steps", "megatron", validation, "", "20", false},
	{"job.training.data.tokenizer:huggingface.path", "megatron", corpus, "", `"/data/other"`, false},
	{"job.training.data.tokenizer:huggingface.end_of_document_id", "", corpus, "", "7", false},
	{"job.training.data.tokenizer:huggingface.end_of_document_id", "deepspeed", corpus + `; job.training.data.format = "jsonl"`, "", "7", false},
	{"job.training.start.from", "", start, "", `"huggingface"`, false},
	{"job.training.start.path", "", start, "", `"/other"`, false},
	{"job.training.start.reset_optimizer", "", start, "", "true", false},
	{"job.training.start.reset_schedule", "", start, "", "true", false},
	{"job.training.start.reset_data", "", start, "", "true", false},
	{"job.training.logging.wandb.project", "", wandb, "", `"other"`, false},
	{"job.training.logging.wandb.entity", "", wandb, "", `"other"`, false},
	{"job.training.logging.wandb.mode", "", wandb, "", `"offline"`, false},
	{"job.training.logging.profile.start_step", "", `job.training.logging.profile.end_step = 20`, "10", "12", false},
	{"job.training.logging.profile.end_step", "", `job.training.logging.profile.start_step = 10`, "20", "21", false},
	{"job.execution.tensor_parallel_overlap_config", "megatron", `job.execution.overlap_tensor_parallel = true; job.constraints.layout.tensor_parallel = 2`, "", `"/buffers.yaml"`, false},
	{"job.training.logging.profile.ranks", "megatron", `job.training.logging.profile.start_step = 10; job.training.logging.profile.end_step = 20`, "", "[1]", false},
	{"job.training.logging.profile.tool", "megatron", `job.training.logging.profile.start_step = 10; job.training.logging.profile.end_step = 20`, "", `"nsys"`, false},

	{"job.constraints.max_training_time", "", "", "", `"1s"`, false},
	{"job.constraints.max_oom_probability.start", "", "", "", "0.0001", false},
	{"job.constraints.max_oom_probability.run", "", "", "", "0.01", false},
	{"cluster.storage.bandwidth", "", reliable, `"10GB/s"`, `"1GB/s"`, false},
	{"cluster.storage.per_node", "", reliable + `; cluster.storage.bandwidth = "10GB/s"`, "", `"1GB/s"`, false},
	{"cluster.reliability.gpu_hours_between_failures", "", reliable, "", "1000", false},
	{"cluster.reliability.restart", "", reliable, "", `"20m"`, false},
	{"job.constraints.max_gpu_hours", "", "", "", "0.001", false},
	{"job.constraints.max_cost", "", "cluster.price_per_gpu_hour = 2", "", "0.002", false},
	{"job.constraints.layout.stage_layers", "megatron", `job.constraints.layout.pipeline_parallel = 2; job.constraints.layout.virtual_pipeline = 1`, "", "[3, 5]", false},
	{"job.constraints.layout.expert_parallel", "", experts, "1", "2", false},
	{"job.constraints.layout.expert_tensor_parallel", "megatron", experts + `; job.constraints.layout.tensor_parallel = 2`, "1", "2", false},
	{"job.constraints.layout.recompute_modules", "megatron", `job.constraints.layout.recompute = "selective"`, `["mlp"]`, `["core_attn"]`, false},
	{"job.constraints.layout.recompute_method", "megatron", full, `"uniform"`, `"block"`, false},
	{"job.constraints.layout.recompute_layers", "megatron", full, "1", "2", false},

	{"job.execution.offload.optimizer", "", `cluster.pcie.bandwidth = "60GB/s"`, "", "true", false},
	{"job.execution.offload.parameters", "deepspeed", host + `; job.constraints.layout.zero_stage = 3`, "", "true", false},
	{"job.execution.offload.activations", "", `cluster.pcie.bandwidth = "60GB/s"`, "", "true", false},
	{"job.execution.overlap_expert_parallel", "megatron", experts + `; job.constraints.layout.expert_parallel = 2`, "", "true", false},
	{"job.execution.shard_buffers", "megatron", "job.constraints.layout.zero_stage = 3", "", `"double"`, false},
	{"job.execution.overlap_optimizer_gather", "megatron", `job.constraints.layout.pipeline_parallel = 2; job.constraints.layout.virtual_pipeline = 2`, "", "true", false},
	{"job.execution.moe_dispatcher", "megatron", experts, "", `"allgather"`, false},

	{"job.backend.version", "megatron", "", "", `"core_v0.18.2"`, false},
	{"job.backend.extra_args", "megatron", "", "", `["--log-params-norm"]`, false},

	{"job.slurm.memory", "", "", "", `"1500G"`, false},
	{"job.slurm.hang_timeout", "", "", "", `"auto"`, false},
	{"job.slurm.spare_nodes", "", "", "0", "1", false},
	{"job.slurm.check_speed", "", "job.slurm.spare_nodes = 1", "true", "false", false},
	{"job.slurm.signal", "", "", "", `"auto"`, false},
	{"job.slurm.node_check.command", "", "", `"true"`, `"nvidia-smi"`, false},
	{"job.slurm.node_check.timeout", "", `job.slurm.node_check.command = "true"`, "", `"1m"`, false},
	{"job.slurm.container.image", "", image, "", `"other.sqsh"`, false},
	{"job.slurm.container.mounts", "", image, "", `["/checkpoints:/checkpoints", "/opt:/opt"]`, false},
	{"job.slurm.container.workdir", "", image, "", `"/somewhere"`, false},
	{"job.slurm.container.runtime", "", image, "", `"apptainer"`, false},
	{"job.slurm.container.mount_home", "", image, "", "true", false},
}
