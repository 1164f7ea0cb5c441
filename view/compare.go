package view

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view/markdown"
)

// Compared is a plan beside others, under the change that makes it.
type Compared struct {
	Change string
	Plan   *plan.Plan
	// StepDifference is the 90 % range of what its step takes longer than the first's, as
	// a share of it; nil: not known.
	StepDifference *[2]float64
}

// comparedRow is one line of a comparison: a name and a cell of each plan. A row
// without cells is a heading.
type comparedRow struct {
	name  string
	cells []string
}

// Compare writes plans of one job side by side, term by term: what was chosen
// otherwise, the step and its terms, the memory of the busiest rank and who holds
// it, exposed communication, the run. Differences are against the first.
func Compare(title string, list []Compared) string {
	var b strings.Builder
	fmt.Fprintln(&b, title)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n\t%s\n", strings.Join(changes(list), "\t"))
	for _, r := range compared(list, func(*plan.Plan) string { return "no" }) {
		if r.cells == nil {
			fmt.Fprintf(w, "%s%s\n", r.name, strings.Repeat("\t", len(list)))
			continue
		}
		fmt.Fprintf(w, "  %s\t%s\n", r.name, strings.Join(r.cells, "\t"))
	}
	w.Flush()             // into memory, which does not fail
	for i := range list { // a reason in a column would make all its cells as wide
		if p := list[i].Plan; !p.Feasible {
			fmt.Fprintf(&b, "\n%s does not fit: %s\n", list[i].Change, FirstReason(p))
		}
	}
	return trimLines(b.String())
}

// CompareMarkdown is Compare as tables for a page.
func CompareMarkdown(title string, list []Compared) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n", markdown.Text(title))
	for _, r := range compared(list, func(p *plan.Plan) string { return "no: " + FirstReason(p) }) {
		if r.cells == nil {
			table(&b, append([]string{r.name}, changes(list)...)...)
			continue
		}
		row(&b, append([]string{r.name}, r.cells...)...)
	}
	return b.String()
}

func changes(list []Compared) []string {
	var names []string
	for i := range list {
		names = append(names, list[i].Change)
	}
	return names
}

// trimLines drops the spaces that columns leave at the ends of lines.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// compared lists the rows. Plans that are not feasible have empty cells but for
// what is said of them.
func compared(list []Compared, no func(*plan.Plan) string) []comparedRow {
	c := &comparing{list: list}
	c.heading("Choice")
	c.row("feasible", func(p *plan.Plan) string { return "yes" }, no)
	for i := range option.Axes {
		c.differing(&option.Axes[i].Row, func(p *plan.Plan) string { return short(&option.Axes[i], &p.Layout) })
	}
	for i := range option.Options {
		c.differing(&option.Options[i].Row, func(p *plan.Plan) string { return option.Options[i].Spelled(&p.Execution) })
	}
	c.heading("Step")
	c.quantity("all", func(p *plan.Plan) float64 { return float64(p.Time.StepSeconds) }, duration)
	c.differences()
	c.lines(func(p *plan.Plan) []term {
		return terms(p.Time.Breakdown, func(l plan.TimeLine) term { return term{l.Name, float64(l.Seconds)} })
	}, duration)
	c.heading("Memory of the busiest rank")
	c.quantity("all", func(p *plan.Plan) float64 { return float64(p.Memory.Peak.DeviceBytes) }, gibibytes)
	c.lines(func(p *plan.Plan) []term {
		s := busiest(p)
		return append(terms(s.Ledger, func(l plan.LedgerLine) term { return term{l.Name, float64(l.Bytes)} }),
			term{"held by the allocator beside tensors", float64(s.ReservedBytes - s.AllocatedBytes)},
			term{"context, communicators and buffers outside it", float64(s.DeviceBytes - s.ReservedBytes)})
	}, gibibytes)
	c.heading("Exposed communication")
	c.lines(func(p *plan.Plan) []term {
		return terms(p.Communication, func(l plan.Communication) term {
			return term{strings.ReplaceAll(l.Collective, "_", "-") + " over " + l.Group, float64(l.ExposedSeconds)}
		})
	}, duration)
	c.heading("Run")
	c.row("MFU", func(p *plan.Plan) string { return Percent(p.Throughput.MFU) }, nil)
	c.quantity("time", func(p *plan.Plan) float64 { return float64(p.Run.Seconds) }, duration)
	c.quantity("GPU-hours", func(p *plan.Plan) float64 { return p.Run.GPUHours }, GPUHours)
	c.quantity("cost", func(p *plan.Plan) float64 { return p.Run.Cost }, func(x float64) string { return units.Significant(x, 4) })
	return c.rows
}

