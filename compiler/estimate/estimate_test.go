package estimate

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
	_ "github.com/ndc-dev/ndc/tools/seldom"
	"pgregory.net/rapid"
)

// h100 is a cluster of DGX H100 nodes.
func h100(nodes int) job.Cluster {
	return job.Cluster{
		GPU: job.GPU{
			Name: "h100_sxm", Catalog: "h100_sxm", Memory: 81559 * units.MiB, MemoryBandwidth: 3.35e12, SMs: 132, ComputeCapability: "9.0",
			PeakFLOPS: job.PeakFLOPS{FP32: 67e12, TF32: 494.5e12, BF16: 989e12, FP16: 989e12, FP8: 1979e12},
		},
		Nodes: nodes, GPUsPerNode: 8,
		NVLink:  job.NVLink{Domain: 8, Bandwidth: 450e9, Latency: 1.4e-6},
		PCIe:    job.Link{Bandwidth: 63e9, Latency: 1.4e-6},
		Network: job.Network{Kind: "infiniband", NICsPerNode: 8, Bandwidth: 50e9, Latency: 5e-6, Rails: 8, Oversubscription: 1},
	}
}

// dense is Llama 3 8B, moe a mixture of experts of about 20 billion parameters.
func dense() job.Model {
	return job.Model{
		Layers: 32, HiddenSize: 4096, FFNHiddenSize: 14336, Attention: job.Attention{Heads: 32, KVHeads: 8, HeadDim: 128}, VocabSize: 128256,
		SequenceLength: 8192, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"}, PositionEmbedding: job.PositionEmbedding{Kind: "rope"},
	}
}

func moe() job.Model {
	m := dense()
	m.MoE = &job.MoE{Experts: 16, TopK: 2, ExpertFFNHiddenSize: 3584, FirstDenseLayers: 1, LayerFrequency: 1, LoadImbalance: 1, CapacityFactor: 1}
	return m
}

// jobOf is a job of a batch of 512 sequences.
func jobOf(m job.Model, nodes int) *job.Job {
	return &job.Job{Model: m, Cluster: h100(nodes), Training: job.Training{
		GlobalBatchSize: 512, Steps: 100, Precision: "bf16", Optimizer: job.Optimizer{Kind: "adamw", GradientClipping: 1},
	}}
}

// targetOf is a target of a runtime with what the estimate reads of it.
func targetOf(r runtime.Runtime) *target.Target {
	return &target.Target{
		Runtime:     r,
		DenseMesh:   []plan.Axis{plan.TensorParallel, plan.ContextParallel, plan.DataParallelShard, plan.DataParallelReplicate, plan.PipelineParallel},
		ExpertMesh:  []plan.Axis{plan.ExpertTensorParallel, plan.ExpertParallel, plan.ExpertDataParallel, plan.PipelineParallel},
		PaddedVocab: func(m *job.Model, tp int) int { return (m.VocabSize + 128*tp - 1) / (128 * tp) * 128 * tp },
	}
}

// execution is a plain set of options.
func execution() plan.Execution {
	return plan.Execution{
		Attention: "flash", OverlapGradientReduce: true, OverlapParameterGather: true, GradientDType: "fp32", OptimizerStateDType: "fp32",
		CrossEntropy: "fused", LossChunks: 1, CUDAGraphs: "none", MoEDispatcher: "alltoall", ContextParallelType: "ring", ZeroHPZPartition: 1,
	}
}

// single is the layout of one GPU per replica.
func single(gpus int) plan.Layout {
	return plan.Layout{
		TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, StageLayers: []int{32},
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: gpus, ZeroStage: 1,
		MicroBatchSize: 1, MicroBatches: 512 / gpus,
	}
}

