// Package page writes a job's report: one HTML file with the plans of the job, their
// warnings, pictures, tables and sources, which loads nothing, is read on light and
// dark screens, on paper, with a keyboard and aloud. It puts together what packages
// view, view/picture and view/explain say, and says little of its own; the page for
// reviewers, out/JOB/plan.md, is package view's.
package page

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
	"github.com/ndc-dev/ndc/view/explain"
	"github.com/ndc-dev/ndc/view/picture"

	_ "embed"
)

//go:embed page.css
var styles string

//go:embed page.js
var script string

// Part is what a report says of one plan. Subject and Sections are of a feasible one.
type Part struct {
	Plan     *plan.Plan
	Subject  *picture.Subject
	Sections []explain.Section
}

// pictures are the kinds that a report shows, with what is to be seen.
var pictures = []struct{ kind, title, text string }{
	{"breakdown", "Where the step goes", "Each bar begins where the one before ends; together they are the step."},
	{"step", "A step, and what it holds", "Above, what each pipeline rank does; below, what its GPU has allocated meanwhile."},
	{"mesh", "Ranks on nodes", "The group of rank 0 along every axis, coloured by the slowest link that it needs."},
	{"roofline", "What the GPU allows", "GEMMs and attention below the roof of memory bandwidth and peak."},
	{"pareto", "What else was possible", "Every layout that the job and the framework allow: throughput over memory."},
}

// writer collects a page.
type writer struct{ strings.Builder }

func (w *writer) f(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// text is a text as HTML.
func text(s string) string { return html.EscapeString(s) }

// Write writes the report of a job by a version of ndc.
func Write(job, version string, parts []Part) []byte {
	w := &writer{}
	w.f("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n")
	w.f("<meta name=\"generator\" content=\"ndc %s\">\n<title>%s: report</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", text(version), text(job), styles, picture.Style)
	w.f("<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header>\n<h1>%s</h1>\n", text(job))
	input(w, parts)
	w.f("<nav aria-label=\"Plans\"><ul>\n<li><a href=\"#warnings\">Warnings</a></li>\n")
	for i := range parts {
		p := parts[i].Plan
		w.f("<li><a href=\"#plan-%d\">%s %s</a></li>\n", i+1, text(p.Backend), text(p.BackendVersion))
	}
	w.f("<li><a href=\"#sources\">Sources</a></li>\n</ul></nav>\n</header>\n<main id=\"content\">\n")
	warnings(w, parts)
	for i := range parts {
		one(w, &parts[i], i+1)
	}
	sources(w, version, parts)
	w.f("</main>\n<script>\n%s</script>\n</body>\n</html>\n", script)
	return []byte(w.String())
}

// input is what all plans were made for.
func input(w *writer, parts []Part) {
	in := &parts[0].Plan.Input
	w.f("<p>%s, global batch %d × %d tokens, %s</p>\n", text(in.Model), in.GlobalBatchSize, in.SequenceLength, text(in.Precision))
}

// warnings come first: what the plans warn of, once.
func warnings(w *writer, parts []Part) {
	w.f("<section id=\"warnings\" aria-labelledby=\"warnings-title\">\n<h2 id=\"warnings-title\">Warnings</h2>\n")
	seen := map[plan.Warning][]string{}
	var order []plan.Warning
	for i := range parts {
		for _, x := range parts[i].Plan.Warnings {
			if seen[x] == nil {
				order = append(order, x)
			}
			seen[x] = append(seen[x], parts[i].Plan.Backend)
		}
	}
	if len(order) == 0 {
		w.f("<p>None.</p>\n")
	}
	for _, x := range order {
		w.f("<div class=\"warning\"><h3>%s</h3><p>%s</p><p class=\"small\">%s, <code>%s</code></p></div>\n", text(x.Summary), text(x.Detail), text(strings.Join(seen[x], ", ")), text(x.ID))
	}
	w.f("</section>\n")
}

// one is what is said of one plan.
func one(w *writer, part *Part, number int) {
	p := part.Plan
	w.f("<section id=\"plan-%d\" aria-labelledby=\"plan-%[1]d-title\">\n<h2 id=\"plan-%[1]d-title\">%s %s</h2>\n", number, text(p.Backend), text(p.BackendVersion))
	defer w.f("</section>\n")
	if !p.Feasible {
		w.f("<p>No layout meets the constraints.</p>\n<ul>\n")
		for _, r := range p.Infeasible.Reasons {
			w.f("<li>%s</li>\n", text(r.Summary))
		}
		w.f("</ul>\n")
		for _, f := range p.Infeasible.Fixes {
			w.f("<p>Would fit: %s</p>\n", text(f.Change))
		}
		return
	}
	figures(w, p)
	for _, x := range pictures {
		w.f("<figure>\n<figcaption><h3>%s</h3><p>%s</p></figcaption>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s, %s\">\n%s</div>\n</figure>\n", text(x.title), text(x.text), text(x.title), text(p.Backend), picture.Find(x.kind).Part(part.Subject))
	}
	alternatives(w, p)
	for i := range part.Sections {
		section(w, &part.Sections[i])
	}
}

// figures are the numbers that are asked for first.
func figures(w *writer, p *plan.Plan) {
	w.f("<p class=\"layout\">%s</p>\n<dl class=\"figures\">\n", text(strings.ReplaceAll(view.Layout(&p.Layout), "\n", ", ")))
	figure := func(name, value, more string) {
		w.f("<div><dt>%s</dt><dd>%s<span>%s</span></dd></div>\n", text(name), text(value), text(more))
	}
	t, m, r := &p.Time, &p.Memory, &p.Run
	figure("Step", view.Duration(t.StepSeconds), fmt.Sprintf("%s90 %% range %s", view.Expected(t), view.StepRange(t)))
	figure("Memory", view.GiB(m.Peak.DeviceBytes), fmt.Sprintf("of %s usable; up to %s", view.GiB(m.UsableBytes), view.GiB(m.Peak.DeviceRangeBytes[1])))
	figure("Throughput", fmt.Sprintf("%.0f tokens/s", p.Throughput.TokensPerSecondPerGPU), "per GPU; MFU "+view.Percent(p.Throughput.MFU))
	figure("Run", view.Duration(r.Seconds), fmt.Sprintf("%d steps, %s GPU-hours", r.Steps, gpuHours(r.GPUHours)))
	figure("GPUs", fmt.Sprint(p.Input.GPUs), fmt.Sprintf("%s on %s%s", p.Input.GPU, units.Count(p.Input.Nodes, "node"), view.Spares(&p.Input)))
	w.f("</dl>\n")
}

// gpuHours writes millions as such: eight digits in a row are not read.
func gpuHours(hours float64) string {
	if hours >= 1e6 {
		return units.Significant(hours/1e6, 3) + " million"
	}
	return view.GPUHours(hours)
}

// alternatives is a table that can be sorted.
func alternatives(w *writer, p *plan.Plan) {
	if len(p.Alternatives) == 0 {
		return
	}
	t := explain.Alternatives(p)
	w.f("<h3>Alternatives</h3>\n")
	table(w, &t, true)
}

// section is an explanation, folded up until it is wanted.
func section(w *writer, s *explain.Section) {
	w.f("<details>\n<summary><h3>%s</h3></summary>\n", text(s.Title))
	for _, l := range s.Lines {
		w.f("<p>%s</p>\n", text(l))
	}
	for i := range s.Tables {
		table(w, &s.Tables[i], false)
	}
	w.f("</details>\n")
}

// table writes a table; of one that can be sorted the script makes buttons of the
// heads, and sorts by the values.
func table(w *writer, t *explain.Table, sorted bool) {
	class := ""
	if sorted {
		class = " class=\"sortable\""
	}
	w.f("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<table%s>\n", text(strings.TrimSuffix(orTable(t.Caption), ":")), class)
	if t.Caption != "" {
		w.f("<caption>%s</caption>\n", text(t.Caption))
	}
	w.f("<thead><tr>")
	for _, c := range t.Columns {
		w.f("<th scope=\"col\"%s>%s</th>", right(c.Right), text(c.Title))
	}
	w.f("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		w.f("<tr>")
		for k, c := range row {
			value := ""
			if sorted && t.Columns[k].Right {
				value = fmt.Sprintf(" data-value=\"%s\"", text(plain(c.Value)))
			}
			w.f("<td%s%s>%s</td>", of(&t.Columns[k], c.Text), value, text(c.Text))
		}
		w.f("</tr>\n")
	}
	w.f("</tbody>\n</table>\n</div>\n")
}

// plain is a value as a program reads it, without a unit.
func plain(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("page: a value that JSON cannot hold: " + err.Error())
	}
	return string(b)
}

