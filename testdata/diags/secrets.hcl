locals {
  token = "hf_abcdefgh"
}

cluster "c" {
  network {
    environment = {
      NCCL_IB_PKEY = "1"
      FABRIC_KEY   = "k" # ERROR: literal-secret at "k": FABRIC_KEY looks like a secret, and everything in "environment" is written into the generated scripts for others to read. Put the line FABRIC_KEY=… into a file on the cluster that only you can read, and name it with env_file in the slurm block.
    }
  }
}

job "j" { # ERROR: missing-argument at job "j": The block job needs the argument "cluster". Where it runs: `cluster.NAME` or `catalog.cluster.NAME`. Needed unless the site has one. # ERROR: missing-argument at job "j": The block job needs the argument "model". What is trained: `model.NAME` or `catalog.model.NAME`. # ERROR: missing-block at job "j": The block job needs a block training { … }. What is learned, from what, and how.
  backend "megatron" { # ERROR: missing-argument at backend "megatron": The block backend needs the argument "version". The framework's version as it spells it, such as `"core_v0.18.2"`.
    environment = {
      HF_TOKEN               = local.token
      WANDB_API_KEY          = "$${WANDB_API_KEY}"
      TOKENIZERS_PARALLELISM = false
      "NOT A NAME"           = "x"
      HOME_DIR               = "${HOME}/x" # ERROR: shell-variable at HOME: ndc reads ${…} as an expression of its own, and nothing here is called HOME. To leave the variable to the shell on the cluster, write $${HOME}.
      OTHER_HOME             = "$${HOME}/x"
    }
  }
  slurm {
    environment = {
      aws_secret_access_key = "abc" # ERROR: literal-secret at "abc": aws_secret_access_key looks like a secret, and everything in "environment" is written into the generated scripts for others to read. Put the line aws_secret_access_key=… into a file on the cluster that only you can read, and name it with env_file in the slurm block.
      HF_TOKEN_PATH         = "/secrets/hf"
      MY_DB_PASSWORD        = 123 # ERROR: literal-secret at 123: MY_DB_PASSWORD looks like a secret, and everything in "environment" is written into the generated scripts for others to read. Put the line MY_DB_PASSWORD=… into a file on the cluster that only you can read, and name it with env_file in the slurm block.
      OK                    = null

      MAX_TOKENS                    = 4096
      HF_HUB_DISABLE_IMPLICIT_TOKEN = 1
      NGC_API_KEY                   = "nvapi-abc" # ERROR: literal-secret at "nvapi-abc": NGC_API_KEY looks like a secret, and everything in "environment" is written into the generated scripts for others to read. Put the line NGC_API_KEY=… into a file on the cluster that only you can read, and name it with env_file in the slurm block.
      VAULT_SECRETS                 = "1" # ERROR: literal-secret at "1": VAULT_SECRETS looks like a secret, and everything in "environment" is written into the generated scripts for others to read. Put the line VAULT_SECRETS=… into a file on the cluster that only you can read, and name it with env_file in the slurm block.
      ZERO                  = "a\u0000b" # ERROR: invalid-value at "a\u0000b": "environment" contains a NUL character, which no path, name or variable may have.
    }
    setup    = ["export PATH=${CONDA_PREFIX}/bin:$PATH"] # ERROR: shell-variable at CONDA_PREFIX: ndc reads ${…} as an expression of its own, and nothing here is called CONDA_PREFIX. To leave the variable to the shell on the cluster, write $${CONDA_PREFIX}.
    env_file = "${HOME}/.env" # ERROR: shell-variable at HOME: ndc reads ${…} as an expression of its own, and nothing here is called HOME. To leave the variable to the shell on the cluster, write $${HOME}.
    chain    = "until-done" # ERROR: unknown-value at "until-done": "chain" is a number of submissions or "until_done", not "until-done". Did you mean "until_done"?
    log_path = "/logs/${user}" # ERROR: shell-variable at user: ndc reads ${…} as an expression of its own, and nothing here is called user. To leave the variable to the shell on the cluster, write $${user}.
    modules  = [cuda, "nccl"] # ERROR: unquoted-text at cuda: Nothing is called cuda. If it is text, write it in quotes: "cuda".
  }
}
