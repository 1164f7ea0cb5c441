package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
)

// cloud is what the picture of all layouts shows: some of them, and the frontier.
type cloud struct {
	Layouts  int             `json:"layouts"`
	Shown    []plan.Assessed `json:"shown"`    // one for each place on the paper
	Frontier []frontierPoint `json:"frontier"` // of those that fit surely: nothing is faster with less memory
}

// frontierPoint is a layout of the frontier, in words.
type frontierPoint struct {
	plan.Assessed
	Words string `json:"layout"`
}

// Size of the plot, and of the places of which one layout each is shown.
const (
	cloudHeight = 380
	place       = 4
	farthest    = 2.5 // times the fastest step; slower ones are left out
	widest      = 1.6 // times the GPU's memory
)

func cloudOf(s *Subject) cloud {
	all := append(s.Layouts(), chosen(s.Plan))
	c := cloud{Layouts: len(all) - 1, Shown: []plan.Assessed{}, Frontier: []frontierPoint{}}
	fastest := fastestOf(all)
	type at struct {
		x, y int
		fits plan.Fit
	}
	seen := map[at]bool{}
	for i := range all {
		a := &all[i]
		x, y := cloudPlace(s.Plan, a, fastest)
		if k := (at{int(x*plotWidth) / place, int(y*cloudHeight) / place, a.Fits}); x <= 1 && y <= 1 && !seen[k] {
			seen[k] = true
			c.Shown = append(c.Shown, *a)
		}
	}
	fit := slices.DeleteFunc(slices.Clone(all), func(a plan.Assessed) bool { return a.Fits != plan.Fits })
	slices.SortStableFunc(fit, func(a, b plan.Assessed) int {
		return cmp.Or(cmp.Compare(a.PeakDeviceBytes, b.PeakDeviceBytes), cmp.Compare(a.StepSeconds, b.StepSeconds))
	})
	best := units.Seconds(math.Inf(1))
	for _, a := range fit {
		if a.StepSeconds < best && a.StepSeconds <= units.Seconds(fastest*farthest) {
			best = a.StepSeconds
			c.Frontier = append(c.Frontier, frontierPoint{a, strings.ReplaceAll(view.Layout(&a.Layout), "\n", ", ")})
		}
	}
	return c
}

// chosen is the plan among the layouts.
func chosen(p *plan.Plan) plan.Assessed {
	a := plan.Assessed{Layout: p.Layout, StepSeconds: p.Time.StepSeconds, PeakDeviceBytes: p.Memory.Peak.DeviceBytes, Fits: plan.Fits}
	if p.Memory.Peak.DeviceRangeBytes[1] > p.Memory.UsableBytes {
		a.Fits = plan.FitsUnsure
	}
	return a
}

func fastestOf(all []plan.Assessed) units.Seconds {
	fastest := units.Seconds(math.Inf(1))
	for i := range all {
		fastest = min(fastest, all[i].StepSeconds)
	}
	return fastest
}

// cloudPlace is where a layout lies: memory to the right, throughput up, both from
// 0 to 1; more than 1 is off the paper.
func cloudPlace(p *plan.Plan, a *plan.Assessed, fastest units.Seconds) (x, y float64) {
	x = float64(a.PeakDeviceBytes) / (widest * float64(p.Memory.GPUBytes))
	speed := float64(fastest / a.StepSeconds)
	return x, 1 - (speed-1/farthest)/(1.03-1/farthest)
}

func dataPareto(s *Subject) any { return cloudOf(s) }

// cloudColours are those of the dots.
var cloudColours = map[plan.Fit]string{plan.Fits: "#228833", plan.FitsUnsure: "#ee7733", plan.FitsNot: "#8f8f8f"}

