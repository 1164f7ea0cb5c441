package view

import (
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view/markdown"
)

// Markdown writes the plans of a job as a page for reviewers: what Summary says
// of each, a table that compares them, and their warnings. One plan more or one
// number other changes few of its lines.
func Markdown(job string, plans []*plan.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", markdown.Text(job))
	if len(plans) > 1 {
		comparison(&b, plans)
	}
	for _, p := range plans {
		fmt.Fprintf(&b, "\n## %s %s\n\n", markdown.Text(p.Backend), markdown.Text(p.BackendVersion))
		page(&b, p)
	}
	b.WriteString("\n## About the numbers\n\n" +
		"Left out: " + LeftOut(plans) + ".\n" +
		"Of measured over predicted, nine in ten lie in the 90 % ranges.\n")
	return b.String()
}

// comparison is a table of what decides between backends.
func comparison(b *strings.Builder, plans []*plan.Plan) {
	table(b, "plan", "step", "device memory", "MFU", "GPU-hours")
	for _, p := range plans {
		name := p.Backend + " " + p.BackendVersion
		if !p.Feasible {
			row(b, name, "not feasible", "", "", "")
			continue
		}
		row(b, name, Duration(p.Time.StepSeconds), GiB(p.Memory.Peak.DeviceBytes), Percent(p.Throughput.MFU), GPUHours(p.Run.GPUHours))
	}
}

// page is what is told of one plan.
func page(b *strings.Builder, p *plan.Plan) {
	item(b, "Input", fmt.Sprintf("%d x %s, %s, global batch %d x %d tokens, %s",
		p.Input.GPUs, machines(&p.Input), parameters(&p.Input), p.Input.GlobalBatchSize, p.Input.SequenceLength, p.Input.Precision))
	if !p.Feasible {
		b.WriteString("\nNo layout meets the constraints:\n\n")
		for _, r := range p.Infeasible.Reasons {
			item(b, r.ID, r.Summary)
		}
		return
	}
	item(b, "Layout", strings.ReplaceAll(Layout(&p.Layout), "\n", "; "))
	item(b, "Execution", execution(&p.Execution))
	if p.Calibration != nil {
		item(b, "Measured", strings.ReplaceAll(measured(p), "\n", "; "))
	}
	if p.Selection != nil {
		lines := strings.Split(choice(p), "\n")
		item(b, "Choice", lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(b, "  - %s\n", markdown.Text(line))
		}
	}
	if len(p.Learned) > 0 {
		item(b, "Learning", strings.ReplaceAll(learned(p.Learned), "\n", "; "))
	}
	item(b, "Run", strings.ReplaceAll(runLine(p), "\n", "; "))
	memoryTable(b, &p.Memory)
	stepTable(b, &p.Time)
	if len(p.Warnings) > 0 {
		b.WriteString("\nWarnings:\n\n")
	}
	for _, w := range p.Warnings {
		item(b, w.Summary+" ["+w.ID+"]", w.Detail)
	}
}

// memoryTable has a row for every pipeline rank.
func memoryTable(b *strings.Builder, m *plan.Memory) {
	fmt.Fprintf(b, "\nBusiest is rank %d of stage %d: %s on the device (90 %% range %s to %s), %s usable of %s.\n",
		m.Peak.Rank, m.Peak.Stage, GiB(m.Peak.DeviceBytes), GiB(m.Peak.DeviceRangeBytes[0]), GiB(m.Peak.DeviceRangeBytes[1]), GiB(m.UsableBytes), GiB(m.GPUBytes))
	if o := outOfMemory(&m.OOM); o != "" {
		fmt.Fprintf(b, "\nThe %s.\n", o)
	}
	if o := nearLimit(m.NearLimit); o != "" {
		fmt.Fprintf(b, "\nBesides, %s.\n", o)
	}
	if m.Host.BytesPerNode > 0 {
		fmt.Fprintf(b, "Host memory: %s per node%s.\n", GiB(m.Host.BytesPerNode), hostPhases(m.Host.Phases))
	}
	table(b, "stage", "layers", "device memory", "largest parts, in GiB")
	for i := range m.Stages {
		s := &m.Stages[i]
		row(b, fmt.Sprint(s.Stage), stageLayers(s.Layers), GiB(s.DeviceBytes), largest(s.Ledger))
	}
}

// stepTable has a row for every part of the step that is more than a thousandth of it.
func stepTable(b *strings.Builder, t *plan.Time) {
	fmt.Fprintf(b, "\nA step takes %s (%s90 %% range %s), bubble %s, exposed communication %s.\n",
		Duration(t.StepSeconds), Expected(t), StepRange(t), Percent(t.BubbleShare), Percent(t.ExposedCommunicationShare))
	table(b, "part of the step", "time", "share")
	for _, l := range t.Breakdown {
		if l.Seconds > 0.001*t.StepSeconds {
			row(b, l.Name, Duration(l.Seconds), Percent(units.Share(l.Seconds/t.StepSeconds)))
		}
	}
}

func item(b *strings.Builder, name, what string) {
	fmt.Fprintf(b, "- **%s**: %s\n", markdown.Text(name), markdown.Text(what))
}

func table(b *strings.Builder, columns ...string) {
	b.WriteString("\n" + markdown.Head(cells(columns)))
}

func row(b *strings.Builder, texts ...string) { b.WriteString(markdown.Row(cells(texts)...)) }

func cells(texts []string) []string {
	list := make([]string, len(texts))
	for i, t := range texts {
		list[i] = markdown.Cell(t)
	}
	return list
}
