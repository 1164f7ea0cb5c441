package main

import (
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// pin prints the blocks that make the one job that is asked for have its plan, or
// one of the alternatives.
func pin(t *terminal, argument string, flags *inputFlags, n int) error {
	plans, err := planAll(t, argument, flags)
	if err != nil {
		return err
	}
	if len(plans.list) != 1 {
		return usageError(fmt.Sprintf("--pin is for one plan, and there are %d. Choose with --job, --backend and --site.", len(plans.list)))
	}
	c := plans.list[0]
	if n < 0 || n > len(c.plan.Alternatives) {
		return usageError(fmt.Sprintf("There is no alternative %d; the plan has %d.", n, len(c.plan.Alternatives)))
	}
	text, diags := pinned(c, n)
	if diags.HasErrors() {
		t.diagnostics(diags, t.files)
		return exitError(exitInput)
	}
	if t.json {
		return t.printJSON(map[string]string{"job": c.job.Name, "backend": c.plan.Backend, "pin": text})
	}
	return t.print(text)
}

// pinned are the blocks that make the job of a plan have it, or an alternative.
func pinned(c *compiled, n int) (string, diag.List) {
	wanted, execution := &c.plan.Layout, &c.plan.Execution
	if n > 0 {
		wanted, execution = &c.plan.Alternatives[n-1].Layout, &c.plan.Alternatives[n-1].Execution
	}
	return pinBlocks(c, wanted, execution)
}

// pinBlocks is the block of a layout, and the options of execution that a job with
// the layout alone would not have, or of which the job lists values: with the layout
// alone another of these might be chosen. What is set may bring others along, which
// are set too, until the plan is the one wanted.
func pinBlocks(c *compiled, wanted *plan.Layout, execution *plan.Execution) (string, diag.List) {
	listed := compiler.Joined(c.asked, c.target.Variants).Constraints.Execution
	j := *c.job
	j.Constraints.Layout, j.Constraints.Execution = job.LayoutConstraints{}, listed
	j = *compiler.Chosen(&j, &plan.Plan{Execution: *execution})
	var b strings.Builder
	b.WriteString("layout {\n")
	for i := range option.Axes {
		a := &option.Axes[i]
		a.Pin(&j.Constraints.Layout, wanted)
		if !a.IsFree(&j.Constraints.Layout) {
			fmt.Fprintf(&b, "  %s = %s\n", a.Name, a.Text(wanted))
		}
	}
	b.WriteString("}\n")
	written := map[string]bool{}
	for i := range option.Options {
		o := &option.Options[i]
		written[o.Name] = listed[o.Name] != nil && o.Text(execution) != ""
	}
	for more := true; more; {
		got, diags := (&request{job: &j}).compile(&j)
		if got == nil {
			return "", diags
		}
		more = false
		for i := range option.Options {
			o := &option.Options[i]
			if written[o.Name] || o.Same(&got.plan.Execution, execution) {
				continue
			}
			written[o.Name] = true
			if s, err := o.Setting(o.Text(execution)); err == nil {
				s.Pin(&j.Execution)
				more = true
			}
		}
	}
	b.WriteString(executionBlock(execution, written))
	text, diags := lang.Format([]byte(b.String()), "pin")
	return string(text), diags
}

// executionBlock sets options, given by their names; "" when there are none.
func executionBlock(wanted *plan.Execution, written map[string]bool) string {
	var b, offload strings.Builder
	for i := range option.Options {
		o := &option.Options[i]
		if !written[o.Name] {
			continue
		}
		if block, name, nested := strings.Cut(o.Name, "."); nested && block == option.Offload {
			fmt.Fprintf(&offload, "    %s = %s\n", name, o.Spelled(wanted))
		} else {
			fmt.Fprintf(&b, "  %s = %s\n", o.Name, o.Spelled(wanted))
		}
	}
	if offload.Len() > 0 {
		fmt.Fprintf(&b, "  %s {\n%s  }\n", option.Offload, offload.String())
	}
	if b.Len() == 0 {
		return ""
	}
	return "execution {\n" + b.String() + "}\n"
}
