package main

import (
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
func checkOutputs(t *terminal, argument, out string, folders []output.Folder, names []string) error {
	alone := isFile(argument) // and says nothing of jobs in the files beside it
	list, err := output.Differences(out, folders, leftByRuns, func(job, _ string) bool { return alone || slices.Contains(names, job) })
	if err != nil {
		return fmt.Errorf("%s cannot be compared: %w", out, cause(err))
	}
	if err := printDifferences(t, out, list); err != nil {
		return err
	}
	if len(list) == 0 {
		return nil
	}
	var diags diag.List
	diags.Error(IDDiffers, diag.Range{}, "Outputs are not what the job builds",
		fmt.Sprintf("%s of %s differ from what this version of ndc builds of %s. Run ndc build, look at the difference, and commit it.", units.Count(len(list), "file"), out, argument))
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

func printDifferences(t *terminal, out string, list []output.Difference) error {
	if t.json {
		result := checked{Current: len(list) == 0, Files: []checkedFile{}}
		for _, d := range list {
			result.Files = append(result.Files, checkedFile{filepath.ToSlash(shownPath(out, d.Path)), d.Kind.String()})
		}
		return t.printJSON(result)
	}
	var text []byte
	for _, d := range list {
		why := ""
		if d.Why != "" {
			why = " " + d.Why
		}
		text = fmt.Appendf(text, "%-10s %s%s\n", d.Kind, shownPath(out, d.Path), why)
	}
	for _, d := range list {
		if d.Old != nil && d.New != nil {
			name := shownPath(out, d.Path)
			text = append(text, '\n')
			text = append(text, diff.Diff(name, d.Old, name+" (built)", d.New)...)
		}
	}
	_, err := t.out.Write(text)
	return err
}
