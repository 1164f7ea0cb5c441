job "j" {
  training = {
    optimizer "adamw" { # ERROR: syntax-error at ": Expected an equals sign ("=") to mark the beginning of the attribute value. Braces behind an equals sign hold keys and values alone. If a block is meant, write it without the equals sign: training { … }.
      learning_rate = 1e-4
    }
  }

  slurm {
    time = 24:00:00
  }
}
