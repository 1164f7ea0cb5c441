package main

import (
	"fmt"
	"slices"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/view"
)

// unchanged is the title of the plan that others are compared with.
const unchanged = "as it is"

// comparison is what `ndc plan --compare --json` prints for one job and backend.
type comparison struct {
	FormatVersion string         `json:"format_version"`
	NDCVersion    string         `json:"ndc_version"`
	Job           string         `json:"job"`
	Site          string         `json:"site,omitempty"`
	Compared      []comparedPlan `json:"compared"`
}

// comparedPlan is a plan with the change to the job that it was made with.
type comparedPlan struct {
	Change string `json:"change"` // empty: none
	// StepDifferenceRange is the 90 % range of what its step takes longer than that of
	// the plan without a change, as a share of it; nil on another GPU or of another model.
	StepDifferenceRange *[2]float64 `json:"step_difference_range,omitempty"`
	Plan                file.Plan   `json:"plan"`
}

// compare plans the jobs as they are and with each of some changes, and prints the
// plans of each job and backend side by side. It fails as plan does when the plan
// without a change is missing.
func compare(t *terminal, argument string, flags *inputFlags, texts []string, markdown bool) error {
	sets := make([]planned, 1+len(texts))
	for i := range sets {
		with := *flags
		if i > 0 {
			with.overrides = lang.ParseOverrides("--compare", texts[i-1])
		}
		plans, w, diags := plansOf(disk{}, argument, &with)
		if diags.HasErrors() {
			t.diagnostics(diags, w.Files)
			return exitError(exitInput)
		}
		sets[i] = plans
	}
	for k, base := range sets[0].list {
		list := []view.Compared{{Change: unchanged, Plan: base.plan}}
		for i, text := range texts {
			same := func(c *compiled) bool { return c.folder() == base.folder() }
			if n := slices.IndexFunc(sets[i+1].list, same); n >= 0 {
				other := sets[i+1].list[n]
				list = append(list, view.Compared{Change: text, Plan: other.plan, StepDifference: stepDifference(base, other)})
			}
		}
		if k > 0 && !t.json {
			fmt.Fprintln(t.out)
		}
		if err := printCompared(t, base, list, markdown); err != nil {
			return err
		}
	}
	if sets[0].miss() {
		return exitError(exitInfeasible)
	}
	return nil
}

// stepDifference is the 90 % range of what a step takes longer than that of a base, as a
// share of it. It is nil where they share no machine or no model, and where both are one layout.
func stepDifference(base, other *compiled) *[2]float64 {
	a, b := base.plan, other.plan
	if !a.Feasible || !b.Feasible || a.Input.GPU != b.Input.GPU || a.Input.Model != b.Input.Model || a.Input.ParametersTotal != b.Input.ParametersTotal ||
		a.Time.StepSeconds == b.Time.StepSeconds && len(view.Changes(&a.Layout, &a.Execution, &b.Layout, &b.Execution)) == 0 {
		return nil
	}
	longer := compiler.NewDetail(base.job, base.target, a).StepDifference(compiler.NewDetail(other.job, other.target, b))
	return &longer
}

func printCompared(t *terminal, base *compiled, list []view.Compared, markdown bool) error {
	title := fmt.Sprintf("%s on %s %s", base.job.Folder, base.plan.Backend, base.plan.BackendVersion)
	switch {
	case t.json:
		c := comparison{FormatVersion: file.FormatVersion, NDCVersion: version, Job: base.job.Name, Site: base.job.Site}
		for i := range list {
			change := list[i].Change
			if i == 0 {
				change = ""
			}
			c.Compared = append(c.Compared, comparedPlan{change, list[i].StepDifference, file.Of(list[i].Plan)})
		}
		return t.printJSON(c)
	case markdown:
		return t.print(view.CompareMarkdown(title, list))
	}
	return t.print(view.Compare(title, list))
}
