package slurm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// override is a part of the batch script that a template of the site says.
type override struct {
	Part, Name string
	Text       string // whole lines
}

const templateSummary = "Template of the site cannot be used"

// checkTemplates reports what is wrong with the templates of a job's site
// whatever the plan.
func checkTemplates(j *job.Job, diags *diag.List) {
	if j.Templates == nil {
		return
	}
	for i := range j.Templates.Parts {
		t := &j.Templates.Parts[i]
		wrongTemplate(j, t, render.CheckOverride(t.Text), diags)
	}
}

// overridden makes the parts that templates say, by name.
func overridden(j *job.Job, p *plan.Plan, directives []string, diags *diag.List) map[string]*override {
	if j.Templates == nil {
		return nil
	}
	values := maps.Clone(j.Templates.Values)
	if values == nil {
		values = map[string]any{}
	}
	planned := planValues(p)
	values["plan"] = planned
	if seen, ok := values["job"].(map[string]any); ok { // the files may leave its size open
		seen = maps.Clone(seen)
		seen["nodes"], values["job"] = planned["input"].(map[string]any)["nodes"], seen
	}
	made := map[string]*override{}
	for i := range j.Templates.Parts {
		t := &j.Templates.Parts[i]
		text, err := render.Override(t.Text, values, t.Part != job.SBatchHeader)
		if err != nil {
			wrongTemplate(j, t, err, diags)
			continue
		}
		checkLines(j, t, text, directives, diags)
		if t.Part == job.BeforeLaunch { // AfterLaunch has a shell of its own
			checkNames(j, t, text, diags)
		}
		made[t.Part] = &override{Part: t.Part, Name: t.Name, Text: text}
	}
	return made
}

// planValues is a plan by the fields of plan.json, without those that follow
// from the files.
func planValues(p *plan.Plan) map[string]any {
	text, err := json.Marshal(file.Of(p))
	if err != nil {
		panic("slurm: a plan that JSON cannot hold: " + err.Error())
	}
	var values map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&values); err != nil {
		panic("slurm: a plan that JSON cannot read: " + err.Error())
	}
	for _, later := range []string{"artifacts", "overridden", "policies", "warnings"} {
		delete(values, later)
	}
	return values
}

// wrongTemplate reports an error at the line of the template that it tells of.
func wrongTemplate(j *job.Job, t *job.Template, err error, diags *diag.List) {
	var e *render.OverrideError
	if !errors.As(err, &e) {
		if err != nil {
			panic("slurm: a template failed without a reason: " + err.Error())
		}
		return
	}
	at := j.Sources.Range("templates." + t.Part)
	if t.File != "" && e.Line > 0 {
		at = lineRange(t, e.Line)
	}
	end := "."
	if strings.HasSuffix(e.Problem, "?") {
		end = ""
	}
	diags.Error(IDTemplate, at, templateSummary, fmt.Sprintf("The template for %s cannot be used: %s%s", t.Part, e.Problem, end))
}

// lineRange is a line of the file of a template.
func lineRange(t *job.Template, line int) diag.Range {
	lines := strings.SplitAfter(t.Text, "\n")
	line = min(line, len(lines))
	start := 0
	for _, l := range lines[:line-1] {
		start += len(l)
	}
	length := len(strings.TrimRight(lines[line-1], "\r\n"))
	return diag.Range{Filename: t.File,
		Start: diag.Position{Line: line, Column: 1, Byte: start},
		End:   diag.Position{Line: line, Column: 1 + length, Byte: start + length}}
}

