package slurm

import (
	"fmt"
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// liveVariables are those that the batch script sets before the lines of the job and of
// its site, and reads after them.
var liveVariables = []string{"chain", "claim", "configuration", "hosts", "link", "log", "more", "start", "successor"}

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
	tree, err := render.ParseShell([]byte(text))
	if err != nil {
		return // that is told elsewhere
	}
	var told []string
	check := func(name *syntax.Lit) {
		if name == nil || taken(name.Value) == "" || slices.Contains(told, name.Value) {
			return
		}
		told = append(told, name.Value)
		diags.Error(IDTemplate, j.Sources.Range("templates."+t.Part), templateSummary,
			fmt.Sprintf("The template for %s sets %s, which %s. Choose another name.", t.Part, name.Value, taken(name.Value)))
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst:
			return false // what it sets ends with it
		case *syntax.Assign:
			check(n.Name)
		case *syntax.WordIter:
			check(n.Name)
		}
		return true
	})
}
