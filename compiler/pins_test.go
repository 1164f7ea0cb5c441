package compiler

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// offering is a framework that recomputes whole layers one by one, always with
// sequence parallelism, and has no pipelines.
func offering() *target.Target {
	return &target.Target{
		Backend: "test", Version: "1", ContextParallel: true, ZeroStages: []int{0, 2}, SequenceParallel: []bool{true}, UnevenStages: true,
		Recomputes: []target.RecomputeOption{{Mode: plan.RecomputeNone}, {Mode: plan.RecomputeFull, Method: "uniform", Layers: []int{1}}},
	}
}

// TestPins: what leaves nothing to choose from is reported with what is
// missing; what leaves something is cut in silence.
func TestPins(t *testing.T) {
	one := func(n ...int) job.IntChoice { return job.IntChoice{Values: n} }
	for _, c := range []struct {
		name   string
		layout job.LayoutConstraints
		want   string // in the detail; empty: nothing to report
	}{
		{"more ranks than GPUs", job.LayoutConstraints{ContextParallel: one(1024)}, ""},
		{"a list with one offered", job.LayoutConstraints{ZeroStage: one(1, 2)}, ""},
		{"a range above", job.LayoutConstraints{PipelineParallel: job.IntChoice{Ranged: true, Min: 2}}, "has no pipeline parallelism"},
		{"a range from below", job.LayoutConstraints{PipelineParallel: job.IntChoice{Ranged: true, Max: 8}}, ""},
		{"all but some", job.LayoutConstraints{ContextParallel: job.IntChoice{Ranged: true, Min: 1, Not: []int{1, 2, 3}}}, ""},
		{"all but one", job.LayoutConstraints{PipelineParallel: job.IntChoice{Ranged: true, Min: 1, Not: []int{1}}}, "so pipeline_parallel = { not = [1] } leaves"},
		{"all stages but those offered", job.LayoutConstraints{ZeroStage: job.IntChoice{Ranged: true, Max: 3, Not: []int{0, 2}}}, "so zero_stage = { min = 0, max = 3, not = [0, 2] } leaves"},
		{"a stage", job.LayoutConstraints{ZeroStage: one(1)}, "offers zero_stage 0, 2, so zero_stage = 1"},
		{"a schedule", job.LayoutConstraints{PipelineSchedule: job.StringChoice{"gpipe"}}, "has no pipeline_schedule"},
		{"no schedule to exclude", job.LayoutConstraints{PipelineSchedule: job.StringChoice{"1f1b", job.NoValue}}, ""},
		{"an excluded method", job.LayoutConstraints{RecomputeMethod: job.StringChoice{"block", job.NoValue}}, ""},
		{"an excluded method of what is full", job.LayoutConstraints{Recompute: job.StringChoice{"full"}, RecomputeMethod: job.StringChoice{"block", job.NoValue}}, `asks for "block".`},
		{"a method", job.LayoutConstraints{Recompute: job.StringChoice{"full"}, RecomputeMethod: job.StringChoice{"block"}}, `offers recompute_method = "uniform"`},
		{"a depth", job.LayoutConstraints{Recompute: job.StringChoice{"full"}, RecomputeLayers: one(2, 4)}, "recompute_layers = [2, 4]"},
		{"a depth of one", job.LayoutConstraints{Recompute: job.StringChoice{"full"}, RecomputeLayers: one(1)}, ""},
		{"split sequences", job.LayoutConstraints{TensorParallel: one(2), SequenceParallel: job.BoolChoice{Set: true}}, "sequence_parallel = false"},
		{"sequences of one rank", job.LayoutConstraints{TensorParallel: one(1, 2), SequenceParallel: job.BoolChoice{Set: true}}, ""},
	} {
		j := &job.Job{Model: job.Model{Layers: 8}, Sources: job.Sources{}}
		j.Constraints.Layout = c.layout
		diags := checkPins(j, offering())
		switch {
		case c.want == "" && len(diags) > 0, c.want != "" && (len(diags) != 1 || diags[0].ID != IDAxisUnsupported || !strings.Contains(diags[0].Detail, c.want)):
			t.Errorf("%s: %v, want %q", c.name, diags, c.want)
		}
	}
}

