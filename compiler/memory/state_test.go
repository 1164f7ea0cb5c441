package memory

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// stateOf runs the policy of a runtime for 8·10⁹ dense and 2·10⁹ expert elements,
// 9·10⁹ of them in matrices, a largest block of 10⁸ and a head of 5·10⁷, on 16
// data-parallel ranks of which 4 share an expert.
func stateOf(r runtime.Runtime, precision string, l *plan.Layout, x *plan.Execution, change func(*job.Job)) state {
	j := gpt(2048, 16, 1024)
	j.Training.Precision = precision
	if change != nil {
		change(j)
	}
	m := New(j, targetOf(r))
	h := holding{block: 1e8, head: 5e7}
	h.elements.Dense, h.elements.Expert = 8e9, 2e9
	h.matrices.Dense, h.matrices.Expert = 7e9, 2e9
	l.TensorParallel, l.ContextParallel, l.PipelineParallel = 1, 1, max(l.PipelineParallel, 1)
	l.DataParallelShard, l.DataParallelReplicate, l.ExpertParallel, l.ExpertTensorParallel = 16, 1, 4, 1
	ev := evaluation{l: l, x: x, sharding: m.runtime.ShardingOf(x), shards: shardsOf(l), terms: &terms{}}
	var s state
	m.state(&ev, &h, &s)
	return s
}

