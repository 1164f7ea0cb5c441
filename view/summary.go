// Package view turns plans into text for people: the summary of one screen
// that `ndc build` and `ndc plan` print, and the page for reviewers. It sees plans and the words of their
// options (compiler/option): every number that it shows is in the plan.
package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// Summary writes a plan on one screen: the layout, memory per stage, the
// step's breakdown, throughput, the run; or why nothing fits, what came nearest
// and what would fit. Warnings, which plans share, are the command's to tell.
func Summary(job string, p *plan.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s %s: %d x %s, %s, global batch %d x %d tokens, %s\n", job, p.Backend, p.BackendVersion,
		p.Input.GPUs, machines(&p.Input), parameters(&p.Input), p.Input.GlobalBatchSize, p.Input.SequenceLength, p.Input.Precision)
	if !p.Feasible {
		infeasible(&b, p)
		return b.String()
	}
	b.WriteByte('\n')
	section(&b, "Layout", Layout(&p.Layout))
	section(&b, "Execution", execution(&p.Execution))
	if p.Selection != nil {
		section(&b, "Choice", choice(p))
	}
	if p.Locked != nil {
		section(&b, "Locked", locked(p))
	}
	if len(p.Learned) > 0 {
		section(&b, "Learning", learned(p.Learned))
	}
	memory(&b, p)
	stepTime(&b, p)
	if p.Calibration != nil {
		section(&b, "Measured", measured(p))
	}
	section(&b, "Run", runLine(p))
	section(&b, "Search", searchLine(&p.Search))
	if len(p.Overridden) > 0 {
		section(&b, "Templates", templates(p.Overridden))
	}
	if len(p.Policies) > 0 {
		section(&b, "Policies", policies(p.Policies))
	}
	return b.String()
}

// learned tells which axes are chosen once for a run, a line for each reason.
func learned(list []plan.Learned) string {
	var lines []string
	for first := 0; first < len(list); {
		next := first
		var axes []string
		for ; next < len(list) && list[next].Why == list[first].Why; next++ {
			axes = append(axes, list[next].Axis)
		}
		verb := "changes"
		if len(axes) > 1 {
			verb = "change"
		}
		lines = append(lines, strings.Join(axes, ", ")+" "+verb+" what is learned: "+list[first].Why)
		first = next
	}
	return strings.Join(lines, "\n")
}

// templates names the parts of the scripts that the site says in its own way.
func templates(list []plan.Override) string {
	parts := make([]string, len(list))
	for i, o := range list {
		if parts[i] = o.Part; o.Template != "" {
			parts[i] += " (" + o.Template + ")"
		}
	}
	return strings.Join(parts, ", ") + ": said by the site"
}

// policies counts the policies that are met and names the others.
func policies(list []plan.Policy) string {
	var broken []string
	for _, v := range list {
		if !v.OK {
			broken = append(broken, fmt.Sprintf("%s (%s)", v.Name, v.Severity))
		}
	}
	if len(broken) == 0 {
		return fmt.Sprintf("%d met", len(list))
	}
	return fmt.Sprintf("%d of %d met; not met: %s", len(list)-len(broken), len(list), strings.Join(broken, ", "))
}

// Limits says what no number of the summaries counts, and what the ranges are.
func Limits(plans []*plan.Plan) string {
	return "Left out   " + LeftOut(plans) + "\n           90 % ranges hold nine in ten of measured over predicted (docs/time.md, docs/memory.md)\n"
}

// LeftOut lists what no number of some plans counts: checkpoints and failures are
// counted by the expected time of a run, where there is one.
func LeftOut(plans []*plan.Plan) string {
	expected := slices.ContainsFunc(plans, func(p *plan.Plan) bool { return p.Feasible })
	for _, p := range plans {
		expected = expected && (!p.Feasible || p.Run.ExpectedSeconds > 0)
	}
	if expected {
		return "data loading that cannot keep up, evaluation, traffic of other jobs; checkpoints and failures but for the expected time"
	}
	return "data loading that cannot keep up, evaluation, checkpoints, failures, traffic of other jobs"
}

// section writes a heading with text beside it, wrapped lines indented.
func section(b *strings.Builder, name, text string) {
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(b, "%-10s %s\n", name, line)
	}
}

