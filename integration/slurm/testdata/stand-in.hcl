variable "folder" {
  type        = string
  description = "scratch folder of the test"
}

variable "requeue" {
  type    = bool
  default = false
}

variable "steps" {
  type    = number
  default = 30
}

variable "chain" {
  type    = string
  default = "until_done"
}

variable "cpus" {
  type        = number
  description = "of a task; 0: not asked for"
  default     = 4
}

variable "env_file" {
  type    = string
  default = ""
}

variable "partition" {
  type    = string
  default = "nodes"
}

variable "launcher" {
  type    = string
  default = "torchrun"
}

variable "hang_timeout" {
  type    = string
  default = null
}

variable "spare_nodes" {
  type    = number
  default = 0
}

variable "nodes" {
  type    = number
  default = 2
}

variable "segment" {
  type        = number
  description = "0: none"
  default     = 0
}

variable "node_check" {
  type    = string
  default = "true"
}

variable "check_speed" {
  type    = bool
  default = false
}

cluster "rack" {
  base          = catalog.cluster.dgx_h100
  nodes         = var.nodes
  gpus_per_node = 2

  nvlink {
    domain = 2
  }
}

job "stand-in" {
  model   = catalog.model.debug
  cluster = cluster.rack

  training {
    global_batch_size = 8
    steps             = var.steps
    precision         = "bf16"
    seed              = 1

    optimizer "adamw" {
      learning_rate = 1e-3
    }
    schedule "constant" {
      warmup_steps = 0
    }
    data {
      mock = true

      tokenizer "none" {
      }
    }
    checkpoint {
      path     = "${var.folder}/checkpoints"
      interval = 10
    }
  }

  backend "megatron" {
    version = "core_v0.18.2"
    path    = "${var.folder}/megatron"
  }

  slurm {
    partition     = var.partition
    launcher      = var.launcher
    hang_timeout  = var.hang_timeout
    spare_nodes   = var.spare_nodes
    check_speed   = var.check_speed
    segment       = var.segment == 0 ? null : var.segment
    time          = "00:30:00"
    cpus_per_task = var.cpus == 0 ? null : var.cpus
    env_file      = var.env_file
    memory        = ""
    requeue       = var.requeue
    chain         = var.chain

    environment = {
      STANDIN            = var.folder
      STANDIN_CHECKPOINT = "${var.folder}/checkpoints/megatron"
      PATH               = var.spare_nodes > 0 ? "${var.folder}/bin:$${PATH}" : "$${PATH}" # the nodes are looked at before "setup"
    }
    setup = ["export PATH='${var.folder}/bin':\"$PATH\""]

    node_check {
      command = var.node_check
      timeout = "10s"
    }
  }
}
