package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/output"
)

func newBuild(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	var out string
	var force, check bool
	c := &cobra.Command{
		Use: "build FILE|DIR", Short: "Plan the jobs and write their launch files", Args: takes(1, 1, "one FILE or DIR"),
		Long: `Plan every job of FILE, or of all *.hcl files in DIR, for each of its backends,
and write the launch files to out/JOB/BACKEND beside the job file, with several
--site to out/SITE/JOB/BACKEND; for reviewers
out/JOB has plan.md and job.json, which says where each value of the job comes
from. Files are replaced together or not at all, even when the build is killed.
A file that ndc did not write, or that was edited since, is not replaced without
--force. What was written, changed, kept and removed is listed, and so are
folders of jobs that are there no more, which ndc clean removes. --check writes
nothing and fails when the files are not those that a build would write, with
the difference.`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			own := out == ""
			if own {
				out = beside(args[0])
			}
			plans, err := planAll(t, args[0], &flags)
			if errors.Is(err, exitError(exitInfeasible)) && !check {
				t.diagnostics(staleOutputs(out, folders(plans, plans.all)), nil)
			}
			if err != nil {
				return err
			}
			places := folders(plans, plans.all)
			if check {
				return checkOutputs(t, args[0], out, plans.withJobs(places, plans.all, filesIn(out)), &plans)
			}
			var warnings diag.List
			if !own {
				warnings = warnOfShared(out, &plans)
			}
			w, diags := write(out, func(o *output.Output) []output.Folder { return plans.withJobs(places, plans.all, o.Read) }, plans.names, force, func() (diags diag.List) {
				plans.locked, diags = writeLock(&plans)
				return diags
			})
			orElsewhere(diags)
			t.diagnostics(diags, nil)
			if diags.HasErrors() {
				return exitError(exitInput)
			}
			warnings.Append(warnOfChains(out, places))
			if t.json {
				t.diagnostics(warnings, nil)
			}
			return (&report{terminal: t, plans: plans.list, argument: args[0], out: out, written: &w, warnings: warnings, locked: plans.lockWritten()}).print()
		},
	}
	flags.registerStrict(c)
	c.Flags().StringVarP(&out, "output", "o", "", "output folder (default: out beside the job file)")
	c.Flags().BoolVar(&force, "force", false, "replace foreign and edited files")
	flags.registerReplan(c)
	c.Flags().BoolVar(&check, "check", false, "write nothing; fail when the files are not those of a build")
	c.MarkFlagsMutuallyExclusive("check", "force")
	return c
}

func newPlan(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	var changes []string
	var markdown bool
	var pinned int
	c := &cobra.Command{
		Use: "plan FILE|DIR", Short: "Plan the jobs and show the plans, writing nothing", Args: takes(1, 1, "one FILE or DIR"),
		Long: `Plan every job of FILE, or of all *.hcl files in DIR, for each of its backends,
and show the plans. Where a backend refuses its job, the plans of the others are
shown beside the error. --compare plans the jobs once more with something changed, and
shows the plans side by side, term by term; it may be repeated. PATH is that of an
argument of the job, as in job.json: constraints.layout.tensor_parallel=4,
cluster.network.bandwidth=200Gb/s, model.sequence_length=4096. Several changes at
once have semicolons between them. --pin prints the layout block, and what else it
takes, that makes a job have this plan, or the alternative of a number.`,
		RunE: func(c *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			switch {
			case markdown && len(changes) == 0:
				return wrongUsage(c, "--markdown is for what --compare shows.")
			case c.Flags().Changed("pin"):
				return pin(t, args[0], &flags, pinned)
			case len(changes) > 0:
				return compare(t, args[0], &flags, changes, markdown)
			}
			flags.others = true
			plans, err := planAll(t, args[0], &flags)
			if err != nil {
				return err
			}
			return (&report{terminal: t, plans: plans.list}).print()
		},
	}
	flags.registerStrict(c)
	flags.registerReplan(c)
	c.Flags().StringArrayVar(&changes, "compare", nil, "compare with the plan that `PATH=VALUE` makes; may be repeated")
	c.Flags().BoolVar(&markdown, "markdown", false, "print the comparison as Markdown")
	c.Flags().IntVar(&pinned, "pin", 0, "print the blocks that pin the plan, or with a `number` that alternative")
	c.Flags().Lookup("pin").NoOptDefVal = "0"
	c.MarkFlagsMutuallyExclusive("compare", "pin")
	return c
}

// planned are the plans that a command line asks for.
type planned struct {
	list  []*compiled
	names []string // of the folders of all jobs, asked for or not
	fsys  fs.FS
	from  string // the folder of the jobs' files, as a slash path

	workspace *lang.Workspace
	alone     bool       // of one file, which says nothing of jobs in others
	all       bool       // backends were asked for
	lock      *lock.File // what was chosen before
	locked    bool       // anew: the lock was written
}

