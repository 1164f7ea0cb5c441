package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
)

func bytesCell(n units.Bytes) Cell { return Cell{view.GiB(n), n} }

func timeCell(s units.Seconds) Cell { return Cell{view.Duration(s), s} }

func percentCell(share float64) Cell { return Cell{fmt.Sprintf("%.1f %%", 100*share), share} }

// errorCell is a range of measured over predicted, as what may be missing and what
// may come on top.
func errorCell(r [2]float64) Cell {
	if r == [2]float64{} {
		return Cell{}
	}
	return Cell{fmt.Sprintf("%+.0f to %+.0f %%", 100*(r[0]-1), 100*(r[1]-1)), r}
}

// Memory takes the memory of one stage apart, and says what the others take.
func Memory(p *plan.Plan, stage int, terms []plan.Term) Section {
	m := &p.Memory
	at := &m.Stages[stage]
	s := Section{Topic: "memory", Title: fmt.Sprintf("Memory of stage %d", stage), Lines: []string{
		fmt.Sprintf("%s of tensors, %s held by the allocator, %s on the device, of %s usable.", view.GiB(at.AllocatedBytes), view.GiB(at.ReservedBytes), view.GiB(at.DeviceBytes), view.GiB(m.UsableBytes)),
		fmt.Sprintf("The busiest rank of the job is rank %d on stage %d: 90 %% range on the device %s to %s; %s have to be usable for the limits on running out, of which the chance is %s.",
			m.Peak.Rank, m.Peak.Stage, view.GiB(m.Peak.DeviceRangeBytes[0]), view.GiB(m.Peak.DeviceRangeBytes[1]), view.GiB(m.NeededBytes), view.Chance(m.OOM.Any)),
	}}
	ledger := Table{Caption: "At the moment that needs the most:", Columns: []Column{{"bytes", "bytes", true}, {"name", "what", false}, {"formula", "with its numbers", false}, {"section", "formula and source", false}}}
	for _, t := range terms {
		ledger.Rows = append(ledger.Rows, []Cell{bytesCell(units.Bytes(t.Amount)), Words(t.Name), Words(t.Formula), Words(t.Section)})
	}
	stages := Table{Caption: "All stages:", Columns: []Column{{"stage", "stage", true}, {"layers", "layers", true}, {"allocated_bytes", "allocated", true}, {"reserved_bytes", "reserved", true}, {"device_bytes", "device", true}, {"free_bytes", "to spare", true}}}
	for i := range m.Stages {
		x := &m.Stages[i]
		layers := 0
		for _, n := range x.Layers {
			layers += n
		}
		stages.Rows = append(stages.Rows, []Cell{{fmt.Sprint(x.Stage), x.Stage}, {fmt.Sprint(layers), layers}, bytesCell(x.AllocatedBytes), bytesCell(x.ReservedBytes), bytesCell(x.DeviceBytes), bytesCell(m.UsableBytes - x.DeviceBytes)})
	}
	s.Tables = []Table{ledger, stages}
	if m.Host.BytesPerNode > 0 {
		host := Table{Caption: "Host memory of a node:", Columns: []Column{{"bytes", "bytes", true}, {"name", "what", false}}}
		for _, l := range m.Host.Ledger {
			host.Rows = append(host.Rows, []Cell{bytesCell(l.Bytes), Words(l.Name)})
		}
		s.Tables = append(s.Tables, host)
	}
	return s
}

// Time takes the step apart.
func Time(p *plan.Plan, terms []plan.Term) Section {
	t := &p.Time
	s := Section{Topic: "time", Title: "Time of a step", Lines: []string{
		fmt.Sprintf("%s, %s90 %% range %s; bubble %.1f %%, exposed communication %.1f %%, MFU %.1f %%.", view.Duration(t.StepSeconds), view.Expected(t), view.StepRange(t),
			100*float64(t.BubbleShare), 100*float64(t.ExposedCommunicationShare), 100*float64(p.Throughput.MFU)),
	}}
	if longer := longer(t); len(longer) > 0 {
		s.Lines = append(s.Lines, fmt.Sprintf("Expected: %s = %s · exp(%.2f %%). %s (docs/uncertainty.md). The lines below are of the layout as it is predicted, and so are throughput and MFU.",
			view.Duration(t.ExpectedSeconds), view.Duration(t.StepSeconds), 100*math.Log(float64(t.ExpectedSeconds/t.StepSeconds)), strings.Join(longer, ". ")))
	}
	parts := Table{Columns: []Column{{"seconds", "time", true}, {"share", "share", true}, {"name", "what", false}, {"formula", "with its numbers", false}, {"error", "measured error", true}, {"section", "formula and source", false}}}
	for _, x := range terms {
		parts.Rows = append(parts.Rows, []Cell{timeCell(units.Seconds(x.Amount)), percentCell(x.Amount / float64(t.StepSeconds)), Words(x.Name), Words(x.Formula), errorCell(x.Error), Words(x.Section)})
	}
	s.Lines = append(s.Lines, "The measured error is the 90 % range of measured over predicted of what such a line consists of (docs/uncertainty.md); recompute and bubble have that of the work that they repeat or wait for.")
	s.Tables = []Table{parts}
	return s
}

