package picture

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/golden"
)

// toy is a plan of two pipeline ranks with numbers that are easy to follow.
type toy struct{ microBatches int }

func (toy) slot(kind string, micro, chunk int, start, end units.Seconds) plan.Slot {
	return plan.Slot{Kind: kind, MicroBatch: micro, Chunk: chunk, Start: start, End: end}
}

// Timeline is one forward pass after the other and then the backward ones, on the
// second rank a second later.
func (y toy) Timeline() *plan.Timeline {
	t := &plan.Timeline{Ranks: make([][]plan.Slot, 2)}
	for r := range t.Ranks {
		at := units.Seconds(r)
		for m := range y.microBatches {
			t.Ranks[r] = append(t.Ranks[r], y.slot("forward", m, r, at, at+1))
			at++
		}
		for m := range y.microBatches {
			t.Ranks[r] = append(t.Ranks[r], y.slot("backward", m, r, at, at+2))
			at += 2
		}
	}
	return t
}

func (y toy) Occupancy() *plan.Occupancy {
	o := &plan.Occupancy{Lines: []plan.Holder{{ID: "parameters", Name: "parameters"}, {ID: "activations", Name: "activations"}}}
	for range 2 {
		h := plan.RankHolds{Update: []units.Bytes{20 * units.GiB, 0}}
		for i := range 2 * y.microBatches {
			alive := units.Bytes(min(i+1, 2*y.microBatches-i)) * units.GiB
			h.Passes = append(h.Passes, plan.PassHolds{Most: []units.Bytes{20 * units.GiB, alive}, Kept: []units.Bytes{20 * units.GiB, alive - units.GiB}})
		}
		o.Ranks = append(o.Ranks, h)
	}
	return o
}

// Roofline has a product that is bound by compute and one by memory.
func (toy) Roofline() *plan.Roofline {
	return &plan.Roofline{MemoryBandwidth: 3e12, Kernels: []plan.Kernel{{Name: "mlp up", Layers: 4, Peak: 1e15, FLOPs: 7e11, Bytes: 1e9, Seconds: 1e-3}, {Name: "router", Layers: 4, Peak: 1e15, FLOPs: 1e9, Bytes: 1e8, Seconds: 1e-4}}}
}

func subject(microBatches int) *Subject {
	p := &plan.Plan{
		Backend: "megatron", BackendVersion: "core_v0.18.2", Feasible: true,
		Input: plan.Input{GPU: "h100_sxm", Nodes: 2, GPUs: 16},
		Layout: plan.Layout{TensorParallel: 2, ContextParallel: 1, PipelineParallel: 2, VirtualPipeline: 1, PipelineSchedule: plan.Schedule1F1B,
			StageLayers: []int{17, 15}, ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 4, MicroBatchSize: 1, MicroBatches: microBatches},
		Mesh: plan.Mesh{Groups: []plan.Group{{Name: "tensor_parallel", Size: 2, Stride: 1, Link: "nvlink", Count: 8}, {Name: "context_parallel", Size: 1, Stride: 2, Link: "self", Count: 16},
			{Name: "data_parallel_shard", Size: 4, Stride: 2, Link: "nvlink", Count: 4}, {Name: "pipeline_parallel", Size: 2, Stride: 8, Link: "network", Count: 8}}},
		Memory: plan.Memory{GPUBytes: 80 * units.GiB, UsableBytes: 76 * units.GiB},
		Time: plan.Time{StepSeconds: 10, StepRangeSeconds: [2]units.Seconds{9, 11.5},
			Breakdown: []plan.TimeLine{{ID: "linear", Name: "matrix multiplications", Seconds: 8.7}, {ID: "tensor", Name: "exposed tensor-parallel communication", Seconds: 1}, {ID: "bubble", Name: "pipeline bubble", Seconds: 0.3}}},
	}
	for s := range 2 {
		p.Memory.Stages = append(p.Memory.Stages, plan.StageMemory{Stage: s, AllocatedBytes: 22 * units.GiB, DeviceBytes: 25 * units.GiB,
			Ledger: []plan.LedgerLine{{ID: "parameters", Name: "parameters", Bytes: 20 * units.GiB}, {ID: "activations", Name: "activations", Bytes: 2 * units.GiB}}})
	}
	p.Input.GlobalBatchSize, p.Input.SequenceLength = 64, 8192
	p.Memory.Peak.DeviceBytes = 60 * units.GiB
	layouts := func() []plan.Assessed {
		var list []plan.Assessed
		for i := range 40 {
			a := plan.Assessed{Layout: p.Layout, StepSeconds: 10 + units.Seconds(i%7), PeakDeviceBytes: units.Bytes(100-2*i) * units.GiB, Fits: plan.Fits}
			if a.PeakDeviceBytes > 76*units.GiB {
				a.Fits = plan.FitsNot
			} else if a.PeakDeviceBytes > 70*units.GiB {
				a.Fits = plan.FitsUnsure
			}
			list = append(list, a)
		}
		return list
	}
	sizes := func() []*plan.Plan {
		var list []*plan.Plan
		for _, nodes := range []int{1, 2, 4, 8} {
			size := plan.Plan{Layout: p.Layout, Feasible: nodes > 1, Input: plan.Input{Nodes: nodes, GPUs: 8 * nodes}}
			if size.Feasible { // twice the nodes take 0.55 of the time, and fail more often
				days := 40 * math.Pow(0.55, math.Log2(float64(nodes)))
				size.Run = plan.Run{Seconds: units.Seconds(days * 86400), ExpectedSeconds: units.Seconds((days + float64(nodes)/4) * 86400), GPUHours: days * 24 * 8 * float64(nodes)}
				size.Time.StepSeconds = 10
			} else {
				size.Infeasible = &plan.Infeasible{Reasons: []plan.Reason{{Summary: "too large"}}}
			}
			list = append(list, &size)
		}
		return list
	}
	return &Subject{Job: "llama & <co>", Plan: p, Details: toy{microBatches}, Layouts: layouts, Sizes: sizes}
}

