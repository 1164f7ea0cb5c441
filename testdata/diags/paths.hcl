job "j" {
  model   = catalog.model.debug
  cluster = catalog.cluster.dgx_h100 # ERROR: missing-argument at catalog.cluster.dgx_h100: The block cluster needs the argument "nodes". Nodes of this run. The catalogue leaves it to you: write a block cluster "NAME" { … } with base = catalog.cluster.dgx_h100 and nodes = ….

  training {
    global_batch_size = 8
    steps             = 10

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "wsd" {
      decay_steps = 0 # ERROR: out-of-range at 0: "decay_steps" must be at least 1, not 0.
    }
    data {
      format     = "megatron"
      cache_path = "$HOME/cache" # ERROR: invalid-value at "$HOME/cache": "$HOME/cache" is quoted where it is used, and $HOME would be a folder of that name. Write "$${HOME}/cache".

      source "a" {
        path = "" # ERROR: missing-argument at "": "path" must not be empty. Where it lies on the cluster: of format `megatron` what both names have in common, without .bin and .idx; else a file, or a folder of `*.bin` or `*.jsonl` files, read in the order of their names.
      }
      source "b" {
        path = "~/data/text_document" # ERROR: invalid-value at "~/data/text_document": "~/data/text_document" is quoted where it is used, and ~ would be a folder of that name. Write "$${HOME}/data/text_document".
      }
      tokenizer "huggingface" {
        path = "$${DATA}/tokenizers/$${NAME" # ERROR: invalid-value at "$${DATA}/tokenizers/$${NAME": "${DATA}/tokenizers/${NAME" is quoted where it is used, and ${NAME would be a folder of that name. Write "$${DATA}/tokenizers/$${NAME}".
      }
    }
    checkpoint {
      path = "" # ERROR: missing-argument at "": "path" must not be empty. Folder on the cluster; the backend's name is appended.
    }
    logging {
      tensorboard_path = "/runs/~old/cost$5"

      wandb {
        project = "" # ERROR: missing-argument at "": "project" must not be empty. The project.
      }
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
    path    = "~alice/Megatron-LM" # ERROR: invalid-value at "~alice/Megatron-LM": "~alice/Megatron-LM" is quoted where it is used, and ~alice would be a folder of that name. Write the path in full.
  }
  slurm {
    log_path = "/logs/$${USER}"

    node_check {
      command = "" # ERROR: missing-argument at "": "command" must not be empty. What to run.
    }
    container {
      image  = "$SCRATCH/megatron.sqsh" # ERROR: invalid-value at "$SCRATCH/megatron.sqsh": "$SCRATCH/megatron.sqsh" is quoted where it is used, and $SCRATCH would be a folder of that name. Write "$${SCRATCH}/megatron.sqsh".
      mounts = ["/data:/data:ro", "/home/a:~/x"] # ERROR: invalid-value at "/home/a:~/x": "/home/a:~/x" is quoted where it is used, and ~ would be a folder of that name. Write "/home/a:$${HOME}/x".
    }
  }
}
