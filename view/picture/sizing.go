package picture

import (
	"fmt"
	"math"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
)

// sizeData is what the curves show of one size of the run.
type sizeData struct {
	Nodes           int           `json:"nodes"`
	GPUs            int           `json:"gpus"`
	Feasible        bool          `json:"feasible"`
	Seconds         units.Seconds `json:"seconds,omitempty"`
	ExpectedSeconds units.Seconds `json:"expected_seconds,omitempty"` // with failures, where they are known
	GPUHours        float64       `json:"gpu_hours,omitempty"`
	Knee            bool          `json:"knee,omitempty"`
	Drawn           bool          `json:"drawn,omitempty"` // it is the plan that the picture is of
}

// sizeOf finds the plan that is drawn among those of its sizes; -1: it is none.
func sizeOf(s *Subject, sizes []*plan.Plan) int {
	for i, p := range sizes {
		if p.Feasible && p.Input.Nodes == s.Plan.Input.Nodes {
			return i
		}
	}
	return -1
}

func dataSizing(s *Subject) any {
	sizes := s.Sizes()
	knee, own := view.Knee(sizes), sizeOf(s, sizes)
	list := make([]sizeData, len(sizes))
	for i, p := range sizes {
		list[i] = sizeData{Nodes: p.Input.Nodes, GPUs: p.Input.GPUs, Feasible: p.Feasible, Knee: i == knee, Drawn: i == own}
		if p.Feasible {
			list[i].Seconds, list[i].ExpectedSeconds, list[i].GPUHours = p.Run.Seconds, p.Run.ExpectedSeconds, p.Run.GPUHours
		}
	}
	return list
}