func duration(x float64) string  { return Duration(units.Seconds(x)) }
func gibibytes(x float64) string { return GiB(units.Bytes(x)) }

// FirstReason is the first reason why a plan is not feasible.
func FirstReason(p *plan.Plan) string {
	if p.Infeasible == nil || len(p.Infeasible.Reasons) == 0 {
		return "no layout meets the constraints"
	}
	return p.Infeasible.Reasons[0].Summary
}

// busiest is the stage of the peak.
func busiest(p *plan.Plan) plan.StageMemory {
	for _, s := range p.Memory.Stages {
		if s.Stage == p.Memory.Peak.Stage {
			return s
		}
	}
	return plan.StageMemory{}
}

// term is a named part of a sum.
type term struct {
	name  string
	value float64
}

func terms[T any](lines []T, of func(T) term) []term {
	list := make([]term, len(lines))
	for i := range lines {
		list[i] = of(lines[i])
	}
	return list
}

// comparing collects rows.
type comparing struct {
	list []Compared
	rows []comparedRow
}

func (c *comparing) heading(name string) { c.rows = append(c.rows, comparedRow{name: name}) }

// row adds a cell of each plan; of those that are not feasible with the second
// function, if any.
func (c *comparing) row(name string, of, otherwise func(*plan.Plan) string) {
	r := comparedRow{name: name}
	for i := range c.list {
		cell := ""
		if p := c.list[i].Plan; p.Feasible {
			cell = of(p)
		} else if otherwise != nil {
			cell = otherwise(p)
		}
		r.cells = append(r.cells, cell)
	}
	c.rows = append(c.rows, r)
}

// differences adds between what the steps differ from the first, nine times in ten.
func (c *comparing) differences() {
	if !slices.ContainsFunc(c.list, func(x Compared) bool { return x.StepDifference != nil }) {
		return
	}
	r := comparedRow{name: "difference, 90 % range"}
	for i := range c.list {
		cell := ""
		if d := c.list[i].StepDifference; d != nil {
			cell = shares(*d)
		}
		r.cells = append(r.cells, cell)
	}
	c.rows = append(c.rows, r)
}

// differing adds an axis or an option that is not the same everywhere.
func (c *comparing) differing(r *option.Row, of func(*plan.Plan) string) {
	values := map[string]bool{}
	for i := range c.list {
		if c.list[i].Plan.Feasible {
			values[of(c.list[i].Plan)] = true
		}
	}
	if len(values) > 1 {
		c.row(r.Name, of, nil)
	}
}

// quantity adds a number, with what it is more or less than the first plan's. A
// row of zeros is left out.
func (c *comparing) quantity(name string, of func(*plan.Plan) float64, write func(float64) string) {
	first := 0.0
	if c.list[0].Plan.Feasible {
		first = of(c.list[0].Plan)
	}
	if !slices.ContainsFunc(c.list, func(x Compared) bool { return x.Plan.Feasible && of(x.Plan) != 0 }) {
		return
	}
	c.row(name, func(p *plan.Plan) string {
		x := of(p)
		text := write(x)
		if p != c.list[0].Plan && first > 0 && x != first {
			text += fmt.Sprintf(" (%+.1f %%)", 100*(x/first-1))
		}
		return text
	}, nil)
}

// worthTelling is the share of a sum below which a term is left out.
const worthTelling = 1e-3

// lines adds every term that counts in any plan, in the order of the first that has it.
func (c *comparing) lines(of func(*plan.Plan) []term, write func(float64) string) {
	var names []string
	values := make([]map[string]float64, len(c.list))
	for i := range c.list {
		values[i] = map[string]float64{}
		if !c.list[i].Plan.Feasible {
			continue
		}
		list, sum := of(c.list[i].Plan), 0.0
		for _, t := range list {
			sum += t.value
		}
		for _, t := range list {
			values[i][t.name] += t.value
			if t.value > worthTelling*sum && !slices.Contains(names, t.name) {
				names = append(names, t.name)
			}
		}
	}
	for _, name := range names {
		at := map[*plan.Plan]float64{}
		for i := range c.list {
			at[c.list[i].Plan] = values[i][name]
		}
		c.quantity(name, func(p *plan.Plan) float64 { return at[p] }, write)
	}
}
