package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/calibration"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// Progress writes how a run stands beside its plan.
func Progress(w *calibration.Progress) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s\n\n", w.Job, w.Backend)
	section(&b, "Steps", stepsDone(w))
	section(&b, "Step", measuredStep(w))
	if w.Memory.Kind != "" {
		section(&b, "Memory", measuredMemory(&w.Memory))
	}
	if w.Left > 0 {
		section(&b, "Left", fmt.Sprintf("%s of training at this pace", Duration(w.Left)))
	}
	if w.Share > 0 {
		section(&b, "Share", fmt.Sprintf("%.1f %% of the time from the first line to the last went into steps", 100*w.Share))
	}
	for i, s := range w.Off {
		name := ""
		if i == 0 {
			name = "Off"
		}
		section(&b, name, fmt.Sprintf("%s: %.0f %% of the difference (%.0f %% of the predicted step); look for %s", s.Name, 100*s.Explain, 100*s.Share, s.Cause))
	}
	failures := w.Failures
	if n := len(failures) - mostTold; n > 0 {
		section(&b, "Failed", units.Count(n, "launch")+" before these, which --json lists")
		failures = failures[n:]
	}
	for _, f := range failures {
		section(&b, "Failed", fmt.Sprintf("launch %d, line %d: %s: %s", f.Launch+1, f.Line, strings.ReplaceAll(f.Kind, "_", " "), f.Text))
	}
	for _, note := range w.Notes {
		section(&b, "Note", note)
	}
	var refused []calibration.Refusal
	for _, r := range w.Refused {
		refused = append(refused, calibration.Refusal(r))
	}
	for _, reason := range refusals(refused) {
		section(&b, "Left out", reason)
	}
	section(&b, "Verdict", verdict(w))
	return b.String()
}

// mostTold is how many lines of a kind are read: a chain may have hundreds of launches, and
// each a reason of its own.
const mostTold = 8

// refusals are the reasons why reports were left out, of many those of the most reports.
func refusals(list []calibration.Refusal) []string {
	var told []string
	if len(list) > mostTold {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b calibration.Refusal) int { return cmp.Compare(b.Reports, a.Reports) })
	}
	for i, r := range list {
		if i == mostTold {
			reports := 0
			for _, r := range list[i:] {
				reports += r.Reports
			}
			return append(told, fmt.Sprintf("%s for %s", units.Count(reports, "report"), units.Count(len(list)-i, "further reason")))
		}
		told = append(told, fmt.Sprintf("%s from step %d on: %s", units.Count(r.Reports, "report"), r.First, r.Reason))
	}
	return told
}

func stepsDone(w *calibration.Progress) string {
	s := fmt.Sprintf("%d of %d", w.Steps.Done, w.Steps.Total)
	switch {
	case w.Steps.NoNumber > 0:
		s += ", " + noNumber(w)
	case w.Steps.Loss != 0:
		s += fmt.Sprintf(", loss %.4f", w.Steps.Loss)
	}
	if w.Launches > 1 {
		s += ", " + units.Count(w.Launches, "launch")
	}
	return s
}

// noNumber tells that a run goes on, as fast as planned perhaps, and learns nothing.
func noNumber(w *calibration.Progress) string {
	return fmt.Sprintf("loss is not a number or infinite since step %d", w.Steps.NoNumber)
}

func measuredStep(w *calibration.Progress) string {
	t := &w.Time
	predicted := fmt.Sprintf("predicted %s (90 %% range %s)", Duration(t.Predicted), rangeAround(t.Predicted, t.Range))
	if t.Measured == 0 {
		return "no steady steps yet; " + predicted
	}
	return fmt.Sprintf("%s ± %.1f %% in %s, %s: %+.1f %%; %.0f tokens/s/GPU, MFU %.1f %%", Duration(t.Measured), 100*t.Spread, units.Count(t.Reports, "report"),
		predicted, 100*float64(t.Measured/t.Predicted-1), t.TokensPerSecondPerGPU, 100*t.MFU)
}

func measuredMemory(m *calibration.Memory) string {
	s := fmt.Sprintf("%s %s at the peak, predicted %s (at most %s)", m.Measured.Human(), m.Kind, m.Predicted.Human(), m.Limit.Human())
	if m.Why != "" {
		s += "; left out: " + m.Why
	}
	return s
}

func verdict(w *calibration.Progress) string {
	switch t := &w.Time; {
	case w.Contradiction != "":
		return "none: " + w.Contradiction
	case t.Measured == 0:
		return "nothing to compare yet"
	case w.Inside:
		return "as predicted"
	case !t.Inside && t.Measured > t.Range[1]:
		return "slower than predicted"
	case !t.Inside:
		return "faster than predicted"
	}
	return "more memory than predicted"
}

