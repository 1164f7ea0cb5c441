package view

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tune"
)

// Trial tells what the last round of a trial in a folder runs, what that takes and
// what it may save. The folder is quoted for a shell, here and in TrialOver.
func Trial(f *tune.File, folder string) string {
	var b strings.Builder
	round := &f.Rounds[len(f.Rounds)-1]
	fmt.Fprintf(&b, "%s on %s: round %d of a trial, one allocation of %s\n\n", f.Job, f.Backend, len(f.Rounds), units.Count(f.GPUs, "GPU"))
	section(&b, "Takes", fmt.Sprintf("%s of %d steps, about %s GPU-hours; the trial may take %s, the training %s", units.Count(len(round.Runs), "run"), f.Steps, GPUHours(round.GPUHours), GPUHours(f.BudgetGPUHours), GPUHours(f.RunGPUHours)))
	section(&b, "May save", fmt.Sprintf("%s GPU-hours of the training (%s %%), by what is uncertain about the candidates", GPUHours(round.Gain), units.Significant(100*round.Gain/f.RunGPUHours, 2)))
	section(&b, "Order", strings.Join(round.Runs, ", "))
	b.WriteByte('\n')
	for i := range f.Candidates {
		if m := &f.Candidates[i]; i == 0 || slices.Contains(round.Runs, m.Name) {
			between := ""
			if i > 0 && len(f.Rounds) == 1 {
				between = " (" + shares(f.Difference(i)) + ")"
			}
			if !slices.Contains(round.Runs, m.Name) {
				between = " (does not take part)"
			}
			if joins(f, m.Name) {
				between = " (joins by what the runs so far say)"
			}
			fmt.Fprintf(&b, "%s  step %s%s  %s\n", m.Name, Duration(m.StepSeconds), between, oneLine(m.Layout))
		}
	}
	fmt.Fprintf(&b, "\nSubmit it:  sbatch %s/%s\nThen:       ndc tune --next %s, or ndc tune --collect %s\n", folder, round.Script, folder, folder)
	return b.String()
}

// joins reports whether the last round of a trial is the first that has a candidate.
func joins(f *tune.File, name string) bool {
	before := *f
	before.Rounds = f.Rounds[:len(f.Rounds)-1]
	return len(before.Rounds) > 0 && !before.Held(name)
}

// NoTrial tells why a trial of a plan with some rivals is not written.
func NoTrial(f *tune.File, rivals int) string {
	if rivals == 0 {
		return fmt.Sprintf("%s on %s: nothing to try. No other layout that the job leaves open may be faster.\n", f.Job, f.Backend)
	}
	return fmt.Sprintf("%s on %s: a trial is not worth it. Of %s that may be faster, none is expected to save more of the training's %s GPU-hours than trying it takes, within the %s that a trial may take. Nothing is written.\n",
		f.Job, f.Backend, units.Count(rivals, "layout"), GPUHours(f.RunGPUHours), GPUHours(f.BudgetGPUHours))
}

// TrialOver tells why no round follows.
func TrialOver(f *tune.File, round *tune.Round, folder string) string {
	why := fmt.Sprintf("another round would take %s GPU-hours and may save %s", GPUHours(round.GPUHours), GPUHours(round.Gain))
	switch left := f.Left(); {
	case len(round.Candidates) < 2:
		why = "no candidate is left beside the first"
	case round.GPUHours > left.Trial:
		why = fmt.Sprintf("another round would take %s GPU-hours, and %s are left", GPUHours(round.GPUHours), GPUHours(left.Trial))
	}
	return fmt.Sprintf("%s on %s: the trial is over; %s.\nSee:  ndc tune --collect %s\n", f.Job, f.Backend, why, folder)
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", ", ") }

// TrialResult tells what a trial has shown, and what to pin.
func TrialResult(r *tune.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: %s\n\n", r.Job, r.Backend, units.Count(r.Allocations, "allocation"))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "candidate\tpredicted\tmeasured\truns\tagainst the first (90 %)\tfastest\t")
	for i := range r.Standings {
		s := &r.Standings[i]
		if s.Reserve {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", s.Name, Duration(s.Predicted), stepOr(s), s.Runs, against(s), chance(s), tune.Reasons(s.Failures))
	}
	w.Flush() // into memory, which does not fail
	out := trimLines(b.String())
	b.Reset()
	picked := r.Picked()
	fmt.Fprintf(&b, "\nThe fastest is %s: %s.\n", picked.Name, oneLine(picked.Layout))
	if r.SavedGPUHours != [2]float64{} {
		fmt.Fprintf(&b, "Against what a build chooses it saves %s to %s GPU-hours of the training (90 %% range).\n", GPUHours(r.SavedGPUHours[0]), GPUHours(r.SavedGPUHours[1]))
	}
	switch {
	case r.Calibration != "":
		fmt.Fprintf(&b, "The machine's calibration: %s\n", r.Calibration)
	case r.Why != "":
		fmt.Fprintf(&b, "No calibration is written: %s\n", r.Why)
	}
	fmt.Fprintf(&b, "Pin it in the job's constraints:\n\n%s", picked.Pin)
	return out + b.String()
}

func stepOr(s *tune.Standing) string {
	if s.Measured == 0 {
		return "-"
	}
	return Duration(s.Measured)
}

func against(s *tune.Standing) string {
	if s.Range == [2]float64{} {
		return "-"
	}
	return shares(s.Range)
}

func chance(s *tune.Standing) string {
	if s.Runs == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*s.Fastest)
}
