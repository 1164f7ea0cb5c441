package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/output"
)

func newClean(stdout, stderr io.Writer) *cobra.Command {
	var flags inputFlags
	var out string
	var dryRun bool
	c := &cobra.Command{
		Use: "clean DIR...", Short: "Remove outputs that no job claims", Args: takes(1, math.MaxInt, "one DIR, or several that build into one folder"),
		Long: `Remove what ndc build wrote into the output folder of DIR for jobs that are not
in its *.hcl files any more, or for backends that a job no longer has. A DIR
whose last job went claims nothing, as long as the ndc.lock.hcl in it tells that
jobs were built there. A folder that several build into (-o) is cleaned with all
of them, as what none of those named claims goes. Files that were edited since
and files that ndc did not write stay. --dry-run lists what would be removed.`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			var all workspaces
			for _, dir := range args {
				w, err := claimed(t, dir, &flags)
				if err != nil {
					return err
				}
				all = append(all, w)
			}
			switch {
			case out != "":
			case len(args) > 1:
				return usageError("Several folders are cleaned of what they built into one: name it by -o.")
			default:
				out = beside(args[0])
			}
			if dryRun {
				results, err := wouldClean(out, all)
				if err != nil {
					return err
				}
				return printCleaned(t, out, results, dryRun)
			}
			results, diags := clean(out, all)
			t.diagnostics(diags, nil)
			if diags.HasErrors() {
				return exitError(exitInput)
			}
			return printCleaned(t, out, results, dryRun)
		},
	}
	flags.registerInput(c)
	c.Flags().StringVarP(&out, "output", "o", "", "output folder (default: out in DIR)")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "remove nothing; list what would be removed")
	return c
}

// claimed loads the jobs whose outputs stay. A file alone does not say what
// the jobs of the files beside it claim.
func claimed(t *terminal, dir string, flags *inputFlags) (*lang.Workspace, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, usageError(fmt.Sprintf("%s is a file, and jobs of files beside it may have outputs in the same folder. Name the folder of the jobs.", dir))
	}
	w, diags := load(dir, flags)
	if onlySaysNoJob(diags) {
		if hadJobs(dir) {
			return w, nil
		}
		for i := range diags {
			diags[i].Detail += fmt.Sprintf(" Nor has it an %s that tells of jobs which were built there, so that outputs stay where they are: they may be those of jobs elsewhere.", lock.Name)
		}
	}
	t.diagnostics(diags, w.Files)
	if diags.HasErrors() {
		return nil, exitError(exitInput)
	}
	return w, nil
}

// onlySaysNoJob reports whether a folder was read without any mistake but that
// it has no job.
func onlySaysNoJob(diags diag.List) bool {
	return diags.HasErrors() && !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && !saysNoJob(d)
	})
}

// hadJobs reports whether jobs of a folder were built: build leaves a lock beside
// them. Without one a folder without jobs is more likely a slip than one whose jobs
// all went, and the outputs in it may be those of jobs elsewhere (-o).
func hadJobs(dir string) bool {
	l, diags := readLock(disk{}, filepath.ToSlash(dir))
	return !diags.HasErrors() && l != nil && len(l.Plans) > 0
}

// clean removes the files of ndc in folders that no job claims. Where it cannot write, and
// nothing is to be removed, all is well.
func clean(out string, all workspaces) (results []output.Result, diags diag.List) {
	if _, err := os.Stat(out); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	defer func() {
		if !diags.HasErrors() {
			return
		}
		if would, err := wouldClean(out, all); err == nil && !slices.ContainsFunc(would, func(r output.Result) bool { return !r.IsEmpty() }) {
			results, diags = nil, nil
		}
	}()
	diags = withOutput(out, func(o *output.Output) (diags diag.List) {
		var err error
		if results, _, err = o.Replace(signals.context(), abandoned(o, all), false); err != nil {
			cannotWrite(&diags, err)
		}
		return diags
	})
	return results, diags
}

// wouldClean lists what clean would remove.
func wouldClean(out string, all workspaces) (results []output.Result, err error) {
	err = output.Look(out, func(o *output.Output) { results = o.Compare(abandoned(o, all)) })
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s cannot be looked at: %w", out, cause(err))
	}
	return results, nil
}

// abandoned are the folders that no job claims, without files.
func abandoned(o *output.Output, all workspaces) (folders []output.Folder) {
	for _, b := range o.Builds(func(job, backend string) bool { return all.claim(job, backend) }) {
		folders = append(folders, output.Folder{Path: b.Path})
	}
	return folders
}

// workspaces are the jobs of several folders.
type workspaces []*lang.Workspace

// claim reports whether a job of any folder has a backend, or whether it is there at all.
func (all workspaces) claim(name, backend string) bool {
	return slices.ContainsFunc(all, func(w *lang.Workspace) bool { return claims(w, name, backend) })
}

// claims reports whether a job has a backend, or whether it is there at all.
func claims(w *lang.Workspace, name, backend string) bool {
	return slices.ContainsFunc(w.Jobs, func(j job.Job) bool {
		return slices.Contains(foldersOf(w, j.Name), name) && (backend == "" || j.Backend.Kind == backend)
	})
}

// cleaned is what clean prints for programs.
type cleaned struct {
	DryRun  bool            `json:"dry_run"`
	Folders []cleanedFolder `json:"folders"`
}

type cleanedFolder struct {
	Path    string   `json:"path"`
	Removed []string `json:"removed"`
	Edited  []string `json:"edited"`
}

func printCleaned(t *terminal, out string, results []output.Result, dryRun bool) error {
	results = slices.DeleteFunc(results, func(r output.Result) bool { return r.IsEmpty() })
	if t.json {
		list := cleaned{DryRun: dryRun, Folders: []cleanedFolder{}}
		for _, r := range results {
			f := outputFolder(out, &r)
			list.Folders = append(list.Folders, cleanedFolder{f.Path, f.Removed, f.Edited})
		}
		return t.printJSON(list)
	}
	if len(results) == 0 {
		return t.print(inLine(out) + " holds nothing of ndc that no job claims.\n")
	}
	title, text := "Removed", ""
	if dryRun {
		title = "Would go"
	}
	for _, r := range results {
		if len(r.Removed) > 0 {
			text += line(title, fmt.Sprintf("%s: %d files", shownPath(out, r.Path), len(r.Removed)))
		}
		for _, name := range r.Edited {
			text += line("Stays", shownPath(out, r.Path+"/"+name)+" was edited since ndc wrote it")
		}
	}
	return t.print(text)
}
