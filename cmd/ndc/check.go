package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/output"
)

// checked is what build --check found, as programs read it.
type checked struct {
	Current bool          `json:"current"`
	Files   []checkedFile `json:"files"`
}

type checkedFile struct {
	Path  string `json:"path"`
	State string `json:"state"` // missing, stale, edited or stray
}

// checkOutputs compares the output folder with what a build would write there,
// and writes nothing. It fails with exit code 1 when they differ.
func checkOutputs(t *terminal, argument, out string, folders []output.Folder, plans *planned) error {
	list, err := output.Differences(out, folders, leftByRuns, func(job, _ string) bool { return plans.alone || slices.Contains(plans.names, job) })
	if err != nil {
		return fmt.Errorf("%s cannot be compared: %w", out, cause(err))
	}
	for i := range list {
		list[i].Path = shownPath(out, list[i].Path)
	}
	if d := checkLock(plans); d != nil {
		list = append(list, *d)
	}
	if err := printDifferences(t, list); err != nil {
		return err
	}
	if len(list) == 0 {
		return nil
	}
	run := "ndc build"
	if slices.ContainsFunc(list, func(d output.Difference) bool { return d.Kind == output.Stray }) {
		run += " and ndc clean" // which removes outputs of jobs that are gone
	}
	var diags diag.List
	diags.Error(IDDiffers, diag.Range{}, "Outputs are not what the job builds",
		fmt.Sprintf("What this version of ndc builds of %s differs in %s. Run %s, look at the difference, and commit it.", argument, units.Count(len(list), "file"), run))
	t.diagnostics(diags, nil)
	return exitError(exitInput)
}

// leftByRuns reports whether a file beside the scripts is one that runs and
// their users leave there: what Slurm prints, and the file that ends a chain.
func leftByRuns(name string) bool { return path.Ext(name) == ".out" || name == "STOP" }

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// checkLock compares the lock with what a build would leave; nil when it is
// that. A lock of any choice is as some build made it, but for the ends of its lines.
func checkLock(plans *planned) *output.Difference {
	d := &output.Difference{Kind: output.Stale, Path: plans.lockPath(), New: locked(plans.lock, plans).Bytes()}
	old, err := os.ReadFile(d.Path)
	switch {
	case err != nil:
		d.Kind = output.Missing
		return d
	case bytes.Equal(old, d.New):
		return nil
	}
	if d.Against(old); d.Why != "" {
		d.Kind = output.Changed
	}
	return d
}

func printDifferences(t *terminal, list []output.Difference) error {
	if t.json {
		result := checked{Current: len(list) == 0, Files: []checkedFile{}}
		for _, d := range list {
			result.Files = append(result.Files, checkedFile{filepath.ToSlash(d.Path), d.Kind.String()})
		}
		return t.printJSON(result)
	}
	var text []byte
	for _, d := range list {
		why := ""
		if d.Why != "" {
			why = " " + d.Why
		}
		text = append(text, line(d.Kind.String(), d.Path+why)...)
	}
	for _, d := range list {
		if d.Old != nil && d.New != nil {
			text = append(text, '\n')
			name := inLine(d.Path)
			text = append(text, diff.Diff(name, d.Old, name+" (built)", d.New)...)
		}
	}
	return t.print(string(text))
}