// TestState spells out what each engine keeps, in GB (10⁹ bytes) per rank:
// D/16 + X/4 = 1 billion elements when sharded, 10 when whole.
func TestState(t *testing.T) {
	adam := plan.Execution{GradientDType: "fp32", OptimizerStateDType: "fp32", ReshardAfterForward: true}
	with := func(change func(*plan.Execution)) *plan.Execution {
		x := adam
		change(&x)
		return &x
	}
	for _, c := range []struct {
		name      string
		runtime   runtime.Runtime
		precision string
		layout    plan.Layout
		exec      *plan.Execution
		change    func(*job.Job)
		want      map[line]float64 // resident
		gradients float64          // from the first backward pass on
		host      float64
	}{
		{name: "everything whole: 18 bytes", runtime: runtimes.Whole(), precision: "bf16", exec: &adam,
			want: map[line]float64{lineParameters: 20, lineGradients: 40, lineMaster: 40, lineMoments: 80}},
		{name: "sharded optimizer: 6 whole, 12 sharded", runtime: runtimes.Whole(), precision: "bf16", layout: plan.Layout{ZeroStage: 1}, exec: &adam,
			want: map[line]float64{lineParameters: 20, lineGradients: 40, lineMaster: 4, lineMoments: 8}},
		{name: "whole, bf16 gradients and moments, 16-bit remainders as master", runtime: runtimes.Whole(), precision: "bf16", layout: plan.Layout{ZeroStage: 1},
			exec: with(func(x *plan.Execution) { x.GradientDType, x.OptimizerStateDType = "bf16", "bf16" }),
			want: map[line]float64{lineParameters: 20, lineGradients: 20, lineMaster: 2, lineMoments: 4}},
		{name: "whole, optimizer offload", runtime: runtimes.Whole(), precision: "bf16", layout: plan.Layout{ZeroStage: 1},
			exec: with(func(x *plan.Execution) { x.OffloadOptimizer = true }),
			want: map[line]float64{lineParameters: 20, lineGradients: 40}, host: 16},
		{name: "whole, Muon: one moment for 8/16+2/4 of the matrices", runtime: runtimes.Whole(), precision: "bf16", layout: plan.Layout{ZeroStage: 1}, exec: &adam,
			change: func(j *job.Job) { j.Training.Optimizer.Kind = "muon" },
			want:   map[line]float64{lineParameters: 20, lineGradients: 40, lineMaster: 4, lineMoments: 4*(7.0/16+2.0/4) + 8*(1.0/16)}},
		{name: "whole, fp8 copies", runtime: runtimes.Whole(), precision: "fp8", layout: plan.Layout{ZeroStage: 1}, exec: &adam,
			want: map[line]float64{lineParameters: 20, lineLowPrecision: 18, lineGradients: 40, lineMaster: 4, lineMoments: 8}},
		{name: "whole, fp8 parameters", runtime: runtimes.Whole(), precision: "fp8", layout: plan.Layout{ZeroStage: 1}, exec: &adam,
			change: func(j *job.Job) { j.Training.FP8.ParameterGather = true },
			want:   map[line]float64{lineParameters: 20, lineGradients: 40, lineMaster: 4, lineMoments: 8}},
		{name: "whole, fp32", runtime: runtimes.Whole(), precision: "fp32", layout: plan.Layout{ZeroStage: 1}, exec: &adam,
			want: map[line]float64{lineParameters: 40, lineGradients: 40, lineMoments: 8}},
		{name: "fully sharded", runtime: runtimes.Whole(), precision: "bf16", layout: plan.Layout{ZeroStage: 3},
			exec: with(func(x *plan.Execution) { x.FullySharded = true }),
			want: map[line]float64{lineParameters: 2, lineGradients: 4, lineMaster: 4, lineMoments: 8}},
		{name: "fully sharded, with two buffers of 100 million elements that stay", runtime: runtimes.Whole(), precision: "bf16", layout: plan.Layout{ZeroStage: 3},
			exec: with(func(x *plan.Execution) { x.FullySharded, x.ShardBuffers = true, "double" }),
			want: map[line]float64{lineParameters: 2, lineGathered: 0.4, lineGradients: 4, lineReduce: 0.8, lineMaster: 4, lineMoments: 8}},
		{name: "the same, registered, with transposed copies in 8 bits", runtime: runtimes.Whole(), precision: "fp8", layout: plan.Layout{ZeroStage: 3},
			exec:   with(func(x *plan.Execution) { x.FullySharded, x.ShardBuffers = true, "registered" }),
			change: func(j *job.Job) { j.Training.FP8.ParameterGather = true },
			want:   map[line]float64{lineParameters: 2, lineGathered: 0.6, lineGradients: 4, lineReduce: 0.8, lineMaster: 4, lineMoments: 8}},
		{name: "blocks: 12 sharded, 4 more with the gradients", runtime: runtimes.Blocks(), precision: "bf16", layout: plan.Layout{ZeroStage: 3}, exec: &adam,
			want: map[line]float64{lineParameters: 4, lineMoments: 8}, gradients: 4},
		{name: "blocks in a pipeline: the stage gathered, gradients whole in fp32 until the last micro-batch", runtime: runtimes.Blocks(), precision: "bf16",
			layout: plan.Layout{ZeroStage: 3, PipelineParallel: 2}, exec: with(func(x *plan.Execution) { x.ReshardAfterForward = false }),
			want: map[line]float64{lineParameters: 4, lineMoments: 8, lineGathered: 20}, gradients: 40},
		{name: "blocks, offload", runtime: runtimes.Blocks(), precision: "bf16", layout: plan.Layout{ZeroStage: 3},
			exec: with(func(x *plan.Execution) { x.OffloadParameters, x.OffloadOptimizer = true, true }),
			want: map[line]float64{}, host: 16},
		{name: "ZeRO-0, bf16 gradients", runtime: runtimes.Buckets(), precision: "bf16", exec: with(func(x *plan.Execution) { x.GradientDType = "bf16" }),
			want: map[line]float64{lineParameters: 20, lineGradients: 20, lineMaster: 40, lineMoments: 80}},
		{name: "ZeRO-1, fp32 accumulation beside the model's gradients", runtime: runtimes.Buckets(), precision: "bf16", layout: plan.Layout{ZeroStage: 1}, exec: &adam,
			want: map[line]float64{lineParameters: 20, lineGradients: 60, lineMaster: 4, lineMoments: 8}},
		{name: "ZeRO-2", runtime: runtimes.Buckets(), precision: "bf16", layout: plan.Layout{ZeroStage: 2}, exec: with(func(x *plan.Execution) { x.GradientDType = "bf16" }),
			want: map[line]float64{lineParameters: 20, lineGradients: 2, lineMaster: 4, lineMoments: 8, lineReduce: 1}},
		{name: "ZeRO-2, two buckets", runtime: runtimes.Buckets(), precision: "bf16", layout: plan.Layout{ZeroStage: 2},
			exec: with(func(x *plan.Execution) { x.OverlapGradientReduce = true }),
			want: map[line]float64{lineParameters: 20, lineGradients: 4, lineMaster: 4, lineMoments: 8, lineReduce: 2}},
		{name: "ZeRO-3", runtime: runtimes.Buckets(), precision: "bf16", layout: plan.Layout{ZeroStage: 3}, exec: &adam,
			want: map[line]float64{lineParameters: 2, lineGradients: 4, lineMaster: 4, lineMoments: 8, lineReduce: 2}},
		{name: "ZeRO-3 with hpZ over 8 ranks", runtime: runtimes.Buckets(), precision: "bf16", layout: plan.Layout{ZeroStage: 3},
			exec: with(func(x *plan.Execution) { x.ZeroHPZPartition = 8 }),
			want: map[line]float64{lineParameters: 2, lineGathered: 2.5, lineGradients: 4, lineMaster: 4, lineMoments: 8, lineReduce: 2}},
		{name: "ZeRO-3, everything offloaded", runtime: runtimes.Buckets(), precision: "bf16", layout: plan.Layout{ZeroStage: 3},
			exec: with(func(x *plan.Execution) { x.OffloadParameters, x.OffloadOptimizer = true, true }),
			want: map[line]float64{lineReduce: 2}, host: 16 + 4 + 2},
	} {
		s := stateOf(c.runtime, c.precision, &c.layout, c.exec, c.change)
		for i := range numLines {
			if got, want := float64(s.resident[i])/1e9, c.want[i]; got != want {
				t.Errorf("%s: %s %.3f GB, want %.3f", c.name, lineNames[i].id, got, want)
			}
		}
		if got := float64(s.begun.of(program.Elements{Dense: 8e9, Expert: 2e9})) / 1e9; got != c.gradients {
			t.Errorf("%s: gradients of a step %.3f GB, want %.3f", c.name, got, c.gradients)
		}
		if got := float64(s.host) / 1e9; got != c.host {
			t.Errorf("%s: host %.3f GB, want %.3f", c.name, got, c.host)
		}
	}
}

