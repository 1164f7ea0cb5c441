package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/torchtitan"
)

// version is stamped by the release build with -ldflags "-X main.version=…".
var version = "0.1.0-dev"

// Exit codes, part of the contract.
const (
	exitOK         = 0
	exitInput      = 1   // errors in input or usage
	exitInfeasible = 2   // a required backend has no feasible plan, or no backend of a job has one
	exitDefect     = 70  // ndc itself failed
	exitSignal     = 128 // plus the signal's number: 130 for an interrupt
)

// exitError ends a command with a code after everything has been reported.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// emitters are the backends, in the order of their names.
func emitters() []backends.Backend {
	return []backends.Backend{deepspeed.Backend{}, megatron.Backend{}, torchtitan.Backend{}}
}

// run executes a command line and returns its exit code. What could not be
// printed is an error, whatever else came of it.
func run(args []string, stdout, stderr io.Writer) int {
	out, errs := &stream{Writer: stdout}, &stream{Writer: stderr}
	code := execute(args, out, errs)
	if out.failed != nil {
		newTerminal(out, errs, slices.Contains(args, "--json")).failure(fmt.Errorf("not all results could be printed: %w", cause(out.failed)))
	}
	if out.failed != nil || errs.failed != nil {
		return exitInput
	}
	return code
}

func execute(args []string, stdout, stderr *stream) (code int) {
	t := newTerminal(stdout, stderr, slices.Contains(args, "--json"))
	defer t.recover(&code)
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	knownCommands(root)
	err := root.Execute()
	var exit exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return int(exit)
	case stdout.failed == nil:
		t.failure(err)
	}
	return exitInput
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "ndc",
		Short: "Compile a training job into launch files",
		Long: `ndc reads a job written in HCL (model, cluster, training, constraints), chooses
how to spread it over the GPUs, and writes configurations for Megatron-LM,
TorchTitan and DeepSpeed with the Slurm scripts that start them.

Exit codes: 0 all is well; 1 errors in input or usage, or output that cannot be
written; 2 a required backend has no feasible plan; 70 a defect of ndc; 130 an
interrupt (128 and the number of the signal).`,
		SilenceErrors: true, SilenceUsage: true, Version: buildVersion(),
		Args: cobra.ArbitraryArgs, RunE: noCommand, PersistentPreRunE: wellFormed,
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(newBuild(stdout, stderr), newPlan(stdout, stderr), newDiff(stdout, stderr), newGraph(stdout, stderr), newExplain(stdout, stderr), newReport(stdout, stderr), newSize(stdout, stderr), newValidate(stdout, stderr), newTest(stdout, stderr), newFmt(stdout, stderr),
		newInit(stdout, stderr), newClean(stdout, stderr), newWatch(stdout, stderr), newCalibrate(stdout, stderr), newTune(stdout, stderr), newImport(stdout, stderr), newLint(stdout, stderr), newCatalog(stdout, stderr), newLSP(stdout), newVersion(stdout), newMan(stdout, stderr))
	complete(root)
	return root
}

// buildVersion is the stamped version with the commit, when Go recorded it.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return version + " (" + s.Value[:12] + ")"
		}
	}
	return version
}

func newVersion(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and the framework versions it emits for", Args: takes(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(stdout, "ndc", buildVersion())
			for _, b := range emitters() {
				fmt.Fprintf(stdout, "%-11s", b.Kind())
				for _, v := range b.Versions() {
					fmt.Fprint(stdout, " ", v)
				}
				fmt.Fprintln(stdout)
			}
			return nil
		},
	}
}
