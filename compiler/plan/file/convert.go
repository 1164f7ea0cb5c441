package file

import "github.com/ndc-dev/ndc/compiler/plan"

// Of is a plan as its JSON form holds it.
func Of(p *plan.Plan) Plan {
	return Plan{
		Backend: p.Backend, BackendVersion: p.BackendVersion, Feasible: p.Feasible,
		Input: inputOf(&p.Input), Layout: Layout(p.Layout), Execution: Execution(p.Execution),
		Mesh:          Mesh{Order: p.Mesh.Order, Groups: each(p.Mesh.Groups, func(g plan.Group) Group { return Group(g) }), Benchmarks: each(p.Mesh.Benchmarks, func(b plan.Benchmark) Benchmark { return Benchmark(b) })},
		Memory:        memoryOf(&p.Memory),
		Time:          timeOf(&p.Time),
		Communication: each(p.Communication, func(c plan.Communication) Communication { return Communication(c) }),
		Throughput:    Throughput(p.Throughput),
		Run: Run{Steps: p.Run.Steps, Seconds: p.Run.Seconds, GPUHours: p.Run.GPUHours, Cost: p.Run.Cost, Jobs: p.Run.Jobs,
			Checkpoints:     (*Checkpoints)(p.Run.Checkpoints),
			ExpectedSeconds: p.Run.ExpectedSeconds, ExpectedRange: p.Run.ExpectedRange, Goodput: p.Run.Goodput, Failures: p.Run.Failures},
		Search: Search{Enumerated: p.Search.Enumerated, Evaluated: p.Search.Evaluated, Pruned: p.Search.Pruned,
			Rejected: each(p.Search.Rejected, func(r plan.Rejection) Rejection { return Rejection(r) })},
		Choice: choiceOf(p.Selection),
		Alternatives: each(p.Alternatives, func(a plan.Alternative) Alternative {
			return Alternative{Layout: Layout(a.Layout), Execution: Execution(a.Execution), StepSeconds: a.StepSeconds, PeakDeviceBytes: a.PeakDeviceBytes}
		}),
		Locked:      lockedOf(p.Locked),
		Infeasible:  infeasibleOf(p.Infeasible),
		Learned:     each(p.Learned, func(l plan.Learned) Learned { return Learned(l) }),
		Policies:    each(p.Policies, func(v plan.Policy) Policy { return Policy(v) }),
		Overridden:  each(p.Overridden, func(o plan.Override) Override { return Override(o) }),
		Calibration: calibrationOf(p.Calibration),
		Warnings:    each(p.Warnings, func(w plan.Warning) Warning { return Warning(w) }),
		Artifacts:   each(p.Artifacts, func(a plan.Artifact) Artifact { return Artifact(a) }),
	}
}

func inputOf(in *plan.Input) Input {
	return Input{
		SHA256: in.SHA256, Files: each(in.Files, func(f plan.InputFile) InputFile { return InputFile(f) }),
		Model: in.Model, ParametersTotal: in.ParametersTotal, ParametersActive: in.ParametersActive,
		SequenceLength: in.SequenceLength, GlobalBatchSize: in.GlobalBatchSize, Precision: in.Precision,
		GPU: in.GPU, Nodes: in.Nodes, GPUs: in.GPUs, SpareNodes: in.SpareNodes,
	}
}

func calibrationOf(c *plan.Calibration) *Calibration {
	if c == nil {
		return nil
	}
	return &Calibration{File: c.File, SHA256: c.SHA256, Trained: c.Trained, Terms: each(c.Terms, func(t plan.CalibratedTerm) CalibratedTerm { return CalibratedTerm(t) }),
		Reserved: c.Reserved, StepSeconds: c.StepSeconds, DeviceBytes: c.DeviceBytes, Runs: c.Runs, Measured: c.Measured}
}

func choiceOf(s *plan.Selection) *Choice {
	if s == nil {
		return nil
	}
	return &Choice{Rule: s.Rule, GPUHoursRange: s.GPUHoursRange, Among: each(s.Among, func(c plan.Contender) Contender {
		return Contender{Layout: Layout(c.Layout), Execution: Execution(c.Execution), StepDifferenceRange: c.StepDifferenceRange, WhyNot: c.WhyNot}
	})}
}

func lockedOf(l *plan.Locked) *Locked {
	if l == nil {
		return nil
	}
	locked := &Locked{SinceVersion: l.SinceVersion, GainRange: l.GainRange}
	if w := l.WouldChoose; w != nil {
		locked.WouldChoose = &Preferred{Layout: Layout(w.Layout), Execution: Execution(w.Execution), StepSeconds: w.StepSeconds, PeakDeviceBytes: w.PeakDeviceBytes}
	}
	return locked
}