// machines names the GPU, and the nodes that the allocation has to spare.
func machines(in *plan.Input) string { return in.GPU + Spares(in) }

// Spares tells of the nodes that the allocation has beyond those of the run; "" of none.
func Spares(in *plan.Input) string {
	if in.SpareNodes == 0 {
		return ""
	}
	return " and " + units.Count(in.SpareNodes, "spare node")
}

func parameters(in *plan.Input) string {
	total := count(in.ParametersTotal)
	if in.ParametersActive == in.ParametersTotal {
		return in.Model + " (" + total + ")"
	}
	return fmt.Sprintf("%s (%s, %s active)", in.Model, total, count(in.ParametersActive))
}

// count writes a large number with three digits: 70.6B, 405M.
func count(n int64) string {
	switch {
	case n >= 1e12:
		return fmt.Sprintf("%.2fT", float64(n)/1e12)
	case n >= 1e9:
		return fmt.Sprintf("%.1fB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.0fM", float64(n)/1e6)
	}
	return fmt.Sprint(n)
}

// Layout spells a layout on two lines, axes of one rank left out.
func Layout(l *plan.Layout) string {
	parts := axes(l, option.Count)
	parts = append(parts, fmt.Sprintf("data %d (%d replicated x %d sharded, zero_stage %d)", l.DataParallel(), l.DataParallelReplicate, l.DataParallelShard, l.ZeroStage))
	parts = append(parts, axes(l, option.Switch)...)
	work := []string{fmt.Sprintf("micro-batch %d x %d per step", l.MicroBatchSize, l.MicroBatches), "recompute " + recompute(l)}
	if l.PipelineParallel > 1 {
		work = append(work, fmt.Sprintf("%s over %s layers", l.PipelineSchedule, stageLayers(l.StageLayers)))
	}
	return strings.Join(parts, ", ") + "\n" + strings.Join(work, ", ")
}

// locked says since when a choice is kept, and what would be chosen now: its layout, or
// what else differs where that is the same.
func locked(p *plan.Plan) string {
	l := p.Locked
	if l.WouldChoose == nil {
		return fmt.Sprintf("chosen by ndc %s; a build would now find nothing feasible", l.SinceVersion)
	}
	would := Layout(&l.WouldChoose.Layout)
	if would == Layout(&p.Layout) {
		would = strings.Join(Changes(&p.Layout, &p.Execution, &l.WouldChoose.Layout, &l.WouldChoose.Execution), ", ")
	}
	return fmt.Sprintf("chosen by ndc %s; a build would now choose, with --replan,\n%s\nwhich saves %.1f %% to %.1f %% (90 %% range of the difference), at %s a step", l.SinceVersion,
		would, 100*l.GainRange[0], 100*l.GainRange[1], Duration(l.WouldChoose.StepSeconds))
}

// axes tells of the axes of one kind that have words of their own.
func axes(l *plan.Layout, kind option.Kind) []string {
	var words []string
	for i := range option.Axes {
		if a := &option.Axes[i]; a.Kind == kind {
			words = appendWords(words, a.Told(l))
		}
	}
	return words
}

func appendWords(words []string, more string) []string {
	if more == "" {
		return words
	}
	return append(words, more)
}

func recompute(l *plan.Layout) string {
	switch {
	case l.Recompute == plan.RecomputeSelective && l.RecomputeModules != 0:
		return "selective (" + strings.Join(l.RecomputeModules.Names(), ", ") + ")"
	case l.Recompute == plan.RecomputeFull && l.RecomputeMethod == "block":
		return fmt.Sprintf("full (%s of each chunk)", units.Count(l.RecomputeLayers, "layer"))
	case l.Recompute == plan.RecomputeFull && l.RecomputeLayers > 1:
		return fmt.Sprintf("full (%s, in groups of %s)", l.RecomputeMethod, units.Count(l.RecomputeLayers, "layer"))
	case l.Recompute == plan.RecomputeFull && l.RecomputeMethod != "":
		return "full (" + l.RecomputeMethod + ")"
	}
	return l.Recompute.String()
}