// layouts draws a layout of 64 GPUs.
func layouts(t *rapid.T, experts bool) plan.Layout {
	l := single(1)
	l.TensorParallel = rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "tp")
	l.SequenceParallel = l.TensorParallel > 1 && (experts || rapid.Bool().Draw(t, "sp"))
	l.ContextParallel = rapid.SampledFrom([]int{1, 2}).Draw(t, "cp")
	l.PipelineParallel = rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "pp")
	l.DataParallelShard = 64 / l.TensorParallel / l.ContextParallel / l.PipelineParallel
	l.MicroBatchSize = rapid.SampledFrom([]int{1, 2}).Draw(t, "mbs")
	l.MicroBatches = 512 / l.DataParallelShard / l.MicroBatchSize
	if l.PipelineParallel > 1 {
		l.PipelineSchedule = plan.Schedule1F1B
		if rapid.Bool().Draw(t, "two chunks") {
			l.VirtualPipeline = 2
			l.PipelineSchedule = rapid.SampledFrom([]plan.Schedule{plan.ScheduleInterleaved1F1B, plan.ScheduleZBV, plan.ScheduleDualPipeV}).Draw(t, "schedule")
		}
	}
	l.StageLayers = make([]int, l.Chunks())
	for i := range l.StageLayers {
		l.StageLayers[i] = 32 / l.Chunks()
	}
	l.Recompute = rapid.SampledFrom([]plan.Recompute{plan.RecomputeNone, plan.RecomputeSelective, plan.RecomputeFull}).Draw(t, "recompute")
	switch l.Recompute {
	case plan.RecomputeSelective:
		l.RecomputeModules = plan.ModuleCoreAttention
	case plan.RecomputeFull:
		l.RecomputeMethod, l.RecomputeLayers = "block", rapid.IntRange(1, 8).Draw(t, "layers")
	}
	if experts {
		l.ExpertParallel = rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "ep")
	}
	return l
}

// evaluate evaluates a layout as the search does: its memory, then its time.
func evaluate(e *Evaluator, l *plan.Layout, x *plan.Execution, out *Result) {
	e.EvaluateMemory(l, x, out)
	e.EvaluateTime(l, x, out)
}

// TestBreakdownSumsToStep holds Describe to itself and to the evaluation.
func TestBreakdownSumsToStep(t *testing.T) {
	evaluators := map[bool]map[runtime.Unit]*Evaluator{false: {}, true: {}}
	limited := func(m job.Model) *job.Job {
		j := jobOf(m, 8)
		j.Constraints.MaxExposedCommunication = job.Some(units.Share(1))
		return j
	}
	for _, r := range runtimes.All() {
		evaluators[false][r.Sharding.Unit] = New(limited(dense()), targetOf(r))
		evaluators[true][r.Sharding.Unit] = New(limited(moe()), targetOf(r))
	}
	rapid.Check(t, func(t *rapid.T) {
		experts := rapid.Bool().Draw(t, "moe")
		unit := rapid.SampledFrom([]runtime.Unit{runtime.Rank, runtime.StoredBlock, runtime.Bucket}).Draw(t, "unit")
		l, x := layouts(t, experts), execution()
		switch unit {
		case runtime.StoredBlock:
			l.ZeroStage = 3
		case runtime.Bucket:
			l.ZeroStage = rapid.IntRange(1, 3).Draw(t, "zero")
			x.OverlapParameterGather = rapid.Bool().Draw(t, "overlap")
		}
		e := evaluators[experts][unit]
		var out Result
		evaluate(e, &l, &x, &out)
		d := e.Describe(&l, &x)
		var sum, exposed, transfers units.Seconds
		for _, b := range d.Time.Breakdown {
			if b.ID == "pipeline_transfer" {
				transfers = b.Seconds
			}
			if b.Seconds < -1e-9 {
				t.Fatalf("%s is %v", b.ID, b.Seconds)
			}
			sum += b.Seconds
			for i := range lineNames {
				if lineNames[i].id == b.ID && line(i).exposed() {
					exposed += b.Seconds
				}
			}
		}
		same(t, "breakdown", sum, d.Time.StepSeconds)
		same(t, "evaluated step", out.StepSeconds, d.Time.StepSeconds)
		var known uncertainty.Step
		e.Uncertain(&l, &x, &known)
		same(t, "terms of the uncertainty", known.Terms.Sum(), d.Time.StepSeconds)
		same(t, "exposed", out.ExposedCommunicationSeconds, exposed)
		var collectiveKinds units.Seconds
		for _, c := range d.Communication {
			collectiveKinds += c.ExposedSeconds
			if c.ExposedSeconds > c.Seconds*(1+1e-9) {
				t.Fatalf("%s %s exposes %v of %v", c.Group, c.Collective, c.ExposedSeconds, c.Seconds)
			}
			if c.Group == "pipeline_parallel" { // what waits for transfers of other ranks is exposed, too
				collectiveKinds += max(0, transfers-c.Seconds)
			}
		}
		same(t, "exposed by collectiveKind", collectiveKinds, exposed)
		same(t, "peak", units.Seconds(out.PeakDeviceBytes), units.Seconds(d.Memory.Peak.DeviceBytes))
		if d.Throughput.MFU <= 0 || d.Throughput.MFU > 1 {
			t.Fatalf("MFU %v", d.Throughput.MFU)
		}
	})
}