func textSizing(s *Subject) string {
	sizes := s.Sizes()
	knee, own := view.Knee(sizes), sizeOf(s, sizes)
	longest := units.Seconds(0)
	for _, p := range sizes {
		longest = max(longest, p.Run.Seconds)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: sizes of the run\n%6s %12s %14s\n", heading(s), "nodes", "time", "GPU-hours")
	for i, p := range sizes {
		if !p.Feasible {
			fmt.Fprintf(&b, "%6d %12s %14s  no plan\n", p.Input.Nodes, "-", "-")
			continue
		}
		var marks string
		if i == own {
			marks += "  the plan"
		}
		if i == knee {
			marks += "  knee"
		}
		bar := strings.Repeat("█", max(1, int(math.Round(float64(40*p.Run.Seconds/longest)))))
		fmt.Fprintf(&b, "%6d %12s %14s  %s%s\n", p.Input.Nodes, view.Duration(p.Run.Seconds), view.GPUHours(p.Run.GPUHours), bar, marks)
	}
	return b.String()
}

// panelHeight is that of one curve.
const panelHeight = 180

// drawSizing draws the time of the run and its GPU-hours over the number of nodes,
// which doubles from line to line.
func drawSizing(s *Subject, c *canvas) {
	entitle(s, c)
	sizes := s.Sizes()
	least, most := sizes[0].Input.Nodes, sizes[len(sizes)-1].Input.Nodes
	x := func(nodes int) float64 {
		if least == most {
			return at(0.5)
		}
		return at(0.02 + 0.96*math.Log2(float64(nodes)/float64(least))/math.Log2(float64(most)/float64(least)))
	}
	expected := false
	for _, p := range sizes {
		expected = expected || p.Run.ExpectedSeconds > 0
	}
	curves := []curve{{"run", colour(0), func(p *plan.Plan) float64 { return float64(p.Run.Seconds / units.Day) }}}
	if expected {
		curves = append(curves, curve{"expected, with failures", colour(4), func(p *plan.Plan) float64 { return float64(p.Run.ExpectedSeconds / units.Day) }})
	}
	panel(c, "Days of the run over nodes", sizes, sizeOf(s, sizes), x, curves)
	panel(c, "Thousands of GPU-hours over nodes", sizes, sizeOf(s, sizes), x, []curve{{"GPU-hours", colour(2), func(p *plan.Plan) float64 { return p.Run.GPUHours / 1000 }}})
	c.note("Each size has its own best plan.")
	c.note(sizingNote(s, sizes))
	if expected {
		c.legend([]string{curves[0].name, curves[1].name}, []string{curves[0].fill, curves[1].fill})
	}
}

// sizingNote says which sizes are marked.
func sizingNote(s *Subject, sizes []*plan.Plan) string {
	var parts []string
	if own := sizeOf(s, sizes); own >= 0 {
		parts = append(parts, fmt.Sprintf("The circle is the plan: %s.", units.Count(sizes[own].Input.Nodes, "node")))
	}
	if knee := view.Knee(sizes); knee >= 0 {
		parts = append(parts, fmt.Sprintf("The dashed line is the knee at %s, beyond which time costs many GPU-hours.", units.Count(sizes[knee].Input.Nodes, "node")))
	}
	for _, p := range sizes {
		if !p.Feasible {
			return strings.Join(append(parts, "Crosses are sizes without a plan."), " ")
		}
	}
	return strings.Join(parts, " ")
}

// curve is a quantity of the sizes.
type curve struct {
	name, fill string
	of         func(*plan.Plan) float64 // 0: none
}

// wide is how many times the least of a panel's values its most may be, beyond which
// they are drawn by powers of ten: else the sizes that matter lie on the axis.
const wide = 20

// scale says where values of curves stand on a panel, and which have a line.
func scale(sizes []*plan.Plan, curves []curve) (height func(float64) float64, marks []float64, powers bool) {
	least, most := math.Inf(1), 0.0
	for _, p := range sizes {
		for _, k := range curves {
			if v := k.of(p); p.Feasible && v > 0 {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if most <= wide*least {
		return func(v float64) float64 { return panelHeight * v / max(most*1.05, 1e-9) }, ticks(most), false
	}
	low, high := math.Floor(math.Log10(least)), math.Log10(most*1.2)
	for d := low; d <= high; d++ {
		marks = append(marks, math.Pow(10, d))
	}
	return func(v float64) float64 { return panelHeight * (math.Log10(v) - low) / (high - low) }, marks, true
}

// panel draws curves over the nodes, and a ring at the size that is the plan.
func panel(c *canvas, title string, sizes []*plan.Plan, own int, x func(int) float64, curves []curve) {
	height, marks, powers := scale(sizes, curves)
	if powers {
		title += ", by powers of ten"
	}
	c.head(title)
	begin, bottom := c.y, c.y+panelHeight
	y := func(v float64) float64 { return float64(bottom) - height(v) }
	for _, t := range marks {
		c.line(plotLeft, int(y(t)), plotLeft+plotWidth, int(y(t)), "faint", false)
		c.label(int(y(t))+4, units.Significant(t, 4))
	}
	if knee := view.Knee(sizes); knee >= 0 {
		c.line(x(sizes[knee].Input.Nodes), begin, x(sizes[knee].Input.Nodes), bottom, "rule", true)
	}
	named := math.Inf(-1) // where the last number of nodes stands
	for _, p := range sizes {
		at := x(p.Input.Nodes)
		if at-named > 30 {
			c.anchored(at, bottom+14, 10, "soft", "middle", fmt.Sprint(p.Input.Nodes))
			named = at
		}
		if !p.Feasible {
			fmt.Fprintf(&c.body, `<path d="M%s %dl8 8m0 -8l-8 8" class="limit" stroke-width="2"><title>%s: no plan</title></path>`+"\n", number(at-4), bottom-12, units.Count(p.Input.Nodes, "node"))
		}
	}
	for i := range curves {
		curves[i].draw(c, sizes, x, y)
	}
	if own >= 0 {
		fmt.Fprintf(&c.body, `<circle cx="%s" cy="%s" r="8" class="mark" stroke-width="2"/>`+"\n", number(x(sizes[own].Input.Nodes)), number(y(curves[0].of(sizes[own]))))
	}
	c.y = bottom + 26
}

// draw draws the curve through the sizes that have a plan, a dot for each.
func (k *curve) draw(c *canvas, sizes []*plan.Plan, x func(int) float64, y func(float64) float64) {
	var path, dots strings.Builder
	for _, p := range sizes {
		if !p.Feasible || k.of(p) == 0 {
			continue
		}
		step := "L"
		if path.Len() == 0 {
			step = "M"
		}
		fmt.Fprintf(&path, "%s%s %s", step, number(x(p.Input.Nodes)), number(y(k.of(p))))
		tip := fmt.Sprintf("%s: %s, %s GPU-hours, %s a step", units.Count(p.Input.Nodes, "node"), view.Duration(p.Run.Seconds), view.GPUHours(p.Run.GPUHours), view.Duration(p.Time.StepSeconds))
		fmt.Fprintf(&dots, `<circle cx="%s" cy="%s" r="4" fill="%s"><title>%s</title></circle>`+"\n", number(x(p.Input.Nodes)), number(y(k.of(p))), k.fill, tip)
	}
	if path.Len() > 0 {
		fmt.Fprintf(&c.body, `<path d="%s" stroke="%s" stroke-width="2" fill="none"/>`+"\n", path.String(), k.fill)
		c.body.WriteString(dots.String())
	}
}
