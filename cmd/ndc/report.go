package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/view"
)

// report prints plans, and what a build wrote of them: summaries for people,
// one document per job for programs.
type report struct {
	*terminal
	plans    []*compiled
	argument string    // the FILE or DIR that was built
	out      string    // the output folder
	written  *written  // nil: nothing was written
	warnings diag.List // about the output folder
	locked   string    // where the lock was written; "": it was not
}

func (r *report) print() error {
	if r.json {
		for _, d := range r.documents() {
			if err := r.printJSON(d); err != nil {
				return err
			}
		}
		return nil
	}
	var parts []string
	var plans []*plan.Plan
	for _, c := range r.plans {
		plans = append(plans, c.plan)
		parts = append(parts, view.Summary(c.job.Folder, c.plan)+lockLine(&c.lock)+r.files(c))
	}
	if others := r.others(); others != "" {
		parts = append(parts, others)
	}
	if text := noted(r.plans, r.warnings); text != "" {
		parts = append(parts, text)
	}
	return r.terminal.print(strings.Join(append(parts, view.Limits(plans)), "\n"))
}

func line(title, text string) string { return fmt.Sprintf("%-10s %s\n", title, inLine(text)) }

// files says what became of the files of one plan, and how to submit them.
func (r *report) files(c *compiled) string {
	if r.written == nil {
		return ""
	}
	var text string
	i := slices.IndexFunc(r.written.results, func(f output.Result) bool { return f.Path == c.folder() })
	if what := describe(&r.written.results[i]); what != "" {
		text = line("Files", what)
	}
	if !c.plan.Feasible {
		return line("Skipped", "the backend has required = false, and the others are built without it") + text
	}
	script := shownPath(r.out, path.Join(c.folder(), c.job.Name+".sbatch"))
	return text + line("Submit", "sbatch "+render.Quote(script))
}

// others tells of folders that have no plan: those of backends that a job no
// longer has, and those of jobs that are not there.
func (r *report) others() string {
	if r.written == nil {
		return ""
	}
	var text string
	if r.locked != "" {
		text = line("Lock", "written: "+r.locked)
	}
	for _, f := range r.written.results {
		if slices.ContainsFunc(r.plans, func(c *compiled) bool { return path.Dir(c.folder()) == f.Path }) {
			text += line("Review", shownPath(r.out, path.Join(f.Path, pageName))+": "+describe(&f))
			continue
		}
		if !f.IsEmpty() && !slices.ContainsFunc(r.plans, func(c *compiled) bool { return c.folder() == f.Path }) {
			text += line("Files", shownPath(r.out, f.Path)+": "+describe(&f))
		}
	}
	if names := r.written.unclaimed; len(names) > 0 {
		const most = 5
		which := strings.Join(names[:min(most, len(names))], ", ")
		if len(names) > most {
			which += fmt.Sprintf(" and %d more", len(names)-most)
		}
		what := "ndc clean removes what no job claims"
		if r.out != beside(r.argument) {
			what += ", of all folders that it is given"
		}
		text += line("Unclaimed", fmt.Sprintf("in %s, of no job in %s: %s; %s", r.out, r.argument, which, what))
	}
	return text
}

// documents groups plans by job, in order.
func (r *report) documents() []file.Document {
	var list []file.Document
	for _, c := range r.plans {
		n := len(list)
		if n == 0 || list[n-1].Job != c.job.Name || list[n-1].Site != c.job.Site {
			list = append(list, file.Document{FormatVersion: file.FormatVersion, NDCVersion: version, Job: c.job.Name, Site: c.job.Site, Output: r.output(c.job.Folder)})
			n++
		}
		list[n-1].Plans = append(list[n-1].Plans, file.Of(c.plan))
	}
	return list
}

// output is what became of the folders of one job.
func (r *report) output(job string) *file.Output {
	if r.written == nil {
		return nil
	}
	o := &file.Output{Folders: []file.OutputFolder{}, Unclaimed: []string{}}
	for _, f := range r.written.results {
		if (path.Dir(f.Path) == job || f.Path == job) && !f.IsEmpty() {
			o.Folders = append(o.Folders, outputFolder(r.out, &f))
		}
	}
	for _, name := range r.written.unclaimed {
		o.Unclaimed = append(o.Unclaimed, shownPath(r.out, name))
	}
	return o
}

func outputFolder(out string, r *output.Result) file.OutputFolder {
	some := func(names []string) []string { return append([]string{}, names...) } // [] in JSON, never null
	return file.OutputFolder{
		Path: shownPath(out, r.Path), Written: some(r.Written), Changed: some(r.Changed),
		Kept: some(r.Kept), Removed: some(r.Removed), Edited: some(r.Edited),
	}
}
