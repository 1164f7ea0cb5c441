package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/torchtitan"
)

// version is what plans say of the program that made them. A release changes this line,
// and no build another way: what one person builds with a binary of a release, another
// with go install, a hook or the Action has to be the same file for all.
const version = "0.1.0-dev"

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
		newTerminal(out, errs, asksJSON(args)).failure(fmt.Errorf("not all results could be printed: %w", cause(out.failed)))
	}
	if out.failed != nil || errs.failed != nil {
		return exitInput
	}
	return code
}

// asksJSON reports whether a command line, which may be wrong, asks for JSON.
func asksJSON(args []string) bool {
	return slices.Contains(args, "--json") || slices.Contains(args, "-json")
}

func execute(args []string, stdout, stderr *stream) (code int) {
	t := newTerminal(stdout, stderr, asksJSON(args))
	defer t.recover(&code)
	root := newRoot(stdout, stderr)
	knownCommands(root)
	root.SetArgs(twoDashes(root, args))
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
		newInit(stdout, stderr), newClean(stdout, stderr), newWatch(stdout, stderr), newCalibrate(stdout, stderr), newTune(stdout, stderr), newImport(stdout, stderr), newLint(stdout, stderr), newCatalog(stdout, stderr), newLSP(stdout), newVersion(stdout, stderr), newMan(stdout, stderr))
	complete(root)
	return root
}

// buildVersion is the version with the commit, when Go recorded it.
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

// versions is what `ndc version --json` prints.
type versions struct {
	NDCVersion string              `json:"ndc_version"`
	Backends   map[string][]string `json:"backends"` // the versions of each that files are emitted for
}

func newVersion(stdout, stderr io.Writer) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print the version and the framework versions it emits for", Args: takes(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			t := newTerminal(stdout, stderr, asJSON)
			all := versions{NDCVersion: buildVersion(), Backends: map[string][]string{}}
			text := fmt.Sprintln("ndc", all.NDCVersion)
			for _, b := range emitters() {
				all.Backends[b.Kind()] = b.Versions()
				text += fmt.Sprintf("%-11s %s\n", b.Kind(), strings.Join(b.Versions(), " "))
			}
			if t.json {
				return t.printJSON(all)
			}
			return t.print(text)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the versions as JSON")
	return c
}
