// Command ndc compiles a job written in HCL into the files that start it:
// configurations for Megatron-LM, TorchTitan and DeepSpeed, and Slurm scripts.
// This package is the composition root: it alone touches the disk, the
// environment and the terminal. One file holds one command.
package main

import "os"

func main() {
	signals.watch()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
