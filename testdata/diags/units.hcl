gpu "a" {
  memory             = 80 # ERROR: invalid-quantity at 80: The number 80 has no unit. Write an amount of memory as a string with its unit (TiB, GiB, MiB, KiB, TB, GB, MB, KB or B), such as "80GiB".
  torch_memory       = "80" # ERROR: invalid-quantity at "80": The number 80 has no unit. Write an amount of memory as a string with its unit (TiB, GiB, MiB, KiB, TB, GB, MB, KB or B), such as "80GiB".
  memory_bandwidth   = "3.35TB" # ERROR: invalid-quantity at "3.35TB": "TB" is not a unit here. Did you mean "TB/s"? Write a bandwidth as a string with its unit (TB/s, GB/s, MB/s, KB/s, B/s, TiB/s, GiB/s, MiB/s, KiB/s, Tb/s, Gb/s, Mb/s, Kb/s or b/s), such as "400Gb/s".
  power              = "700" # ERROR: invalid-quantity at "700": The number 700 has no unit. Write a power as a string with its unit (kW or W), such as "700W".
  compute_capability = ["9.0"] # ERROR: wrong-type at ["9.0"]: "compute_capability" must be text in quotes, not a list.

  peak_flops {
    bf16 = "989 tflops" # ERROR: invalid-quantity at "989 tflops": "tflops" is not a unit here. Did you mean "TFLOPS"? Write a compute rate as a string with its unit (EFLOPS, PFLOPS, TFLOPS, GFLOPS, MFLOPS or FLOPS), such as "989TFLOPS".
    fp16 = 989e12 # ERROR: invalid-quantity at 989e12: The number 989000000000000 has no unit. Write a compute rate as a string with its unit (EFLOPS, PFLOPS, TFLOPS, GFLOPS, MFLOPS or FLOPS), such as "989TFLOPS".
    fp8  = "-1TFLOPS" # ERROR: invalid-quantity at "-1TFLOPS": "-1TFLOPS" is negative. Write a compute rate as a string with its unit (EFLOPS, PFLOPS, TFLOPS, GFLOPS, MFLOPS or FLOPS), such as "989TFLOPS".
    fp32 = "fast" # ERROR: invalid-quantity at "fast": "fast" does not start with a number. Write a compute rate as a string with its unit (EFLOPS, PFLOPS, TFLOPS, GFLOPS, MFLOPS or FLOPS), such as "989TFLOPS".
  }
}

cluster "b" {
  host_memory = "2 Tb" # ERROR: invalid-quantity at "2 Tb": "Tb" is not a unit here. Did you mean "TB"? Write an amount of memory as a string with its unit (TiB, GiB, MiB, KiB, TB, GB, MB, KB or B), such as "80GiB".

  nvlink {
    domain    = 1 # ERROR: out-of-range at 1: "domain" must be at least 2, not 1.
    bandwidth = "0GB/s" # ERROR: out-of-range at "0GB/s": "bandwidth" must be greater than zero.
    latency   = 2 # ERROR: invalid-quantity at 2: The number 2 has no unit. Write a duration as a string with its unit (d, h, m, s, ms, us or ns), such as "2m", or as HH:MM:SS or D-HH:MM:SS.
  }
  network {
    kind          = "infinband" # ERROR: unknown-value at "infinband": "infinband" is not a value of "kind", which takes "infiniband", "roce", "efa" or "slingshot". Did you mean "infiniband"?
    nics_per_node = 8
    bandwidth     = "400Gbps" # ERROR: invalid-quantity at "400Gbps": "Gbps" is not a unit here. Did you mean "Gb/s"? Write a bandwidth as a string with its unit (TB/s, GB/s, MB/s, KB/s, B/s, TiB/s, GiB/s, MiB/s, KiB/s, Tb/s, Gb/s, Mb/s, Kb/s or b/s), such as "400Gb/s".
    latency       = "5µs" # ERROR: invalid-quantity at "5µs": "µs" is not a unit here. Did you mean "us"? Write a duration as a string with its unit (d, h, m, s, ms, us or ns), such as "30m", or as HH:MM:SS or D-HH:MM:SS.
  }
}

job "j" { # ERROR: missing-argument at job "j": The block job needs the argument "cluster". Where it runs: `cluster.NAME` or `catalog.cluster.NAME`. Needed unless the site has one. # ERROR: missing-argument at job "j": The block job needs the argument "model". What is trained: `model.NAME` or `catalog.model.NAME`. # ERROR: missing-block at job "j": A job needs at least one block backend "…" { version = … }. The backends are "megatron", "torchtitan" or "deepspeed". # ERROR: missing-block at job "j": The block job needs a block training { … }. What is learned, from what, and how.
  constraints {
    memory_headroom           = 0.06 # ERROR: invalid-quantity at 0.06: The number 0.06 has no unit. Write a share as a string with its unit (%), such as "6%".
    max_exposed_communication = "120%" # ERROR: invalid-quantity at "120%": "120%" is more than the whole. Write a share as a string with its unit (%), such as "6%".
    max_training_time         = "12:30" # ERROR: invalid-quantity at "12:30": "12:30" is not HH:MM:SS or D-HH:MM:SS; all three of hours, minutes and seconds are needed. Write a duration as a string with its unit (d, h, m, s, ms, us or ns), such as "30m", or as HH:MM:SS or D-HH:MM:SS.
    min_mfu                   = "40%" # ERROR: wrong-type at "40%": "min_mfu" must be a number of at least 0 and at most 1, not the text "40%".

    max_oom_probability {
      run = "1%" # ERROR: wrong-type at "1%": "run" must be a number greater than 0 and at most 1, not the text "1%".
    }
  }
  slurm {
    time = 24 # ERROR: invalid-quantity at 24: The number 24 has no unit. Write a duration as a string with its unit (d, h, m, s, ms, us or ns), such as "24m", or as HH:MM:SS or D-HH:MM:SS.
  }
}