// TestMoreStagesThanLayers: ranks of a pipeline without a layer are reported, unless
// a split says which they are.
func TestMoreStagesThanLayers(t *testing.T) {
	have := offering()
	have.PipelineParallel = true
	for _, c := range []struct {
		layout job.LayoutConstraints
		want   bool
	}{
		{job.LayoutConstraints{PipelineParallel: job.IntChoice{Values: []int{10}}}, true},
		{job.LayoutConstraints{PipelineParallel: job.IntChoice{Ranged: true, Min: 9}}, true},
		{job.LayoutConstraints{PipelineParallel: job.IntChoice{Values: []int{8, 10}}}, false},
		{job.LayoutConstraints{PipelineParallel: job.IntChoice{Values: []int{10}}, StageLayers: []int{0, 1, 1, 1, 1, 1, 1, 1, 1, 0}}, false},
		{job.LayoutConstraints{}, false},
	} {
		j := &job.Job{Model: job.Model{Layers: 8}, Sources: job.Sources{}}
		j.Constraints.Layout = c.layout
		diags := checkPins(j, have)
		if got := len(diags) == 1 && diags[0].ID == IDLayersIndivisible && strings.Contains(diags[0].Detail, "Take at most 8"); got != c.want {
			t.Errorf("%+v: %v", c.layout, diags)
		}
	}
}

// TestPredicted: without a link to the host nothing is sent there, because what
// it takes would cost nothing in the prediction.
func TestPredicted(t *testing.T) {
	have := offering()
	have.Variants = []target.Variant{{Options: []string{"offload.optimizer"}}, {Options: []string{"cuda_graphs"}}}
	for bandwidth, want := range map[units.BytesPerSecond]int{0: 1, 64e9: 2} {
		j := &job.Job{Cluster: job.Cluster{PCIe: job.Link{Bandwidth: bandwidth}}}
		if got := predicted(j, have).Variants; len(got) != want {
			t.Errorf("with a link of %v: %d variants, want %d", bandwidth, len(got), want)
		}
	}
}

// TestSchedules: a schedule that the target lacks, and a choice that leaves one.
func TestSchedules(t *testing.T) {
	have := offering()
	have.Schedules = []plan.Schedule{plan.Schedule1F1B, plan.ScheduleGPipe}
	have.Alternatives = func(string, []string) string { return "Another backend has it." }
	for _, c := range []struct {
		asked job.StringChoice
		id    diag.ID
		says  string
	}{
		{job.StringChoice{"dualpipev"}, IDAxisUnsupported, "Another backend has it."},
		{job.StringChoice{"dualpipev", "1f1b"}, "", ""},
		{nil, "", ""},
		{job.StringChoice{"dualpipev", job.NoValue}, "", ""}, // without a pipeline
	} {
		j := &job.Job{Model: job.Model{Layers: 8}, Sources: job.Sources{}}
		j.Constraints.Layout.PipelineSchedule = c.asked
		diags := checkPins(j, have)
		switch {
		case c.id == "" && len(diags) > 0, c.id != "" && (len(diags) != 1 || diags[0].ID != c.id || !strings.Contains(diags[0].Detail, c.says)):
			t.Errorf("%v: %v, want %s with %q", c.asked, diags, c.id, c.says)
		}
	}
}

