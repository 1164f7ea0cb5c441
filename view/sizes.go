package view

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// kneeCost is by how many more GPU-hours than the cheapest size the knee may take,
// as a share.
const kneeCost = 0.10

// Knee finds the largest of some sizes of a run, in order, that takes little more
// GPU-hours than the one that takes the least: beyond it time is bought dearly. It
// is -1 where no size is feasible.
func Knee(plans []*plan.Plan) int {
	least := -1.0
	for _, p := range plans {
		if p.Feasible && (least < 0 || p.Run.GPUHours < least) {
			least = p.Run.GPUHours
		}
	}
	knee := -1
	for i, p := range plans {
		if p.Feasible && p.Run.GPUHours <= least*(1+kneeCost) {
			knee = i
		}
	}
	return knee
}

// Sizes writes a table of the sizes of a run: what it takes on each number of
// nodes, with the knee and what the objective chooses, by their places.
func Sizes(title string, plans []*plan.Plan, knee, chosen int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", title)
	priced, expected := false, false
	for _, p := range plans {
		priced, expected = priced || p.Run.Cost > 0, expected || p.Run.ExpectedSeconds > 0
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "nodes\tGPUs\tstep\ttime\t"
	if expected {
		head += "expected\tfailures\t"
	}
	head += "GPU-hours\tMFU\tmemory\trisk\t"
	if priced {
		head += "cost\t"
	}
	fmt.Fprintln(w, head)
	for _, p := range plans {
		fmt.Fprintf(w, "%d\t%d\t", p.Input.Nodes, p.Input.GPUs)
		if !p.Feasible {
			fmt.Fprintln(w, strings.Repeat("-\t", strings.Count(head, "\t")-2))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t", Duration(p.Time.StepSeconds), Duration(p.Run.Seconds))
		if expected {
			fmt.Fprint(w, expectedTime(&p.Run))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t", GPUHours(p.Run.GPUHours), Percent(p.Throughput.MFU), GiB(p.Memory.Peak.DeviceBytes), risk(p))
		if priced {
			fmt.Fprintf(w, "%s\t", units.Significant(p.Run.Cost, 4))
		}
		fmt.Fprintln(w)
	}
	w.Flush() // into memory, which does not fail
	return notedSizes(b.String(), plans, knee, chosen)
}

// expectedTime are the columns of a run's time with its failures, and of these.
func expectedTime(r *plan.Run) string {
	if r.ExpectedSeconds == 0 {
		return "never\t-\t"
	}
	return fmt.Sprintf("%s\t%s\t", Duration(r.ExpectedSeconds), units.Significant(r.Failures, 3))
}

// risk is the probability that a run ends out of memory, coarsely.
func risk(p *plan.Plan) string {
	switch any := p.Memory.OOM.Any; {
	case any < 1e-4:
		return "<0.01%"
	case any < 0.01:
		return fmt.Sprintf("%.1g%%", 100*any)
	default:
		return fmt.Sprintf("%.0f%%", 100*any)
	}
}

// notedSizes adds a note to the lines of a table, whose first line of a size is the
// fourth.
func notedSizes(table string, plans []*plan.Plan, knee, chosen int) string {
	lines := strings.Split(strings.TrimRight(table, "\n"), "\n")
	for i, p := range plans {
		line := &lines[len(lines)-len(plans)+i]
		var notes []string
		if i == chosen {
			notes = append(notes, "chosen")
		}
		if i == knee {
			notes = append(notes, "knee")
		}
		if p.Feasible {
			notes = append(notes, shortLayout(p))
		} else {
			notes = append(notes, FirstReason(p))
		}
		*line += "  " + strings.Join(notes, "; ")
	}
	return trimLines(strings.Join(lines, "\n")) + "\n"
}

// shortLayout is the first line of a layout.
func shortLayout(p *plan.Plan) string {
	first, _, _ := strings.Cut(Layout(&p.Layout), "\n")
	return first
}
