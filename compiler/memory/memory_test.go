package memory

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	_ "github.com/ndc-dev/ndc/tools/draws"
	"github.com/ndc-dev/ndc/tools/runtimes"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// gpt is the layer that Korthikanti et al. 2022 (arXiv:2205.05198) derive
// their closed forms for: LayerNorm, GELU of width 4h, attention that keeps
// its probabilities, dropout.
func gpt(hidden, heads, sequence int) *job.Job {
	j := &job.Job{Model: job.Model{Layers: 4, HiddenSize: hidden, FFNHiddenSize: 4 * hidden,
		Attention: job.Attention{Heads: heads, KVHeads: heads, HeadDim: hidden / heads, Bias: true},
		VocabSize: 51200, SequenceLength: sequence, Activation: job.Activation{Kind: "gelu"}, Norm: job.Norm{Kind: "layernorm"}, Dropout: 0.1,
		MLPBias: true, PositionEmbedding: job.PositionEmbedding{Kind: "learned"}, TiedEmbeddings: true}}
	j.Training.Precision = "bf16"
	j.Training.Optimizer.Kind = "adam"
	j.Cluster.GPUsPerNode = 8
	return j
}

// layerBytes is what one layer keeps under a layout, statistics of the norms
// (which the paper leaves out) taken away.
func layerBytes(j *job.Job, l plan.Layout, x plan.Execution) int64 {
	m := New(j, wholeTarget())
	s := m.shapeOf(&l, &x)
	t := m.makeTerms(s)
	local := int64(l.MicroBatchSize * j.Model.SequenceLength)
	if l.SequenceParallel {
		local /= int64(l.TensorParallel)
	}
	return t.layers[0].keptSum - 2*8*local
}

// TestKorthikanti checks the closed forms of the paper's table 2, which must
// fall out of the tensors: s·b·h·(34 + 5·a·s/h) without parallelism,
// s·b·h·(10 + 24/t + 5·a·s/(h·t)) with tensor parallelism,
// s·b·h·(34/t + 5·a·s/(h·t)) with sequence parallelism and s·b·h·34/t with
// selective recompute of attention; and docs/case-studies.md has them in MB.
func TestKorthikanti(t *testing.T) {
	page, err := os.ReadFile("../../docs/case-studies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range []struct {
		name       string
		h, a, s, b int
	}{{"22B", 6144, 64, 2048, 4}, {"175B", 12288, 96, 2048, 1}, {"530B", 20480, 128, 2048, 1}, {"1T", 25600, 160, 2048, 1}} {
		j, row := gpt(model.h, model.a, model.s), "| "+model.name
		sbh := int64(model.s * model.b * model.h)
		pairs := 5 * int64(model.a*model.s) * int64(model.s*model.b)
		for _, c := range []struct {
			name      string
			tp        int
			sequence  bool
			selective bool
			want      int64
		}{
			{"none", 1, false, false, 34*sbh + pairs},
			{"tensor", 8, false, false, 10*sbh + 24*sbh/8 + pairs/8},
			{"tensor and sequence", 8, true, false, 34*sbh/8 + pairs/8},
			{"tensor, sequence, selective", 8, true, true, 34 * sbh / 8},
			{"tensor, selective", 8, false, true, 10*sbh + 24*sbh/8},
		} {
			l := plan.Layout{TensorParallel: c.tp, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
				DataParallelReplicate: 1, DataParallelShard: 1, MicroBatchSize: model.b, MicroBatches: 1, SequenceParallel: c.sequence}
			if c.selective {
				l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleCoreAttention
			}
			got := layerBytes(j, l, plan.Execution{Attention: "unfused", LossChunks: 1})
			if got != c.want {
				t.Errorf("h %d, %s: %d bytes, want %d", model.h, c.name, got, c.want)
			}
			if c.name != "tensor, selective" {
				row += fmt.Sprintf(" | %.0f MB", float64(got)/1e6)
			}
		}
		full := plan.Layout{TensorParallel: 8, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
			DataParallelReplicate: 1, DataParallelShard: 1, MicroBatchSize: model.b, MicroBatches: 1, Recompute: plan.RecomputeFull}
		m := New(j, wholeTarget())
		y := m.makeTerms(m.shapeOf(&full, &plan.Execution{Attention: "unfused"})).layers[0]
		if y.keptSum != 2*sbh {
			t.Errorf("h %d, full: %d bytes, want %d", model.h, y.keptSum, 2*sbh)
		}
		if row += fmt.Sprintf(" | %.0f MB |\n", float64(y.keptSum)/1e6); !strings.Contains(string(page), row) {
			t.Errorf("docs/case-studies.md has no row %s", row)
		}
	}
}

