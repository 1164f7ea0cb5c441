package compiler

import (
	"reflect"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// The numbers of a plan have nine significant digits (units.Rounded), so that
// every processor writes the same bytes, and so do all files and pictures that
// are made from a plan.

// roundTimes rounds the parts of a step to the digits of the step, whose error
// they share.
func roundTimes(p *plan.Plan) {
	t := &p.Time
	exact := t.StepSeconds
	step := units.Rounded(exact)
	t.StepSeconds = step
	t.Breakdown = roundBreakdown(t.Breakdown, step)
	for _, share := range []*units.Share{&t.BubbleShare, &t.ExposedCommunicationShare} {
		*share = units.Share(units.RoundedTo(units.Seconds(*share)*exact, step) / step)
	}
	for i := range p.Communication {
		c := &p.Communication[i]
		c.Seconds, c.ExposedSeconds = units.RoundedTo(c.Seconds, step), units.RoundedTo(c.ExposedSeconds, step)
	}
}

// roundBreakdown rounds the lines of a step; the longest takes what rounding
// leaves, so that they still sum to the step. Lines of nothing are left out.
func roundBreakdown(lines []plan.TimeLine, step units.Seconds) []plan.TimeLine {
	rest, longest := step, 0
	for i := range lines {
		lines[i].Seconds = units.RoundedTo(lines[i].Seconds, step)
		rest -= lines[i].Seconds
		if lines[i].Seconds > lines[longest].Seconds {
			longest = i
		}
	}
	if len(lines) > 0 {
		lines[longest].Seconds = units.RoundedTo(lines[longest].Seconds+rest, step)
	}
	return slices.DeleteFunc(lines, func(l plan.TimeLine) bool { return l.Seconds == 0 })
}

// roundAll rounds every number with a fraction that a pointer leads to.
func roundAll(pointer any) { roundValue(reflect.ValueOf(pointer)) }

func roundValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			roundValue(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			roundValue(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			roundValue(v.Index(i))
		}
	case reflect.Float64:
		v.SetFloat(units.Rounded(v.Float()))
	}
}