// TestStepCopies: what the step of a runtime with buckets makes of 1 billion elements
// of a shard, in GB. Stage 3 of a model of 6.86 billion parameters with bf16 gradients
// on four H100 took 31.38 GiB at the peak, 5.64 more than between steps, of which a
// sub-group of a billion explains 5.59 (docs/memory.md, "State").
func TestStepCopies(t *testing.T) {
	returning := runtimes.Buckets()
	returning.Buckets.ReturnsFP32 = true
	half := plan.Execution{GradientDType: "bf16", OptimizerStateDType: "fp32"}
	full := plan.Execution{GradientDType: "fp32", OptimizerStateDType: "fp32"}
	offloaded := half
	offloaded.OffloadOptimizer = true
	for _, c := range []struct {
		name    string
		runtime runtime.Runtime
		zero    int
		exec    *plan.Execution
		want    float64
	}{
		{"ZeRO-3, bf16 gradients: flat, and in fp32", runtimes.Buckets(), 3, &half, 6},
		{"ZeRO-3, fp32 gradients: flat", runtimes.Buckets(), 3, &full, 4},
		{"ZeRO-2, bf16 gradients: flat, and in fp32", runtimes.Buckets(), 2, &half, 6},
		{"ZeRO-1, bf16 gradients, others' freed before", runtimes.Buckets(), 1, &half, 4},
		{"ZeRO-1, fp32 gradients that are read where they were accumulated", runtimes.Buckets(), 1, &full, 0},
		{"ZeRO-3, offloaded", returning, 3, &offloaded, 0},
		{"ZeRO-2, offloaded", runtimes.Buckets(), 2, &offloaded, 0},
		{"ZeRO-2, offloaded, whose parameters come back in fp32", returning, 2, &offloaded, 4},
	} {
		s := stateOf(c.runtime, "bf16", &plan.Layout{ZeroStage: c.zero}, c.exec, nil)
		if got := float64(s.step.step) / 1e9; got != c.want {
			t.Errorf("%s: %.3f GB, want %.3f", c.name, got, c.want)
		}
	}
}

