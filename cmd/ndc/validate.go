package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/caution"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// check asks of every job whether its backend can build it at all, with any of
// the sizes and values that it leaves open.
func check(jobs []job.Job) diag.List { return slices.Concat(refusals(jobs)...) }

// refusals is check for each of the jobs.
func refusals(jobs []job.Job) []diag.List {
	all, reported := make([]diag.List, len(jobs)), make([]diag.Owned, len(jobs))
	for i := range jobs {
		var least diag.List
		for k, j := range compiler.Settled(&jobs[i]) {
			diags := checkSettled(j)
			if k == 0 || !diags.HasErrors() || len(diags) < len(least) {
				least = diags
			}
			if !diags.HasErrors() {
				break
			}
		}
		if !leftOut(&jobs[i], least) {
			all[i] = least
		}
		reported[i] = owned(&jobs[i], all[i])
	}
	diag.Attribute("job", reported, diag.Error, diag.Warning)
	return all
}

// owned are the diagnostics of a job.
func owned(j *job.Job, list diag.List) diag.Owned {
	return diag.Owned{Owner: cmp.Or(j.Block, j.Name), At: j.At, List: list}
}

func checkSettled(j *job.Job) diag.List {
	j, target, diags := targetOf(j)
	diags.Append(slurm.Check(j))
	if !diags.HasErrors() {
		diags.Append(compiler.Check(j, target))
		diags.Append(caution.Job(j))
	}
	return diags
}

// forModule takes back that a folder has no job, where it is one of definitions: what
// others call as a module is checked by itself, too.
func forModule(w *lang.Workspace, diags diag.List) diag.List {
	if !w.Defines() {
		return diags
	}
	return slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return d.ID == lang.NoJob })
}

// valid loads FILE or DIR and checks its jobs.
func valid(argument string, f *inputFlags) (*lang.Workspace, diag.List) {
	w, diags := load(argument, f)
	if f.job == "" && f.backend == "" {
		diags = forModule(w, diags)
	}
	if !diags.HasErrors() {
		diags.Append(check(w.Jobs))
	}
	return w, diags
}

func newValidate(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	c := &cobra.Command{
		Use: "validate FILE|DIR", Short: "Check the jobs without choosing a layout", Args: takes(1, 1, "one FILE or DIR"),
		Long: `Check the language, the references, the sizes, and what each backend version
can build, without searching a layout and without writing anything. A folder
that only defines what the jobs of others take as a module needs no job.`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			w, diags := valid(args[0], &flags)
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
			if len(w.Jobs) == 0 {
				return t.print(inLine(args[0]) + " is valid; it has no jobs of its own.\n")
			}
			return t.print(fmt.Sprintf("%s is valid; plans to make: %d.\n", inLine(args[0]), len(w.Jobs)))
		},
	}
	flags.registerStrict(c)
	return c
}
