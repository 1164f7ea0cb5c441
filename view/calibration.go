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
		for _, reason := range refusals(r.Refused) {
			section(&b, "", "  left out: "+reason)
		}
		if m := r.Memory; m != nil && m.Why != "" {
			section(&b, "", fmt.Sprintf("  left out: memory of %s %s, predicted %s: %s", m.Measured.Human(), m.Kind, m.Predicted.Human(), m.Why))
		}
	}
	b.WriteByte('\n')
	if sites := sitesOf(f); len(sites) > 1 {
		fmt.Fprintf(&b, "These are runs at the sites %s, taken for those of one machine. Where they are of several, calibrate each by its own.\n\n", strings.Join(sites, " and "))
	}
	calibrationTerms(&b, f)
	if a := f.Allocator; a != nil {
		fmt.Fprintf(&b, "%-30s %16s %16s\n", "reserved memory", around(a.Before), around(a.After))
	}
	if n := f.Network; n != nil {
		fmt.Fprintf(&b, "\nThe network between nodes is not what the jobs say: what is measured is %s times more likely if it is %s.\n"+
			"What is exposed of it counts so. Set network of the cluster to what nodes have, and calibrate anew.\n", oddsText(n.Odds), asFast(n.Times))
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

// sitesOf lists the sites whose runs count.
func sitesOf(f *calibration.File) []string {
	sites := map[string]bool{}
	for i := range f.Runs {
		if r := &f.Runs[i]; r.Used && r.Site != "" {
			sites[r.Site] = true
		}
	}
	return slices.Sorted(maps.Keys(sites))
}

// oddsText is how much more likely something is, as precisely as one can know.
func oddsText(odds float64) string {
	if odds > 1000 {
		return "more than 1,000"
	}
	return fmt.Sprintf("%.2g", odds)
}

// asFast is a multiple of a time in words.
func asFast(times float64) string {
	if times < 1 {
		return fmt.Sprintf("%.2g times as fast", 1/times)
	}
	return fmt.Sprintf("%.2g times slower", times)
}

// mostModels is how many models a table has columns for.
const mostModels = 3

// calibrationTerms writes what is known of each term: before, of models that ran, and
// of others.
func calibrationTerms(b *strings.Builder, f *calibration.File) {
	models := f.Models[:min(len(f.Models), mostModels)]
	fmt.Fprintf(b, "%-30s %16s", "measured over predicted", "before")
	for i := range models {
		fmt.Fprintf(b, " %*s", columnOf(f, i), trainedModel(f, i))
	}
	fmt.Fprintf(b, " %16s\n", "other models")
	for k := range f.Terms {
		t := &f.Terms[k]
		fmt.Fprintf(b, "%-30s %16s", t.Name, around(t.Before))
		for i := range models {
			fmt.Fprintf(b, " %*s", columnOf(f, i), knownOf(&models[i].Errors, k))
		}
		fmt.Fprintf(b, " %16s", knownOf(&f.Others, k))
		if !t.Identified {
			b.WriteString(" as before")
		}
		b.WriteByte('\n')
	}
	if more := len(f.Models) - len(models); more > 0 {
		fmt.Fprintf(b, "and of %s more\n", units.Count(more, "model"))
	}
}

// trainedModel names a model, with its size where others have its name.
func trainedModel(f *calibration.File, i int) string {
	m := &f.Models[i]
	for k := range f.Models {
		if k != i && f.Models[k].Model == m.Model {
			return fmt.Sprintf("%s (%s)", m.Model, count(m.ParametersTotal))
		}
	}
	return m.Model
}

// columnOf is how wide a model's column is.
func columnOf(f *calibration.File, i int) int { return max(16, len(trainedModel(f, i))) }

// knownOf is what is known of a term.
func knownOf(e *calibration.Errors, k int) string {
	return around(calibration.Normal{Mean: e.Means[k], Spread: math.Sqrt(e.Covariance[k][k])})
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
	name := r.Job + " on " + r.Backend
	if r.Site != "" {
		name += " at " + r.Site
	}
	s := fmt.Sprintf("%s, %s: ", name, units.Count(r.GPUs, "GPU"))
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
	if c.GPUHoursBetweenFailures > 0 {
		section(b, "", fmt.Sprintf("%s GPU-hours between failures of launches that trained (reliability.gpu_hours_between_failures)", units.Significant(c.GPUHoursBetweenFailures, 3)))
	}
	for _, p := range []struct {
		name string
		of   *calibration.Duration
	}{{"start", c.Start}, {"load", c.Load}, {"save", c.Save}, {"queue", c.Queue}} {
		if p.of != nil {
			section(b, "", fmt.Sprintf("%s %s, at most %s (%d seen)", p.name, Duration(p.of.Seconds), Duration(p.of.Longest), p.of.Count))
		}
	}
}
