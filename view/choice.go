package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// mostContenders is how many plans a summary tells of that were not chosen: those
// that are expected to take the least, in whole per cents, so that what a job would have
// to ask for does not hide behind layouts that are all but alike.
const mostContenders = 4

// choice says why a plan was chosen, what that may cost, and what else it might
// have been.
func choice(p *plan.Plan) string {
	s := p.Selection
	text := s.Rule
	if s.GPUHoursRange != [2]float64{} {
		text = fmt.Sprintf("tied with the fastest; chosen for %s, which may cost %s of the run (90 %% range)", s.Rule, gpuHours(s.GPUHoursRange))
	}
	told := told(s.Among)
	for _, i := range told {
		c := &s.Among[i]
		text += fmt.Sprintf("\n%s a step with %s: %s", shares(c.StepDifferenceRange), strings.Join(Changes(&p.Layout, &p.Execution, &c.Layout, &c.Execution), ", "), c.WhyNot)
	}
	if more := len(s.Among) - len(told); more > 0 {
		text += "\nand " + units.Count(more, "more plan")
	}
	return text
}

// told lists the places of the plans that a summary tells of, as they stand.
func told(among []plan.Contender) []int {
	places := make([]int, len(among))
	for i := range places {
		places[i] = i
	}
	middle := func(i int) float64 {
		return math.Round(50 * (among[i].StepDifferenceRange[0] + among[i].StepDifferenceRange[1]))
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(middle(a), middle(b)) })
	places = places[:min(len(places), mostContenders)]
	slices.Sort(places)
	return places
}

func gpuHours(r [2]float64) string {
	if max(math.Abs(r[0]), math.Abs(r[1])) < 0.01 {
		return "less than 0.01 GPU-hours"
	}
	return signed(r[0]) + " to " + signed(r[1]) + " GPU-hours"
}

// signed writes GPU-hours more or less.
func signed(h float64) string {
	text := GPUHours(h)
	if h < 0 || text == "0" {
		return text
	}
	return "+" + text
}

func shares(r [2]float64) string { return fmt.Sprintf("%+.1f %% to %+.1f %%", 100*r[0], 100*r[1]) }

// short is an axis of a layout as the language spells it, but for runs of equal chunks.
func short(a *option.Axis, l *plan.Layout) string {
	if a.Kind == option.Counts {
		return stageLayers(l.StageLayers)
	}
	return a.Text(l)
}

// Changes lists the axes and options, named as in the language, in which a layout
// and its execution differ from another.
func Changes(from *plan.Layout, fromExecution *plan.Execution, to *plan.Layout, toExecution *plan.Execution) []string {
	var list []string
	for i := range option.Axes {
		switch a := &option.Axes[i]; {
		case a.Same(from, to):
		case a.FreedWith != "" && a.Same(to, &plan.Layout{}): // it means nothing there
		default:
			list = append(list, a.Name+" = "+short(a, to))
		}
	}
	for i := range option.Options {
		o := &option.Options[i]
		if o.Text(toExecution) != "" && !o.Same(fromExecution, toExecution) { // "" where it means nothing
			list = append(list, o.Name+" = "+o.Spelled(toExecution))
		}
	}
	return list
}