// TestGolden: every kind as it was looked at.
func TestGolden(t *testing.T) {
	for i := range Kinds {
		k := &Kinds[i]
		data, err := json.MarshalIndent(k.Data(subject(3)), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, "testdata/"+k.Name+".svg", k.SVG(subject(3)))
		golden.Compare(t, "testdata/"+k.Name+".txt", []byte(k.Text(subject(3))))
		golden.Compare(t, "testdata/"+k.Name+".json", append(data, '\n'))
	}
}

// TestWellFormed: pictures are XML, also with markup in names, no shape leaves the
// paper to the right, and no line of text is wider than a terminal.
func TestWellFormed(t *testing.T) {
	for i := range Kinds {
		for _, micro := range []int{1, 3, 300} {
			k := &Kinds[i]
			d := xml.NewDecoder(bytes.NewReader(k.SVG(subject(micro))))
			shapes := 0
			for {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", k.Name, err)
				}
				if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "rect" || e.Name.Local == "path") {
					shapes++
				}
			}
			if shapes < 4 {
				t.Errorf("%s of %d micro-batches has %d shapes", k.Name, micro, shapes)
			}
			for line := range strings.Lines(k.Text(subject(micro))) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 120 {
					t.Errorf("%s: a line of %d: %s", k.Name, n, line)
				}
			}
			if page := k.HTML(subject(micro)); bytes.Contains(page, []byte("http://www.w3.org/2000/svg")) && bytes.Count(page, []byte("http")) != 1 || bytes.Contains(page, []byte("<script")) {
				t.Errorf("the page of %s refers to something else", k.Name)
			}
		}
	}
}

// TestLongTimelines: the beginning and the end of a long schedule are drawn, in
// order, and the middle is said to be left out.
func TestLongTimelines(t *testing.T) {
	s := subject(300)
	w := windowOf(s.Timeline(), drawnShare(s.Timeline()))
	if w.whole() || len(w.note()) == 0 {
		t.Fatal("600 passes of a rank are drawn in full")
	}
	before := 0.0
	for _, slot := range s.Timeline().Ranks[0] {
		for _, piece := range w.pieces(slot.Start, slot.End) {
			if piece[0] < before-1e-9 || piece[1] < piece[0] || piece[1] > 1+1e-9 {
				t.Fatalf("%+v is drawn at %v after %v", slot, piece, before)
			}
			before = piece[1]
		}
	}
	if before < 1-0.02 {
		t.Errorf("the last pass ends at %v of the picture", before)
	}
	c := &canvas{}
	timeAxis(c, &w)
	if n := strings.Count(c.body.String(), "<text"); n < 4 || n > 10 {
		t.Errorf("%d moments stand below what is shown", n)
	}
}

// TestTrace holds a timeline's JSON against the trace-event format (Google, "Trace
// Event Format"): complete events have a start and a duration in microseconds, those
// of one thread follow one another, counters hold numbers, and threads have names.
func TestTrace(t *testing.T) {
	text, err := json.Marshal(Find("timeline").Data(subject(3)))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Name string
			Ph   string
			Ts   *float64
			Dur  *float64
			Pid  *int
			Tid  *int
			Args map[string]any
		}
		DisplayTimeUnit string
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if file.DisplayTimeUnit != "ms" {
		t.Errorf("the unit is %q", file.DisplayTimeUnit)
	}
	ends, names, complete := map[int]float64{}, map[int]any{}, 0
	for _, e := range file.TraceEvents {
		if e.Name == "" || e.Ts == nil || e.Pid == nil || e.Tid == nil {
			t.Fatalf("%+v lacks what every event has", e)
		}
		switch e.Ph {
		case "X":
			complete++
			if e.Dur == nil || *e.Dur < 0 || *e.Ts < ends[*e.Tid] {
				t.Errorf("%+v begins before %v", e, ends[*e.Tid])
			}
			ends[*e.Tid] = *e.Ts + *e.Dur
		case "C":
			if _, ok := e.Args["bytes"].(float64); !ok {
				t.Errorf("the counter %+v has no number", e)
			}
		case "M":
			if e.Name == "thread_name" {
				names[*e.Tid] = e.Args["name"]
			}
		default:
			t.Errorf("%q is no phase that is written", e.Ph)
		}
	}
	if complete != 12 || len(names) != 2 || ends[0] != 9e6 {
		t.Errorf("%d passes on %d ranks, the first until %v", complete, len(names), ends[0])
	}
}

// TestTicks: an axis has three to nine ticks, none beyond the largest value.
func TestTicks(t *testing.T) {
	for _, most := range []float64{0.003, 0.9, 1, 6.27, 28.7, 79.6, 1234} {
		list := ticks(most)
		if len(list) < 3 || len(list) > 9 || list[len(list)-1] > most*1.0001 {
			t.Errorf("ticks up to %v are %v", most, list)
		}
	}
}