// TestChunksOfSchedules: of schedules that the job names one has to run the chunks per rank
// that it asks for.
func TestChunksOfSchedules(t *testing.T) {
	have := offering()
	have.PipelineParallel, have.VirtualPipeline = true, true
	have.Schedules = []plan.Schedule{plan.Schedule1F1B, plan.ScheduleInterleaved1F1B, plan.ScheduleZBV}
	four, two := job.IntChoice{Values: []int{4}}, job.IntChoice{Values: []int{2}}
	for _, c := range []struct {
		pipeline, virtual job.IntChoice
		schedules         job.StringChoice
		split             []int
		want              string
	}{
		{four, two, job.StringChoice{"1f1b"}, nil, `Of a pipeline rank "1f1b" runs one chunk, and the job asks for virtual_pipeline = 2. Set pipeline_schedule = "interleaved_1f1b" or "zbv", or`},
		{four, job.IntChoice{Values: []int{1}}, job.StringChoice{"interleaved_1f1b", "zbv"}, nil, `"interleaved_1f1b" runs two chunks or more, "zbv" runs two chunks, and the job asks for virtual_pipeline = 1. Set pipeline_schedule = "1f1b", or`},
		{two, job.IntChoice{}, job.StringChoice{"1f1b"}, []int{2, 2, 2, 2}, "4 chunks in stage_layers for pipeline_parallel = 2."},
		{four, two, job.StringChoice{"1f1b", "zbv"}, nil, ""},
		{four, job.IntChoice{}, job.StringChoice{"1f1b"}, nil, ""},
		{four, job.IntChoice{}, job.StringChoice{"1f1b"}, []int{2, 2, 2, 2}, ""},
		{four, two, nil, nil, ""},
		{job.IntChoice{}, two, job.StringChoice{"1f1b"}, nil, "virtual_pipeline = 2"},
		{job.IntChoice{}, job.IntChoice{Values: []int{1}}, job.StringChoice{"zbv"}, nil, ""}, // one rank has no schedule
	} {
		j := &job.Job{Model: job.Model{Layers: 8}, Sources: job.Sources{}}
		j.Constraints.Layout = job.LayoutConstraints{PipelineParallel: c.pipeline, VirtualPipeline: c.virtual, PipelineSchedule: c.schedules, StageLayers: c.split}
		diags := checkPins(j, have)
		if c.want == "" && len(diags) > 0 || c.want != "" && (len(diags) != 1 || diags[0].ID != IDLayersIndivisible || !strings.Contains(diags[0].Detail, c.want)) {
			t.Errorf("%+v: %v, want %q", c, diags, c.want)
		}
	}
}

// TestBatches: the batch that is advised is one that a mesh takes which the framework's
// rules allow, where there is such a mesh.
func TestBatches(t *testing.T) {
	j := cuttable(job.LayoutConstraints{})
	j.Model.MoE, j.Training.GlobalBatchSize = nil, 60
	have := offering()
	have.Rules = []target.Rule{{ID: "none", Breaks: func(*target.Facts) bool { panic("not of meshes") }}}
	for _, c := range []struct {
		breaks func(f *target.Facts) bool
		want   string
	}{
		{func(*target.Facts) bool { return false }, "allow here is 7 (no degree is constrained). Use a multiple of 7, such as 56 or 63"},
		{func(f *target.Facts) bool { return f.Layout.ContextParallel*f.Layout.TensorParallel > 2 }, "allow here is 28 (no degree is constrained). Use a multiple of 28, such as 56 or 84"},
		{func(f *target.Facts) bool { return f.GPUs == 56 }, "such as 56 or 63"},
	} {
		have.Rules = append(have.Rules[:1], target.Rule{ID: "mesh", Mesh: true, Breaks: c.breaks})
		if got := batchDetail(j, have); !strings.Contains(got, c.want) {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	have.Rules = nil
	for refused, want := range map[int]string{0: ", or 6 nodes.", 6: " or 63."} { // by the framework
		have.For = func(j *job.Job) (*target.Target, diag.List) {
			var diags diag.List
			if j.Cluster.Nodes == refused {
				diags.Error(IDAxisUnsupported, diag.Range{}, "", "")
			}
			return have, diags
		}
		if got := batchDetail(j, have); !strings.HasSuffix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
