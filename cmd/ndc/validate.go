package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/caution"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// check asks of every job whether its backend can build it at all.
func check(jobs []job.Job) diag.List {
	var all diag.List
	for i := range jobs {
		j := &jobs[i]
		target, diags := find(j).Target(j)
		diags.Append(slurm.CheckTemplates(j))
		if !diags.HasErrors() {
			diags.Append(compiler.Check(j, target))
			diags.Append(caution.Job(j))
		}
		if leftOut(j, diags) {
			continue
		}
		all.Append(diags)
	}
	return all
}

func newValidate(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	c := &cobra.Command{
		Use: "validate FILE|DIR", Short: "Check the jobs without choosing a layout", Args: takes(1, 1, "one FILE or DIR"),
		Long: `Check the language, the references, the sizes, and what each backend version
can build, without searching a layout and without writing anything.`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			w, diags := load(args[0], &flags)
			if !diags.HasErrors() {
				diags.Append(check(w.Jobs))
			}
			if flags.strict && !diags.HasErrors() {
				diags = strict(diags)
			}
			t.diagnostics(diags, w.Files)
			if diags.HasErrors() {
				return exitError(exitInput)
			}
			if t.json {
				return t.printJSON(map[string]any{"valid": true, "jobs": len(w.Jobs)})
			}
			_, err := fmt.Fprintf(stdout, "%s is valid; plans to make: %d.\n", args[0], len(w.Jobs))
			return err
		},
	}
	flags.registerStrict(c)
	return c
}
