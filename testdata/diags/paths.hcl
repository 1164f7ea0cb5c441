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
      source "c\u001b[31m\n" { # ERROR: invalid-label at "c\u001b[31m\n": "c\x1b[31m\n" cannot be the label of source, which is told on one line: it has a control character.
        path   = "/d"
        weight = 1
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
    environment = {
      PATH         = "/x:$PATH"            # ERROR: invalid-value at "/x:$PATH": "/x:$PATH" is quoted where it is exported, and programs would read $PATH as it stands here. Write "/x:$${PATH}".
      NCCL_X       = "$${NCCL_X:-3}"       # ERROR: invalid-value at "$${NCCL_X:-3}": "${NCCL_X:-3}" is quoted where it is exported, and programs would read ${NCCL_X:-3} as it stands here. A name in braces is expanded, $${NCCL_X}, without an operator: give the variable its value in a file that env_file names.
      LIBRARY_PATH = "/a:~/lib"            # ERROR: invalid-value at "/a:~/lib": "/a:~/lib" is quoted where it is exported, and programs would read ~ as it stands here. Write "/a:$${HOME}/lib".
      LAUNCH_ARGS  = "{\"at\": \"$HOME\"}" # ERROR: invalid-value at "{\"at\": \"$HOME\"}": "{\"at\": \"$HOME\"}" is quoted where it is exported, and programs would read $HOME as it stands here. Write "{\"at\": \"$${HOME}\"}".
      PYTHONPATH   = "$${HOME}/lib:$${PYTHONPATH}"
      NCCL_IB_HCA  = "^mlx5_0:1,cost$5~"
    }

    node_check {
      command = "" # ERROR: missing-argument at "": "command" must not be empty. What to run.
    }
    container {
      image   = "$SCRATCH/megatron.sqsh"          # ERROR: invalid-value at "$SCRATCH/megatron.sqsh": "$SCRATCH/megatron.sqsh" is quoted where it is used, and $SCRATCH would be a folder of that name. Write "$${SCRATCH}/megatron.sqsh".
      mounts  = ["/data:/data:ro", "/home/a:~/x"] # ERROR: invalid-value at "/home/a:~/x": "/home/a:~/x" is quoted where it is used, and ~ would be a folder of that name. Write "/home/a:$${HOME}/x".
      workdir = "$${CONF:-/etc}/env"              # ERROR: invalid-value at "$${CONF:-/etc}/env": "${CONF:-/etc}/env" is quoted where it is used, and ${CONF:-/etc} would be a folder of that name. A name in braces is expanded, $${CONF}, without an operator: give the variable its value in a file that env_file names.
    }
  }
}