// planAll loads and compiles every selected job and reports errors; warnings
// are the caller's, but with --json. It fails with exit code 1 on errors, of
// which --strict makes more, and shows the plans that were made beside them; when
// there are plans to miss it shows all plans and fails with 2; when plans break
// policies, with 1.
func planAll(t *terminal, argument string, flags *inputFlags) (planned, error) {
	plans, w, diags := plansOf(disk{}, argument, flags)
	t.files = w.Files
	broken := plans.broken()
	var wrong diag.List
	if warned := jobWarnings(plans.list); flags.strict && !diags.HasErrors() && !plans.miss() && len(broken) == 0 {
		wrong = strict(warned)
		diags = slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return slices.Contains(warned, d) }) // each is told once
	}
	if diags.HasErrors() && len(plans.list) > 0 && flags.others {
		if err := (&report{terminal: t, plans: plans.list}).print(); err != nil {
			return plans, err
		}
		if !t.json {
			shown := jobWarnings(plans.list)
			diags = slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return slices.Contains(shown, d) })
		}
		diags.Append(broken)
	}
	if t.json || diags.HasErrors() {
		t.diagnostics(diags, w.Files)
	}
	if diags.HasErrors() {
		return plans, exitError(exitInput)
	}
	if plans.miss() || len(broken) > 0 {
		if err := (&report{terminal: t, plans: plans.list}).print(); err != nil {
			return plans, err
		}
		t.diagnostics(broken, w.Files)
		if plans.miss() {
			return plans, exitError(exitInfeasible)
		}
		return plans, exitError(exitInput)
	}
	if len(wrong) > 0 {
		t.diagnostics(wrong, w.Files)
		return plans, exitError(exitInput)
	}
	return plans, nil
}

// plansOf loads and compiles every selected job of FILE or DIR in fsys, and
// reports nothing. A job that its backend refuses stops all before any search, which
// may take long, unless the plans of the others are wanted.
func plansOf(fsys fs.FS, argument string, flags *inputFlags) (planned, *lang.Workspace, diag.List) {
	w, diags := loadFrom(fsys, argument, flags)
	loaded := slices.Clone(diags)
	refused := make([]diag.List, len(w.Jobs))
	if !diags.HasErrors() {
		if refused = refusals(w.Jobs); !flags.others {
			if wrong := slices.Concat(refused...); wrong.HasErrors() {
				diags.Append(wrong)
			}
		}
	}
	plans := planned{names: jobFolders(w), fsys: fsys, from: filepath.ToSlash(argument), workspace: w, all: flags.backend == ""}
	if info, err := fs.Stat(fsys, plans.from); err != nil || !info.IsDir() {
		plans.from, plans.alone = path.Dir(plans.from), true
	}
	var wrong diag.List
	plans.lock, wrong = readLock(fsys, plans.from)
	diags.Append(wrong)
	if !diags.HasErrors() {
		var before sweep
		reported := make([]diag.Owned, len(w.Jobs)) // of those that no backend refuses
		for i := range w.Jobs {
			j := &w.Jobs[i]
			reported[i] = owned(j, nil)
			if refused[i].HasErrors() {
				diags.Append(refused[i])
				continue
			}
			r := request{job: j, warned: about(w.Jobs, i, loaded), files: plans.inputFiles(j), sweep: &before, policies: judges(w, i)}
			if !flags.replan {
				r.locked = plans.lock.Find(j.Name, j.Backend.Kind, j.Site)
			}
			c, more := compile(&r)
			reported[i].List = more
			if c != nil {
				c.asked = j
				plans.list = append(plans.list, c)
			}
		}
		diag.Attribute("job", reported, diag.Error)
		for i := range reported {
			diags.Append(reported[i].List)
		}
	}
	return plans, w, diags
}

// miss reports whether a plan is missing: that of a required backend, or any
// plan of a job.
func (p *planned) miss() bool {
	built := map[string]bool{}
	for _, c := range p.list {
		if !c.plan.Feasible && c.job.Backend.Required {
			return true
		}
		built[c.job.Folder] = built[c.job.Folder] || c.plan.Feasible
	}
	for _, ok := range built {
		if !ok {
			return true
		}
	}
	return false
}

// broken are the policies that plans break, as errors.
func (p *planned) broken() diag.List {
	var all diag.List
	for _, c := range p.list {
		for _, v := range c.verdicts {
			if v.Reports.HasErrors() {
				all.Append(v.Reports)
			}
		}
	}
	return all
}

// folders maps plans to their places; one without a feasible plan has no
// files. With every backend built, folders of backends that a job no longer
// has are listed empty, so that their stale files go.
func folders(plans planned, all bool) []output.Folder {
	var list []output.Folder
	jobs := map[string][]string{}
	var order []string
	for _, c := range plans.list {
		if jobs[c.job.Folder] == nil {
			order = append(order, c.job.Folder)
		}
		jobs[c.job.Folder] = append(jobs[c.job.Folder], c.job.Backend.Kind)
		list = append(list, output.Folder{Path: c.folder(), Files: files(c.artifacts), Kind: output.Manifest})
	}
	for _, name := range order {
		for _, b := range emitters() {
			if all && !slices.Contains(jobs[name], b.Kind()) {
				list = append(list, output.Folder{Path: path.Join(name, b.Kind()), Kind: output.Manifest})
			}
		}
	}
	return list
}

// staleOutputs warns of what earlier builds wrote and this one, which writes
// nothing, would have replaced or removed.
func staleOutputs(out string, folders []output.Folder) (diags diag.List) {
	_ = output.Look(out, func(o *output.Output) { // what is not there is not stale
		for _, r := range o.Compare(folders) {
			if r.Earlier > 0 && !r.IsCurrent() {
				diags.Warn(IDStale, diag.Range{}, "Outputs are stale", fmt.Sprintf(
					"%s holds an earlier build of a job that has changed, and nothing replaces it as long as a required backend has no feasible plan. Do not submit it by mistake.",
					shownPath(out, r.Path)))
			}
		}
	})
	return diags
}
