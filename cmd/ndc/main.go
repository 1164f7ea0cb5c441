// Command ndc compiles a job written in HCL into the files that start it:
// configurations for Megatron-LM, TorchTitan and DeepSpeed, and Slurm scripts.
// This package is the composition root: it alone touches the disk, the
// environment and the terminal. One file holds one command.
package main

import (
	"os"
	"runtime/debug"
)

func main() {
	debug.SetTraceback("crash") // a failure of Go's own ends with SIGABRT, never with exit code 2
	collectSeldom()
	signals.watch()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// collectSeldom lets the heap grow to three times of what lives, unless the user says
// otherwise: a command is short, and a search takes a twelfth less time in a twentieth
// more memory (docs/speed.md).
func collectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}