// longer says why a step is expected to take longer than it is predicted.
func longer(t *plan.Time) (why []string) {
	if t.UnmeasuredShare != 0 {
		why = append(why, fmt.Sprintf("Clusters on which nothing was measured take %.1f %% longer in the mean", 100*float64(t.UnmeasuredShare)))
	}
	if t.ChosenAmong > 1 {
		why = append(why, fmt.Sprintf("The fastest of %d layouts is partly one of which a prediction errs in favour", t.ChosenAmong))
	}
	return why
}

// Layout says what moving one axis of the layout would do.
func Layout(p *plan.Plan, neighbours []plan.Neighbour) Section {
	s := Section{Topic: "layout", Title: "Why this layout", Lines: []string{strings.ReplaceAll(view.Layout(&p.Layout), "\n", ", ") + "."}}
	if p.Selection != nil {
		s.Lines = append(s.Lines, "Chosen by: "+p.Selection.Rule+".")
	}
	moved := Table{Caption: "One axis moved at a time; data parallelism, micro-batches and the split of the layers follow:", Columns: []Column{
		{"axis", "axis", false}, {"from", "from", true}, {"to", "to", true}, {"step_change", "step", true}, {"memory_change_bytes", "memory", true}, {"feasible", "", false}, {"why", "why not", false}}}
	for i := range neighbours {
		n := &neighbours[i]
		row := []Cell{Words(n.Axis), Words(unquoted(n.From)), Words(unquoted(n.To)), {}, {}, {"", n.Feasible}, Words(n.Why)}
		if n.StepSeconds > 0 {
			change := float64(n.StepSeconds/p.Time.StepSeconds) - 1
			more := n.PeakDeviceBytes - p.Memory.Peak.DeviceBytes
			row[3], row[4] = Cell{fmt.Sprintf("%+.1f %%", 100*change), change}, Cell{fmt.Sprintf("%+.1f GiB", float64(more)/float64(units.GiB)), more}
			if n.Why == "" && change > 0 {
				row[6] = Words("slower")
			}
			if n.Why == "" && change <= 0 {
				row[6] = Words(choiceOf(p, &n.Layout))
			}
			if with := view.Changes(&n.Layout, &p.Execution, &n.Layout, &n.Execution); len(with) > 0 {
				row[6] = Words(row[6].Text + "; with " + strings.Join(with, ", "))
			}
		}
		if !n.Feasible {
			row[5].Text = "✗"
		}
		moved.Rows = append(moved.Rows, row)
	}
	s.Tables = []Table{moved}
	return s
}

// choiceOf is why a plan that is no slower was not preferred, as the plan says.
func choiceOf(p *plan.Plan, l *plan.Layout) string {
	if p.Selection != nil {
		for i := range p.Selection.Among {
			if view.Layout(&p.Selection.Among[i].Layout) == view.Layout(l) {
				return p.Selection.Among[i].WhyNot
			}
		}
	}
	return "cannot be told from it, or the rule of choice decided (docs/layout.md)"
}

func unquoted(s string) string { return strings.Trim(s, `"`) }

