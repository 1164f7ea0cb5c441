package calibration

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/logs"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// engine is one that was measured.
var engine = uncertainty.Embedded().Dense.Measured.Engines[0]

// examples are the plans of the repository's examples.
func examples(t *testing.T) map[string]*plan.Plan {
	t.Helper()
	names, err := filepath.Glob("../../examples/*/out/*/*/plan.json")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	plans := map[string]*plan.Plan{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f file.File
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		plans[name] = f.Decision()
	}
	return plans
}

// TestTermsOf: the terms of every example sum to its step, and communication
// that leaves its nodes is the network's.
func TestTermsOf(t *testing.T) {
	network := 0
	for name, p := range examples(t) {
		terms := termsOf(p)
		if sum := terms.Sum(); math.Abs(float64(sum/p.Time.StepSeconds)-1) > 1e-6 {
			t.Errorf("%s: terms of %v s, step of %v s", name, sum, p.Time.StepSeconds)
		}
		if terms[uncertainty.Network] > 0 {
			network++
		}
		if p.Input.Nodes == 1 && terms[uncertainty.Network] > 0 {
			t.Errorf("%s: one node, and %v s of network", name, terms[uncertainty.Network])
		}
	}
	if network == 0 {
		t.Error("no example uses the network")
	}
}

// TestEveryLineHasATerm: a line of a breakdown that is not known here would
// count as the host's.
func TestEveryLineHasATerm(t *testing.T) {
	for name, p := range examples(t) {
		for _, line := range p.Time.Breakdown {
			_, term := lineTerms[line.ID]
			_, group := lineGroups[line.ID]
			if !term && !group && line.ID != "recompute" && line.ID != "bubble" {
				t.Errorf("%s: no term for the line %s", name, line.ID)
			}
		}
	}
}

// TestCauses: every term has its words.
func TestCauses(t *testing.T) {
	for k := range uncertainty.Count {
		if c := causes()[k.String()]; c.Slower == "" || c.Faster == "" || c.Source == "" {
			t.Errorf("data/causes.json says nothing of %s", k)
		}
	}
}

// TestSuspects: what a step that is off most likely lost, sums to the
// difference but for each layout's own error, the likeliest first.
func TestSuspects(t *testing.T) {
	for name, p := range examples(t) {
		for _, ratio := range []float64{0.8, 1.3, 2} {
			list := suspects(p, engine, ratio)
			if len(list) == 0 {
				t.Errorf("%s: nothing is off at %g times the step", name, ratio)
			}
			for i := range list {
				if i > 0 && list[i].Explain > list[i-1].Explain || list[i].Cause == "" {
					t.Errorf("%s: %+v", name, list)
				}
			}
		}
	}
}

// machine is a made-up one: every term of a step takes a factor of what was
// predicted.
var machine = [uncertainty.Count]float64{
	uncertainty.Linear: 1.06, uncertainty.Linear8: 1.06, uncertainty.Grouped: 1, uncertainty.Grouped8: 1, uncertainty.Attention: 1.2,
	uncertainty.Bandwidth: 1.1, uncertainty.Host: 1.5, uncertainty.Overlap: 1, uncertainty.NVLink: 1.1, uncertainty.Network: 1.6,
	uncertainty.PCIe: 1, uncertainty.Straggler: 1,
}

// ran is a log of a plan on the machine.
func ran(p *plan.Plan) *logs.Log {
	var seconds float64
	for k, s := range termsOf(p) {
		seconds += float64(s) * machine[k]
	}
	l := &logs.Log{Framework: p.Backend, Launches: []logs.Launch{{Status: -1}}}
	for i := 1; i <= 10; i++ {
		l.Steps = append(l.Steps, logs.Step{Iteration: 10 * i, Over: 10, Seconds: seconds})
	}
	return l
}

