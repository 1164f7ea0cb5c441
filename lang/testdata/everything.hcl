# Every argument of the language, with a value that is not its default.
ndc {
  required_version = ">= 0.0"
}

variable "nodes" {
  type        = number
  default     = 6
  description = "nodes of the run"
  nullable    = false

  validation {
    condition     = var.nodes > 0
    error_message = "Nodes must be positive."
  }
}

gpu "g" {
  memory             = "80GiB"
  torch_memory       = "79GiB"
  memory_bandwidth   = "3TB/s"
  compute_capability = "10.0"
  sms                = 130
  power              = "650W"

  peak_flops {
    fp32 = "60TFLOPS"
    tf32 = "500TFLOPS"
    bf16 = "1000TFLOPS"
    fp16 = "1001TFLOPS"
    fp8  = "2000TFLOPS"
    fp4  = "4000TFLOPS"
  }
}

cluster "c" {
  gpu                   = gpu.g
  nodes                 = var.nodes
  gpus_per_node         = 8
  host_memory           = "2TiB"
  cpus_per_node         = 96
  host_memory_bandwidth = "600GB/s"

  price_per_gpu_hour = 2.5

  storage {
    bandwidth = "100GB/s"
    per_node  = "5GB/s"
  }
  reliability {
    gpu_hours_between_failures = 20000
    restart                    = "5m"
  }
  calibration = "measured.ndccal.json"

  nvlink {
    domain    = 8
    bandwidth = "450GB/s"
    latency   = "3us"
  }
  pcie {
    bandwidth = "64GB/s"
    latency   = "4us"
  }
  network {
    kind             = "roce"
    nics_per_node    = 8
    bandwidth        = "200Gb/s"
    latency          = "6us"
    rails            = 4
    gpus_per_pod     = 16
    oversubscription = 3
    topology         = "dragonfly"
    congestion       = "3%"
    environment = {
      NCCL_IB_HCA = "mlx5"
    }
  }
}

model "dense" {
  architecture       = "gpt"
  layers             = 16
  hidden_size        = 2048
  ffn_hidden_size    = 8000
  attention_heads    = 16
  kv_heads           = 8
  head_dim           = 64
  vocab_size         = 50000
  padded_vocab_size  = 50304
  sequence_length    = 2048
  max_positions      = 4096
  activation         = "swiglu"
  activation_alpha   = 1.702
  activation_clamp   = 7
  activation_offset  = 1
  normalization      = "rmsnorm"
  norm_epsilon       = 1e-6
  zero_centered_norm = true
  post_norms         = true
  init_std           = 0.01
  dropout            = 0.1
  tied_embeddings    = false
  embedding_scale    = 45
  attention_bias     = false
  published = {
    init_std = 0.01
  }
  qkv_bias                = true
  mlp_bias                = false
  qk_norm                 = true
  attention_scale         = 0.125
  attention_sinks         = true
  attention_logit_softcap = 50
  final_logit_softcap     = 30
  mtp_layers              = 1
  mtp_loss_scale          = 0.3

  position_embedding "rope" {
    theta   = 500000
    partial = 0.5

    scaling {
      type                  = "yarn"
      factor                = 8
      original_length       = 1024
      low_frequency_factor  = 2
      high_frequency_factor = 8
      beta_fast             = 16
      beta_slow             = 2
      mscale                = 0.7
      mscale_all_dim        = 0.8
      truncate              = false
    }
  }
  sliding_window {
    size    = 512
    pattern = 2
  }
}

model "sparse" {
  base            = catalog.model.debug
  without         = ["ffn_hidden_size"]
  ffn_hidden_size = 1000
  sources = {
    "*" = "made up"
  }

  mla {
    q_lora_rank      = 100
    kv_lora_rank     = 50
    qk_nope_head_dim = 32
    qk_rope_head_dim = 16
    v_head_dim       = 30
  }
  moe {
    experts                       = 8
    top_k                         = 2
    expert_ffn_hidden_size        = 200
    shared_experts                = 1
    shared_expert_ffn_hidden_size = 300
    shared_expert_gate            = true
    latent_size                   = 64
    first_dense_layers            = 1
    layer_frequency               = 2
    token_drop                    = true
    capacity_factor               = 1.5
    load_imbalance                = 1.2

    router {
      score              = "sigmoid"
      balance            = "bias"
      aux_coefficient    = 0.002
      z_loss_coefficient = 0.003
      bias_update_rate   = 0.002
      groups             = 4
      group_top_k        = 2
      scaling_factor     = 2.5
      normalize          = false
      pre_softmax        = true
      dtype              = "fp64"
      bias               = true
    }
  }
  built_by "megatron" {
    versions = ">= core_v0.17.0"
    reason   = "because"
  }
}

model "hybrid" {
  base                  = catalog.model.debug
  layers                = 5
  layer_pattern         = "MG*-M"
  attention_output_gate = true
  mtp_layers            = 1
  mtp_layer_pattern     = "*-"

  mamba {
    heads       = 16
    head_dim    = 32
    state_dim   = 64
    groups      = 4
    conv_kernel = 3
  }
  delta_net {
    key_heads      = 4
    value_heads    = 12
    key_head_dim   = 64
    value_head_dim = 32
    conv_kernel    = 3
  }
}