// ProgressLine writes how a run stands on one line.
func ProgressLine(w *calibration.Progress) string {
	line := fmt.Sprintf("step %d/%d", w.Steps.Done, w.Steps.Total)
	if w.Time.Measured > 0 {
		line += fmt.Sprintf("  %s, %+.1f %% of predicted", Duration(w.Time.Measured), 100*float64(w.Time.Measured/w.Time.Predicted-1))
	}
	if w.Memory.Kind != "" && w.Memory.Why == "" {
		line += fmt.Sprintf("  %s %s", w.Memory.Measured.Human(), w.Memory.Kind)
	}
	if w.Left > 0 {
		line += fmt.Sprintf("  %s left", Duration(w.Left))
	}
	if w.Steps.NoNumber > 0 {
		line += "  " + noNumber(w)
	}
	return line + "  " + verdict(w) + "\n"
}

// ProgressMetrics writes how a run stands in the text format of Prometheus
// (prometheus.io/docs/instrumenting/exposition_formats).
func ProgressMetrics(w *calibration.Progress) string {
	var b strings.Builder
	labels := fmt.Sprintf(`{job=%q,backend=%q}`, w.Job, w.Backend)
	gauge := func(name, help string, value float64) {
		fmt.Fprintf(&b, "# HELP ndc_%s %s\n# TYPE ndc_%s gauge\nndc_%s%s %g\n", name, help, name, name, labels, value)
	}
	gauge("step", "Steps that are done.", float64(w.Steps.Done))
	gauge("steps", "Steps of the run.", float64(w.Steps.Total))
	gauge("step_seconds_predicted", "Predicted time of a step.", float64(w.Time.Predicted))
	if w.Time.Measured > 0 {
		gauge("step_seconds", "Mean time of the steady steps.", float64(w.Time.Measured))
		gauge("tokens_per_second_per_gpu", "Tokens per second of one GPU in steady steps.", w.Time.TokensPerSecondPerGPU)
		gauge("mfu", "Model FLOPs utilisation in steady steps.", float64(w.Time.MFU))
		gauge("seconds_left", "Training that is left at this pace.", float64(w.Left))
	}
	if w.Memory.Kind != "" && w.Memory.Why == "" {
		gauge("memory_bytes", "Peak memory that the log reports.", float64(w.Memory.Measured))
		gauge("memory_bytes_predicted", "The same as predicted.", float64(w.Memory.Predicted))
	}
	switch {
	case w.Steps.NoNumber > 0:
		gauge("loss", "The last loss.", math.NaN())
	case w.Steps.Loss != 0:
		gauge("loss", "The last loss.", w.Steps.Loss)
	}
	gauge("failures", "Launches that show why they failed.", float64(len(w.Failures)))
	inside := 0.0
	if w.Inside {
		inside = 1
	}
	gauge("inside_prediction", "1 when step and memory are inside the predicted range.", inside)
	return b.String()
}

// commonFactor is the factor that most terms have: what all layouts of a model share
// is in the errors of all its terms, and of those that no run spent time on it is all. It
// is 1 where no two have the same.
func commonFactor(terms []plan.CalibratedTerm) float64 {
	common, most := 1.0, 1
	for i, t := range terms {
		n := 0
		for _, other := range terms[i:] {
			if other.Factor == t.Factor {
				n++
			}
		}
		if n > most {
			common, most = t.Factor, n
		}
	}
	return common
}

// measured says which calibration a plan uses, and how it moved the numbers.
func measured(p *plan.Plan) string {
	c := p.Calibration
	var parts []string
	far := func(factor, from float64) bool { return math.Abs(factor-from) >= 0.005 }
	common := commonFactor(c.Terms)
	for _, t := range c.Terms {
		if far(t.Factor, common) {
			parts = append(parts, fmt.Sprintf("%s %+.0f %%", cmp.Or(t.Name, t.Term), 100*(t.Factor-1)))
		}
	}
	if far(common, 1) {
		parts = append(parts, fmt.Sprintf("all other terms %+.0f %%", 100*(common-1)))
	}
	if c.Reserved != 0 {
		parts = append(parts, fmt.Sprintf("reserved memory %+.1f %%", 100*(c.Reserved-1)))
	}
	if len(parts) == 0 {
		parts = []string{"nothing is off by half a percent"}
	}
	whose := "of other models, which tell little of this one"
	if c.Trained {
		whose = "of this model among them"
	}
	own := ""
	if c.Runs > 0 {
		own = fmt.Sprintf("\n%s of this very plan: step %s (%+.1f %%)", units.Count(c.Runs, "run"), Duration(c.Measured), 100*float64(c.Measured/p.Time.StepSeconds-1))
		if r := p.Time.StepRangeSeconds; c.Measured < r[0] || c.Measured > r[1] {
			own += ", outside its range"
		}
	}
	return fmt.Sprintf("calibrated by %s, runs %s: %s\nstep %s, without it %s (%+.1f %%); %s on the device, without it %s", c.File, whose, strings.Join(parts, ", "),
		Duration(p.Time.StepSeconds), Duration(c.StepSeconds), 100*float64(p.Time.StepSeconds/c.StepSeconds-1),
		GiB(p.Memory.Peak.DeviceBytes), GiB(c.DeviceBytes)) + own
}