// Communication says what travels where, and how; kinds are all kinds of collectives over
// all ranks, averaging is how replicas may come to agree otherwise.
func Communication(p *plan.Plan, routes, kinds []plan.Route, averaging []plan.Averaging) Section {
	s := Section{Topic: "communication", Title: "Communication of a step", Lines: []string{
		fmt.Sprintf("On the busiest rank; %.1f %% of the step is exposed communication.", 100*float64(p.Time.ExposedCommunicationShare))}}
	all := Table{Columns: []Column{{"group", "group", false}, {"collective", "collective", false}, {"ranks", "ranks", true}, {"link", "link", false}, {"bytes", "bytes", true}, {"calls", "calls", true}, {"bytes_per_call", "a call", true}, {"seconds", "time", true}, {"exposed_seconds", "exposed", true},
		{"latency_seconds", "latency", true}, {"bandwidth", "bandwidth", true}}}
	ways := Table{Caption: "Which algorithm, and why (docs/collectives.md):", Columns: []Column{{"group", "group", false}, {"collective", "collective", false}, {"algorithm", "algorithm", false}, {"why", "why", false}}}
	perLink := map[string]*plan.Communication{}
	for i := range routes {
		r := &routes[i]
		calls, each := Cell{"buckets", nil}, Cell{}
		if r.Calls > 0 {
			per := r.Bytes / units.Bytes(r.Calls)
			calls, each = Cell{fmt.Sprint(r.Calls), r.Calls}, Cell{amount(per), per}
		}
		all.Rows = append(all.Rows, []Cell{Words(r.Group), Words(r.Collective), {fmt.Sprint(r.Size), r.Size}, Words(r.Link), {amount(r.Bytes), r.Bytes}, calls, each, timeCell(r.Seconds), timeCell(r.ExposedSeconds),
			{fmt.Sprintf("%.0f µs", float64(r.Latency)*1e6), r.Latency}, {fmt.Sprintf("%.1f GB/s", float64(r.Bandwidth)/1e9), r.Bandwidth}})
		ways.Rows = append(ways.Rows, []Cell{Words(r.Group), Words(r.Collective), Words(r.Algorithm), Words(r.Why)})
		sum := perLink[r.Link]
		if sum == nil {
			sum = &plan.Communication{}
			perLink[r.Link] = sum
		}
		sum.Bytes, sum.Seconds, sum.ExposedSeconds = sum.Bytes+r.Bytes, sum.Seconds+r.Seconds, sum.ExposedSeconds+r.ExposedSeconds
	}
	links := Table{Caption: "By link:", Columns: []Column{{"link", "link", false}, {"bytes", "bytes", true}, {"seconds", "time", true}, {"exposed_seconds", "exposed", true}}}
	for _, link := range []string{"nvlink", "pcie", "network"} {
		if c := perLink[link]; c != nil {
			links.Rows = append(links.Rows, []Cell{Words(link), {amount(c.Bytes), c.Bytes}, timeCell(c.Seconds), timeCell(c.ExposedSeconds)})
		}
	}
	groups := Table{Caption: "Groups of the mesh, innermost first:", Columns: []Column{{"axis", "axis", false}, {"ranks", "ranks", true}, {"stride", "apart", true}, {"link", "link", false}, {"groups", "groups", true}}}
	for _, g := range p.Mesh.Groups {
		groups.Rows = append(groups.Rows, []Cell{Words(g.Name), {fmt.Sprint(g.Size), g.Size}, {fmt.Sprint(g.Stride), g.Stride}, Words(g.Link), {fmt.Sprint(g.Count), g.Count}})
	}
	s.Tables = []Table{all, ways, links, groups}
	if len(kinds) > 0 {
		s.Lines = append(s.Lines, "Formulas of collectives are of n ranks, L on each of N nodes, and D bytes. A step takes h inside a node and H between nodes. B is the rate of the slowest link on the way: NVLink, or all NICs of a node "+
			"that the group drives, those of one GPU for scatter, gather, all_to_all and point_to_point.")
		s.Tables = append(s.Tables,
			messages("By the size of a message: * is what NCCL takes, the plan counts the estimate, which is fitted to measurements:", routes),
			messages(fmt.Sprintf("Every kind over all %d ranks:", kinds[0].Size), kinds),
			formulas(append(slices.Clone(routes), kinds...)))
	}
	if len(averaging) > 0 {
		s.Tables = append(s.Tables, averages(averaging))
	}
	return s
}

// averages tabulates ways in which replicas come to agree.
func averages(list []plan.Averaging) Table {
	t := Table{Caption: "If replicas averaged less often, or not all with all; it changes what is learnt, and no backend is launched so (docs/collectives.md, Averaging less often):", Columns: []Column{{"what", "what", false}, {"every_steps", "every", true},
		{"bytes_per_step", "bytes a step", true}, {"seconds_per_step", "time a step", true}, {"device_bytes", "more memory", true}, {"host_bytes", "on the host", true}, {"agree", "replicas agree", false}, {"source", "source", false}}}
	for i := range list {
		a := &list[i]
		device, host := Cell{}, Cell{}
		if a.Device > 0 {
			device = Cell{amount(a.Device), a.Device}
		}
		if a.Host > 0 {
			host = Cell{amount(a.Host), a.Host}
		}
		t.Rows = append(t.Rows, []Cell{Words(a.Name), {fmt.Sprint(a.Every), a.Every}, {amount(a.Bytes), a.Bytes}, timeCell(a.Seconds), device, host, Words(a.Agree), Words(a.Source)})
	}
	return t
}