func orTable(caption string) string {
	if caption == "" {
		return "Table"
	}
	return caption
}

// sentence is how many letters are no single word: such a cell keeps a width that can be
// read, on a phone too, where the table scrolls.
const sentence = 40

// of is the class of a cell.
func of(c *explain.Column, text string) string {
	if !c.Right && len(text) > sentence {
		return " class=\"long\""
	}
	return right(c.Right)
}

func right(is bool) string {
	if is {
		return " class=\"number\""
	}
	return ""
}

// sources come last: what the numbers were made of.
func sources(w *writer, version string, parts []Part) {
	w.f("<section id=\"sources\" aria-labelledby=\"sources-title\">\n<h2 id=\"sources-title\">Sources</h2>\n<p>Made by ndc %s of these files:</p>\n<ul>\n", text(version))
	seen := map[string]bool{}
	var plans []*plan.Plan
	for i := range parts {
		plans = append(plans, parts[i].Plan)
		for _, f := range parts[i].Plan.Input.Files {
			if !seen[f.Path] {
				seen[f.Path] = true
				w.f("<li><code>%s</code> <span class=\"small\">SHA-256 %s</span></li>\n", text(f.Path), text(f.SHA256))
			}
		}
	}
	w.f("</ul>\n<p>Left out: %s. 90 %% ranges hold nine in ten of measured over predicted.</p>\n<p>Formulas, their sources and how well they hold: docs/memory.md, docs/time.md, docs/collectives.md, docs/uncertainty.md and docs/accuracy.md of ndc's repository.</p>\n</section>\n", view.LeftOut(plans))
}
