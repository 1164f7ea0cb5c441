# Words of the language in a block that does not have them.

model "m" {
  base = catalog.model.debug
}

job "j" {
  model   = model.m
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size           = 8
    steps                       = 10
    precision                   = "bf16"
    micro_batch_size            = 1 # ERROR: unknown-argument at micro_batch_size: The block training has no argument "micro_batch_size". Here it takes global_batch_size, tokens, steps, precision, seed, rerun_mode, and the blocks fp8, batch_ramp, optimizer, schedule, data, start, checkpoint, logging, timeout. An argument of that name belongs to job > constraints > layout.
    sequence_length             = 512 # ERROR: unknown-argument at sequence_length: The block training has no argument "sequence_length". Here it takes global_batch_size, tokens, steps, precision, seed, rerun_mode, and the blocks fp8, batch_ramp, optimizer, schedule, data, start, checkpoint, logging, timeout. An argument of that name belongs to model.
    gradient_accumulation_steps = 8 # ERROR: unknown-argument at gradient_accumulation_steps: The block training has no argument "gradient_accumulation_steps". Here it takes global_batch_size, tokens, steps, precision, seed, rerun_mode, and the blocks fp8, batch_ramp, optimizer, schedule, data, start, checkpoint, logging, timeout. Did you mean "micro_batches" of job > constraints > layout?
    path                        = "/checkpoints" # ERROR: unknown-argument at path: The block training has no argument "path". Here it takes global_batch_size, tokens, steps, precision, seed, rerun_mode, and the blocks fp8, batch_ramp, optimizer, schedule, data, start, checkpoint, logging, timeout. An argument of that name belongs to training > start or training > checkpoint.

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
    wandb { # ERROR: unknown-block at wandb: The block training has no block "wandb". It takes fp8, batch_ramp, optimizer, schedule, data, start, checkpoint, logging, timeout. A block of that name belongs to training > logging.
      project = "p"
    }
  }

  layout { # ERROR: unknown-block at layout: The block job has no block "layout". It takes training, constraints, execution, backend, slurm. A block of that name belongs to job > constraints.
    tensor_parallel = 1
  }

  backend "megatron" {
    version = "core_v0.18.2"
  }

  slurm {
    nodes = 4 # ERROR: unknown-argument at nodes: The block slurm has no argument "nodes". Did you mean "spare_nodes"? An argument of that name belongs to cluster or job.
    image = "a.sqsh" # ERROR: unknown-argument at image: The block slurm has no argument "image". It takes account, partition, qos, reservation, time, nodelist, exclude, constraint, gpus_directive, cpus_per_task, …. An argument of that name belongs to slurm > container.
  }
}