// messages tabulates algorithms by the size of messages.
func messages(caption string, routes []plan.Route) Table {
	t := Table{Caption: caption, Columns: []Column{{"group", "group", false}, {"collective", "collective", false}, {"algorithm", "algorithm", false}}}
	for i := range routes {
		r := &routes[i]
		if len(t.Columns) == 3 {
			for k := range r.Messages {
				t.Columns = append(t.Columns, Column{fmt.Sprintf("seconds_at_%d", r.Messages[k].Bytes), messageSize(r.Messages[k].Bytes), true})
			}
		}
		for _, name := range algorithms(r) {
			row := []Cell{Words(r.Group), Words(r.Collective), Words(name)}
			for k := range r.Messages {
				row = append(row, algorithmCell(&r.Messages[k], name))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// messageSize writes a size of a power of two.
func messageSize(n units.Bytes) string {
	switch {
	case n >= units.GiB:
		return fmt.Sprintf("%d GiB", n/units.GiB)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// estimated is the row of what the plan counts.
const estimated = "estimate"

// algorithms are the names of a route's rows.
func algorithms(r *plan.Route) []string {
	var names []string
	if len(r.Messages) == 0 {
		return nil
	}
	for _, a := range r.Messages[0].Algorithms {
		names = append(names, a.Name)
	}
	if r.Messages[0].Estimated > 0 {
		names = append(names, estimated)
	}
	return names
}

func algorithmCell(m *plan.Message, name string) Cell {
	if name == estimated {
		return shortCell(m.Estimated)
	}
	for i := range m.Algorithms {
		if a := &m.Algorithms[i]; a.Name == name {
			c := shortCell(a.Seconds)
			if i == 0 {
				c.Text = "* " + c.Text
			}
			return c
		}
	}
	return Cell{}
}

// shortCell writes a time that may be far below a millisecond.
func shortCell(s units.Seconds) Cell {
	if s < 1e-3 {
		return Cell{fmt.Sprintf("%.0f µs", float64(s)*1e6), s}
	}
	return timeCell(s)
}

// formulas lists each formula once.
func formulas(routes []plan.Route) Table {
	t := Table{Caption: "Their formulas:",
		Columns: []Column{{"collective", "collective", false}, {"algorithm", "algorithm", false}, {"source", "source", false}, {"formula", "formula", false}}}
	seen := map[[2]string]bool{}
	for i := range routes {
		if len(routes[i].Messages) == 0 {
			continue
		}
		for _, a := range routes[i].Messages[0].Algorithms {
			formula := a.Formula
			if a.Needs != "" {
				formula += "; " + a.Needs
			}
			if key := [2]string{routes[i].Collective, a.Name + formula}; !seen[key] {
				seen[key] = true
				t.Rows = append(t.Rows, []Cell{Words(routes[i].Collective), Words(a.Name), Words(a.Source), Words(formula)})
			}
		}
	}
	return t
}

// amount writes a payload, which may be far less than a GiB.
func amount(n units.Bytes) string {
	switch f := float64(n); {
	case f >= 1e9:
		return fmt.Sprintf("%.2f GB", f/1e9)
	case f >= 1e6:
		return fmt.Sprintf("%.2f MB", f/1e6)
	default:
		return units.Significant(f/1e3, 3) + " kB"
	}
}

// Sensitivity says what moves the step.
func Sensitivity(p *plan.Plan, list []plan.Sensitivity) Section {
	s := Section{Topic: "sensitivity", Title: "What moves the step", Lines: []string{fmt.Sprintf("Each fact alone, under the same layout; the step is %s.", view.Duration(p.Time.StepSeconds))}}
	t := Table{Columns: []Column{{"path", "fact", false}, {"change", "change", false}, {"step_seconds", "step", true}, {"share", "", true}}}
	for _, x := range list {
		t.Rows = append(t.Rows, []Cell{Words(x.Path), Words(x.Change), timeCell(x.Step), {fmt.Sprintf("%+.2f %%", 100*x.Share), x.Share}})
	}
	s.Tables = []Table{t}
	return s
}

// Changed is what a change of the job does to a plan.
type Changed struct {
	Change string
	Kept   units.Seconds // the step with the plan's own layout; 0: the job does not run in it
	Best   *plan.Plan    // what would be chosen
}

// WhatIf compares changes of the job with the plan as it is.
func WhatIf(p *plan.Plan, list []Changed) Section {
	s := Section{Topic: "what-if", Title: "What if", Lines: []string{fmt.Sprintf("As it is, a step takes %s and %s on the device.", view.Duration(p.Time.StepSeconds), view.GiB(p.Memory.Peak.DeviceBytes))}}
	t := Table{Columns: []Column{{"change", "change", false}, {"kept_seconds", "this layout", true}, {"kept_share", "", true}, {"best_seconds", "best layout", true}, {"best_share", "", true}, {"layout", "", false}}}
	share := func(x units.Seconds) Cell {
		c := float64(x/p.Time.StepSeconds) - 1
		return Cell{fmt.Sprintf("%+.1f %%", 100*c), c}
	}
	for _, c := range list {
		row := []Cell{Words(c.Change), {Text: "-"}, {}, {Text: "-"}, {}, Words("nothing fits")}
		if c.Kept > 0 {
			row[1], row[2] = timeCell(c.Kept), share(c.Kept)
		}
		if c.Best != nil && c.Best.Feasible {
			row[3], row[4] = timeCell(c.Best.Time.StepSeconds), share(c.Best.Time.StepSeconds)
			first, _, _ := strings.Cut(view.Layout(&c.Best.Layout), "\n")
			row[5] = Words(first)
			if view.Layout(&c.Best.Layout) == view.Layout(&p.Layout) {
				row[5] = Words("the same")
			}
		}
		t.Rows = append(t.Rows, row)
	}
	s.Tables = []Table{t}
	return s
}

// Setting is a value in a generated file, with where it comes from.
type Setting struct {
	File   string
	Line   int
	Text   string // as written, without the comment
	Path   string // in the job; "" where the line does not say
	Origin string // who said it: spec:FILE:LINE, plan:search, …; "" where nobody did
}

// Launch lists what the launch files say, and why.
func Launch(files []string, list []Setting) Section {
	s := Section{Topic: "launch", Title: "What is launched", Lines: []string{"Files: " + strings.Join(files, ", ") + "."}}
	t := Table{Columns: []Column{{"file", "file", false}, {"line", "line", true}, {"text", "what it says", false}, {"path", "from", false}, {"origin", "which is said by", false}}}
	for _, x := range list {
		t.Rows = append(t.Rows, []Cell{Words(x.File), {fmt.Sprint(x.Line), x.Line}, Words(x.Text), Words(x.Path), Words(x.Origin)})
	}
	s.Tables = []Table{t}
	return s
}

// Alternatives lists the layouts that came next, the plan's own first.
func Alternatives(p *plan.Plan) Table {
	t := Table{Columns: []Column{{"place", "", true}, {"tensor", "tensor", true}, {"context", "context", true}, {"pipeline", "pipeline", true}, {"virtual", "virtual", true}, {"expert", "expert", true}, {"shard", "shard", true}, {"replicate", "replicate", true},
		{"zero_stage", "ZeRO", true}, {"micro_batch_size", "micro-batch", true}, {"recompute", "recompute", false}, {"step_seconds", "step", true}, {"memory_bytes", "memory", true}, {"step_change", "", true}}}
	row := func(place int, l *plan.Layout, step units.Seconds, peak units.Bytes) {
		n := func(v int) Cell { return Cell{fmt.Sprint(v), v} }
		change := float64(step/p.Time.StepSeconds) - 1
		t.Rows = append(t.Rows, []Cell{n(place), n(l.TensorParallel), n(l.ContextParallel), n(l.PipelineParallel), n(l.VirtualPipeline), n(l.ExpertParallel), n(l.DataParallelShard), n(l.DataParallelReplicate),
			n(l.ZeroStage), n(l.MicroBatchSize), Words(l.Recompute.String()), timeCell(step), bytesCell(peak), {fmt.Sprintf("%+.1f %%", 100*change), change}})
	}
	row(0, &p.Layout, p.Time.StepSeconds, p.Memory.Peak.DeviceBytes)
	for i := range p.Alternatives {
		a := &p.Alternatives[i]
		row(i+1, &a.Layout, a.StepSeconds, a.PeakDeviceBytes)
	}
	return t
}