// same compares two figures but for rounding.
func same(t *rapid.T, what string, got, want units.Seconds) {
	t.Helper()
	if math.Abs(float64(got-want)) > 1e-9*math.Abs(float64(want))+1e-12 {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// TestMonotone: what can only cost must cost.
func TestMonotone(t *testing.T) {
	x := execution()
	e := New(jobOf(dense(), 8), targetOf(runtimes.Whole()))
	step := func(change func(*plan.Layout, *plan.Execution)) units.Seconds {
		l, y := single(64), x
		l.TensorParallel, l.SequenceParallel, l.DataParallelShard, l.MicroBatches = 4, true, 16, 32
		change(&l, &y)
		var out Result
		evaluate(e, &l, &y, &out)
		return out.StepSeconds
	}
	base := step(func(*plan.Layout, *plan.Execution) {})
	for name, slower := range map[string]func(*plan.Layout, *plan.Execution){
		"full recompute": func(l *plan.Layout, _ *plan.Execution) {
			l.Recompute = plan.RecomputeFull
			l.RecomputeMethod = "uniform"
		},
		"no gradient overlap":   func(_ *plan.Layout, x *plan.Execution) { x.OverlapGradientReduce = false },
		"no parameter overlap":  func(_ *plan.Layout, x *plan.Execution) { x.OverlapParameterGather = false },
		"unfused cross entropy": func(_ *plan.Layout, x *plan.Execution) { x.CrossEntropy = "unfused" },
		"offloaded optimizer":   func(_ *plan.Layout, x *plan.Execution) { x.OffloadOptimizer = true },
		"tensor group of 16": func(l *plan.Layout, _ *plan.Execution) {
			l.TensorParallel, l.DataParallelShard, l.MicroBatches = 16, 4, 128
		},
	} {
		if got := step(slower); got <= base {
			t.Errorf("%s: %v, not above %v", name, got, base)
		}
	}
	if got := step(func(_ *plan.Layout, x *plan.Execution) { x.OffloadActivations = true }); got < base { // may hide behind compute
		t.Errorf("offloaded activations: %v, below %v", got, base)
	}
	if got := step(func(_ *plan.Layout, x *plan.Execution) { x.OverlapTensorParallel = true }); got >= base {
		t.Errorf("overlapped tensor parallelism: %v, not below %v", got, base)
	}
}

// TestThroughput pins the convention on a worked case: Llama 3 8B at 8,192
// tokens has 6·(8.03 B − 0.525 B embedding) matrix FLOPs per token and
// 6·32 layers·32 heads·128·8,192/2·2 of causal attention.
func TestThroughput(t *testing.T) {
	e := New(jobOf(dense(), 1), targetOf(runtimes.Whole()))
	l, x := single(8), execution()
	d := e.Describe(&l, &x)
	perToken := 6*(8.03e9-0.5253e9) + 6*32*32*128*8192
	want := d.Throughput.TokensPerSecondPerGPU * perToken / 989e12
	if got := float64(d.Throughput.MFU); math.Abs(got-want) > 0.005*want {
		t.Errorf("MFU %v, want %v", got, want)
	}
	if d.Throughput.HFU != d.Throughput.MFU {
		t.Errorf("HFU %v without recompute, MFU %v", d.Throughput.HFU, d.Throughput.MFU)
	}
	l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "uniform", 1
	d = e.Describe(&l, &x)
	if ratio := float64(d.Throughput.HFU / d.Throughput.MFU); ratio < 1.25 || ratio > 4.0/3 {
		t.Errorf("full recompute counts %v times the model FLOPs, want a third more but for the head", ratio)
	}
	// The MLP is 3·4,096·14,336 weights of the 218 million of a layer.
	l.Recompute, l.RecomputeMethod, l.RecomputeLayers, l.RecomputeModules = plan.RecomputeSelective, "", 0, plan.ModuleNorm|plan.ModuleMLP
	d = e.Describe(&l, &x)
	want = d.Throughput.TokensPerSecondPerGPU * 2 * 32 * 3 * 4096 * 14336 / 989e12
	if got := float64(d.Throughput.HFU - d.Throughput.MFU); math.Abs(got-want) > 0.005*want {
		t.Errorf("recompute of the MLP adds %v to the utilisation, want %v", got, want)
	}
}

// TestLeftGathered: the backward pass of a pipeline's chunk leaves parameters gathered
// that the next pass finds, so that a forward and a backward pass gather once.
// Alone they gather twice. Both have 16 layers of 218,112,000 parameters on a rank, and
// the input embedding, which no backward pass reads.
func TestLeftGathered(t *testing.T) {
	for _, c := range []struct {
		stages, gathers int
		schedule        plan.Schedule
	}{{1, 2, 0}, {2, 1, plan.Schedule1F1B}, {2, 1, plan.ScheduleGPipe}} {
		stages, gathers := c.stages, c.gathers
		m := dense()
		m.Layers = 16 * stages
		e := New(jobOf(m, 1), targetOf(runtimes.Blocks()))
		l, x := single(8), execution()
		l.ZeroStage, l.PipelineParallel, l.DataParallelShard, l.MicroBatches = 3, stages, 8/stages, 8
		l.StageLayers, l.PipelineSchedule, x.ReshardAfterForward = []int{16, 16}[:stages], c.schedule, true
		layers := units.Bytes(8 * 16 * 218_112_000 * 2)
		var got units.Bytes
		for _, c := range e.Describe(&l, &x).Communication {
			if c.Group == "data_parallel_shard" && c.Collective == "all_gather" {
				got = c.Bytes
			}
		}
		if n := int(got / layers); n != gathers {
			t.Errorf("%d stages, %v: %d bytes are %d gathers of the layers in a micro-batch, want %d", stages, c.schedule, got, n, gathers)
		}
	}
}

// TestSharedKeyValueHeads: where more tensor ranks than key-value heads cut the
// projections of query, key and value, every layer gathers what comes out, and
// scatters its gradient: (12 + 2·2)·128 elements per token of Qwen2.5 1.5B.
func TestSharedKeyValueHeads(t *testing.T) {
	traffic := func(kv int) (gather, scatter units.Bytes) {
		m := dense()
		m.HiddenSize, m.Attention, m.SequenceLength = 1536, job.Attention{Heads: 12, KVHeads: kv, HeadDim: 128}, 2048
		e := New(jobOf(m, 1), targetOf(runtimes.Whole()))
		l, x := single(8), execution()
		l.TensorParallel, l.SequenceParallel, l.DataParallelShard, l.MicroBatches = 4, true, 2, 1
		for _, c := range e.Describe(&l, &x).Communication {
			switch {
			case c.Group != "tensor_parallel":
			case c.Collective == "all_gather":
				gather = c.Bytes
			case c.Collective == "reduce_scatter":
				scatter = c.Bytes
			}
		}
		return gather, scatter
	}
	gather, scatter := traffic(4)
	sharedGather, sharedScatter := traffic(2)
	want := units.Bytes(32 * 2048 * (12 + 2*2) * 128 * 2)
	if sharedGather-gather != want || sharedScatter-scatter != want {
		t.Errorf("%d and %d bytes more than with a head for every rank, want %d", sharedGather-gather, sharedScatter-scatter, want)
	}
}

// TestEmptyStage: a rank in the middle of a pipeline may have no layer, and so
// nothing to update; its time is a number all the same.
func TestEmptyStage(t *testing.T) {
	for _, kind := range []string{"adamw", "sgd", "muon"} {
		for _, m := range []job.Model{dense(), moe()} {
			for _, r := range runtimes.All() {
				j := jobOf(m, 8)
				j.Training.Optimizer.Kind = kind
				e := New(j, targetOf(r))
				l, x := single(16), execution()
				l.PipelineParallel, l.PipelineSchedule, l.StageLayers = 4, plan.Schedule1F1B, []int{16, 8, 0, 8}
				if r.Sharding.Unit == runtime.StoredBlock {
					l.ZeroStage = 3
				}
				var out Result
				if evaluate(e, &l, &x, &out); !(out.StepSeconds > 0) || math.IsInf(float64(out.StepSeconds), 0) {
					t.Errorf("%s, %v: a step of %v", kind, r.Sharding.Unit, out.StepSeconds)
				}
			}
		}
	}
}

// TestOffNVLink: groups that leave a node of eight are named.
func TestOffNVLink(t *testing.T) {
	e := New(jobOf(dense(), 8), targetOf(runtimes.Whole()))
	l, x := single(64), execution()
	l.TensorParallel, l.DataParallelShard, l.MicroBatches = 16, 4, 128
	got := e.Describe(&l, &x).OffNVLink
	if len(got) != 2 || got[0] != plan.TensorParallel || got[1] != plan.DataParallelShard {
		t.Errorf("off NVLink: %v", got)
	}
}

// TestBlockingLaunches: the host waits for every kernel wherever the job says so, and the block
// that counts last decides.
func TestBlockingLaunches(t *testing.T) {
	step := func(edit func(*job.Job)) units.Seconds {
		j := jobOf(dense(), 1)
		edit(j)
		l, x := single(8), execution()
		return New(j, targetOf(runtimes.Whole())).Step(&l, &x)
	}
	set := func(value string) []job.Variable { return []job.Variable{{Name: "CUDA_LAUNCH_BLOCKING", Value: value}} }
	free := step(func(*job.Job) {})
	blocking := step(func(j *job.Job) { j.Backend.Environment = set("1") })
	if blocking <= free {
		t.Errorf("%v with the host waiting, %v without", blocking, free)
	}
	for where, edit := range map[string]func(*job.Job){
		"slurm.environment":           func(j *job.Job) { j.Slurm.Environment = set("1") },
		"cluster.network.environment": func(j *job.Job) { j.Cluster.Network.Environment = set("1") },
	} {
		if got := step(edit); got != blocking {
			t.Errorf("set by %s a step takes %v, by the backend %v", where, got, blocking)
		}
	}
	if got := step(func(j *job.Job) { j.Slurm.Environment, j.Backend.Environment = set("1"), set("0") }); got != free {
		t.Errorf("taken back by the backend a step takes %v, without %v", got, free)
	}
}

// TestPlainUpdate: SGD without momentum reads and writes no moments.
func TestPlainUpdate(t *testing.T) {
	step := func(momentum float64) units.Seconds {
		j := jobOf(dense(), 1)
		j.Training.Optimizer.Kind, j.Training.Optimizer.Momentum = "sgd", momentum
		l, x := single(8), execution()
		return New(j, targetOf(runtimes.Whole())).Step(&l, &x)
	}
	if plain, with := step(0), step(0.9); plain >= with {
		t.Errorf("%v without momentum, %v with it", plain, with)
	}
}

// TestSegments: a group larger than Slurm's segment cannot count on NVLink,
// whatever the rack has.
func TestSegments(t *testing.T) {
	step := func(segment int) units.Seconds {
		j := jobOf(dense(), 32)
		j.Cluster.GPUsPerNode, j.Cluster.NVLink.Domain = 4, 64
		j.Slurm.Segment = segment
		l, x := single(128), execution()
		l.TensorParallel, l.DataParallelShard, l.MicroBatches = 16, 8, 64
		return New(j, targetOf(runtimes.Whole())).Describe(&l, &x).Time.StepSeconds
	}
	if none, whole, part := step(0), step(16), step(2); none != whole || part <= whole {
		t.Errorf("without segments %v, in segments of 64 GPUs %v, of 8 %v", none, whole, part)
	}
}

// TestAllocations: the hot loop does not allocate once its terms are known.
func TestAllocations(t *testing.T) {
	e := New(jobOf(moe(), 8), targetOf(runtimes.Whole()))
	l, x := single(64), execution()
	l.PipelineParallel, l.PipelineSchedule, l.StageLayers = 4, plan.Schedule1F1B, []int{8, 8, 8, 8}
	l.DataParallelShard, l.MicroBatches = 16, 32
	var out Result
	if n := testing.AllocsPerRun(100, func() { evaluate(e, &l, &x, &out) }); n > 0 {
		t.Errorf("%v allocations per evaluation", n)
	}
	var known uncertainty.Step
	if n := testing.AllocsPerRun(100, func() { e.Uncertain(&l, &x, &known) }); n > 0 {
		t.Errorf("%v allocations per uncertainty", n)
	}
}

// TestTermsAreBounded: a long search keeps no more of the layouts that it has seen than so many,
// and what it forgets it finds again.
func TestTermsAreBounded(t *testing.T) {
	e := New(jobOf(moe(), 1), targetOf(runtimes.Whole()))
	l, x := single(8), execution()
	var first, last Result
	for l.MicroBatchSize = 1; l.MicroBatchSize < mostTables+100; l.MicroBatchSize++ {
		if e.EvaluateTime(&l, &x, &last); l.MicroBatchSize == 1 {
			first = last
		}
	}
	for name, n := range map[string]int{
		"layouts": len(e.known), "tables": len(e.tables), "tables with state": len(e.stateTables),
		"tables without experts": len(e.dense), "beginnings of layers": len(e.begun), "lists": len(e.listings),
	} {
		if n > mostTables {
			t.Errorf("%d %s are kept, at most %d are to be", n, name, mostTables)
		}
	}
	l.MicroBatchSize = 1
	if e.EvaluateTime(&l, &x, &last); last.StepSeconds != first.StepSeconds {
		t.Errorf("a step takes %v, and before there was much to forget %v", last.StepSeconds, first.StepSeconds)
	}
}

// BenchmarkEvaluate evaluates many layouts of Llama 3 70B on 512 H100 in turn,
// as the search does.
func BenchmarkEvaluate(b *testing.B) {
	m := dense()
	m.Layers, m.HiddenSize, m.FFNHiddenSize, m.Attention.Heads = 80, 8192, 28672, 64
	e := New(jobOf(m, 64), targetOf(runtimes.Whole()))
	x := execution()
	var all []plan.Layout
	for _, tp := range []int{1, 2, 4, 8} {
		for _, pp := range []int{1, 2, 4, 8, 16} {
			for _, v := range []int{1, 2, 5} {
				for _, cp := range []int{1, 2} {
					for _, zero := range []int{0, 1} {
						all = appendLayout(all, [5]int{tp, pp, v, cp, zero})
					}
				}
			}
		}
	}
	var out Result
	for i := range all {
		evaluate(e, &all[i], &x, &out)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		evaluate(e, &all[i], &x, &out)
		i = (i + 1) % len(all)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
}

// appendLayout adds the layouts of tp, pp, v, cp and zero stage with every
// recompute mode, if they are legal.
func appendLayout(all []plan.Layout, a [5]int) []plan.Layout {
	tp, pp, v, cp, zero := a[0], a[1], a[2], a[3], a[4]
	if pp == 1 && v > 1 || 80%(pp*v) != 0 || 512%(tp*pp*cp) != 0 {
		return all
	}
	dp := 512 / tp / pp / cp
	l := plan.Layout{
		TensorParallel: tp, SequenceParallel: tp > 1, ContextParallel: cp, PipelineParallel: pp, VirtualPipeline: v,
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: dp, DataParallelShard: 1, MicroBatchSize: 1, MicroBatches: 512 / dp,
	}
	if zero > 0 {
		l.ZeroStage, l.DataParallelReplicate, l.DataParallelShard = 1, 1, dp
	}
	switch {
	case v > 1:
		l.PipelineSchedule = plan.ScheduleInterleaved1F1B
	case pp > 1:
		l.PipelineSchedule = plan.Schedule1F1B
	}
	if v > 1 && l.MicroBatches%pp != 0 {
		return all
	}
	for range pp * v {
		l.StageLayers = append(l.StageLayers, 80/pp/v)
	}
	for _, r := range []plan.Recompute{plan.RecomputeNone, plan.RecomputeSelective, plan.RecomputeFull} {
		l.Recompute = r
		l.RecomputeModules, l.RecomputeMethod, l.RecomputeLayers = 0, "", 0
		switch r {
		case plan.RecomputeSelective:
			l.RecomputeModules = plan.ModuleCoreAttention
		case plan.RecomputeFull:
			l.RecomputeMethod, l.RecomputeLayers = "uniform", 1
		}
		all = append(all, l)
	}
	return all
}