// checkLines reports lines that cannot stand in a part: commands in the header,
// where they would end what sbatch reads, and #SBATCH lines behind commands,
// which it does not read.
func checkLines(j *job.Job, t *job.Template, text string, directives []string, diags *diag.List) {
	fail := func(id diag.ID, summary, format string, args ...any) {
		diags.Error(id, j.Sources.Range("templates."+t.Part), summary, fmt.Sprintf(format, args...))
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		first, rest, _ := strings.Cut(line, " ")
		switch {
		case t.Part != job.SBatchHeader && strings.HasPrefix(line, "#SBATCH"):
			fail(IDTemplate, templateSummary, "%s makes the line %q, which sbatch does not read behind commands. It belongs into %s.", t.Part, line, job.SBatchHeader)
		case t.Part != job.SBatchHeader || strings.TrimSpace(line) == "":
		case !strings.HasPrefix(line, "#"):
			fail(IDTemplate, templateSummary, "%s makes the line %q, and it takes #SBATCH lines and comments only: sbatch reads nothing behind a command. Commands belong into before_launch.", t.Part, line)
		case strings.HasPrefix(line, "#PBS") || strings.HasPrefix(line, "#BSUB") || strings.HasPrefix(line, "#SLURM"):
			fail(IDTemplate, templateSummary, "%s makes the line %q, which sbatch may read as directives of another scheduler. Write #SBATCH lines.", t.Part, line)
		case strings.HasPrefix(line, "#SBATCH") && first != "#SBATCH":
			fail(IDDirectiveValue, valueSummary, "%s makes the line %q, which has no space behind #SBATCH.", t.Part, line)
		case first == "#SBATCH":
			checkDirectives(rest, directives, t.Part, fail)
		}
	}
}

// checkDirectives holds the options of one #SBATCH line to the rules of
// slurm.directives: what follows from the job and the plan is not said again, and
// what sbatch refuses not at all.
func checkDirectives(line string, directives []string, part string, fail func(diag.ID, string, string, ...any)) {
	bare := quotedValue.ReplaceAllString(line, "=x$1")
	if strings.ContainsAny(bare, "\\'`\"") {
		fail(IDDirectiveValue, valueSummary, "%s makes \"#SBATCH %s\", with a backslash or a quote that Slurm reads by rules of its own. Use plain values, or --NAME=\"VALUE\" for one with spaces.", part, line)
		return
	}
	for i, w := range strings.Fields(bare) {
		name, isLong := strings.CutPrefix(w, "--")
		name, value, _ := strings.Cut(name, "=")
		if !isLong {
			letters, isShort := strings.CutPrefix(w, "-")
			if !isShort && i > 0 {
				continue // the value of the option before it
			}
			if !isShort || letters == "" || nameOf()[letters[:1]] == "" {
				fail(IDDirectiveValue, nameSummary, "%s makes \"#SBATCH %s\", in which %q is no option of sbatch. Write options as --NAME=VALUE.", part, line, w)
				return
			}
			if name = nameOf()[letters[:1]]; name == "no-kill" && letters != "k" {
				fail(IDDirectiveValue, nameSummary, "%s makes \"#SBATCH %s\", in which %q says several options at once. Write options as --NAME=VALUE.", part, line, w)
				return
			}
		}
		if option, owner := ownedBy(name); option != "" || name == "" {
			fail(IDReservedDirective, reservedSummary, "%s makes \"#SBATCH %s\", and %q %s.", part, line, name, elsewhere(option, owner))
			return
		}
		read := isLong && value != "" && !strings.Contains(line, `"`) // the value as it stands there
		if why := refused(name, value); why != "" && (read || !optionOf()[name].SBatch) {
			fail(IDDirectiveValue, valueSummary, "%s makes \"#SBATCH %s\". The directive %q %s", part, line, name, why)
			return
		}
		for _, d := range directives {
			if have, _, _ := strings.Cut(strings.TrimPrefix(d, "--"), "="); have == name {
				fail(IDReservedDirective, reservedSummary, "%s makes \"#SBATCH %s\", and slurm.directives of the job says %q already; keep one.", part, line, name)
				return
			}
		}
	}
}

// quotedValue is a value in double quotes, as a whole.
var quotedValue = regexp.MustCompile(`="[^"\\]*"(\s|$)`)