job "one" {
  model   = model.dense
  cluster = cluster.c
  nodes   = { min = 2, max = 4, step = 2 }

  training {
    global_batch_size = 64
    steps             = 1000
    precision         = "fp8"
    seed              = 42
    rerun_mode        = "disabled"

    fp8 {
      recipe            = "blockwise"
      parameter_gather  = true
      bf16_first_layers = 1
      bf16_last_layers  = 2
    }
    batch_ramp {
      start     = 32
      increment = 16
      sequences = 1000
    }
    optimizer "muon" {
      learning_rate     = 1e-4
      weight_decay      = 0.05
      beta1             = 0.8
      beta2             = 0.99
      epsilon           = 1e-7
      gradient_clipping = 0.5
      momentum          = 0.8
    }
    schedule "wsd" {
      warmup_steps          = 10
      decay_steps           = 20
      decay_shape           = "cosine"
      minimum_learning_rate = 1e-5
    }
    data {
      format             = "jsonl"
      split              = "99,1,0"
      reset_position_ids = true
      document_mask      = true
      workers            = 4
      cache_path         = "/cache"

      source "a" {
        path   = "/a"
        weight = 2
      }
      source "b" {
        path   = "/b"
        weight = 3
      }
      validation {
        path     = "/v"
        interval = 100
        steps    = 5
      }
      tokenizer "huggingface" {
        path               = "/t"
        end_of_document_id = 7
      }
    }
    start {
      from            = "checkpoint"
      path            = "/start"
      reset_optimizer = true
      reset_schedule  = true
      reset_data      = true
    }
    checkpoint {
      path           = "/ckpt"
      interval       = "30m"
      keep_last      = 3
      save_optimizer = false
      async          = true
    }
    logging {
      interval         = 5
      tensorboard_path = "/tb"
      timers           = true
      memory           = true
      norms            = true
      stragglers       = true
      per_rank         = false

      wandb {
        project = "p"
        entity  = "e"
        mode    = "offline"
      }
      profile {
        start_step = 10
        end_step   = 12
        ranks      = [0, 1]
        tool       = "nsys"
      }
    }
    timeout {
      collective = "20m"
      first_step = "1h"
    }
  }

  constraints {
    memory_headroom = "5%"
    max_oom_probability {
      start = 0.1
      run   = 0.01
    }
    objective                 = "memory"
    max_training_time         = "10d"
    max_gpu_hours             = 1e6
    max_cost                  = 3e6
    max_exposed_communication = "20%"
    min_mfu                   = 0.3
    nvlink_only               = ["expert_parallel"]
    prefer                    = ["tensor_parallel"]
    avoid                     = ["offload", "recompute"]

    layout {
      tensor_parallel         = [1, 2]
      sequence_parallel       = true
      context_parallel        = { min = 1, max = 2 }
      pipeline_parallel       = 2
      virtual_pipeline        = 1
      pipeline_schedule       = "1f1b"
      stage_layers            = [8, 8]
      expert_parallel         = 1
      expert_tensor_parallel  = 1
      data_parallel_replicate = 1
      data_parallel_shard     = [1, 2, 4, 8]
      zero_stage              = 1
      micro_batch_size        = 1
      micro_batches           = { max = 100 }
      recompute               = ["selective", "full"]
      recompute_modules       = ["core_attn"]
      recompute_method        = "block"
      recompute_layers        = 4
    }
  }

  execution {
    attention                = "fused"
    overlap_gradient_reduce  = true
    overlap_parameter_gather = true
    overlap_optimizer_gather = false
    shard_buffers            = "dynamic"
    sharp                    = "none"

    tensor_parallel_overlap_config = "/buffers.yaml"
    overlap_tensor_parallel  = true
    gradient_dtype           = "bf16"
    optimizer_state_dtype    = "bf16"
    cross_entropy            = "fused"
    loss_chunks              = 4
    cuda_graphs              = "layer"
    compile                  = true
    context_parallel_type    = "ring"
    reshard_after_forward    = true
    fully_sharded            = true
    zero_hpz_partition       = 8

    offload {
      optimizer   = true
      parameters  = true
      activations = true
    }
  }

  backend "megatron" {
    version    = "core_v0.18.2"
    path       = "/opt/megatron"
    extra_args = ["--log-params-norm"]
    environment = {
      A = "b"
    }
  }

  slurm {
    account        = "a"
    partition      = "p"
    qos            = "q"
    reservation    = "r"
    time           = "24:00:00"
    nodelist       = "n[1-2]"
    exclude        = "n5"
    constraint     = "h100"
    gpus_directive = "gpus_per_node"
    cpus_per_task  = 12
    memory         = "0"
    exclusive      = true
    requeue        = true
    chain          = "until_done"
    segment        = 2
    directives = {
      comment = "c"
    }
    environment = {
      C = "d"
    }
    env_file = "/home/me/.env"
    modules  = ["cuda"]
    setup    = ["ulimit -c 0"]
    log_path = "/logs"
    signal = "TERM@300"
    launcher = "srun"
    hang_timeout = "20m"
    spare_nodes = 1
    check_speed = false
    bind = "socket"

    node_check {
      command = "nvidia-smi"
      timeout = "1m"
    }
    container {
      image      = "i.sqsh"
      mounts     = ["/data:/data"]
      workdir    = "/w"
      runtime    = "apptainer"
      mount_home = true
    }
  }
}

job "two" {
  model   = model.sparse
  cluster = cluster.c

  training {
    global_batch_size = 64
    tokens            = 1e9

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "cosine" {
      warmup_tokens = 1e7
      decay_tokens  = 1e8
    }
    data {
      mock = true
    }
  }
  execution {
    overlap_expert_parallel = true
    moe_dispatcher          = "deepep"
  }
  backend "torchtitan" {
    version  = "0.3.0"
    required = false
  }
}

job "three" {
  model   = model.hybrid
  cluster = cluster.c

  training {
    global_batch_size = 64
    tokens            = 1e9

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
}

policy "p" {
  condition     = plan.feasible
  error_message = "It does not fit."
  severity      = "warning"
}
