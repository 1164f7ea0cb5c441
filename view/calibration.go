package view

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/calibration"
	"github.com/ndc-dev/ndc/lang/units"
)

// Calibration writes what logs say of a machine.
func Calibration(f *calibration.File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", f.GPU)
	for i := range f.Runs {
		r := &f.Runs[i]
		name := ""
		if i == 0 {
			name = "Runs"
		}
		section(&b, name, calibrationRun(r))
		for _, x := range r.Refused {
			section(&b, "", fmt.Sprintf("  left out: %s from step %d on: %s", units.Count(x.Reports, "report"), x.First, x.Reason))
		}
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "%-46s %16s %16s\n", "measured over predicted", "before", "after")
	for _, t := range f.Terms {
		note := ""
		if !t.Identified {
			note = "as before"
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-46s %16s %16s %s", t.Name, around(t.Before), around(t.After), note), " ") + "\n")
	}
	if a := f.Allocator; a != nil {
		fmt.Fprintf(&b, "%-46s %16s %16s\n", "reserved memory", around(a.Before), around(a.After))
	}
	for i, s := range f.Speeds {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(calibrationSpeed(&s) + "\n")
	}
	for _, l := range f.Links {
		predicted := ""
		if l.Predicted > 0 {
			predicted = fmt.Sprintf(", predicted %.1f", float64(l.Predicted)/1e9)
		}
		fmt.Fprintf(&b, "\n%s over %d ranks of %s: bus bandwidth %.1f GB/s at %s%s (nccl-tests)\n", cmp.Or(strings.ReplaceAll(l.Collective, "_", " "), "a collective"), l.Ranks, units.Count(l.Nodes, "node"),
			float64(l.BusBandwidth)/1e9, l.Bytes.Human(), predicted)
	}
	if f.Chain != nil {
		b.WriteByte('\n')
		calibrationChain(&b, f.Chain)
	}
	return b.String()
}

// calibrationSpeed is what the check of nodes measured.
func calibrationSpeed(s *calibration.Speed) string {
	what := map[string]string{"gemm": "GEMMs", "node": "an all-reduce inside a node", "network": "an all-reduce between nodes"}[s.What]
	text := fmt.Sprintf("%s on %s: %s, predicted %s (%+.1f %%)", what, units.Count(s.Nodes, "node"), Duration(s.Seconds), Duration(s.Predicted), 100*float64(s.Seconds/s.Predicted-1))
	if s.Measurements > 1 {
		text += fmt.Sprintf(", in the middle of %d measurements", s.Measurements)
	}
	if s.Why != "" {
		text += "; not used: " + s.Why
	}
	return text
}

func calibrationRun(r *calibration.Run) string {
	s := fmt.Sprintf("%s on %s, %d GPUs: ", r.Job, r.Backend, r.GPUs)
	if !r.Used {
		return s + "not used: " + r.Why
	}
	return s + fmt.Sprintf("step %s ± %.1f %% in %s; predicted %s (%+.1f %%), calibrated %s (%+.1f %%)", Duration(r.Measured), 100*r.Spread, units.Count(r.Reports, "report"),
		Duration(r.Predicted), 100*float64(r.Measured/r.Predicted-1), Duration(r.After), 100*float64(r.Measured/r.After-1))
}

// around writes an error as a factor with its spread.
func around(n calibration.Normal) string {
	return fmt.Sprintf("%.3f ± %.1f %%", math.Exp(n.Mean), 100*n.Spread)
}

func calibrationChain(b *strings.Builder, c *calibration.Chain) {
	s := fmt.Sprintf("%s, %s GPU-hours", units.Count(c.Launches, "launch"), units.Significant(c.GPUHours, 3))
	for _, kind := range slices.Sorted(maps.Keys(c.Failures)) {
		s += fmt.Sprintf(", %d %s", c.Failures[kind], strings.ReplaceAll(kind, "_", " "))
	}
	section(b, "Chain", s)
	for _, p := range []struct {
		name string
		of   *calibration.Duration
	}{{"start", c.Start}, {"load", c.Load}, {"save", c.Save}, {"queue", c.Queue}} {
		if p.of != nil {
			section(b, "", fmt.Sprintf("%s %s, at most %s (%d seen)", p.name, Duration(p.of.Seconds), Duration(p.of.Longest), p.of.Count))
		}
	}
}
