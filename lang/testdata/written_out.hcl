gpu "h100_pcie" {
  memory           = "79.6GiB" # as the driver reports it
  memory_bandwidth = "2.0TB/s"

  peak_flops { # dense
    bf16 = "756TFLOPS"
    fp16 = "756TFLOPS"
    fp8  = "1513TFLOPS"
    fp32 = "51TFLOPS"
  }
}

cluster "rack" {
  gpu           = gpu.h100_pcie
  nodes         = 16
  gpus_per_node = 8
  host_memory   = "1TiB"

  nvlink {
    domain    = 2         # GPUs that reach each other over NVLink; 72 on NVL72
    bandwidth = "300GB/s" # per GPU, one direction
    latency   = "2us"
  }
  pcie {
    bandwidth = "64GB/s" # per GPU, one direction
  }
  network {
    kind             = "infiniband" # infiniband, roce, efa, slingshot
    nics_per_node    = 4
    bandwidth        = "400Gb/s" # per NIC, one direction
    latency          = "5us"
    rails            = 4
    gpus_per_pod     = 128 # full bandwidth inside, oversubscribed above
    oversubscription = 2
    environment = {
      NCCL_IB_HCA = "mlx5_0,mlx5_1,mlx5_2,mlx5_3"
    }
  }
}

model "moe_20b" {
  architecture    = "mixtral"
  layers          = 24
  hidden_size     = 4096
  ffn_hidden_size = 14336
  attention_heads = 32
  kv_heads        = 8
  head_dim        = 128
  vocab_size      = 32000
  sequence_length = 4096
  activation      = "swiglu"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-5
  init_std        = 0.02
  tied_embeddings = false
  dropout         = 0

  position_embedding "rope" {
    theta = 1000000
  }
  moe {
    experts                = 8
    top_k                  = 2
    expert_ffn_hidden_size = 14336

    router {
      score           = "softmax"
      balance         = "aux_loss"
      aux_coefficient = 0.02
    }
  }
}

job "written-out" {
  model   = model.moe_20b
  cluster = cluster.rack

  training {
    global_batch_size = 256
    tokens            = 1e12

    optimizer "adamw" {
      learning_rate = 3e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}
