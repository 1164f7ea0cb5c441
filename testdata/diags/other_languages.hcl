# Words and habits of other languages.

cluster "h100" {
  base  = catalog.cluster.h100 # ERROR: unknown-reference at catalog.cluster.h100: The catalogue has no cluster "h100". `ndc catalog cluster` lists them.
  nodes = "all" # ERROR: wrong-type at "all": "nodes" must be a whole number, not the text "all".
}

cluster "h200" {
  base = catalog.dgx_h200 # ERROR: unknown-reference at catalog.dgx_h200: The catalogue has no kind "dgx_h200". Known: model, gpu, cluster.
}

model "m" {
  base            = catalog.model.debug
  sequence_length = "8k" # ERROR: wrong-type at "8k": "sequence_length" must be a whole number, not the text "8k". Counts are plain numbers, without a unit: write 8e3, or 8192 where k means 1024.
  tied_embeddings = True # ERROR: unquoted-text at True: Nothing is called True. Write true, or if it is text, write it in quotes: "true".
}

job "j" {
  model   = m # ERROR: unquoted-text at m: Nothing is called m alone. Did you mean model.m? If it is text, write it in quotes: "m".
  cluster = h100 # ERROR: unquoted-text at h100: Nothing is called h100 alone. Did you mean cluster.h100? If it is text, write it in quotes: "h100".
  nodes   = "all" # ERROR: wrong-type at "all": "nodes" must be a whole number, a list of them, or a range { min = …, max = …, step = …, not = … }, not the text "all".

  training {
    global_batch_size = "4M" # ERROR: wrong-type at "4M": "global_batch_size" must be a whole number, not the text "4M". Counts are plain numbers, without a unit: write 4e6.
    steps             = 10
    precision         = "bf16"
    seed              = None # ERROR: unquoted-text at None: Nothing is called None. Write null, or if it is text, write it in quotes: "none".

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }

  backend "megatron" {
    version = "core_v0.18.2"
  }

  slurm {
    chain = true # ERROR: wrong-type at true: "chain" is a number of submissions or "until_done", not true.
  }
}
