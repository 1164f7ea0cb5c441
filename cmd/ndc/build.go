package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/view"
)

func newBuild(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	var out string
	var force bool
	c := &cobra.Command{
		Use: "build FILE|DIR", Short: "Plan the jobs and write their launch files", Args: takes(1, 1, "one FILE or DIR"),
		Long: `Plan every job of FILE, or of all *.hcl files in DIR, for each of its backends,
and write the launch files to out/JOB/BACKEND beside the job file. Files are
replaced together or not at all. A file that ndc did not write, or that was
edited since, is not replaced without --force.`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			plans, err := planAll(t, args[0], &flags)
			if err != nil {
				return err
			}
			if out == "" {
				out = beside(args[0])
			}
			places := folders(plans, out, flags.backend == "")
			if diags := write(places, force); diags.HasErrors() {
				t.diagnostics(diags, nil)
				return exitError(exitInput)
			}
			chains := warnOfChains(places)
			if t.json {
				t.diagnostics(chains, nil)
			}
			return report(t, plans, out, chains...)
		},
	}
	flags.registerStrict(c)
	c.Flags().StringVarP(&out, "output", "o", "", "output folder (default: out beside the job file)")
	c.Flags().BoolVar(&force, "force", false, "replace foreign and edited files")
	return c
}

func newPlan(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	c := &cobra.Command{
		Use: "plan FILE|DIR", Short: "Plan the jobs and show the plans, writing nothing", Args: takes(1, 1, "one FILE or DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			plans, err := planAll(t, args[0], &flags)
			if err != nil {
				return err
			}
			return report(t, plans, "")
		},
	}
	flags.registerStrict(c)
	return c
}

// planAll loads and compiles every selected job and reports errors; warnings
// are the caller's, but with --json. It fails with exit code 1 on errors, of
// which --strict makes more; when a plan is infeasible it shows all plans and
// fails with 2.
func planAll(t *terminal, argument string, flags *inputFlags) ([]*compiled, error) {
	w, diags := load(argument, flags)
	t.files = w.Files
	loaded := slices.Clone(diags)
	if !diags.HasErrors() {
		if wrong := check(w.Jobs); wrong.HasErrors() {
			diags.Append(wrong) // before any search, which may take long
		}
	}
	var plans []*compiled
	if !diags.HasErrors() {
		for i := range w.Jobs {
			c, more := compile(&w.Jobs[i], about(w.Jobs, i, loaded))
			diags.Append(more)
			if c != nil {
				plans = append(plans, c)
			}
		}
	}
	if t.json || diags.HasErrors() {
		t.diagnostics(diags, w.Files)
	}
	if diags.HasErrors() {
		return nil, exitError(exitInput)
	}
	if slices.ContainsFunc(plans, func(c *compiled) bool { return !c.plan.Feasible }) {
		if err := report(t, plans, ""); err != nil {
			return nil, err
		}
		return nil, exitError(exitInfeasible)
	}
	if flags.strict {
		if wrong := strict(jobWarnings(plans)); len(wrong) > 0 {
			t.diagnostics(wrong, w.Files)
			return nil, exitError(exitInput)
		}
	}
	return plans, nil
}

// folders maps plans to their places. With every backend built, folders of
// backends that a job no longer has are listed empty, so that their stale
// files go.
func folders(plans []*compiled, out string, all bool) []folder {
	var list []folder
	jobs := map[string][]string{}
	var order []string
	for _, c := range plans {
		if jobs[c.job.Name] == nil {
			order = append(order, c.job.Name)
		}
		jobs[c.job.Name] = append(jobs[c.job.Name], c.job.Backend.Kind)
		list = append(list, folder{path: filepath.Join(out, c.job.Name, c.job.Backend.Kind), files: c.artifacts})
	}
	for _, name := range order {
		for _, b := range emitters() {
			if all && !slices.Contains(jobs[name], b.Kind()) {
				list = append(list, folder{path: filepath.Join(out, name, b.Kind())})
			}
		}
	}
	return list
}

// report prints plans: summaries for people, with all warnings in one place,
// those of the plans and those of where they were written; one document per
// job for programs.
func report(t *terminal, plans []*compiled, out string, more ...diag.Diagnostic) error {
	if t.json {
		for _, d := range documents(plans) {
			if err := t.printJSON(d); err != nil {
				return err
			}
		}
		return nil
	}
	var parts []string
	for _, c := range plans {
		text := view.Summary(c.job.Name, c.plan)
		if out != "" {
			dir := filepath.Join(out, c.job.Name, c.job.Backend.Kind)
			text += fmt.Sprintf("%-10s %s\n", "Submit", "sbatch "+render.Quote(filepath.Join(dir, c.job.Name+".sbatch")))
		}
		parts = append(parts, text)
	}
	if text := noted(plans, more); text != "" {
		parts = append(parts, text)
	}
	_, err := io.WriteString(t.out, strings.Join(append(parts, view.Limits), "\n"))
	return err
}

// documents groups plans by job, in order.
func documents(plans []*compiled) []plan.Document {
	var list []plan.Document
	for _, c := range plans {
		n := len(list)
		if n == 0 || list[n-1].Job != c.job.Name {
			list = append(list, plan.Document{FormatVersion: plan.FormatVersion, NDCVersion: version, Job: c.job.Name})
			n++
		}
		list[n-1].Plans = append(list[n-1].Plans, *c.plan)
	}
	return list
}