// TestCalibrate: from runs on a machine that is off term by term, their own plans are
// predicted far better than before, plans of other models on it better on average, and
// what no run spends time on keeps its prior but for what the model has in all.
func TestCalibrate(t *testing.T) {
	var plans []*plan.Plan
	for _, name := range slices.Sorted(maps.Keys(examples(t))) {
		// The toy waits for its host all the time, of which no run of the others tells.
		if p := examples(t)[name]; p.Feasible && p.Input.GPU == "h100_sxm" && p.Input.Model != "debug" {
			p.Run.Checkpoints = nil
			plans = append(plans, p)
		}
	}
	if len(plans) < 6 {
		t.Fatalf("%d plans on H100", len(plans))
	}
	var in []Input
	for _, p := range plans[:len(plans)/2] {
		in = append(in, Input{Job: p.Input.Model, Engine: engine, Plan: p, Log: ran(p)})
	}
	f, err := Calibrate(in)
	if err != nil {
		t.Fatal(err)
	}
	off := func(plans []*plan.Plan) (before, after float64) {
		for _, p := range plans {
			terms := termsOf(p)
			measured := math.Log(ran(p).Steps[0].Seconds)
			by := f.Others.Means
			if i := slices.IndexFunc(f.Models, func(m Trained) bool { return m.Model == p.Input.Model }); i >= 0 {
				by = f.Models[i].Means
			}
			sum := 0.0
			for k, s := range terms {
				sum += float64(s) * math.Exp(by[k])
			}
			before += math.Abs(measured - math.Log(float64(terms.Sum())))
			after += math.Abs(measured - math.Log(sum))
		}
		return before, after
	}
	if before, after := off(plans[:len(plans)/2]); after > before/4 {
		t.Errorf("the runs' own plans are off by %.4f in all after the calibration, %.4f before", after, before)
	}
	if before, after := off(plans[len(plans)/2:]); after > 0.9*before {
		t.Errorf("other plans are off by %.4f in all after the calibration, %.4f before", after, before)
	}
	for k, term := range f.Terms {
		if m := f.Others.Means[k]; term.Term == "pcie" && (term.Identified || m != 0) {
			t.Errorf("no run uses PCIe: %+v, of others %g", term, m)
		}
		if term.After.Spread > term.Before.Spread {
			t.Errorf("less is known of %s than before: %+v", term.Term, term)
		}
	}
}

// TestOrderOfRuns: what runs of several engines say, of which one was never measured,
// does not depend on which comes first.
func TestOrderOfRuns(t *testing.T) {
	var in []Input
	for _, name := range slices.Sorted(maps.Keys(examples(t))) {
		if p := examples(t)[name]; p.Feasible && p.Input.GPU == "h100_sxm" {
			p.Run.Checkpoints = nil
			in = append(in, Input{Job: p.Input.Model, Engine: []string{engine, "unmeasured"}[len(in)%2], Plan: p, Log: ran(p)})
		}
	}
	f, err := Calibrate(in)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(in)
	g, err := Calibrate(in)
	if err != nil {
		t.Fatal(err)
	}
	for k := range f.Others.Means {
		if a, b := f.Others.Means[k], g.Others.Means[k]; math.Abs(a-b) > 1e-6*math.Abs(a) {
			t.Errorf("the error of %s is %g, and %g of the same runs in another order", f.Terms[k].Term, a, b)
		}
		if a, b := f.Others.Covariance[k][k], g.Others.Covariance[k][k]; math.Abs(a-b) > 1e-6*a {
			t.Errorf("the variance of %s is %g, and %g of the same runs in another order", f.Terms[k].Term, a, b)
		}
	}
}

