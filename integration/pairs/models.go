package pairs

import "fmt"

// models are the kinds of models that options treat differently: dense, with
// experts, with latent attention and experts, and with biases and dropout.
const models = `
model "dense" {
  architecture = "llama"
  layers = 8
  hidden_size = 1024
  ffn_hidden_size = 4096
  attention_heads = 16
  kv_heads = 16
  head_dim = 64
  vocab_size = 32000
  sequence_length = 4096
  norm_epsilon = 1e-5
  init_std = 0.02
  position_embedding "rope" {
    theta = 10000
  }
}
model "experts" {
  base = model.dense
  architecture = "mixtral"
  moe {
    experts = 8
    top_k = 2
    expert_ffn_hidden_size = 1024
    router {
      balance = "none"
      normalize = true
    }
  }
}
model "latent" {
  architecture = "deepseek_v3"
  layers = 8
  hidden_size = 1024
  ffn_hidden_size = 4096
  attention_heads = 16
  vocab_size = 32000
  sequence_length = 4096
  norm_epsilon = 1e-6
  init_std = 0.02
  mla {
    q_lora_rank = 512
    kv_lora_rank = 256
    qk_nope_head_dim = 64
    qk_rope_head_dim = 64
    v_head_dim = 64
  }
  moe {
    experts = 8
    top_k = 2
    expert_ffn_hidden_size = 1024
    shared_experts = 1
    first_dense_layers = 1
    router {
      score = "sigmoid"
      normalize = true
      balance = "bias"
    }
  }
  position_embedding "rope" {
    theta = 10000
    scaling {
      type = "yarn"
      factor = 40
      original_length = 4096
      mscale_all_dim = 1 # as DeepSeek-V3 has it
    }
  }
}
model "biases" {
  architecture = "gpt"
  layers = 8
  hidden_size = 1024
  ffn_hidden_size = 4096
  attention_heads = 16
  head_dim = 64
  vocab_size = 32000
  sequence_length = 4096
  norm_epsilon = 1e-5
  init_std = 0.02
  dropout = 0.1
}
`

// kinds are the models that a framework has.
var kinds = map[string][]string{
	"megatron":   {"dense", "experts", "latent", "biases"},
	"torchtitan": {"dense", "experts", "latent"},
	"deepspeed":  {"dense", "experts", "biases"},
}

const jobs = `
cluster "c" {
  base = catalog.cluster.dgx_h100
  nodes = 4
}
job "pair" {
  model = model.%s
  cluster = cluster.c
  training {
    global_batch_size = 256
    steps = 100
    precision = "bf16"
    optimizer "adamw" {
      learning_rate = 1e-3
      weight_decay = 0
    }
    schedule "cosine" {
      warmup_steps = 1
    }
    data {
      mock = true
      tokenizer "none" {}
    }
  }
  backend %q {
    version = %q
%s  }
  slurm {
    time = "01:00:00"
  }
}
`

// source is the job that pairs change.
func source(framework, version, kind string) string {
	more := ""
	if framework == "megatron" {
		more = "    path = \"/opt/megatron-lm\"\n"
	}
	return models + fmt.Sprintf(jobs, kind, framework, version, more)
}
