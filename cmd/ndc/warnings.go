package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mitchellh/go-wordwrap"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// about picks from what the language reported on all jobs what is about one of
// them: what stands in its own sources, or in no job's.
func about(jobs []job.Job, i int, list diag.List) diag.List {
	inside := func(j *job.Job, d *diag.Diagnostic) bool {
		for _, s := range j.Sources {
			if s.Range == d.Range {
				return true
			}
		}
		return false
	}
	var out diag.List
	for _, d := range list {
		anyone := slices.ContainsFunc(jobs, func(j job.Job) bool { return inside(&j, &d) })
		if !anyone || inside(&jobs[i], &d) {
			out = append(out, d)
		}
	}
	return out
}

// strict makes errors of warnings.
func strict(list diag.List) diag.List {
	out := slices.Clone(list)
	for i := range out {
		out[i].Severity = diag.Error
	}
	return out
}

// jobWarnings are the warnings about jobs of some plans, which a change of the
// job or of what was locked answers. Those about the prediction have no such
// answer.
func jobWarnings(plans []*compiled) diag.List {
	var all diag.List
	for _, c := range plans {
		all.Append(c.warnings)
		all.Append(c.lock.misfit)
	}
	return all
}

// note is a warning with the plans that it is about.
type note struct {
	plan.Warning
	place string
	of    []string
}

// noted tells the warnings of all plans, and more, in one place, each once; ""
// when there are none.
func noted(plans []*compiled, more diag.List) string {
	var b strings.Builder
	for i, n := range append(notes(plans), others(more)...) {
		name := ""
		if i == 0 {
			name = "Warnings"
		}
		var where []string
		if len(n.of) < len(plans) {
			where = n.of
		}
		if n.place != "" {
			where = append(where, n.place)
		}
		text := n.Summary + " [" + n.ID + "]"
		if len(where) > 0 {
			text += " (" + strings.Join(where, ", ") + ")"
		}
		fmt.Fprintf(&b, "%-10s %s\n", name, text)
		for _, line := range strings.Split(wordwrap.WrapString(n.Detail, 105), "\n") {
			fmt.Fprintf(&b, "%-12s %s\n", "", line)
		}
	}
	return b.String()
}

// others are warnings about no plan.
func others(list diag.List) []*note {
	var notes []*note
	for _, d := range list {
		notes = append(notes, &note{Warning: plan.Warning{ID: string(d.ID), Summary: d.Summary, Detail: d.Detail}})
	}
	return notes
}

// notes collects the warnings, each once, in the order of the plans.
func notes(plans []*compiled) []*note {
	var list []*note
	add := func(c *compiled, w plan.Warning, place string) {
		i := slices.IndexFunc(list, func(n *note) bool { return n.Warning == w && n.place == place })
		if i < 0 {
			i = len(list)
			list = append(list, &note{Warning: w, place: place})
		}
		if name := label(c, plans); !slices.Contains(list[i].of, name) {
			list[i].of = append(list[i].of, name)
		}
	}
	for _, c := range plans {
		for _, d := range slices.Concat(c.warnings, c.lock.misfit) {
			place := ""
			if !d.Range.IsZero() {
				place = fmt.Sprintf("%s line %d", d.Range.Filename, d.Range.Start.Line)
			}
			add(c, plan.Warning{ID: string(d.ID), Summary: d.Summary, Detail: d.Detail}, place)
		}
		for _, w := range c.predicted() {
			add(c, w, "")
		}
	}
	return list
}

// predicted are the plan's warnings about its prediction.
func (c *compiled) predicted() []plan.Warning {
	if !c.plan.Feasible {
		return nil
	}
	return c.plan.Warnings[:len(c.plan.Warnings)-len(c.warnings)]
}

// label names a plan among others: by its backend, and by its job where there
// are several.
func label(c *compiled, plans []*compiled) string {
	for _, other := range plans {
		if other.job.Folder != c.job.Folder {
			return c.job.Folder + " on " + c.job.Backend.Kind
		}
	}
	return c.job.Backend.Kind
}