// TestMomentCopies: what the step of an optimizer with small moments makes of the 0.5
// billion dense and 0.5 billion expert elements of a rank, in GB: fp32 copies of both
// moments of one kind at a time, of those in bf16 where the engine says so.
func TestMomentCopies(t *testing.T) {
	copies := runtimes.Whole()
	copies.LowPrecision.CopiesMoments = true
	for _, c := range []struct {
		runtime runtime.Runtime
		moments string
		want    float64
	}{
		{runtimes.Whole(), "bf16", 0}, {copies, "bf16", 4}, {runtimes.Whole(), "fp8", 4}, {copies, "fp8", 4}, {copies, "fp32", 0},
	} {
		s := stateOf(c.runtime, "bf16", &plan.Layout{ZeroStage: 1}, &plan.Execution{GradientDType: "fp32", OptimizerStateDType: c.moments}, nil)
		if got := float64(s.step.step) / 1e9; got != c.want {
			t.Errorf("moments in %s, copied %t: %.3f GB, want %.3f", c.moments, c.runtime.LowPrecision.CopiesMoments, got, c.want)
		}
	}
}

// TestSaves: a save of an optimizer with small moments makes fp32 copies of all of them
// at once, 8 GB of the billion elements of a rank, whether the step copies them or not,
// and an asynchronous one stages them in host memory beside remainders and parameters:
// 8 + 2 + 20/16 GB.
func TestSaves(t *testing.T) {
	saves := func(j *job.Job) {
		j.Training.Checkpoint = job.Checkpoint{Path: "/checkpoints", SaveOptimizer: true, Async: true}
	}
	weights := func(j *job.Job) { j.Training.Checkpoint.Path = "/checkpoints" }
	copies, own := runtimes.Whole(), runtimes.Whole()
	copies.LowPrecision.CopiesMoments, own.LowPrecision.WholeMasters = true, true
	for _, c := range []struct {
		name    string
		runtime runtime.Runtime
		moments string
		change  func(*job.Job)
		want    float64
	}{
		{"no save", runtimes.Whole(), "bf16", nil, 0},
		{"weights alone", runtimes.Whole(), "bf16", weights, 0},
		{"everything", runtimes.Whole(), "bf16", saves, 8},
		{"everything, with copies in the step", copies, "bf16", saves, 8},
		{"fp32 moments", runtimes.Whole(), "fp32", saves, 0},
		{"masters of its own", own, "bf16", saves, 0},
	} {
		s := stateOf(c.runtime, "bf16", &plan.Layout{ZeroStage: 1}, &plan.Execution{GradientDType: "fp32", OptimizerStateDType: c.moments}, c.change)
		if got := float64(s.step.step) / 1e9; got != c.want {
			t.Errorf("%s: %.3f GB, want %.3f", c.name, got, c.want)
		}
	}
	j := gpt(2048, 16, 1024)
	saves(j)
	m := New(j, targetOf(runtimes.Whole()))
	x := &plan.Execution{GradientDType: "fp32", OptimizerStateDType: "bf16"}
	s := stateOf(runtimes.Whole(), "bf16", &plan.Layout{ZeroStage: 1}, x, saves)
	if got := float64(m.staging(&s)) / 1e9; got != 8+2+16.0/16+4.0/4 {
		t.Errorf("staged: %.3f GB", got)
	}
}

