package slurm

import (
	"fmt"
	"slices"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// liveVariables are those that the batch script sets before the lines of the job and of
// its site, and reads after them.
var liveVariables = []string{
	"chain", "claim", "excluded", "failed", "faults", "good", "handed", "holder", "hosts", "job_dir", "link", "log", "more", "stalled", "start", "state", "status", "step",
	"stop_file", "submitted", "successor", "tries", "why",
}

// readOnly are variables that bash lets nobody set (bash(1), Shell Variables).
var readOnly = []string{"BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"}

// taken says why lines of a job and its site cannot set a variable; "" if they can.
func taken(name string) string {
	switch {
	case slices.Contains(liveVariables, name):
		return "the script uses for itself"
	case slices.Contains(readOnly, name):
		return "bash lets nobody set"
	}
	return ""
}

// checkNames reports such variables in the lines that a template of the site makes.
func checkNames(j *job.Job, t *job.Template, text string, diags *diag.List) {
	for _, name := range render.SetByShell(text) {
		if why := taken(name); why != "" {
			diags.Error(IDTemplate, j.Sources.Range("templates."+t.Part), templateSummary,
				fmt.Sprintf("The template for %s sets %s, which %s. Choose another name.", t.Part, name, why))
		}
	}
}