func memoryOf(m *plan.Memory) Memory {
	return Memory{
		GPUBytes: m.GPUBytes, UsableBytes: m.UsableBytes, NeededBytes: m.NeededBytes, OOM: OOMProbability(m.OOM), NearLimit: (*NearLimit)(m.NearLimit), ExpertRows: (*ExpertRows)(m.ExpertRows), Peak: Peak(m.Peak),
		Stages: each(m.Stages, func(s plan.StageMemory) StageMemory {
			return StageMemory{Stage: s.Stage, Layers: s.Layers, AllocatedBytes: s.AllocatedBytes, ReservedBytes: s.ReservedBytes,
				DeviceBytes: s.DeviceBytes, Ledger: ledgerOf(s.Ledger)}
		}),
		Host: HostMemory{BytesPerNode: m.Host.BytesPerNode, Ledger: ledgerOf(m.Host.Ledger), Phases: each(m.Host.Phases, func(p plan.HostPhase) HostPhase {
			return HostPhase{Name: p.Name, BytesPerNode: p.BytesPerNode, Ledger: ledgerOf(p.Ledger)}
		})},
	}
}

func ledgerOf(lines []plan.LedgerLine) []LedgerLine {
	return each(lines, func(l plan.LedgerLine) LedgerLine { return LedgerLine(l) })
}

func timeOf(t *plan.Time) Time {
	return Time{
		StepSeconds: t.StepSeconds, StepRangeSeconds: t.StepRangeSeconds, ExpectedSeconds: t.ExpectedSeconds, UnmeasuredShare: t.UnmeasuredShare, ChosenAmong: t.ChosenAmong, FastestSeconds: t.FastestSeconds,
		Breakdown:   each(t.Breakdown, func(l plan.TimeLine) TimeLine { return TimeLine(l) }),
		BubbleShare: t.BubbleShare, ExposedCommunicationShare: t.ExposedCommunicationShare,
	}
}

func infeasibleOf(i *plan.Infeasible) *Infeasible {
	if i == nil {
		return nil
	}
	return &Infeasible{
		Reasons: each(i.Reasons, func(r plan.Reason) Reason { return Reason(r) }),
		Nearest: each(i.Nearest, func(n plan.Nearest) Nearest {
			return Nearest{Layout: Layout(n.Layout), StepSeconds: n.StepSeconds, PeakDeviceBytes: n.PeakDeviceBytes,
				MissingBytes: n.MissingBytes, MissingHostBytes: n.MissingHostBytes, With: n.With}
		}),
		Fixes: each(i.Fixes, func(f plan.Fix) Fix { return Fix(f) }),
	}
}

// each converts the elements of a list; a list without one stays what it is,
// empty or nil.
func each[A, B any](list []A, convert func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i := range list {
		out[i] = convert(list[i])
	}
	return out
}

// Decision is the plan that the JSON form tells of.
func (p *Plan) Decision() *plan.Plan {
	return &plan.Plan{
		Backend: p.Backend, BackendVersion: p.BackendVersion, Feasible: p.Feasible,
		Input: p.Input.decision(), Layout: plan.Layout(p.Layout), Execution: plan.Execution(p.Execution),
		Mesh:          plan.Mesh{Order: p.Mesh.Order, Groups: each(p.Mesh.Groups, func(g Group) plan.Group { return plan.Group(g) }), Benchmarks: each(p.Mesh.Benchmarks, func(b Benchmark) plan.Benchmark { return plan.Benchmark(b) })},
		Memory:        p.Memory.decision(),
		Time:          p.Time.decision(),
		Communication: each(p.Communication, func(c Communication) plan.Communication { return plan.Communication(c) }),
		Throughput:    plan.Throughput(p.Throughput),
		Run: plan.Run{Steps: p.Run.Steps, Seconds: p.Run.Seconds, GPUHours: p.Run.GPUHours, Cost: p.Run.Cost, Jobs: p.Run.Jobs,
			Checkpoints:     (*plan.Checkpoints)(p.Run.Checkpoints),
			ExpectedSeconds: p.Run.ExpectedSeconds, ExpectedRange: p.Run.ExpectedRange, Goodput: p.Run.Goodput, Failures: p.Run.Failures},
		Search: plan.Search{Enumerated: p.Search.Enumerated, Evaluated: p.Search.Evaluated, Pruned: p.Search.Pruned,
			Rejected: each(p.Search.Rejected, func(r Rejection) plan.Rejection { return plan.Rejection(r) })},
		Selection: p.Choice.decision(),
		Alternatives: each(p.Alternatives, func(a Alternative) plan.Alternative {
			return plan.Alternative{Layout: plan.Layout(a.Layout), Execution: plan.Execution(a.Execution), StepSeconds: a.StepSeconds, PeakDeviceBytes: a.PeakDeviceBytes}
		}),
		Locked:      p.Locked.decision(),
		Infeasible:  p.Infeasible.decision(),
		Learned:     each(p.Learned, func(l Learned) plan.Learned { return plan.Learned(l) }),
		Policies:    each(p.Policies, func(v Policy) plan.Policy { return plan.Policy(v) }),
		Overridden:  each(p.Overridden, func(o Override) plan.Override { return plan.Override(o) }),
		Calibration: p.Calibration.decision(),
		Warnings:    each(p.Warnings, func(w Warning) plan.Warning { return plan.Warning(w) }),
		Artifacts:   each(p.Artifacts, func(a Artifact) plan.Artifact { return plan.Artifact(a) }),
	}
}