// TestWholeMasters: an engine that keeps the masters of an optimizer with small moments
// itself has 4 bytes of each of a rank's billion elements instead of 2, and copies their
// bf16 gradients to fp32 for the step.
func TestWholeMasters(t *testing.T) {
	own := runtimes.Whole()
	own.LowPrecision.WholeMasters = true
	for _, c := range []struct {
		runtime      runtime.Runtime
		gradients    string
		master, step float64
	}{{runtimes.Whole(), "bf16", 2, 0}, {own, "bf16", 4, 4}, {own, "fp32", 4, 0}} {
		s := stateOf(c.runtime, "mxfp8", &plan.Layout{ZeroStage: 1}, &plan.Execution{GradientDType: c.gradients, OptimizerStateDType: "bf16"}, nil)
		if master, step := float64(s.resident[lineMaster])/1e9, float64(s.step.step)/1e9; master != c.master || step != c.step {
			t.Errorf("whole %t, %s: masters %.3f GB, in the step %.3f, want %+v", c.runtime.LowPrecision.WholeMasters, c.gradients, master, step, c)
		}
	}
}

// TestScratch: gradients of weights that GEMMs add to others leave one buffer for each
// distinct shape, the output head's included; where no whole gradient exists to add to,
// one weight's is there while its GEMM runs.
func TestScratch(t *testing.T) {
	j := gpt(2048, 16, 1024)
	m := New(j, targetOf(runtimes.Whole()))
	l := plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
		DataParallelReplicate: 1, DataParallelShard: 8, ZeroStage: 3, MicroBatchSize: 1, MicroBatches: 1}
	const square, word, norm = 2048 * 2048, 51200 * 2048, 2 * 2048
	for sharded, want := range map[bool]struct{ stays, loss, layer int64 }{
		false: {2 * (3*square + square + 2*4*square + word), 0, 0},
		true:  {0, 2 * (norm + word), 2 * 4 * square},
	} {
		x := plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "unfused", LossChunks: 1, FullySharded: sharded}
		e := m.evaluate(&l, &x)
		var a account
		rank := m.rank(0)
		m.open(&e, &rank, &a, false)
		whole := int64(0)
		if sharded { // buffers of two layers
			whole = 2 * 4 * a.content.block
		}
		if s := &a.state; s.resident[lineWeightGradients] != want.stays || s.loss.reduce != want.loss || s.backward.reduce-whole != want.layer {
			t.Errorf("fully sharded %t: %d bytes stay, %d during the loss, %d while a layer runs, want %+v", sharded, s.resident[lineWeightGradients], s.loss.reduce, s.backward.reduce-whole, want)
		}
	}
}

// TestShardBuffers: what stays is not there a second time while blocks run backward.
func TestShardBuffers(t *testing.T) {
	x := plan.Execution{GradientDType: "fp32", OptimizerStateDType: "fp32", FullySharded: true, ShardBuffers: "dynamic"}
	l := plan.Layout{ZeroStage: 3}
	before := stateOf(runtimes.Whole(), "bf16", &l, &x, nil)
	x.ShardBuffers = "double"
	after := stateOf(runtimes.Whole(), "bf16", &l, &x, nil)
	if got, want := after.resident[lineGathered]+after.backward.gathered, before.backward.gathered; got != want || want != 4e8 {
		t.Errorf("%d bytes gathered while a block runs backward, want %d", got, want)
	}
	if got, want := after.resident[lineReduce]+after.backward.reduce, before.backward.reduce; got != want || want != 8e8 {
		t.Errorf("%d bytes of whole gradients while a block runs backward, want %d", got, want)
	}
}