// TestRepeated: a layout that ran several times has for itself what it had the first time;
// what it took counts once, by its mean.
func TestRepeated(t *testing.T) {
	var p *plan.Plan
	for _, name := range slices.Sorted(maps.Keys(examples(t))) {
		if q := examples(t)[name]; q.Feasible && q.Input.GPU == "h100_sxm" && q.Input.Nodes > 1 {
			p = q
		}
	}
	p.Run.Checkpoints = nil
	slow := func(times ...float64) *File {
		var in []Input
		for _, x := range times {
			l := ran(p)
			for i := range l.Steps {
				l.Steps[i].Seconds, l.Steps[i].Reserved = x*float64(p.Time.StepSeconds), x*0.45*float64(p.Memory.Peak.ReservedBytes)
			}
			in = append(in, Input{Job: p.Input.Model, Engine: engine, Plan: p, Log: l})
		}
		f, err := Calibrate(in)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	once, often := slow(2), slow(2.2, 2/1.1, 2, 2, 2)
	for k := range once.Terms {
		if a, b := once.Terms[k].Factor, often.Terms[k].Factor; math.Abs(a/b-1) > 1e-6 {
			t.Errorf("%s: %g of one run, %g of five", once.Terms[k].Term, a, b)
		}
	}
	if a, b := once.Allocator, often.Allocator; a.Factor > 0.97 || math.Abs(a.Factor/b.Factor-1) > 1e-6 || a.After.Spread != b.After.Spread || b.Runs != 5 {
		t.Errorf("reserved memory by %+v of one run, %+v of five", a, b)
	}
	if often.Models[0].Runs != 5 || len(often.Runs) != 5 || often.Runs[4].After != once.Runs[0].After {
		t.Errorf("%+v", often.Runs)
	}
}

// TestForeign: a log that seems to be of another run says nothing of the memory that
// its plan predicts, either. One that is too short for its steps to be used does.
func TestForeign(t *testing.T) {
	var in []Input
	for _, name := range slices.Sorted(maps.Keys(examples(t))) {
		if p := examples(t)[name]; p.Feasible && p.Input.GPU == "h100_sxm" && len(in) < 3 {
			l := ran(p)
			for i := range l.Steps {
				l.Steps[i].Reserved = 1.01 * float64(p.Memory.Peak.ReservedBytes)
			}
			p.Run.Checkpoints = nil
			in = append(in, Input{Job: p.Input.Model, Engine: engine, Plan: p, Log: l})
		}
	}
	in[1].Log.Steps = in[1].Log.Steps[:2]
	for i := range in[2].Log.Steps {
		in[2].Log.Steps[i].Seconds *= 5
	}
	f, err := Calibrate(in)
	if err != nil {
		t.Fatal(err)
	}
	if f.Runs[1].Used || f.Runs[2].Used {
		t.Errorf("%+v and %+v are used", f.Runs[1], f.Runs[2])
	}
	if f.Allocator == nil || f.Allocator.Runs != 2 {
		t.Errorf("memory by %+v, want that of two runs", f.Allocator)
	}
}

// TestOtherModel: a launch that says that it trains a model of other layers, or of another
// size, contradicts the plan, and one whose numbers are as inexact as that does not.
func TestOtherModel(t *testing.T) {
	var p plan.Plan
	p.Input.ParametersTotal = 8_030_261_248
	p.Memory.Stages = []plan.StageMemory{{Layers: []int{8, 8}}, {Layers: []int{8, 8}}}
	for said, want := range map[string]string{
		"  num_layers ..................................... 32": "",
		"  num_layers ..................................... 28": "the log is of a model of 28 layers, and the plan of 32",
		"Total number of parameters in billions: 8.19":          "",
		"Total number of parameters in billions: 6.74":          "the log is of a model of 6.74 billion parameters, and the plan of 8.03 billion",
		"Model llama3 8B size: 8,030,261,248 total parameters":  "",
		"Model qwen3 7B size: 7,615,616,512 total parameters":   "the log is of a model of 7.62 billion parameters, and the plan of 8.03 billion",
	} {
		var parser logs.Parser
		parser.Line(said + "\n")
		parser.Line(" iteration 1/ 10 | elapsed time per iteration (ms): 5.0 |\n")
		l := parser.Log()
		p.Backend = l.Launches[0].Framework
		if got := contradiction(&p, &l.Launches[0]); got != want {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
	for name, p := range examples(t) {
		if got := contradiction(p, &logs.Launch{Framework: p.Backend, Model: logs.Model{Layers: layersOf(p)}}); layersOf(p) == 0 || got != "" {
			t.Errorf("%s: %d layers: %s", name, layersOf(p), got)
		}
	}
}

// TestOtherLayout: a launch that says of its layout what its plan says otherwise is none of
// the plan's; what it does not say is no contradiction.
func TestOtherLayout(t *testing.T) {
	l := plan.Layout{TensorParallel: 2, ContextParallel: 1, PipelineParallel: 4, ExpertParallel: 1, DataParallelReplicate: 1, DataParallelShard: 8, MicroBatchSize: 1}
	own := logs.Degrees{Tensor: 2, Context: 1, Pipeline: 4, Expert: 1, Replicate: 1, Shard: 8, MicroBatch: 1}
	p := &plan.Plan{Layout: l}
	for want, change := range map[string]func(*logs.Degrees){
		"":  func(*logs.Degrees) {},
		" ": func(d *logs.Degrees) { *d = logs.Degrees{} },
		"the log is of tensor_parallel = 4, and the plan of 2":     func(d *logs.Degrees) { d.Tensor = 4 },
		"the log is of context_parallel = 2, and the plan of 1":    func(d *logs.Degrees) { d.Context = 2 },
		"the log is of data_parallel_shard = 4, and the plan of 8": func(d *logs.Degrees) { d.Shard = 4 },
		"the log is of micro_batch_size = 2, and the plan of 1":    func(d *logs.Degrees) { d.MicroBatch = 2 },
	} {
		d := own
		change(&d)
		if got := contradiction(p, &logs.Launch{Degrees: d}); got != strings.TrimSpace(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMemory: memory that a GPU does not have, or that is off by more than a factor of
// four, is no error of a prediction, and neither moves the allocator nor decides a verdict.
func TestMemory(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(examples(t))) {
		p := examples(t)[name]
		if !p.Feasible || p.Input.GPU != "h100_sxm" || p.Memory.Peak.ReservedBytes < 40<<30 {
			continue
		}
		p.Run.Checkpoints = nil
		for _, c := range []struct {
			reserved float64
			why      string // "": it counts
		}{
			{1.02 * float64(p.Memory.Peak.ReservedBytes), ""},
			{300 << 20, "it is off by more than a factor of 4"},
			{644 << 30, "a GPU has no more than 79.6 GiB"},
			{1e23 * (1 << 20), "a GPU has no more than"},
		} {
			l := ran(p)
			for i := range l.Steps {
				l.Steps[i].Reserved = c.reserved
			}
			f, err := Calibrate([]Input{{Engine: engine, Plan: p, Log: l}})
			if err != nil {
				t.Fatal(name, err)
			}
			m := f.Runs[0].Memory
			if m.Measured <= 0 || !strings.HasPrefix(m.Why, c.why) || (m.Why == "") != (c.why == "") || (f.Allocator != nil) != (c.why == "") || (f.Runs[0].FirstPeak > 0) != (c.why == "") {
				t.Errorf("%s of %g bytes: %+v, %+v", name, c.reserved, m, f.Allocator)
			}
			for i := range l.Steps {
				l.Steps[i].Seconds = float64(p.Time.StepSeconds)
			}
			if w := Watch(p, l, engine); !w.Inside || w.Memory.Inside != (c.why == "") {
				t.Errorf("%s of %g bytes: %+v", name, c.reserved, w.Memory)
			}
		}
	}
}

// TestAllocated: what tensors take is held against the range of tensors, and not against
// that of what the allocator holds for them.
func TestAllocated(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(examples(t))) {
		p := examples(t)[name]
		if !p.Feasible || float64(p.Memory.Peak.ReservedBytes) < 1.05*float64(p.Memory.Peak.AllocatedBytes) {
			continue
		}
		peak := &p.Memory.Peak
		upper := float64(peak.DeviceRangeBytes[1]-(peak.DeviceBytes-peak.ReservedBytes)) / float64(peak.ReservedBytes)
		for off, inside := range map[float64]bool{0.99: true, 1.01: false} {
			l := ran(p)
			for i := range l.Steps {
				l.Steps[i].Allocated = off * upper * float64(peak.AllocatedBytes)
			}
			if m := Watch(p, l, engine).Memory; m.Kind != "allocated" || m.Why == "" && m.Inside != inside {
				t.Errorf("%s at %g of the range: %+v", name, off, m)
			}
		}
		return
	}
	t.Fatal("there is no such example")
}

// TestMemoryOfAnotherBatch: a run none of whose steps has the plan's batch tells nothing of
// memory, which may be that of other micro-batches; one whose batch has grown does.
func TestMemoryOfAnotherBatch(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(examples(t))) {
		p := examples(t)[name]
		if !p.Feasible || p.Input.GPU != "h100_sxm" || p.Input.GlobalBatchSize%2 != 0 {
			continue
		}
		p.Run.Checkpoints = nil
		run := func(reserved float64, sequences func(i int) int) Input {
			l := ran(p)
			for i := range l.Steps {
				l.Steps[i].Reserved, l.Steps[i].Sequences = reserved*float64(p.Memory.Peak.ReservedBytes), sequences(i)
			}
			return Input{Engine: engine, Plan: p, Log: l}
		}
		whole := p.Input.GlobalBatchSize
		f, err := Calibrate([]Input{run(1, func(int) int { return whole }), run(0.5, func(int) int { return whole / 2 }), run(1, func(i int) int {
			if i < 6 {
				return whole / 2
			}
			return whole
		})})
		if err != nil {
			t.Fatal(name, err)
		}
		if why := f.Runs[1].Memory.Why; !strings.HasPrefix(why, "no report is of a batch of ") || f.Allocator.Runs != 2 || f.Allocator.Factor != 1 {
			t.Errorf("%s: %q, %+v", name, why, f.Allocator)
		}
		return
	}
	t.Fatal("there is no such example")
}

// TestClock: a launch whose clock goes back adds nothing to the GPU-hours, and one
// that fails before it trains no failure of the machine.
func TestClock(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	p := &plan.Plan{Input: plan.Input{GPUs: 8}}
	l := &logs.Log{Launches: []logs.Launch{{Began: at, Ended: at.Add(time.Hour)}, {Began: at, Ended: at.Add(-24 * time.Hour)}}}
	if c := chain([]Input{{Plan: p, Log: l}}); c == nil || c.GPUHours != 8 || c.Launches != 2 {
		t.Errorf("%+v", c)
	}
	l.Phases = []logs.Phase{{Kind: logs.Start, Seconds: 600}, {Launch: 1, Kind: logs.Start, Seconds: 40}, {Kind: logs.Save, Seconds: 3}}
	if c := chain([]Input{{Plan: p, Log: l}}); *c.Start != (Duration{320, 600, 2}) || *c.Save != (Duration{3, 3, 1}) {
		t.Errorf("%+v, %+v", c.Start, c.Save)
	}
	// One launch failed while it trained, the other before.
	l.Steps, l.Failures = []logs.Step{{Launch: 0}}, []logs.Failure{{Launch: 0, Kind: "node"}, {Launch: 1, Kind: "out_of_memory"}}
	if c := chain([]Input{{Plan: p, Log: l}}); c.GPUHoursBetweenFailures != 8 || c.Failures["out_of_memory"] != 1 {
		t.Errorf("%+v", c)
	}
}

// TestShare: steps that a launch repeats, since it began at an earlier checkpoint, took time
// and brought the run nowhere.
func TestShare(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	l := &logs.Log{Launches: []logs.Launch{{Began: at, Ended: at.Add(100 * time.Second)}, {Began: at.Add(100 * time.Second), Ended: at.Add(200 * time.Second)}}}
	for _, s := range []logs.Step{{Iteration: 10, Over: 10}, {Iteration: 20, Over: 10}, {Iteration: 30, Over: 10}, {Launch: 1, Iteration: 20, Over: 5}, {Launch: 1, Iteration: 25, Over: 5}} {
		s.Seconds = 2
		l.Steps = append(l.Steps, s)
	}
	if got := trainingShare(l); got != 0.25 { // 25 steps of 2 s in 200
		t.Errorf("%g of the time, want 0.25", got)
	}
}

// TestRecalibrated: what a calibrated plan says that it would be without the calibration is
// what its runs are held against, also where factors are no inverse of what they did: of
// reserved memory, which is no less than what tensors take, and of terms that hide.
func TestRecalibrated(t *testing.T) {
	tried := 0
	for name, p := range examples(t) {
		if p.Input.GPU != "h100_sxm" || !p.Feasible || p.Memory.Peak.ReservedBytes < 40<<30 {
			continue
		}
		p.Run.Checkpoints = nil
		log := ran(p)
		for i := range log.Steps {
			log.Steps[i].Reserved = 0.9 * float64(p.Memory.Peak.ReservedBytes)
		}
		plain, err := Calibrate([]Input{{Engine: engine, Plan: p, Log: log}})
		if err != nil {
			continue // its step is off by more than a machine is
		}
		moved := *p
		moved.Calibration = &plan.Calibration{Terms: []plan.CalibratedTerm{{Term: "linear", Factor: 1.3}}, Reserved: 0.7, StepSeconds: p.Time.StepSeconds, DeviceBytes: p.Memory.Peak.DeviceBytes}
		peak := &moved.Memory.Peak
		less := peak.ReservedBytes - peak.AllocatedBytes
		peak.ReservedBytes, peak.DeviceBytes = peak.ReservedBytes-less, peak.DeviceBytes-less
		again, err := Calibrate([]Input{{Engine: engine, Plan: &moved, Log: log}})
		if err != nil {
			t.Fatal(name, err)
		}
		if a, b := plain.Runs[0].Predicted, again.Runs[0].Predicted; math.Abs(float64(a/b)-1) > 1e-6 {
			t.Errorf("%s: predicted %v, and %v by the calibrated plan", name, a, b)
		}
		if a, b := plain.Allocator.After.Mean, again.Allocator.After.Mean; math.Abs(a-b) > 1e-6 {
			t.Errorf("%s: reserved memory is off by %g, by %g of the calibrated plan", name, a, b)
		}
		tried++
	}
	if tried == 0 {
		t.Fatal("there is no such example")
	}
}

// TestCalibratedPlans: a plan that was made with a calibration tells the same of
// the machine as one without.
func TestCalibratedPlans(t *testing.T) {
	for name, p := range examples(t) {
		if p.Input.GPU != "h100_sxm" || !p.Feasible {
			continue
		}
		p.Run.Checkpoints = nil
		log := ran(p)
		plain, err := Calibrate([]Input{{Engine: engine, Plan: p, Log: log}})
		if err != nil {
			continue // its step is off by more than a machine is
		}
		moved := *p
		moved.Calibration = &plan.Calibration{Terms: []plan.CalibratedTerm{{Term: "linear", Factor: 1.3}}}
		moved.Time.Breakdown = slices.Clone(p.Time.Breakdown)
		if p.Layout.PipelineParallel > 1 || slices.ContainsFunc(p.Time.Breakdown, func(l plan.TimeLine) bool { return l.ID == "recompute" }) {
			continue // their lines move together
		}
		for i := range moved.Time.Breakdown {
			if id := moved.Time.Breakdown[i].ID; id == "linear" || id == "head" {
				moved.Time.Breakdown[i].Seconds *= 1.3
			}
		}
		again, err := Calibrate([]Input{{Engine: engine, Plan: &moved, Log: log}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range plain.Terms {
			if a, b := plain.Terms[i].After.Mean, again.Terms[i].After.Mean; math.Abs(a-b) > 1e-6 {
				t.Errorf("%s: %s is off by %g, by %g of the calibrated plan", name, plain.Terms[i].Term, a, b)
			}
		}
	}
}

// model is a small model of a name.
func model(name string, layers int) *job.Model {
	m := &job.Model{Name: name, Layers: layers, HiddenSize: 64, VocabSize: 100}
	m.Attention.Heads, m.Attention.KVHeads, m.Attention.HeadDim, m.FFNHiddenSize = 4, 4, 16, 128
	return m
}

func parametersOf(m *job.Model) int64 { return program.New(m).ParametersTotal() }

// TestRead: what is written is read, and what is not as it should be is said.
func TestRead(t *testing.T) {
	f := &File{FormatVersion: FormatVersion, GPU: "h100_sxm", Terms: []Term{{Term: "linear", After: Normal{0.1, 0.02}, Before: Normal{0, 0.05}}},
		Covariance: [][]float64{{0.0004}}, Allocator: &Allocator{Factor: 1.02}}
	text := func(change func(*File)) []byte {
		g := *f
		g.Terms = slices.Clone(f.Terms)
		change(&g)
		b, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	c, err := Read("x", text(func(*File) {}), &job.Model{}, "h100_sxm")
	if err != nil || c.File != "x" || c.Reserved != 1.02 || uncertainty.Factors(c)[uncertainty.Linear] != math.Exp(0.1) || uncertainty.Factors(c)[uncertainty.Host] != 1 {
		t.Fatal(c, err)
	}
	told := text(func(g *File) {
		g.Others, g.Runs = Errors{nil, []float64{0.02}, [][]float64{{0.002}}}, []Run{{Model: "seen", Used: true}, {Model: "refused"}}
	})
	for name, mean := range map[string]float64{"seen": 0.1, "refused": 0.02, "another": 0.02} {
		if c, err := Read("x", told, &job.Model{Name: name}, "h100_sxm"); err != nil || c.Terms[0].Mean != mean || (c.Covariance[0][0] == 0.002) != (mean == 0.02) || c.Trained || c.Ran != (name == "seen") {
			t.Errorf("of %s it tells %+v, %v", name, c, err)
		}
	}
	told = text(func(g *File) {
		g.Others = Errors{[]float64{0.04}, []float64{0.02}, [][]float64{{0.002}}}
		g.Models = []Trained{{Model: "seen", Errors: Errors{[]float64{0.06}, []float64{0.1}, [][]float64{{0.001}}}}, {Model: "second", Errors: Errors{[]float64{0.06}, []float64{-0.1}, [][]float64{{0.001}}}}}
	})
	for name, mean := range map[string]float64{"seen": 0.1, "second": -0.1, "another": 0.02} {
		before := 0.06
		if mean == 0.02 {
			before = 0.04
		}
		if c, err := Read("x", told, &job.Model{Name: name}, "h100_sxm"); err != nil || c.Terms[0].Mean != mean || c.Trained != (mean != 0.02) || c.Ran != c.Trained || math.Abs(c.Terms[0].Before-before*before) > 1e-9 {
			t.Errorf("of %s it tells %+v, %v", name, c, err)
		}
	}
	// Two folders name their models alike.
	small, large := model("seen", 2), model("seen", 4)
	told = text(func(g *File) {
		g.Others = Errors{[]float64{0.04}, []float64{0.02}, [][]float64{{0.002}}}
		g.Models = []Trained{{Model: "seen", ParametersTotal: parametersOf(small), ParametersActive: parametersOf(small), Errors: Errors{[]float64{0.06}, []float64{0.1}, [][]float64{{0.001}}}},
			{Model: "seen", ParametersTotal: parametersOf(large), ParametersActive: parametersOf(large), Errors: Errors{[]float64{0.06}, []float64{-0.1}, [][]float64{{0.001}}}}}
	})
	for layers, mean := range map[int]float64{2: 0.1, 4: -0.1, 6: 0.02} {
		if c, err := Read("x", told, model("seen", layers), "h100_sxm"); err != nil || c.Terms[0].Mean != mean || c.Ran != (layers < 6) {
			t.Errorf("of %d layers it tells %+v, %v", layers, c, err)
		}
	}
	for says, bad := range map[string][]byte{
		"\"before\" of other models has 2 numbers for 1 term":      text(func(g *File) { g.Others = Errors{[]float64{0.1, 0.2}, []float64{0}, [][]float64{{0.01}}} }),
		"\"means\" of other models has 2 numbers for 1 term":       text(func(g *File) { g.Others = Errors{[]float64{0.1}, []float64{0, 0}, [][]float64{{0.01}}} }),
		"\"means\" of the model \"seen\" has 0 numbers for 1 term": text(func(g *File) { g.Models = []Trained{{Model: "seen", Errors: Errors{Before: []float64{0.1}}}} }),
		"\"before\" of the model \"seen\" has 2 numbers for 1 term": text(func(g *File) {
			g.Models = []Trained{{Model: "seen", Errors: Errors{[]float64{0.1, 0.2}, []float64{0}, [][]float64{{0.01}}}}}
		}),
		"\"before\" of the model \"seen\" has 0 numbers for 1 term": text(func(g *File) {
			g.Models = []Trained{{Model: "seen", Errors: Errors{nil, []float64{0}, [][]float64{{0.01}}}}}
		}),
		"of the model \"seen\" is spread by -2 before": text(func(g *File) {
			g.Models = []Trained{{Model: "seen", Errors: Errors{[]float64{-2}, []float64{0}, [][]float64{{0.01}}}}}
		}),
		"format_version": text(func(g *File) { g.FormatVersion = "2.0" }),
		"no term":        text(func(g *File) { g.Terms[0].Term = "linaer" }),
		"0 rows":         text(func(g *File) { g.Covariance = nil }),
		"row 1":          text(func(g *File) { g.Covariance = [][]float64{{-1}} }),
		"is no factor":   text(func(g *File) { g.Terms[0].After.Mean = 40 }),
		"row 1 of":       text(func(g *File) { g.Others = Errors{nil, []float64{0}, [][]float64{{-1}}} }),
		"row 1 of its":   text(func(g *File) { g.Covariance = [][]float64{{1e308}} }),
		"is spread by":   text(func(g *File) { g.Terms[0].Before.Spread = 1e308 }),
		"spread by -1":   text(func(g *File) { g.Terms[0].Before.Spread = -1 }),
		"twice":          text(func(g *File) { g.Terms, g.Covariance = append(g.Terms, g.Terms[0]), [][]float64{{1, 0}, {0, 1}} }),
		"row 1 of its cov": text(func(g *File) {
			g.Terms, g.Covariance = append(g.Terms, Term{Term: "host"}), [][]float64{{1, 2}, {2, 1}}
		}),
		"1e+300 s a step":   text(func(g *File) { g.Runs = []Run{{Model: "m", Used: true, Likeness: "l", Measured: 1e300}} }),
		"allocator":         text(func(g *File) { g.Allocator = &Allocator{} }),
		"tells of \"b200\"": text(func(g *File) { g.GPU = "b200" }),
		"not JSON":          []byte("{"),
		"stands behind":     append(text(func(*File) {}), "{}"...),
	} {
		if _, err := Read("x", bad, &job.Model{}, "h100_sxm"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// FuzzRead: whatever is read either is refused or gives factors that are finite.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"format_version":"1.0","gpu":"g","terms":[{"term":"linear","after":{"mean":0.1}}],"covariance":[[0.1]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read("x", text, &job.Model{}, "g")
		if err != nil {
			return
		}
		for i, e := range c.Terms {
			if v := c.Covariance[i][i]; !(v >= 0 && v < 100 && e.Before >= 0 && e.Before < 100) {
				t.Fatalf("variance %g of %s, %g before", v, e.Name, e.Before)
			}
		}
		for k, v := range uncertainty.Factors(c) {
			if !(v > 0.01 && v < 100) {
				t.Fatalf("factor %g of %s", v, uncertainty.Term(k))
			}
		}
	})
}

// TestSpeeds: what the check of nodes measures moves the terms that it tells of, by the
// measurement in the middle; not where one between nodes was repeated by halves, where
// the plan does not use the link, or where it is off by far.
func TestSpeeds(t *testing.T) {
	var p *plan.Plan
	for _, name := range slices.Sorted(maps.Keys(examples(t))) {
		if q := examples(t)[name]; q.Feasible && q.Input.GPU == "h100_sxm" && q.Input.Nodes > 1 && q.Input.Precision == "bf16" {
			p = q
		}
	}
	p.Run.Checkpoints = nil
	means := func(list ...logs.Speed) map[string]float64 {
		l := ran(p)
		l.Speeds = list
		f, err := Calibrate([]Input{{Engine: engine, Plan: p, Log: l}})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for _, x := range f.Terms {
			out[x.Term] = x.After.Mean
		}
		return out
	}
	of := func(kind logs.SpeedKind, ratio float64) logs.Speed {
		return logs.Speed{Kind: kind, Nodes: 2, Seconds: ratio, Predicted: 1}
	}
	without := means()
	for _, c := range []struct {
		name  string
		list  []logs.Speed
		moved string
	}{
		{"slow GEMMs", []logs.Speed{of(logs.Products, 1.2)}, "linear"},
		{"the one in the middle", []logs.Speed{of(logs.Products, 0.9), of(logs.Products, 1.2), of(logs.Products, 1.3)}, "linear"},
		{"a slow network", []logs.Speed{of(logs.Between, 2)}, "network"},
		{"a slow node among others", []logs.Speed{of(logs.Between, 3), of(logs.Between, 1), of(logs.Between, 3)}, ""},
		{"another machine", []logs.Speed{of(logs.Products, 5)}, ""},
	} {
		got := means(c.list...)
		for term, mean := range got {
			if c.moved == term && mean <= without[term] || c.moved == "" && mean != without[term] {
				t.Errorf("%s: %s is off by %g, %g without", c.name, term, mean, without[term])
			}
		}
	}
	if _, ok := termOf(logs.Between, []plan.Group{{Link: "nvlink"}}); ok {
		t.Error("a plan of one node tells of the network")
	}
	if k, _ := termOf(logs.Inside, []plan.Group{{Link: "nvlink"}, {Link: "pcie"}}); k != uncertainty.PCIe {
		t.Errorf("an all-reduce over PCIe tells of %s", k)
	}
}

// TestTabled: a table of nccl-tests over the nodes that a plan predicts an all-reduce
// for moves the link's term, by the message nearest to the predicted one: 15/8 of a GiB
// at 300 GB/s where 375 are predicted.
func TestTabled(t *testing.T) {
	of := []plan.Benchmark{{Nodes: 1, GPUs: 8, Link: "nvlink", Bytes: 1 << 30, Seconds: 0.0046}, {Nodes: 2, GPUs: 16, Link: "network", Bytes: 1 << 30, Seconds: (1 << 30) * 1.875 / 375e9}}
	rows := []logs.TableRow{{Bytes: 1 << 20, BusBandwidth: 20e9}, {Bytes: 1 << 29, BusBandwidth: 280e9}, {Bytes: 1 << 30, BusBandwidth: 9e9, Wrong: true}, {Bytes: 1 << 31, BusBandwidth: 300e9}, {Bytes: 1 << 40, BusBandwidth: 310e9}}
	s, ok := tabled(&logs.Table{Collective: "all_reduce", Ranks: 16, Nodes: 2, Rows: rows[3:]}, of)
	if ratio := float64(s.Seconds / s.Predicted); !ok || s.What != "network" || s.Term != "network" || math.Abs(ratio-1.25) > 1e-6 {
		t.Errorf("%+v, %g times as long, %v", s, ratio, ok)
	}
	if s, ok := tabled(&logs.Table{Collective: "all_reduce", Ranks: 8, Nodes: 1, Rows: rows}, of); !ok || s.What != "node" || s.Term != "nvlink" {
		t.Errorf("%+v, %v", s, ok)
	}
	if s, ok := tabled(&logs.Table{Collective: "all_reduce", Ranks: 24, Nodes: 3, Rows: rows[3:]}, of); !ok || s.Nodes != 2 {
		t.Errorf("of three nodes %+v, %v", s, ok)
	}
	for _, c := range []struct {
		rows []logs.TableRow
		want float64
	}{{rows[3:4], 375e9}, {rows[:1], 0}} { // a bandwidth beside one at a GiB
		got := links([]Input{{Plan: &plan.Plan{Mesh: plan.Mesh{Benchmarks: of}}, Log: &logs.Log{Tables: []logs.Table{{Collective: "all_reduce", Ranks: 16, Nodes: 2, Rows: c.rows}}}}})
		if len(got) != 1 || math.Abs(float64(got[0].Predicted)-c.want) > 1e3 {
			t.Errorf("the largest message of %g bytes: %+v, want %g predicted", c.rows[0].Bytes, got, c.want)
		}
	}
	for name, other := range map[string]*logs.Table{
		"another collective": {Collective: "all_gather", Ranks: 16, Nodes: 2, Rows: rows},
		"more nodes":         {Collective: "all_reduce", Ranks: 32, Nodes: 4, Rows: rows},
		"some ranks":         {Collective: "all_reduce", Ranks: 2, Nodes: 2, Rows: rows},
		"short messages":     {Collective: "all_reduce", Ranks: 16, Nodes: 2, Rows: rows[:1]},
	} {
		if s, ok := tabled(other, of); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
