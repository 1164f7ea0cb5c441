package compiler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// Keep plans a job with a choice that was made before, of a version of ndc. The
// plan that Compile made of the job comes with it: it is what would be chosen
// now, and the result when that is the same. When the choice cannot be kept, the
// plan is nil and the text says why. The only error is that of a context which
// ends first.
func Keep(ctx context.Context, j *job.Job, t *target.Target, now *plan.Plan, c *plan.Choice, since string) (*plan.Plan, string, error) {
	if now.Feasible && differs(c, &now.Layout, &now.Execution) == "" {
		return now, "", nil
	}
	p, why, err := Fixed(ctx, j, t, c)
	if p == nil {
		return nil, why, err
	}
	p.Search, p.Time.FastestSeconds = now.Search, now.Time.FastestSeconds
	compare(j, t, p, now, since)
	return p, "", nil
}

// Fixed plans a job with a choice, whatever else there is. When the choice cannot
// be had, the plan is nil and the text says why. The only error is that of a
// context which ends first.
func Fixed(ctx context.Context, j *job.Job, t *target.Target, c *plan.Choice) (*plan.Plan, string, error) {
	pinned, why := pin(j, t, c)
	if why != "" {
		return nil, why, nil
	}
	found, err := search.Run(ctx, pinned, pinTarget(predicted(j, t), c))
	if err != nil {
		return nil, "", err
	}
	if len(found.Best) == 0 {
		return nil, misfit(j, t, found), nil
	}
	best := &found.Best[0]
	if name := differs(c, &best.Layout, &best.Execution); name != "" {
		return nil, fmt.Sprintf("%s %s does not run the job with its %s", t.Backend, t.Version, name), nil
	}
	p := blank(j)
	p.Backend, p.BackendVersion, p.Search, p.Feasible = t.Backend, t.Version, counts(t, found), true
	describe(p, j, predicted(j, t), best, 1)
	p.Warnings = append(p.Warnings, awkward(ctx, j, t, best)...)
	return p, "", ctx.Err()
}

// differs names the first axis or option in which a layout and its execution are
// not those of a choice; "" when there is none.
func differs(c *plan.Choice, l *plan.Layout, x *plan.Execution) string {
	for i := range option.Axes {
		if a := &option.Axes[i]; !slices.Contains(c.Open, a.Name) && !a.Same(&c.Layout, l) {
			return a.Name
		}
	}
	for i := range option.Options {
		if o := &option.Options[i]; !slices.Contains(c.Open, o.Name) && !o.Same(&c.Execution, x) {
			return o.Name
		}
	}
	return ""
}

// pin is the job with nothing but the choice to choose, or why its constraints
// or the target do not allow that.
func pin(j *job.Job, t *target.Target, c *plan.Choice) (*job.Job, string) {
	pinned := *j
	for i := range option.Axes {
		a := &option.Axes[i]
		if !slices.Contains(c.Open, a.Name) && !a.Pin(&pinned.Constraints.Layout, &c.Layout) {
			return nil, fmt.Sprintf("constraints.layout does not allow %s = %s", a.Name, a.Text(&c.Layout))
		}
	}
	if why := pinLists(&pinned, c); why != "" {
		return nil, why
	}
	if diags := Check(&pinned, t); diags.HasErrors() {
		return nil, strings.TrimSuffix(diags[0].Detail, ".")
	}
	return &pinned, ""
}

// pinLists leaves of every list of values of an option the one of the choice.
func pinLists(pinned *job.Job, c *plan.Choice) string {
	lists := pinned.Constraints.Execution
	pinned.Constraints.Execution = maps.Clone(lists)
	for name, texts := range lists {
		o := option.FindOption(name)
		if slices.Contains(c.Open, name) {
			continue
		}
		if !slices.Contains(texts, o.Text(&c.Execution)) {
			return fmt.Sprintf("execution does not allow %s = %s", name, o.Spelled(&c.Execution))
		}
		pinned.Constraints.Execution[name] = []string{o.Text(&c.Execution)}
	}
	return ""
}

// pinTarget is the target that recommends the options of the choice, where the
// job leaves them to it.
func pinTarget(t *target.Target, c *plan.Choice) *target.Target {
	pinned := *t
	pinned.Variants, pinned.Offers = nil, nil
	pinned.Resolve = func(j *job.Job, l *plan.Layout, x *plan.Execution) {
		t.Resolve(j, l, x)
		for i := range option.Options {
			if o := &option.Options[i]; !slices.Contains(c.Open, o.Name) && !o.IsSet(&j.Execution) {
				o.Copy(x, &c.Execution)
			}
		}
	}
	return &pinned
}

// misfit says why nothing was found of a choice.
func misfit(j *job.Job, t *target.Target, found *search.Outcome) string {
	if len(found.Nearest) > 0 {
		p := blank(j)
		describe(p, j, t, &found.Nearest[0], 1)
		return missReason(j, p, found.Nearest[0].Broken()).Summary
	}
	if found.Illegal != nil && found.Illegal.Broken() != "" {
		return reason(t, found.Illegal.Broken())
	}
	return fmt.Sprintf("%s %s does not offer its layout for this job", t.Backend, t.Version)
}

// compare says what would be chosen in place of a plan that a lock decided.
func compare(j *job.Job, t *target.Target, p, now *plan.Plan, since string) {
	p.Locked = &plan.Locked{SinceVersion: since}
	if !now.Feasible {
		return
	}
	p.Locked.WouldChoose = &plan.Preferred{Layout: now.Layout, Execution: now.Execution, StepSeconds: now.Time.StepSeconds, PeakDeviceBytes: now.Memory.Peak.DeviceBytes}
	first := plan.Alternative{Layout: now.Layout, Execution: now.Execution, StepSeconds: now.Time.StepSeconds, PeakDeviceBytes: now.Memory.Peak.DeviceBytes}
	p.Alternatives = slices.DeleteFunc(append([]plan.Alternative{first}, now.Alternatives...), func(a plan.Alternative) bool {
		return differs(&plan.Choice{Layout: p.Layout, Execution: p.Execution}, &a.Layout, &a.Execution) == ""
	})
	p.Alternatives = p.Alternatives[:min(len(p.Alternatives), search.Kept)]
	kept, chosen := NewDetail(j, t, p), NewDetail(j, t, now)
	more := kept.StepDifference(chosen)
	if j.Constraints.Objective == "memory" {
		more = kept.MemoryDifference(chosen)
	}
	p.Locked.GainRange = [2]float64{-more[1], -more[0]}
}