func (in *Input) decision() plan.Input {
	return plan.Input{
		SHA256: in.SHA256, Files: each(in.Files, func(f InputFile) plan.InputFile { return plan.InputFile(f) }),
		Model: in.Model, ParametersTotal: in.ParametersTotal, ParametersActive: in.ParametersActive,
		SequenceLength: in.SequenceLength, GlobalBatchSize: in.GlobalBatchSize, Precision: in.Precision,
		GPU: in.GPU, Nodes: in.Nodes, GPUs: in.GPUs, SpareNodes: in.SpareNodes,
	}
}

func (c *Calibration) decision() *plan.Calibration {
	if c == nil {
		return nil
	}
	return &plan.Calibration{File: c.File, SHA256: c.SHA256, Trained: c.Trained, Terms: each(c.Terms, func(t CalibratedTerm) plan.CalibratedTerm { return plan.CalibratedTerm(t) }),
		Reserved: c.Reserved, StepSeconds: c.StepSeconds, DeviceBytes: c.DeviceBytes, Runs: c.Runs, Measured: c.Measured}
}

func (c *Choice) decision() *plan.Selection {
	if c == nil {
		return nil
	}
	return &plan.Selection{Rule: c.Rule, GPUHoursRange: c.GPUHoursRange, Among: each(c.Among, func(c Contender) plan.Contender {
		return plan.Contender{Layout: plan.Layout(c.Layout), Execution: plan.Execution(c.Execution), StepDifferenceRange: c.StepDifferenceRange, WhyNot: c.WhyNot}
	})}
}

func (l *Locked) decision() *plan.Locked {
	if l == nil {
		return nil
	}
	locked := &plan.Locked{SinceVersion: l.SinceVersion, GainRange: l.GainRange}
	if w := l.WouldChoose; w != nil {
		locked.WouldChoose = &plan.Preferred{Layout: plan.Layout(w.Layout), Execution: plan.Execution(w.Execution), StepSeconds: w.StepSeconds, PeakDeviceBytes: w.PeakDeviceBytes}
	}
	return locked
}

func (m *Memory) decision() plan.Memory {
	ledger := func(lines []LedgerLine) []plan.LedgerLine {
		return each(lines, func(l LedgerLine) plan.LedgerLine { return plan.LedgerLine(l) })
	}
	return plan.Memory{
		GPUBytes: m.GPUBytes, UsableBytes: m.UsableBytes, NeededBytes: m.NeededBytes, OOM: plan.OOMProbability(m.OOM), NearLimit: (*plan.NearLimit)(m.NearLimit), ExpertRows: (*plan.ExpertRows)(m.ExpertRows), Peak: plan.Peak(m.Peak),
		Stages: each(m.Stages, func(s StageMemory) plan.StageMemory {
			return plan.StageMemory{Stage: s.Stage, Layers: s.Layers, AllocatedBytes: s.AllocatedBytes, ReservedBytes: s.ReservedBytes,
				DeviceBytes: s.DeviceBytes, Ledger: ledger(s.Ledger)}
		}),
		Host: plan.HostMemory{BytesPerNode: m.Host.BytesPerNode, Ledger: ledger(m.Host.Ledger), Phases: each(m.Host.Phases, func(p HostPhase) plan.HostPhase {
			return plan.HostPhase{Name: p.Name, BytesPerNode: p.BytesPerNode, Ledger: ledger(p.Ledger)}
		})},
	}
}

func (t *Time) decision() plan.Time {
	return plan.Time{
		StepSeconds: t.StepSeconds, StepRangeSeconds: t.StepRangeSeconds, ExpectedSeconds: t.ExpectedSeconds, UnmeasuredShare: t.UnmeasuredShare, ChosenAmong: t.ChosenAmong, FastestSeconds: t.FastestSeconds,
		Breakdown:   each(t.Breakdown, func(l TimeLine) plan.TimeLine { return plan.TimeLine(l) }),
		BubbleShare: t.BubbleShare, ExposedCommunicationShare: t.ExposedCommunicationShare,
	}
}

func (i *Infeasible) decision() *plan.Infeasible {
	if i == nil {
		return nil
	}
	return &plan.Infeasible{
		Reasons: each(i.Reasons, func(r Reason) plan.Reason { return plan.Reason(r) }),
		Nearest: each(i.Nearest, func(n Nearest) plan.Nearest {
			return plan.Nearest{Layout: plan.Layout(n.Layout), StepSeconds: n.StepSeconds, PeakDeviceBytes: n.PeakDeviceBytes,
				MissingBytes: n.MissingBytes, MissingHostBytes: n.MissingHostBytes, With: n.With}
		}),
		Fixes: each(i.Fixes, func(f Fix) plan.Fix { return plan.Fix(f) }),
	}
}