// TestUnknownGeneration: a GPU that does not say which it is has the workspaces of
// Hopper, whose options its job gets, too.
func TestUnknownGeneration(t *testing.T) {
	workspaces := func(capability string) int64 {
		j := gpt(1024, 16, 1024)
		j.Cluster.GPU.ComputeCapability = capability
		return New(j, wholeTarget()).workspaces(&shape{})
	}
	if unknown, hopper, before := workspaces(""), workspaces("9.0"), workspaces("8.0"); unknown != hopper || hopper <= before {
		t.Errorf("workspaces of %d bytes, on Hopper %d, before it %d", unknown, hopper, before)
	}
}

// targetOf is a target with nothing but what memory reads.
func targetOf(r runtime.Runtime) *target.Target {
	t := wholeTarget()
	t.Runtime = r
	return t
}

// drawJob draws a small job, dense or mixture of experts.
func drawJob(t *rapid.T) *job.Job {
	heads := rapid.SampledFrom([]int{8, 16, 32}).Draw(t, "heads")
	j := gpt(heads*64, heads, 512*rapid.IntRange(1, 4).Draw(t, "sequence"))
	j.Model.Layers = 8 * rapid.IntRange(1, 3).Draw(t, "layers")
	j.Model.Dropout = rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "dropout")
	j.Model.TiedEmbeddings = rapid.Bool().Draw(t, "tied")
	j.Model.Activation.Kind = rapid.SampledFrom([]string{"gelu", "swiglu"}).Draw(t, "activation")
	if rapid.Bool().Draw(t, "moe") {
		j.Model.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 512, FirstDenseLayers: rapid.IntRange(0, 2).Draw(t, "dense")}
	}
	j.Training.Precision = rapid.SampledFrom([]string{"bf16", "fp32", "fp8", "mxfp8", "nvfp4"}).Draw(t, "precision")
	return j
}

func drawLayout(t *rapid.T, j *job.Job) (*plan.Layout, *plan.Execution) {
	l := &plan.Layout{
		TensorParallel:        rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "tp"),
		ContextParallel:       rapid.SampledFrom([]int{1, 2}).Draw(t, "cp"),
		PipelineParallel:      rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "pp"),
		VirtualPipeline:       1,
		ExpertParallel:        1,
		DataParallelReplicate: rapid.SampledFrom([]int{1, 2}).Draw(t, "replicate"),
		DataParallelShard:     rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "shard"),
		ZeroStage:             rapid.IntRange(0, 3).Draw(t, "zero"),
		MicroBatchSize:        rapid.IntRange(1, 4).Draw(t, "micro"),
		MicroBatches:          8 * rapid.IntRange(1, 3).Draw(t, "micro-batches"),
		Recompute:             plan.Recompute(rapid.IntRange(0, 2).Draw(t, "recompute")),
	}
	l.ExpertTensorParallel = l.TensorParallel
	l.SequenceParallel = l.TensorParallel > 1 && rapid.Bool().Draw(t, "sp")
	if l.PipelineParallel > 1 {
		l.PipelineSchedule = rapid.SampledFrom([]plan.Schedule{plan.Schedule1F1B, plan.ScheduleGPipe}).Draw(t, "schedule")
		if rapid.Bool().Draw(t, "two chunks") {
			l.VirtualPipeline = 2
			l.PipelineSchedule = rapid.SampledFrom([]plan.Schedule{plan.ScheduleInterleaved1F1B, plan.ScheduleZBV}).Draw(t, "two")
		}
	}
	switch l.Recompute {
	case plan.RecomputeSelective:
		l.RecomputeModules = plan.ModuleCoreAttention
	case plan.RecomputeFull:
		l.RecomputeMethod = rapid.SampledFrom([]string{"uniform", "block"}).Draw(t, "method")
		l.RecomputeLayers = 1
	}
	if j.Model.MoE != nil && rapid.Bool().Draw(t, "ep") {
		l.ExpertParallel = min(2, l.ContextParallel*l.DataParallelShard)
	}
	return l, &plan.Execution{Attention: rapid.SampledFrom([]string{"flash", "unfused"}).Draw(t, "attention"), GradientDType: "fp32",
		OptimizerStateDType: "fp32", CrossEntropy: "unfused", LossChunks: 1, ContextParallelType: "ring", ReshardAfterForward: true}
}