// drawPareto has a dot for every layout: throughput over memory. Those that may not
// fit are rings.
func drawPareto(s *Subject, c *canvas) {
	entitle(s, c)
	all := cloudOf(s)
	fastest := fastestOf(all.Shown)
	c.head(fmt.Sprintf("%s: throughput over memory", units.Count(all.Layouts, "layout")))
	top := c.y
	p := s.Plan
	seconds := float64(fastest)
	tokens := float64(p.Input.GlobalBatchSize) * float64(p.Input.SequenceLength) / float64(max(1, p.Input.GPUs)) // per GPU and step
	dot := func(a *plan.Assessed) (float64, float64) {
		x, y := cloudPlace(p, a, fastest)
		return at(x), float64(top) + float64(y*cloudHeight)
	}
	for _, t := range ticks(widest * float64(p.Memory.GPUBytes) / float64(units.GiB)) {
		x := at(t * float64(units.GiB) / (widest * float64(p.Memory.GPUBytes)))
		c.line(x, top, x, top+cloudHeight, "faint", false)
		c.anchored(x, top+cloudHeight+14, 10, "soft", "middle", units.Significant(t, 4)+" GiB")
	}
	for _, t := range ticks(tokens / seconds) {
		_, y := cloudPlace(p, &plan.Assessed{StepSeconds: units.Seconds(tokens / max(t, 1e-9))}, fastest)
		if y >= 0 && y <= 1 {
			at := top + int(y*cloudHeight)
			c.line(plotLeft, at, plotLeft+plotWidth, at, "faint", false)
			c.label(at+4, units.Significant(t, 4))
		}
	}
	x := at(float64(p.Memory.UsableBytes) / (widest * float64(p.Memory.GPUBytes)))
	c.line(x, top, x, top+cloudHeight, "limit", true)
	for _, fit := range []plan.Fit{plan.FitsNot, plan.FitsUnsure, plan.Fits} {
		var d strings.Builder
		for i := range all.Shown {
			if a := &all.Shown[i]; a.Fits == fit {
				x, y := dot(a)
				fmt.Fprintf(&d, "M%.0f %.0fh.1", x, y)
			}
		}
		radius := 3
		if fit == plan.FitsNot {
			radius = 2
		}
		if d.Len() > 0 {
			fmt.Fprintf(&c.body, `<path d="%s" stroke="%s" stroke-width="%d" stroke-linecap="round" fill="none"/>`+"\n", d.String(), cloudColours[fit], radius)
		}
		if fit == plan.FitsUnsure && d.Len() > 0 { // rings
			fmt.Fprintf(&c.body, `<path d="%s" class="hole" stroke-width="1" stroke-linecap="round" fill="none"/>`+"\n", d.String())
		}
	}
	frontier(c, all.Frontier, dot)
	own := chosen(p)
	cx, cy := dot(&own)
	fmt.Fprintf(&c.body, `<circle cx="%s" cy="%s" r="7" class="mark" stroke-width="2"><title>the plan: %s, %s</title></circle>`+"\n", number(cx), number(cy), view.Duration(p.Time.StepSeconds), view.GiB(p.Memory.Peak.DeviceBytes))
	c.y = top + cloudHeight + 22
	c.note(fmt.Sprintf("Up: tokens per second and GPU, from %s; right: memory on the busiest device. The dashed line is what is usable.", units.Significant(tokens/seconds/farthest, 3)))
	c.note("The circle is the plan, the line the frontier of what surely fits. Dots have the plan's options where their layout allows them.")
	c.legend([]string{"fits", "fits by its prediction, not by its range", "does not fit, or misses a limit"}, []string{cloudColours[plan.Fits], cloudColours[plan.FitsUnsure], cloudColours[plan.FitsNot]})
}

// frontier joins the layouts of the frontier by steps.
func frontier(c *canvas, points []frontierPoint, dot func(*plan.Assessed) (float64, float64)) {
	var d strings.Builder
	for i := range points {
		x, y := dot(&points[i].Assessed)
		if i == 0 {
			fmt.Fprintf(&d, "M%s %s", number(x), number(y))
		} else {
			fmt.Fprintf(&d, "H%sV%s", number(x), number(y))
		}
	}
	if d.Len() > 0 {
		fmt.Fprintf(&c.body, `<path d="%s" class="rule"><title>frontier</title></path>`+"\n", d.String())
	}
}

func textPareto(s *Subject) string {
	all := cloudOf(s)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s; of those that surely fit, none is faster with less memory than\n", heading(s), units.Count(all.Layouts, "layout"))
	for i := range all.Frontier {
		f := &all.Frontier[i]
		mark := "  "
		if f.StepSeconds == s.Plan.Time.StepSeconds && f.PeakDeviceBytes == s.Plan.Memory.Peak.DeviceBytes {
			mark = "* "
		}
		fmt.Fprintf(&b, "%s%9s %9s  %s\n", mark, view.GiB(f.PeakDeviceBytes), view.Duration(f.StepSeconds), cut(f.Words, 90))
	}
	b.WriteString("* is the plan\n")
	return b.String()
}

// cut shortens a line.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