// TestShardsOfState: over all stages and data-parallel ranks the sharded
// master parameters are 4 bytes per parameter of the model.
func TestShardsOfState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.Training.Precision, j.Model.MoE, j.Model.TiedEmbeddings = "bf16", nil, false
		l, x := drawLayout(t, j)
		l.TensorParallel, l.ExpertTensorParallel, l.SequenceParallel, l.ZeroStage, l.DataParallelReplicate = 1, 1, false, 1, 1
		m := New(j, wholeTarget())
		var sum units.Bytes
		for _, s := range m.Memory(l, x).Stages {
			for _, y := range s.Ledger {
				if y.ID == "master_parameters" {
					sum += y.Bytes * units.Bytes(l.DataParallelShard*l.ContextParallel)
				}
			}
		}
		want := units.Bytes(4 * m.arch.ParametersTotal())
		if diff := want - sum; diff < 0 || diff > 64*units.Bytes(l.PipelineParallel) {
			t.Fatalf("shards hold %d bytes, the model has %d", sum, want)
		}
	})
}

// TestPrecision: quantised copies make low precision dearer than bf16 in
// weights and cheaper in activations.
func TestPrecision(t *testing.T) {
	l := &plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
		DataParallelReplicate: 1, DataParallelShard: 8, ZeroStage: 1, MicroBatchSize: 1, MicroBatches: 1}
	x := &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "fused", LossChunks: 1}
	sum := func(precision string, lines ...line) (n units.Bytes) {
		j := gpt(2048, 16, 2048)
		j.Training.Precision = precision
		for _, y := range New(j, wholeTarget()).Memory(l, x).Stages[0].Ledger {
			for _, want := range lines {
				if y.ID == lineNames[want].id {
					n += y.Bytes
				}
			}
		}
		return n
	}
	for _, p := range []string{"fp8", "mxfp8", "nvfp4"} {
		if got, bf16 := sum(p, lineParameters, lineLowPrecision), sum("bf16", lineParameters); got <= bf16 {
			t.Errorf("%s weights take %v, bf16 %v", p, got, bf16)
		}
		if got, bf16 := sum(p, lineAttention, lineMLP, lineNorms), sum("bf16", lineAttention, lineMLP, lineNorms); got >= bf16 {
			t.Errorf("%s activations take %v, bf16 %v", p, got, bf16)
		}
	}
}

// TestHost: offload and asynchronous checkpoints are what a node pays for.
func TestHost(t *testing.T) {
	j := gpt(2048, 16, 2048)
	j.Training.Checkpoint.Async, j.Training.Checkpoint.Path, j.Training.Checkpoint.SaveOptimizer = true, "/checkpoints", true
	l := &plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
		DataParallelReplicate: 1, DataParallelShard: 8, ZeroStage: 1, MicroBatchSize: 1, MicroBatches: 1}
	x := &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "fused", LossChunks: 1}
	m := New(j, wholeTarget())
	staged := m.Memory(l, x).Host
	want := units.Bytes(14 * m.arch.ParametersTotal()) // bf16 parameters and 12 bytes of optimizer, each once over the node's 8 ranks
	for _, y := range staged.Ledger {
		if y.ID == "checkpoint_staging" && (y.Bytes < want-64 || y.Bytes > want+64) {
			t.Errorf("staging %d bytes, want %d", y.Bytes, want)
		}
	}
	x.OffloadOptimizer, x.OffloadActivations = true, true
	off := m.Memory(l, x)
	if off.Host.BytesPerNode <= staged.BytesPerNode {
		t.Errorf("offload takes no host memory: %v after %v", off.Host.BytesPerNode, staged.BytesPerNode)
	}
	if on := m.Peak(l, &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "fused", LossChunks: 1}); off.Peak.AllocatedBytes >= on.Allocated {
		t.Errorf("offload frees no device memory: %v of %v", off.Peak.AllocatedBytes, on.Allocated)
	}
}