// TestEveryKind: a model may have every kind of layer at once.
func TestEveryKind(t *testing.T) {
	j := gpt(1024, 8, 2048)
	m := &j.Model
	m.Layers, m.LayerPattern, m.MTP.Layers, m.MTP.LayerPattern = 13, "MG*-E*MMG*-E*", 1, "*E"
	m.Attention.SlidingWindow = job.SlidingWindow{Size: 512, Pattern: 2}
	m.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 1024, LayerFrequency: 1, LoadImbalance: 1}
	m.Mamba = &job.Mamba{Heads: 8, HeadDim: 32, StateDim: 16, Groups: 4, ConvKernel: 4}
	m.DeltaNet = &job.DeltaNet{KeyHeads: 4, ValueHeads: 8, KeyHeadDim: 32, ValueHeadDim: 16, ConvKernel: 4}
	for _, r := range runtimes.All() {
		p := New(j, targetOf(r))
		l := &plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 2, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
			DataParallelReplicate: 1, DataParallelShard: 2, ZeroStage: 1, MicroBatchSize: 1, MicroBatches: 4, PipelineSchedule: plan.Schedule1F1B}
		x := &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "unfused", LossChunks: 1}
		if peak := p.Peak(l, x); peak.Allocated <= 0 {
			t.Errorf("%d bytes", peak.Allocated)
		}
		if n := len(p.arch.Kinds()); n != maxKinds {
			t.Errorf("%d kinds, of at most %d", n, maxKinds)
		}
	}
}

// TestRecomputeOfKinds: recompute of the first layers of a chunk is of so many layers
// in all, not of so many of each kind. Windows of attention keep the same tensors, so
// that a model with them needs more than one without by the same bytes, the running
// layers', however many layers are recomputed.
func TestRecomputeOfKinds(t *testing.T) {
	peak := func(r runtime.Runtime, window, mtp int, method string, layers int) units.Bytes {
		j := gpt(1024, 8, 2048)
		j.Model.Layers, j.Model.MTP.Layers = 16, mtp
		j.Model.Attention.SlidingWindow = job.SlidingWindow{Size: window, Pattern: 2}
		l := &plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 2, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
			DataParallelReplicate: 1, DataParallelShard: 2, ZeroStage: 1, MicroBatchSize: 1, MicroBatches: 4, PipelineSchedule: plan.Schedule1F1B,
			Recompute: plan.RecomputeFull, RecomputeMethod: method, RecomputeLayers: layers}
		x := &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "unfused", LossChunks: 1}
		return units.Bytes(New(j, targetOf(r)).Peak(l, x).Allocated)
	}
	for _, r := range runtimes.All() {
		for _, method := range []string{"block", "uniform"} {
			more := peak(r, 512, 0, method, 8) - peak(r, 0, 0, method, 8)
			for _, n := range []int{5, 4, 3, 1} {
				if one, two := peak(r, 0, 0, method, n), peak(r, 512, 0, method, n); two-one != more {
					t.Errorf("%s of %d: %v with windows in every other layer, %v without, a difference of %v before", method, n, two, one, more)
				}
			}
		}
		if five, eight := peak(r, 512, 0, "block", 5), peak(r, 512, 0, "block", 8); five <= eight {
			t.Errorf("%v with five of eight layers recomputed, %v with all", five, eight)
		}
		if block, uniform := peak(r, 0, 1, "block", 8), peak(r, 0, 1, "uniform", 1); block <= uniform {
			t.Errorf("%v with an MTP layer that block recompute leaves, %v with one that is recomputed", block, uniform)
		}
	}
}

// TestProperties: ledgers sum to the allocated bytes, the hot path equals the
// full one, and memory grows with micro-batch and layers.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		tg := targetOf(rapid.SampledFrom(runtimes.All()).Draw(t, "runtime"))
		l, x := drawLayout(t, j)
		m := New(j, tg)
		full, hot := m.Memory(l, x), m.Peak(l, x)
		if hot.Allocated != full.Peak.AllocatedBytes || hot.Device != full.Peak.DeviceBytes || hot.Rank != full.Peak.Rank {
			t.Fatalf("hot path %+v, full %+v", hot, full.Peak)
		}
		for _, s := range full.Stages {
			for _, y := range s.Ledger {
				s.AllocatedBytes -= y.Bytes
				if y.Bytes < 0 {
					t.Fatalf("negative line %+v", y)
				}
			}
			if s.AllocatedBytes != 0 {
				t.Fatalf("ledger of stage %d leaves %d bytes", s.Stage, s.AllocatedBytes)
			}
		}
		bigger := *l
		bigger.MicroBatchSize++
		if p := m.Peak(&bigger, x); p.Device < hot.Device {
			t.Fatalf("a larger micro-batch takes less: %d after %d", p.Device, hot.Device)
		}
		deep := *j
		deep.Model.Layers += 8
		if p := New(&deep, tg).Peak(l, x); p.Device <= hot.Device {
			t.Fatalf("more layers take less: %d after %d", p.Device, hot.Device)
		}
	})
}