// stageLayers shortens runs of equal chunks: 3 + 14 x 4 + 2.
func stageLayers(split []int) string {
	var parts []string
	for i := 0; i < len(split); {
		k := i
		for k < len(split) && split[k] == split[i] {
			k++
		}
		if k-i == 1 {
			parts = append(parts, fmt.Sprint(split[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d x %d", k-i, split[i]))
		}
		i = k
	}
	return strings.Join(parts, " + ")
}

// execution names what is switched on.
func execution(x *plan.Execution) string {
	options := slices.Clone(option.Options)
	slices.SortStableFunc(options, func(a, b option.Option) int { return cmp.Compare(a.Place, b.Place) })
	var words []string
	for i := range options {
		words = appendWords(words, options[i].Told(x))
	}
	return strings.Join(words, ", ")
}

// outOfMemory tells how probable running out of memory is, "" where it is less
// than one in ten thousand.
func outOfMemory(o *plan.OOMProbability) string {
	if o.Any < 1e-4 {
		return ""
	}
	return fmt.Sprintf("chance of running out: %s in the first step, %s later", Chance(o.Optimizer), Chance(o.Any-o.Optimizer))
}

// Chance writes a probability in percent; what is less than one in ten thousand is
// beyond what is known.
func Chance(p float64) string {
	switch {
	case p < 1e-4:
		return "<0.01 %"
	case p > 0.99 && p < 1:
		return ">99 %"
	}
	return units.Significant(100*p, 2) + " %"
}

// nearLimit tells how probable it is that steps slow for want of memory, "" where
// it costs less than a hundredth of a step in expectation.
func nearLimit(n *plan.NearLimit) string {
	if n == nil || n.Times < 1.01 {
		return ""
	}
	return fmt.Sprintf("steps may slow so near the limit, with a probability of %.2g %%: %.2f times as long in expectation", 100*n.Probability, n.Times)
}

// barWidth is the length of the bar that stands for a whole GPU.
const barWidth = 40

// mostStages is how many stages the memory table shows before it leaves out
// the inner ones.
const mostStages = 6

func memory(b *strings.Builder, p *plan.Plan) {
	m := &p.Memory
	section(b, "Memory", fmt.Sprintf("busiest is rank %d of stage %d: %s on the device (90 %% range %s to %s), %s usable of %s",
		m.Peak.Rank, m.Peak.Stage, GiB(m.Peak.DeviceBytes), GiB(m.Peak.DeviceRangeBytes[0]), GiB(m.Peak.DeviceRangeBytes[1]), GiB(m.UsableBytes), GiB(m.GPUBytes)))
	for _, o := range []string{outOfMemory(&m.OOM), nearLimit(m.NearLimit)} {
		if o != "" {
			fmt.Fprintf(b, "%11s%s\n", "", o)
		}
	}
	for i := range m.Stages {
		if len(m.Stages) > mostStages && i >= mostStages/2 && i < len(m.Stages)-mostStages/2 {
			if i == mostStages/2 {
				fmt.Fprintf(b, "%11s… %s …\n", "", units.Count(len(m.Stages)-mostStages, "more stage"))
			}
			continue
		}
		s := &m.Stages[i]
		fmt.Fprintf(b, "%11s%s stage %-3d %10s  %s\n", "", Bar(s.DeviceBytes, m.GPUBytes), s.Stage, GiB(s.DeviceBytes), largest(s.Ledger))
	}
	if m.Host.BytesPerNode > 0 {
		fmt.Fprintf(b, "%11shost memory %s per node%s\n", "", GiB(m.Host.BytesPerNode), hostPhases(m.Host.Phases))
	}
}

// hostPhases tells the phases of a run apart that need unequal memory of a node.
func hostPhases(phases []plan.HostPhase) string {
	var parts []string
	unequal := false
	for _, p := range phases {
		parts = append(parts, p.Name+" "+GiB(p.BytesPerNode))
		unequal = unequal || p.BytesPerNode != phases[0].BytesPerNode
	}
	if !unequal {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// Bar draws part of whole.
func Bar(part, whole units.Bytes) string {
	if whole <= 0 {
		return ""
	}
	full := int(min(barWidth, int64(barWidth)*int64(part)/int64(whole)))
	return strings.Repeat("█", full) + strings.Repeat("·", barWidth-full)
}

// largest names the three largest lines of a ledger.
func largest(ledger []plan.LedgerLine) string {
	lines := slices.Clone(ledger)
	slices.SortStableFunc(lines, func(a, b plan.LedgerLine) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var parts []string
	for _, l := range lines[:min(3, len(lines))] {
		parts = append(parts, fmt.Sprintf("%s %.1f", l.Name, l.Bytes.GiB()))
	}
	return strings.Join(parts, ", ")
}

// GiB writes an amount of memory.
func GiB(n units.Bytes) string { return n.HumanGiB() }

// GPUHours writes GPU-hours with as many digits as tell something.
func GPUHours(h float64) string {
	switch size := math.Abs(h); {
	case size < 1e-6: // a few milliseconds
		return "0"
	case size < 1:
		return units.Significant(h, 2)
	case size < 100:
		return units.Significant(h, 3)
	}
	return fmt.Sprintf("%.0f", h)
}

// Expected says what a step is expected to take that was chosen among others, or on a
// cluster where nothing was measured, with a comma behind it, in the unit of what is
// predicted; "" where that is it.
func Expected(t *plan.Time) string {
	s := timeUnitOf(t.StepSeconds).write(t.ExpectedSeconds) + " expected"
	if t.ChosenAmong < 2 && t.UnmeasuredShare == 0 {
		return ""
	}
	if t.ChosenAmong > 1 {
		s += fmt.Sprintf(" of the best of %d", t.ChosenAmong)
	}
	if t.UnmeasuredShare != 0 {
		s += " on a new cluster"
	}
	return s + ", "
}

// StepRange writes the 90 % range of a step, in the unit of what is predicted.
func StepRange(t *plan.Time) string { return rangeAround(t.StepSeconds, t.StepRangeSeconds) }

// rangeAround writes a range in the unit of what it lies around.
func rangeAround(s units.Seconds, ends [2]units.Seconds) string {
	u := timeUnitOf(s)
	return u.write(ends[0]) + " to " + u.write(ends[1])
}

func stepTime(b *strings.Builder, p *plan.Plan) {
	t := &p.Time
	section(b, "Step", fmt.Sprintf("%s (%s90 %% range %s), bubble %s, exposed communication %s",
		Duration(t.StepSeconds), Expected(t), StepRange(t), Percent(t.BubbleShare), Percent(t.ExposedCommunicationShare)))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, l := range t.Breakdown {
		if l.Seconds > 0.001*t.StepSeconds {
			fmt.Fprintf(w, "\t%s\t%s\t %s\n", Duration(l.Seconds), Percent(units.Share(l.Seconds/t.StepSeconds)), l.Name)
		}
	}
	w.Flush()
}

// timeUnit is a unit that durations from some length on are written in.
type timeUnit struct {
	from, seconds units.Seconds
	digits        int // after the point
	name          string
}

var timeUnits = []timeUnit{
	{10 * units.Day, units.Day, 1, "days"}, {2 * units.Hour, units.Hour, 1, "h"}, {2 * units.Minute, units.Minute, 1, "min"}, {1, 1, 2, "s"}, {0, 1e-3, 1, "ms"},
}

func timeUnitOf(s units.Seconds) *timeUnit {
	for i := range timeUnits {
		if s >= timeUnits[i].from {
			return &timeUnits[i]
		}
	}
	return &timeUnits[len(timeUnits)-1]
}

// write writes seconds in the unit; what is short for it gets two digits that
// are not zero.
func (u *timeUnit) write(s units.Seconds) string {
	n, digits := float64(s/u.seconds), u.digits
	if n > 0 && u != timeUnitOf(s) {
		digits = max(digits, 1-int(math.Floor(math.Log10(n))))
	}
	return fmt.Sprintf("%.*f %s", digits, n, u.name)
}

// Duration writes seconds with three digits in a fitting unit.
func Duration(s units.Seconds) string { return Durations(s)[0] }

// Durations writes seconds that are to be compared, in the unit that fits the
// longest.
func Durations(list ...units.Seconds) []string {
	u := timeUnitOf(slices.Max(list))
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = u.write(s)
	}
	return texts
}

// Percent writes a share with a tenth of a percent.
func Percent(s units.Share) string { return fmt.Sprintf("%.1f %%", 100*float64(s)) }

func runLine(p *plan.Plan) string {
	jobs := ""
	if p.Run.Cost > 0 {
		jobs = " at a cost of " + units.Significant(p.Run.Cost, 4)
	}
	if p.Run.Jobs > 1 {
		jobs += ", " + units.Count(p.Run.Jobs, "submission")
	}
	switch c := p.Run.Checkpoints; {
	case c == nil:
	case c.IntervalSteps >= p.Run.Steps:
		jobs += ", saved at its end"
	default:
		jobs += fmt.Sprintf(", saved every %s (%s)", Duration(c.IntervalSeconds), units.Count(c.IntervalSteps, "step"))
	}
	jobs += kept(p.Run.Checkpoints)
	if r := &p.Run; r.ExpectedSeconds > 0 {
		d := Durations(r.ExpectedSeconds, r.ExpectedRange[0], r.ExpectedRange[1])
		jobs += fmt.Sprintf("\nwith %s failures expected %s (%s to %s), goodput %s", units.Significant(r.Failures, 2), d[0], d[1], d[2], Percent(r.Goodput))
	}
	return fmt.Sprintf("%.0f tokens/s/GPU, %.0f model TFLOPS/GPU, MFU %s, HFU %s\n%s in %s, %s GPU-hours%s",
		p.Throughput.TokensPerSecondPerGPU, p.Throughput.ModelTFLOPSPerGPU, Percent(p.Throughput.MFU), Percent(p.Throughput.HFU),
		units.Count(p.Run.Steps, "step"), Duration(p.Run.Seconds), GPUHours(p.Run.GPUHours), jobs)
}

// kept tells what a run leaves in the storage; nothing of plans of versions that did
// not say it.
func kept(c *plan.Checkpoints) string {
	switch {
	case c == nil || c.Kept == 0:
		return ""
	case c.Kept == 1:
		return "\none checkpoint kept, " + c.Bytes.Human()
	}
	return fmt.Sprintf("\n%s kept, %s each, %s in all", units.Count(c.Kept, "checkpoint"), c.Bytes.Human(), c.AllBytes().Human())
}

func searchLine(s *plan.Search) string {
	text := fmt.Sprintf("%s: %d feasible, %d pruned", units.Count(s.Enumerated, "layout"), s.Evaluated, s.Pruned)
	for i, r := range s.Rejected {
		if i == 3 {
			return text + ", and " + units.Count(len(s.Rejected)-i, "more reason")
		}
		text += fmt.Sprintf("; %d: %s", r.Count, r.Reason)
	}
	return text
}

// infeasible tells why nothing fits.
func infeasible(b *strings.Builder, p *plan.Plan) {
	searched := p.Search.Enumerated > 0
	if searched {
		b.WriteString("\nNo layout meets the constraints.\n\n")
	} else {
		b.WriteString("\nNothing was searched: no layout could run.\n\n")
	}
	for i, r := range p.Infeasible.Reasons {
		if i == 5 {
			section(b, "", "and "+units.Count(len(p.Infeasible.Reasons)-i, "more reason")+" in the plan's JSON")
			break
		}
		section(b, "Reason", r.Summary)
	}
	for i := range p.Infeasible.Nearest {
		n := &p.Infeasible.Nearest[i]
		section(b, "Nearest", fmt.Sprintf("%s\n%s on the device%s, %s a step%s", Layout(&n.Layout), GiB(n.PeakDeviceBytes), missing(p, n), Duration(n.StepSeconds), beside(n)))
	}
	for _, f := range p.Infeasible.Fixes {
		section(b, "Would fit", fmt.Sprintf("%s (%s on the device, %s a step)", f.Change, GiB(f.PeakDeviceBytes), Duration(f.StepSeconds)))
	}
	if searched {
		section(b, "Search", searchLine(&p.Search))
	}
}

// beside names what the step and memory of a layout rest on.
func beside(n *plan.Nearest) string {
	if n.With == nil {
		return ""
	}
	return " with " + strings.Join(n.With, " and ")
}

// missing says by how much a layout fails the limit of memory: with the upper
// end of its range where that decides.
func missing(p *plan.Plan, n *plan.Nearest) string {
	needed := p.Memory.UsableBytes + n.MissingBytes
	switch {
	case n.MissingHostBytes > 0:
		return ", " + GiB(n.MissingHostBytes) + " more host memory than a node has"
	case n.MissingBytes <= 0:
		return ""
	case needed > n.PeakDeviceBytes:
		return fmt.Sprintf(" (up to %s), %s too much", GiB(needed), GiB(n.MissingBytes))
	}
	return ", " + GiB(n.MissingBytes) + " too much"
}