// BenchmarkPeak is one evaluation of the hot path with cached terms, of layouts
// that differ in their recompute as those of a search do.
func BenchmarkPeak(b *testing.B) {
	for _, c := range []struct {
		runtime runtime.Runtime
		pp, v   int
	}{{runtimes.Whole(), 1, 1}, {runtimes.Whole(), 4, 1}, {runtimes.Whole(), 16, 1}, {runtimes.Whole(), 16, 3}, {runtimes.Blocks(), 16, 1}, {runtimes.Blocks(), 16, 3}} {
		tg := targetOf(c.runtime)
		b.Run(fmt.Sprintf("%s-pp%d-v%d", tg.Backend, c.pp, c.v), func(b *testing.B) {
			j := gpt(12288, 96, 2048)
			j.Model.Layers = 96
			m := New(j, tg)
			l := &plan.Layout{TensorParallel: 8, SequenceParallel: true, ContextParallel: 1, PipelineParallel: c.pp, VirtualPipeline: c.v, ExpertParallel: 1,
				ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 8, ZeroStage: 1, MicroBatchSize: 1, MicroBatches: 64, PipelineSchedule: plan.Schedule1F1B}
			if c.v > 1 {
				l.PipelineSchedule = plan.ScheduleInterleaved1F1B
			}
			x := &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "fused", LossChunks: 1}
			b.ReportAllocs()
			for b.Loop() {
				l.MicroBatches = 112 - l.MicroBatches // 64 and 48
				for _, l.Recompute = range [...]plan.Recompute{plan.RecomputeNone, plan.RecomputeSelective, plan.RecomputeFull} {
					m.Peak(l, x)
				}
			}
		})
	}
}

// TestNormBehindLayers: of a model with multi-token prediction, whose last stage has no
// decoder layer, the norm before the head is in the stage before, with its input, where a
// framework says so; of any other model it is in the last.
func TestNormBehindLayers(t *testing.T) {
	const hidden, sequence = 1024, 512
	for _, c := range []struct {
		mtp, last int // multi-token-prediction layers; layers of the last stage
		moves     bool
	}{{1, 0, true}, {1, 1, false}, {0, 0, false}} {
		stages := map[bool][]plan.StageMemory{}
		for _, behind := range []bool{false, true} {
			j := gpt(hidden, 8, sequence)
			j.Model.MTP.Layers = c.mtp
			target := wholeTarget()
			target.Runtime = runtimes.Whole()
			target.Runtime.Pipeline.NormBehindLayers = behind
			l := plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 3, VirtualPipeline: 1, PipelineSchedule: plan.Schedule1F1B, StageLayers: []int{2, 2 - c.last, c.last},
				ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 1, MicroBatchSize: 1, MicroBatches: 8}
			x := plan.Execution{Attention: "flash", LossChunks: 1, CUDAGraphs: "none", GradientDType: "fp32", OptimizerStateDType: "fp32"}
			stages[behind] = New(j, target).Memory(&l, &x).Stages
		}
		const elements = 2 * hidden // a weight and a bias
		want := map[string]int64{}
		if c.moves {
			want = map[string]int64{"1 parameters": 2 * elements, "1 gradients": 4 * elements, "1 master_parameters": 4 * elements, "1 optimizer_moments": 8 * elements,
				"2 parameters": -2 * elements, "2 gradients": -4 * elements, "2 master_parameters": -4 * elements, "2 optimizer_moments": -8 * elements,
				"1 activations_norms": 2 * 2 * sequence * hidden} // of two micro-batches in flight
		}
		got := map[string]int64{}
		for s := range stages[true] {
			for i, y := range stages[true][s].Ledger {
				if more := int64(y.Bytes - stages[false][s].Ledger[i].Bytes); more != 0 {
					got[fmt.Sprintf("%d %s", s, y.ID)] = more
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
}
