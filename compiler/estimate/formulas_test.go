package estimate

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// collectiveBytes finds the payload of one collective in a description.
func collectiveBytes(d *Description, group, collective string) units.Bytes {
	for _, c := range d.Communication {
		if c.Group == group && c.Collective == collective {
			return c.Bytes
		}
	}
	return 0
}

// TestCommunicationVolumes works the formulas of docs/time.md out for Llama 3
// 8B: 32 layers, hidden size 4,096, sequences of 8,192 tokens.
func TestCommunicationVolumes(t *testing.T) {
	const layers, activations = 32, 2 * 8192 * 4096 // 2·T·h
	parameters := units.Bytes(8_030_261_248)
	x := execution()

	tp := single(8)
	tp.TensorParallel, tp.SequenceParallel, tp.DataParallelShard, tp.MicroBatches = 8, true, 1, 512
	overlapping := New(jobOf(dense(), 1), targetOf(runtimes.Whole())).Describe(&tp, &x)
	plain := New(jobOf(dense(), 1), targetOf(runtimes.Blocks())).Describe(&tp, &x)
	// Per layer two gathers forward and two backward, and two again for the
	// weight gradients (where they overlap); embedding and head one each, and the
	// head another for its weight gradient.
	check(t, "gathers beside weight gradients", collectiveBytes(&overlapping, "tensor_parallel", "all_gather"), 512*(6*layers+3)*activations)
	check(t, "scatters beside weight gradients", collectiveBytes(&overlapping, "tensor_parallel", "reduce_scatter"), 512*(4*layers+2)*activations)
	// Three fp32 values per token for the loss, and once the fp32 gradients of 65 norms.
	check(t, "reductions", collectiveBytes(&overlapping, "tensor_parallel", "all_reduce"), 512*3*4*8192+4*65*4096)
	check(t, "gathers in turn", collectiveBytes(&plain, "tensor_parallel", "all_gather"), 512*(4*layers+2)*activations)

	dp := single(8) // the distributed optimizer: fp32 gradients, 16-bit parameters, once per step
	d := New(jobOf(dense(), 1), targetOf(runtimes.Whole())).Describe(&dp, &x)
	check(t, "gradients", collectiveBytes(&d, "data_parallel_shard", "reduce_scatter"), 4*parameters)
	check(t, "parameters", collectiveBytes(&d, "data_parallel_shard", "all_gather"), 2*parameters)

	dp.ZeroStage = 3 // blocks: gathered forward and backward, reduced with every micro-batch
	d = New(jobOf(dense(), 1), targetOf(runtimes.Blocks())).Describe(&dp, &x)
	embedding := units.Bytes(128256 * 4096)
	check(t, "blocks gathered", collectiveBytes(&d, "data_parallel_shard", "all_gather"), 64*2*(2*parameters-embedding))
	check(t, "blocks reduced", collectiveBytes(&d, "data_parallel_shard", "reduce_scatter"), 64*4*parameters)

	hybrid := dp // what is left is added up over the replicas with every micro-batch, or once
	hybrid.DataParallelShard, hybrid.DataParallelReplicate, hybrid.MicroBatches = 4, 2, 64
	d = New(jobOf(dense(), 1), targetOf(runtimes.Blocks())).Describe(&hybrid, &x)
	check(t, "replicas with every micro-batch", collectiveBytes(&d, "data_parallel_replicate", "all_reduce"), 64*4*parameters/4)
	once := targetOf(runtimes.Blocks())
	once.Runtime.Sharding.ReplicasOnce = true
	d = New(jobOf(dense(), 1), once).Describe(&hybrid, &x)
	check(t, "replicas once", collectiveBytes(&d, "data_parallel_replicate", "all_reduce"), 4*parameters/4)
	check(t, "shards of replicas", collectiveBytes(&d, "data_parallel_shard", "reduce_scatter"), 64*4*parameters)

	dp.ZeroStage = 2 // buckets: all-reduced with every micro-batch, gathered once
	zero := targetOf(runtimes.Buckets())
	zero.Runtime.Sharding.AllReduces = true
	d = New(jobOf(dense(), 1), zero).Describe(&dp, &x)
	check(t, "buckets reduced", collectiveBytes(&d, "data_parallel_shard", "all_reduce"), 64*4*parameters)
	check(t, "buckets gathered", collectiveBytes(&d, "data_parallel_shard", "all_gather"), 2*parameters)

	pp := single(8) // one activation each way between two stages
	pp.PipelineParallel, pp.PipelineSchedule, pp.StageLayers = 2, plan.Schedule1F1B, []int{16, 16}
	pp.DataParallelShard, pp.MicroBatches = 4, 128
	d = New(jobOf(dense(), 1), targetOf(runtimes.Whole())).Describe(&pp, &x)
	check(t, "pipeline", collectiveBytes(&d, "pipeline_parallel", "point_to_point"), 128*activations)
}

// TestEmbeddingCopy: the last stage of a pipeline has a copy of the embedding for a tied
// head and for multi-token prediction, whose gradients are added up across the pipeline,
// and which it updates.
func TestEmbeddingCopy(t *testing.T) {
	const embedding = 128256 * 4096
	x := execution()
	pp := single(8)
	pp.PipelineParallel, pp.PipelineSchedule, pp.StageLayers = 2, plan.Schedule1F1B, []int{16, 16}
	pp.DataParallelShard, pp.MicroBatches = 4, 128
	alone := single(8)
	for _, c := range []struct {
		name   string
		tied   bool
		mtp    int
		layout *plan.Layout
		want   units.Bytes
	}{
		{"neither", false, 0, &pp, 0},
		{"tied", true, 0, &pp, 4 * embedding},
		{"multi-token prediction", false, 1, &pp, 4 * embedding},
		{"without a pipeline", false, 1, &alone, 0},
	} {
		m := dense()
		m.TiedEmbeddings, m.MTP.Layers = c.tied, c.mtp
		e := New(jobOf(m, 1), targetOf(runtimes.Whole()))
		d := e.Describe(c.layout, &x)
		check(t, c.name, collectiveBytes(&d, "embedding", "all_reduce"), c.want)
		last := e.step.elements[len(e.step.elements)-1].Sum()
		have := int64(0)
		for i := range d.Memory.Stages[len(d.Memory.Stages)-1].Ledger {
			if line := &d.Memory.Stages[len(d.Memory.Stages)-1].Ledger[i]; line.ID == "parameters" {
				have = int64(line.Bytes) / 2
			}
		}
		if last != have {
			t.Errorf("%s: the last stage updates %d parameters and holds %d", c.name, last, have)
		}
	}
}

// TestCollectivesOfMTP: a multi-token-prediction layer looks up an embedding and
// multiplies by a head as the model does, and its projection of 2h to h has its input
// gathered as that of a block, its output gathered, and with sequence parallelism the
// gradient of that output, too.
func TestCollectivesOfMTP(t *testing.T) {
	const activations = 2 * 8192 * 4096 // 2·T·h
	x := execution()
	of := func(sequence bool, layers, mtp int) *Description {
		m := dense()
		m.Layers, m.MTP.Layers = layers, mtp
		l := single(8)
		l.StageLayers = []int{layers}
		l.TensorParallel, l.SequenceParallel, l.DataParallelShard, l.MicroBatches = 8, sequence, 1, 1
		d := New(jobOf(m, 1), targetOf(runtimes.Whole())).Describe(&l, &x)
		return &d
	}
	for _, c := range []struct {
		collective string
		sequence   bool
		want       units.Bytes // of projection, embedding and head, over a decoder layer
	}{
		{"all_gather", true, (2 + 1 + 1 + 2 + 1 + 1 + 1) * activations},
		{"reduce_scatter", true, (2 + 1 + 1) * activations},
		{"all_gather", false, activations},
		{"all_reduce", false, (2+1+1)*activations + 3*4*8192}, // three values per token of the loss
	} {
		more := collectiveBytes(of(c.sequence, 4, 1), "tensor_parallel", c.collective) - collectiveBytes(of(c.sequence, 5, 0), "tensor_parallel", c.collective)
		check(t, fmt.Sprint(c.collective, ", sequence parallelism ", c.sequence), more, c.want)
	}
}

// TestGatheredWidth: with parameter_gather weights of linear layers are gathered in
// their own type: a byte in fp8, half of one in nvfp4; in mxfp8 two where the engine
// quantises them on arrival. Embedding, head and layers that stay in 16 bits take two.
func TestGatheredWidth(t *testing.T) {
	const all, ends = 8_030_261_248, 2*128256*4096 + 4096
	const layer = (all - ends) / 32
	for _, c := range []struct {
		precision string
		whole     bool
		base      int
		sharded   bool // block by block
		want      units.Bytes
	}{
		{"bf16", false, 0, false, 2 * all},
		{"fp8", false, 0, false, all + ends},
		{"fp8", false, 3, false, all + ends + 3*layer},
		{"mxfp8", false, 0, false, all + ends},
		{"mxfp8", true, 0, false, 2 * all},
		{"nvfp4", false, 0, false, (all + 3*ends) / 2},
		{"fp8", false, 3, true, 64 * (2*(all+ends+3*layer) - 2*128256*4096)},
	} {
		j, g := jobOf(dense(), 1), targetOf(runtimes.Whole())
		j.Training.Precision, j.Training.FP8.ParameterGather, j.Training.FP8.BF16LastLayers = c.precision, c.precision != "bf16", c.base
		j.Cluster.GPU.PeakFLOPS.FP4 = 4 * j.Cluster.GPU.PeakFLOPS.BF16
		l, x := single(8), execution()
		if c.sharded { // forward and backward, the embedding forward alone, with 64 micro-batches
			g, l.ZeroStage = targetOf(runtimes.Blocks()), 3
		}
		g.Runtime.Sharding.GathersMXFP8Whole = c.whole
		d := New(j, g).Describe(&l, &x)
		check(t, fmt.Sprint(c), collectiveBytes(&d, "data_parallel_shard", "all_gather"), c.want)
	}
}

// TestPrecisionOfMTP: a multi-token-prediction layer runs in 8 bits where the decoder
// does, whatever layers of that stay in 16, and in 16 where the decoder runs in 4.
func TestPrecisionOfMTP(t *testing.T) {
	l, x := single(8), execution()
	l.DataParallelShard, l.MicroBatches = 8, 1
	for precision, quantised := range map[string]bool{"bf16": false, "fp8": true, "mxfp8": true, "nvfp4": false} {
		m := dense()
		m.MTP.Layers = 1
		j := jobOf(m, 1)
		j.Training.Precision, j.Training.FP8.BF16LastLayers = precision, 1
		j.Cluster.GPU.PeakFLOPS.FP4 = 4 * j.Cluster.GPU.PeakFLOPS.BF16
		e := New(j, targetOf(runtimes.Whole()))
		e.Describe(&l, &x)
		s, k := e.step.table, e.arch.MTPKind()
		got, base, low := s.mtp.lines[lineLinear], s.at(k, true, false).lines[lineLinear], s.at(k, false, false).lines[lineLinear]
		if want := map[bool]units.Seconds{false: base, true: low}[quantised]; got != want || precision != "bf16" && base == low {
			t.Errorf("%s: %v, want %v of %v in 16 bits and %v in fewer", precision, got, want, base, low)
		}
	}
}

// TestSequences: where sequences lie behind the batch, each gather and each scatter of
// a layer copies 2·T·h bytes, read and written; where ranks quantise before they gather,
// a gather carries and copies half of it, and a rank of eight quantises an eighth.
func TestSequences(t *testing.T) {
	const layers, activations = 32, 2 * 8192 * 4096 // 2·T·h
	l, x := single(8), execution()
	x.Compile = true
	l.TensorParallel, l.SequenceParallel, l.DataParallelShard, l.MicroBatches = 8, true, 1, 1
	of := func(precision string, tensor runtime.TensorParallel) *Evaluator {
		g := targetOf(runtimes.Blocks())
		g.Runtime.TensorParallel = tensor
		j := jobOf(dense(), 1)
		j.Training.Precision = precision
		return NewWith(j, g, DefaultParameters().With("straggler", 0))
	}
	step := func(e *Evaluator) float64 { return float64(e.Step(&l, &x)) }
	plain, copied, quantised := of("bf16", runtime.TensorParallel{}), of("bf16", runtime.TensorParallel{CopiesSequences: true}), of("bf16", runtime.TensorParallel{GathersQuantised: true})
	copies := func(bytes units.Bytes) float64 { // both blocks, forward and backward
		return float64(layers * 4 * plain.device.Traffic(compute.Elementwise, bytes))
	}
	near(t, "copies", step(copied)-step(plain), copies(4*activations))
	near(t, "16 bits", step(quantised), step(plain))

	plain, copied = of("fp8", runtime.TensorParallel{}), of("fp8", runtime.TensorParallel{CopiesSequences: true, GathersQuantised: true})
	quantised = of("fp8", runtime.TensorParallel{GathersQuantised: true})
	near(t, "copies of 8 bits", step(copied)-step(quantised), copies(3*activations))
	d, q := plain.Describe(&l, &x), quantised.Describe(&l, &x)
	check(t, "gathers in 16 bits", collectiveBytes(&d, "tensor_parallel", "all_gather"), (4*layers+2)*activations)
	check(t, "gathers in 8 bits", collectiveBytes(&q, "tensor_parallel", "all_gather"), (2*layers+2)*activations)

	// Seven of eight parts are quantised elsewhere, of 7 bytes for each element: the
	// inputs of query, key and value, which are one, and of gate and up, and the gradients
	// of the outputs of the two projections back.
	elsewhere := layers * 7. / 8 * 7 * 8192 * (3 + 2) * 4096 / 3.35e12 / DefaultParameters()["rate8.hopper"]
	near(t, "quantised elsewhere", step(plain)-step(quantised), elsewhere+tensorSeconds(&d)-tensorSeconds(&q))
}

// tensorSeconds is what is exposed of tensor parallelism.
func tensorSeconds(d *Description) float64 {
	for _, line := range d.Time.Breakdown {
		if line.ID == "tensor_parallel" {
			return float64(line.Seconds)
		}
	}
	return 0
}

// TestWholeHead works AutoTP's ends out for Llama 3 8B over 8 tensor ranks:
// what stays whole costs every rank what it costs without tensor parallelism.
func TestWholeHead(t *testing.T) {
	const activations = 2 * 8192 * 4096 // 2·T·h
	x := execution()
	x.CrossEntropy = "unfused"
	whole := func(g *target.Target) {
		g.Runtime.TensorParallel = runtime.TensorParallel{WholeEmbedding: true, WholeHead: true, ReducesEachColumn: true}
	}
	gathered := func(g *target.Target) {
		g.Runtime.TensorParallel = runtime.TensorParallel{WholeEmbedding: true, WholeLogits: true, ReducesEachColumn: true}
	}
	describe := func(tensor, data int, change func(*target.Target)) (pass, Description) {
		l, g := single(data), targetOf(runtimes.Buckets())
		g.PaddedVocab = func(m *job.Model, _ int) int { return m.VocabSize }
		change(g)
		l.TensorParallel, l.ZeroStage, l.MicroBatches = tensor, 2, 1
		e := New(jobOf(dense(), 1), g)
		d := e.Describe(&l, &x)
		return e.step.table.head, d
	}
	alone, _ := describe(1, 1, whole)
	head, d := describe(8, 1, whole)
	if got, want := head.lines[lineHead], alone.lines[lineHead]; got != want {
		t.Errorf("a whole head takes %v on every rank, %v on one", got, want)
	}
	// Forward one reduction after attention and one after the MLP, backward one
	// each for q, k, v, gate and up; none for the ends.
	check(t, "reductions", collectiveBytes(&d, "tensor_parallel", "all_reduce"), 32*(2+5)*activations)
	check(t, "gathers", collectiveBytes(&d, "tensor_parallel", "all_gather"), 0)

	// A head that is cut has an eighth of the product, the loss of all logits,
	// which it gathers, and reduces the gradient of its input.
	cut, d := describe(8, 1, gathered)
	e := New(jobOf(dense(), 1), targetOf(runtimes.Buckets()))
	product := func(n int) units.Seconds {
		p := e.device.Linear(e.base, 8192, n, 4096)
		return (p.Forward + p.Backward()).At(e.rate(e.base))
	}
	near(t, "what cutting the head saves", float64(alone.lines[lineHead]-cut.lines[lineHead]), float64(product(128256)-product(128256/8)))
	check(t, "reductions beside a cut head", collectiveBytes(&d, "tensor_parallel", "all_reduce"), (32*(2+5)+1)*activations)
	check(t, "gathered logits", collectiveBytes(&d, "tensor_parallel", "all_gather"), 2*8192*128256)

	// Gradients are reduced of what a rank holds: an eighth of the layers'
	// matrices, the norms, and the ends.
	const matrices, ends = 32 * (2*4096*4096 + 2*4096*1024 + 3*4096*14336), 128256 * 4096
	_, d = describe(4, 2, whole)
	check(t, "gradients, whole ends", collectiveBytes(&d, "data_parallel_shard", "reduce_scatter"), 4*(matrices/4+65*4096+2*ends))
	_, d = describe(4, 2, gathered)
	check(t, "gradients, cut head", collectiveBytes(&d, "data_parallel_shard", "reduce_scatter"), 4*(matrices/4+65*4096+ends+ends/4))
}

// TestSlowed: compute beside a collective loses a share of each second that both
// run. What outlasts the compute loses nothing, and a little more of either never
// makes both together shorter.
func TestSlowed(t *testing.T) {
	const lost = 0.25
	for _, c := range []struct {
		name                   string
		collective, compute, s units.Seconds
	}{
		{"the collective ends first", 4, 10, 1},
		{"both are as long", 4, 4, 1},
		{"the slowed compute ends first", 8, 6, 0},
		{"compute fills the collective", 4, 3, 0},
		{"compute ends a little later", 4, 3.5, 0.5},
		{"no compute", 4, 0, 0},
	} {
		near(t, c.name, float64(slowed(c.collective, c.compute, lost)), float64(c.s))
	}
	both := func(collective, compute float64) float64 {
		return max(collective, compute) + float64(slowed(units.Seconds(collective), units.Seconds(compute), lost))
	}
	for collective := 0.0; collective < 8; collective += 0.5 {
		for compute := 0.0; compute < 8; compute += 0.5 {
			now := both(collective, compute)
			near(t, "both together", now, max(collective, compute+lost*collective))
			if both(collective+0.5, compute) < now || both(collective, compute+0.5) < now {
				t.Errorf("%v beside %v: more takes less than %v", collective, compute, now)
			}
		}
	}
}

// TestHostBetween: without a pipeline the host costs every micro-batch
// something, on its two ends it costs a pipeline something once, and a graph of
// the whole step nothing.
func TestHostBetween(t *testing.T) {
	host := func(pipeline, microBatches int, graphs string) float64 {
		l, x := single(8), execution()
		l.MicroBatches, l.DataParallelShard, x.CUDAGraphs = microBatches, 8/pipeline, graphs
		if pipeline > 1 {
			l.PipelineParallel, l.PipelineSchedule, l.StageLayers = pipeline, plan.Schedule1F1B, []int{16, 16}
		}
		e := New(jobOf(dense(), 1), targetOf(runtimes.Whole()))
		other := single(8)
		e.Step(&other, &x) // tables are shared with layouts without a pipeline
		s := e.run(&l, &x)
		return float64(s.once[lineHost]) + float64(microBatches)*float64(s.table.head.lines[lineHost])
	}
	between, step := DefaultParameters().at("host_micro_batch"), DefaultParameters().at("host_step."+runtimes.Whole().Calibration.Time)
	near(t, "16 micro-batches", host(1, 16, "none"), step+16*between)
	near(t, "16 micro-batches of a pipeline", host(2, 16, "none"), step+2*between)
	near(t, "a graph of the whole step", host(1, 16, "full"), 0)
}

// TestGraphModules: what CUDA graphs hold of a layer the host does not launch: half
// of a dense layer's time for each block, and of what experts add the shares of
// router and preprocessing; experts themselves only with the whole step.
func TestGraphModules(t *testing.T) {
	p := DefaultParameters()
	half, added, expert := p.at("host_layer."+runtimes.Whole().Calibration.Time)/2, p.at("host_moe"), p.at("host_expert")
	router, preprocess := p.at("host_moe_router"), p.at("host_moe_preprocess")
	for _, c := range []struct {
		graphs     string
		dense, moe float64 // host seconds of a forward pass, without experts
	}{
		{"none", 2 * half, 2*half + added},
		{"attention", half, half + added},
		{"mlp", half, 2*half + added},
		{"layer", 0, half + added},
		{"moe_router", 2 * half, half + added*(1-router)},
		{"attention+moe_router+moe_preprocess", half, added * (1 - router - preprocess)},
		{"full", 0, 0},
	} {
		for _, m := range []struct {
			of   job.Model
			want float64
		}{{dense(), c.dense}, {moe(), c.moe}} {
			e, l, x := New(jobOf(m.of, 1), targetOf(runtimes.Whole())), single(8), execution()
			x.CUDAGraphs = c.graphs
			s := program.ShapeOf(&l)
			b := e.start(&l, &x, e.groupsOf(&l, &x), false)
			kind := len(e.arch.Kinds()) - 1
			layer := e.arch.Layer(kind, &s, &e.assembly)
			if m.of.MoE != nil {
				b.experts = 3
			}
			got := float64(b.launches(layer))
			if m.of.MoE != nil && c.graphs != "full" {
				got -= 3 * expert
			}
			if math.Abs(got-m.want) > 1e-12 {
				t.Errorf("%s: the host launches for %v s, want %v", c.graphs, got, m.want)
			}
		}
	}
}

// TestRecomputesLossChunks: chunks of a loss that are recomputed cost the forward pass of the head
// once more, what it gathers included.
func TestRecomputesLossChunks(t *testing.T) {
	l, x := single(1), execution()
	l.TensorParallel, l.ZeroStage, x.LossChunks = 8, 2, 8
	head := func(again bool) (pass, Description) {
		g := targetOf(runtimes.Buckets())
		g.Runtime.TensorParallel.WholeLogits, g.Runtime.Loss.RecomputesChunks = true, again
		e := New(jobOf(dense(), 1), g)
		d := e.Describe(&l, &x)
		return e.step.table.head, d
	}
	once, gathers := head(false)
	again, more := head(true)
	near(t, "a head whose chunks run again", float64(again.backward), float64(once.backward+once.forward-once.lines[lineHost]))
	check(t, "what it gathers", collectiveBytes(&more, "tensor_parallel", "all_gather"), 2*collectiveBytes(&gathers, "tensor_parallel", "all_gather"))
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

func check(t *testing.T, what string, got, want units.Bytes) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d bytes, want %d", what, got, want)
	}
}

// TestExpertVolume: dispatch and combine move every token's top-k copies once
// each, forward and backward.
func TestExpertVolume(t *testing.T) {
	l, x := single(8), execution()
	l.ExpertParallel = 8
	d := New(jobOf(moe(), 1), targetOf(runtimes.Whole())).Describe(&l, &x)
	check(t, "all-to-all", collectiveBytes(&d, "expert_parallel", "all_to_all"), 64*31*4*2*2*8192*4096)
}

// TestPaddedVolume: where tokens are dropped the plain exchange sends each expert its capacity,
// which no load makes uneven; DeepEP sends what is not dropped.
func TestPaddedVolume(t *testing.T) {
	for dispatcher, sent := range map[string]units.Bytes{"alltoall": 5, "deepep": 4} {
		l, x := single(8), execution()
		l.ExpertParallel, x.MoEDispatcher = 8, dispatcher
		even, m := moe(), moe()
		even.MoE.TokenDrop, even.MoE.CapacityFactor = true, 1
		m.MoE.TokenDrop, m.MoE.CapacityFactor, m.MoE.LoadImbalance = true, 1.25, 1
		whole := New(jobOf(even, 1), targetOf(runtimes.Whole())).Describe(&l, &x)
		padded := New(jobOf(m, 1), targetOf(runtimes.Whole())).Describe(&l, &x)
		check(t, dispatcher, 4*collectiveBytes(&padded, "expert_parallel", "all_to_all"), sent*collectiveBytes(&whole, "expert_parallel", "all_to_all"))
	}
}

// TestSplitExperts: ranks that split experts exchange the rows that were routed to them,
// or read all tokens of their group, which are gathered and scattered once around the
// mixture.
func TestSplitExperts(t *testing.T) {
	const layers, tokens = 31, units.Bytes(2 * 8192 * 4096) // beside one without experts
	l, x := single(8), execution()
	l.TensorParallel, l.SequenceParallel, l.ExpertTensorParallel, l.DataParallelShard, l.MicroBatches = 8, true, 8, 1, 512
	routed := tokens * units.Bytes(moe().MoE.TopK)
	for _, c := range []struct {
		input                      runtime.ExpertInput
		split, whole               bool
		gathered, routed, exchange units.Bytes // of a layer, forward and backward
	}{
		{runtime.PartInput, true, false, 2 * tokens, 2 * routed, 0},
		{runtime.WholeWhereSplit, true, true, 4 * tokens, 0, 0},
		{runtime.WholeInput, true, true, 4 * tokens, 0, 0},
		{runtime.WholeWhereSplit, false, false, 2 * tokens, 0, 4 * routed / 8},
		{runtime.WholeInput, false, true, 4 * tokens, 0, 4 * routed / 8},
	} {
		l := l
		if !c.split {
			l.ExpertTensorParallel, l.ExpertParallel = 1, 8
		}
		g := targetOf(runtimes.Blocks())
		g.Runtime.Experts.Input = c.input
		d := New(jobOf(moe(), 1), g).Describe(&l, &x)
		check(t, "gathers", collectiveBytes(&d, "tensor_parallel", "all_gather"), 512*(layers*c.gathered+(4+2)*tokens))
		check(t, "routed rows", collectiveBytes(&d, "expert_tensor_parallel", "all_gather"), 512*layers*c.routed)
		check(t, "their outputs", collectiveBytes(&d, "expert_tensor_parallel", "reduce_scatter"), 512*layers*c.routed)
		check(t, "exchange", collectiveBytes(&d, "expert_parallel", "all_to_all"), 512*layers*c.exchange)
	}
}

// TestLaunchedTogether: where one launch multiplies the rows of all experts, the host
// does not launch them one by one, which takes longer than to multiply little.
func TestLaunchedTogether(t *testing.T) {
	m := moe()
	m.SequenceLength, m.MoE.Experts, m.MoE.ExpertFFNHiddenSize = 512, 128, 64
	l, x := single(8), execution()
	step := func(together bool) units.Seconds {
		g := targetOf(runtimes.Blocks())
		g.Runtime.Experts.LaunchedTogether = together
		return New(jobOf(m, 1), g).Step(&l, &x)
	}
	e := New(jobOf(m, 1), targetOf(runtimes.Blocks()))
	layers := 31 * units.Seconds(l.MicroBatches) * (1 + units.Seconds(e.hostBackward)) // forward and backward
	if saved, all := step(false)-step(true), layers*128*e.hostExpert; saved < all/2 || saved > 1.2*all {
		t.Errorf("saved %v, of which the host takes %v one by one", saved, all)
	}
}

// TestBehindCounts: the host launches what follows the router when it has read the counts of
// tokens, later than the device could run it; a Grace CPU takes longer. Where
// nothing is read, or a graph launches all of it, nobody waits.
func TestBehindCounts(t *testing.T) {
	p := DefaultParameters()
	p = p.With("host_layer."+runtimes.Whole().Calibration.Time, 0) // what stands before is launched in no time
	host := p.at("host_moe_exchange")*p.at("host_moe") + 2*p.at("host_expert")
	for _, c := range []struct {
		name   string
		change func(*job.Job, *target.Target, *plan.Layout, *plan.Execution)
		times  float64 // of what the host launches; 0: nobody waits
	}{
		{"alltoall", func(*job.Job, *target.Target, *plan.Layout, *plan.Execution) {}, 1},
		{"gb200", func(j *job.Job, _ *target.Target, _ *plan.Layout, _ *plan.Execution) { j.Cluster.GPU.Catalog = "gb200" }, p.at("host_grace")},
		{"router in a graph", func(_ *job.Job, _ *target.Target, _ *plan.Layout, x *plan.Execution) {
			x.CUDAGraphs = "moe_router+moe_preprocess"
		}, 1},
		{"experts in a graph", func(_ *job.Job, _ *target.Target, _ *plan.Layout, x *plan.Execution) { x.CUDAGraphs = "moe" }, 0},
		{"step in a graph", func(_ *job.Job, _ *target.Target, _ *plan.Layout, x *plan.Execution) { x.CUDAGraphs = "full" }, 0},
		{"padded", func(j *job.Job, _ *target.Target, _ *plan.Layout, _ *plan.Execution) { j.Model.MoE.TokenDrop = true }, 0},
		{"allgather", func(_ *job.Job, _ *target.Target, _ *plan.Layout, x *plan.Execution) { x.MoEDispatcher = "allgather" }, 0},
		{"launched together over ranks", func(_ *job.Job, g *target.Target, _ *plan.Layout, _ *plan.Execution) {
			g.Runtime.Experts.LaunchedTogether = true
		}, (host - 2*p.at("host_expert")) / host},
		{"launched together on a rank", func(_ *job.Job, g *target.Target, l *plan.Layout, _ *plan.Execution) {
			g.Runtime.Experts.LaunchedTogether, l.ExpertParallel = true, 1
		}, 0},
	} {
		m := moe()
		m.SequenceLength, m.MoE.ExpertFFNHiddenSize = 8192, 64 // the device takes long, but for experts
		j, g, l, x := jobOf(m, 1), targetOf(runtimes.Whole()), single(8), execution()
		l.ExpertParallel = 8
		c.change(j, g, &l, &x)
		e := NewWith(j, g, p)
		s := program.ShapeOf(&l)
		b := e.start(&l, &x, e.groupsOf(&l, &x), false)
		kind := len(e.arch.Kinds()) - 1
		b.layer(e.arch.Layer(kind, &s, &e.assembly), kind)
		want := max(0, c.times*host-float64(b.fwd[lineExperts]+b.fwd[lineExpert]))
		if (want > 0) != (c.times > 0) {
			t.Errorf("%s: the device takes %v for experts, the host %v", c.name, b.fwd[lineExperts]+b.fwd[lineExpert], host)
		}
		if got := float64(b.fwd[lineHost]); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: a forward waits %v s for the host, want %v", c.name, got, want)
		}
	}
}

// TestDomains: of d NVLink domains a token with k copies touches
// d·(1−(1−1/d)^k); DeepEP sends it once to each.
func TestDomains(t *testing.T) {
	m := moe()
	m.MoE.Experts, m.MoE.TopK = 64, 8
	l, x := single(64), execution()
	l.ExpertParallel = 64
	plain := New(jobOf(m, 8), targetOf(runtimes.Whole())).Describe(&l, &x)
	x.MoEDispatcher = "deepep"
	deduplicated := New(jobOf(m, 8), targetOf(runtimes.Whole())).Describe(&l, &x)
	got := float64(collectiveBytes(&deduplicated, "expert_parallel", "all_to_all")) / float64(collectiveBytes(&plain, "expert_parallel", "all_to_all"))
	if want := 8 * (1 - math.Pow(7.0/8, 8)) / 8; math.Abs(got-want) > 1e-6 {
		t.Errorf("share of copies that travel: %v, want %v", got, want)
	}
}

// TestRanks: inside a domain DeepEP sends a token once to each rank, of which
// there are 8.
func TestRanks(t *testing.T) {
	m := moe()
	m.MoE.Experts, m.MoE.TopK = 64, 8
	l, x := single(8), execution()
	l.ExpertParallel = 8
	plain := New(jobOf(m, 1), targetOf(runtimes.Whole())).Describe(&l, &x)
	x.MoEDispatcher = "hybridep"
	once := New(jobOf(m, 1), targetOf(runtimes.Whole())).Describe(&l, &x)
	got := float64(collectiveBytes(&once, "expert_parallel", "all_to_all")) / float64(collectiveBytes(&plain, "expert_parallel", "all_to_all"))
	if want := 5.251 / 8; math.Abs(got-want) > 1e-4 {
		t.Errorf("share of copies that travel: %v, want %v", got, want)
	}
}

// TestEarlyStop: recompute that stops early leaves out the MLP's second product
// and what follows it.
func TestEarlyStop(t *testing.T) {
	l, x := single(8), execution()
	l.TensorParallel, l.SequenceParallel, l.DataParallelShard, l.MicroBatches = 8, true, 1, 512
	work := func(r plan.Recompute, early bool) units.Seconds {
		g := targetOf(runtimes.Blocks())
		g.Runtime.Recompute.StopsEarly = early
		l.Recompute, l.RecomputeMethod, l.RecomputeLayers = r, "uniform", 1
		e := New(jobOf(dense(), 1), g)
		return e.run(&l, &x).work
	}
	e := New(jobOf(dense(), 1), targetOf(runtimes.Blocks()))
	e.run(&l, &x)
	out := e.device.Linear(e.base, 8192, 4096, 14336/8).Forward.At(e.rate(e.base))
	scatter := e.step.g.tensor.ReduceScatter(2 * 8192 * 4096)
	none, full, early := work(plan.RecomputeNone, true), work(plan.RecomputeFull, false), work(plan.RecomputeFull, true)
	if early <= none || early >= full {
		t.Fatalf("without recompute %v, stopping early %v, in full %v", none, early, full)
	}
	if got, want := full-early, 32*(out+scatter); math.Abs(float64(got-want)) > 1e-9 {
		t.Errorf("saved %v, want %v", got, want)
	}
}

// TestRunOptions: what a run had beyond the recommended makes it faster or
// slower as it should.
func TestRunOptions(t *testing.T) {
	l, x := single(8), execution()
	l.ExpertParallel, x.Attention = 8, "fused"
	step := func(change func(*target.Target)) units.Seconds {
		j, g := jobOf(moe(), 1), targetOf(runtimes.Whole())
		j.Training.Precision, j.Cluster.GPU.Catalog = "fp8", "gb200"
		change(g)
		return New(j, g).Step(&l, &x)
	}
	plain := step(func(*target.Target) {})
	for name, change := range map[string]func(*target.Target){
		"fused experts":      func(g *target.Target) { g.Runtime.Experts.FusedMLP = true },
		"attention in 8 bit": func(g *target.Target) { g.Runtime.LowPrecision.Attention = true },
	} {
		if t1 := step(change); t1 >= plain {
			t.Errorf("%s: %v, without %v", name, t1, plain)
		}
	}
	for name, change := range map[string]func(*target.Target){
		"scales by row":      func(g *target.Target) { g.Runtime.LowPrecision.RowScaled = true },
		"an earlier release": func(g *target.Target) { g.Runtime.LowPrecision.ReleasesBehind = 3 },
	} {
		if t1 := step(change); t1 <= plain {
			t.Errorf("%s: %v, without %v", name, t1, plain)
		}
	}
}

// TestDispatcherRate: 64 MiB take 64 MiB / (20 · 19.5 GB/s) = 172 µs by a dispatcher of
// 20 multiprocessors inside an NVLink domain, however fast the links are. NCCL and
// the network have no such limit.
func TestDispatcherRate(t *testing.T) {
	j := jobOf(moe(), 2)
	e := New(j, targetOf(runtimes.Whole()))
	inside, beyond := e.topology.Group(8, 1), e.topology.Group(16, 1)
	if got := e.moved(&inside, "deepep", 64<<20); math.Abs(float64(got)-172.07e-6) > 1e-8 {
		t.Errorf("inside a domain: %v", got)
	}
	if e.moved(&inside, "alltoall", 64<<20) != 0 || e.moved(&beyond, "deepep", 64<<20) != 0 {
		t.Error("a limit where nothing was measured")
	}
}

// TestExpertTraffic: biases of experts cost memory traffic, and kernels that
// send tokens sort them once instead of twice.
func TestExpertTraffic(t *testing.T) {
	l, x := single(8), execution()
	l.ExpertParallel = 8
	line := func(bias bool, dispatcher string) units.Seconds {
		m := moe()
		m.MLPBias, x.MoEDispatcher = bias, dispatcher
		e := New(jobOf(m, 1), targetOf(runtimes.Whole()))
		e.run(&l, &x)
		return e.step.table.at(e.arch.KindOf(m.Layers-1), false, false).lines[lineMemoryBound]
	}
	plain := line(false, "alltoall")
	if got := line(true, "alltoall"); got <= plain {
		t.Errorf("with biases %v, without %v", got, plain)
	}
	apart := "" // an implementation that clamps with operators of their own
	for layers, operations := range implementations() {
		if operations["clamp"].Forward > 0 {
			apart = layers
		}
	}
	clamped := func(clamp float64) units.Seconds {
		m := moe()
		m.Activation.Clamp = clamp
		g := targetOf(runtimes.Whole())
		g.Runtime.Layers.Implementation, g.Runtime.Layers.Elementwise = apart, ""
		e := New(jobOf(m, 1), g)
		e.run(&l, &x)
		return e.step.table.at(e.arch.KindOf(m.Layers-1), false, false).lines[lineMemoryBound]
	}
	m := moe()
	rows := 8192 * float64(m.MoE.TopK) * float64(m.MoE.ExpertFFNHiddenSize)
	device := New(jobOf(m, 1), targetOf(runtimes.Whole())).device
	want := device.Traffic(compute.Elementwise, units.Bytes(16*rows)) + device.Traffic(compute.Elementwise, units.Bytes(30*rows))
	if got := clamped(7) - clamped(0); math.Abs(float64(got/want)-1) > 1e-3 {
		t.Errorf("clamping takes %v, want %v", got, want)
	}
	if got := line(false, "deepep"); got >= plain {
		t.Errorf("sorted once %v, twice %v", got, plain)
	}
}

// TestRoutedTraffic works out what rows of experts move where layers list it by
// operation: permuted and, from other ranks, once more on arrival; where kernels send
// tokens, half of both; and weighed once.
func TestRoutedTraffic(t *testing.T) {
	layers := ""
	for name, operations := range implementations() {
		if operations["arrival"].Forward > 0 {
			layers = name
		}
	}
	m := moe()
	line := func(layers string, expertParallel int, dispatcher string) units.Seconds {
		l, x := single(8), execution()
		l.ExpertParallel, x.Compile, x.MoEDispatcher = expertParallel, true, dispatcher
		g := targetOf(runtimes.Blocks())
		g.Runtime.Layers.Compiled = layers
		e := New(jobOf(m, 1), g)
		e.run(&l, &x)
		return e.step.table.at(e.arch.KindOf(m.Layers-1), false, false).lines[lineMemoryBound]
	}
	device := New(jobOf(m, 1), targetOf(runtimes.Blocks())).device
	rows := 8192 * float64(m.MoE.TopK) * float64(m.HiddenSize)
	moved := func(kernel compute.Traffic, bytes ...float64) (all units.Seconds) {
		for _, b := range bytes {
			all += device.Traffic(kernel, units.Bytes(b*rows))
		}
		return all
	}
	// The sums of gradients: two of q, k and v, and of the router's and the experts'; 2 bytes each.
	sums := device.Traffic(compute.Elementwise, units.Bytes(2*2*8192*m.HiddenSize)) + device.Traffic(compute.Elementwise, units.Bytes(2*8192*m.HiddenSize))
	plain := moved(compute.Permute, 8, 8)
	weighed := moved(compute.Elementwise, 2, 5)
	for _, c := range []struct {
		name           string
		expertParallel int
		dispatcher     string
		want           units.Seconds
	}{
		{"of this rank", 1, "alltoall", moved(compute.Permute, 9, 8) - plain},
		{"of eight ranks", 8, "alltoall", moved(compute.Permute, 9, 8, 8, 12) - plain},
		{"sent by kernels", 8, "deepep", moved(compute.Permute, 4.5, 4, 4, 6) - moved(compute.Permute, 4, 4)},
	} {
		got := line(layers, c.expertParallel, c.dispatcher) - line("", c.expertParallel, c.dispatcher)
		if want := c.want + weighed + sums; math.Abs(float64(got/want)-1) > 1e-2 {
			t.Errorf("%s: %v more, want %v", c.name, got, want)
		}
	}
}

// TestTransfers: without sequence parallelism every tensor-parallel rank sends
// the whole activation; some send their part and gather.
func TestTransfers(t *testing.T) {
	l, x := single(8), execution()
	l.TensorParallel, l.PipelineParallel, l.PipelineSchedule, l.StageLayers = 4, 2, plan.Schedule1F1B, []int{16, 16}
	l.DataParallelShard, l.MicroBatches = 1, 512
	const activation = 2 * 8192 * 4096
	now := New(jobOf(dense(), 1), targetOf(runtimes.Whole())).Describe(&l, &x)
	then := New(jobOf(dense(), 1), old(targetOf(runtimes.Whole()))).Describe(&l, &x)
	check(t, "whole", collectiveBytes(&now, "pipeline_parallel", "point_to_point"), 512*activation)
	check(t, "a part", collectiveBytes(&then, "pipeline_parallel", "point_to_point"), 512*activation/4)
}

// TestFullRecompute repeats the forward of every layer and nothing else.
func TestFullRecompute(t *testing.T) {
	e := New(jobOf(dense(), 1), targetOf(runtimes.Whole()))
	l, x := single(8), execution()
	plain := e.run(&l, &x).work
	forward := 32 * e.step.table.at(0, false, false).forward
	l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "uniform", 1
	if got := e.run(&l, &x).work - plain; math.Abs(float64(got-forward)) > 1e-12 {
		t.Errorf("full recompute costs %v, want the forward %v", got, forward)
	}
	l.RecomputeMethod, l.RecomputeLayers = "block", 8
	if got := e.run(&l, &x).work - plain; math.Abs(float64(got-forward/4)) > 1e-12 {
		t.Errorf("8 of 32 layers cost %v, want %v", got, forward/4)
	}
}

// TestHostUpdate: an update of 1,000 million parameters at 30 bytes takes as
// long as the rank's cores need for it, until they wait for the node's memory.
func TestHostUpdate(t *testing.T) {
	seconds := func(cores, asked int) float64 {
		j := jobOf(dense(), 1)
		j.Cluster.CPUsPerNode, j.Slurm.CPUsPerTask = cores, asked
		e := New(j, targetOf(runtimes.Buckets()))
		return float64(e.hostUpdate(1e9, 30, 6) - e.overPCIe(6e9))
	}
	p := DefaultParameters()
	core, node := p.at("host_core_bandwidth"), p.at("host_memory_bandwidth")*p.at("host_memory_share")
	for _, c := range []struct {
		name         string
		cores, asked int
		want         float64
	}{
		{"unknown: a core for each rank", 0, 0, 30e9 / core},
		{"8 cores over 8 ranks", 8, 0, 30e9 / core},
		{"112 cores wait for the memory", 112, 0, 30e9 / (node / 8)},
		{"Slurm gives fewer", 112, 8, 30e9 / core},
		{"Slurm counts hardware threads", 8, 16, 30e9 / core},
	} {
		if got := seconds(c.cores, c.asked); math.Abs(got/c.want-1) > 1e-12 {
			t.Errorf("%s: %v s, want %v", c.name, got, c.want)
		}
	}
}

// TestStagedUpdate: Adam with fp32 moments and bf16 gradients that are not clipped moves
// 28 bytes for a parameter on the host, and 4 over PCIe. Where gradients are staged,
// clipped or not, it is 4 + 4 + 8 + 4 + 8 + 16 + 6 + 2 = 52 and 10 (docs/time.md).
func TestStagedUpdate(t *testing.T) {
	for _, c := range []struct {
		staged         bool
		clipping       float64
		bytes, crosses float64
	}{{false, 0, 28, 4}, {false, 1, 34, 4}, {true, 0, 52, 10}, {true, 1, 52, 10}} {
		j := jobOf(dense(), 1)
		j.Training.Optimizer.GradientClipping = c.clipping
		r := runtimes.Buckets()
		r.Host.StagesGradients = c.staged
		e := New(j, targetOf(r))
		l, x := single(8), execution()
		l.ZeroStage, x.GradientDType, x.OffloadOptimizer = 3, "bf16", true
		s := e.run(&l, &x)
		n := s.elements[0]
		want := e.hostUpdate(float64(n.Dense)/float64(s.g.shard.Size()), c.bytes, c.crosses)
		near(t, fmt.Sprintf("staged %v, clipped at %v", c.staged, c.clipping), float64(s.once[lineHostUpdate]), float64(want))
		if s.once[lineOptimizer] != 0 {
			t.Errorf("the GPU updates for %v, too", s.once[lineOptimizer])
		}
	}
}

// TestGatherBesideUpdate: the first of four equal chunks hides behind the update of
// the other three, which hide behind the window. What does not, is left of each.
func TestGatherBesideUpdate(t *testing.T) {
	j := jobOf(dense(), 8)
	l, x := single(16), execution()
	l.PipelineParallel, l.VirtualPipeline, l.PipelineSchedule = 4, 4, plan.ScheduleInterleaved1F1B
	l.StageLayers = slices.Repeat([]int{2}, 16)
	e := New(j, targetOf(runtimes.Whole()))
	e.Step(&l, &x)
	plain := e.step.once[lineParameters]
	x.OverlapOptimizerGather = true
	e.Step(&l, &x)
	n, first := e.step.elements[0], e.step.first
	if n.Dense-first.Dense != 3*(first.Dense-128256*4096) { // the embedding is in the first
		t.Fatalf("elements %d, of the first chunk %d", n.Dense, first.Dense)
	}
	update := e.update(&l, &x, program.Elements{Dense: n.Dense - first.Dense})
	share := units.Seconds(first.Dense) / units.Seconds(n.Dense)
	for _, c := range []struct{ gather, window, want units.Seconds }{
		{update, 10 * update, 0},
		{4 * update, 10 * update, 4*update*share - update},
		{4 * update, update, 4*update*share - update + 4*update*(1-share) - update},
	} {
		if got, _ := e.besideUpdate(&l, &x, n, c.gather, c.window); math.Abs(float64(got-c.want)) > 1e-12 {
			t.Errorf("gather %v, update %v, window %v: %v s exposed, want %v", c.gather, update, c.window, got, c.want)
		}
	}
	if plain <= 0 || e.step.once[lineParameters] == plain {
		t.Errorf("%v s exposed, with and without", plain)
	}
}

// TestSlowerReduction: the last bucket of a reduction has no compute beside it, and what
// comes before it slows the compute that it has. Both grow with the time of the reduction,
// so that a slower network makes no step shorter.
func TestSlowerReduction(t *testing.T) {
	j, r := jobOf(dense(), 64), runtimes.Buckets()
	r.Buckets.UnhiddenPerRank = 4e6
	l, x := single(512), execution()
	before := New(j, targetOf(r)).Step(&l, &x)
	for b := 50e9; b > 5e9; b *= 0.98 {
		j.Cluster.Network.Bandwidth = units.BytesPerSecond(b)
		after := New(j, targetOf(r)).Step(&l, &x)
		if after < before {
			t.Fatalf("at %.1f GB/s a step takes %v, at more %v", b/1e9, after, before)
		}
		before = after
	}
}

// TestHostBandwidth: what eight ranks move at once takes as long as PCIe needs, or
// the memory that they share.
func TestHostBandwidth(t *testing.T) {
	for _, c := range []struct{ stated, rate float64 }{{0, 63e9}, {614e9, 63e9}, {80e9, 10e9}} {
		j := jobOf(dense(), 1)
		j.Cluster.HostMemoryBandwidth = units.BytesPerSecond(c.stated)
		if got := New(j, targetOf(runtimes.Buckets())).overPCIe(63e9); math.Abs(float64(got)-63e9/c.rate) > 1e-9 {
			t.Errorf("%v stated: 63 GB of each rank take %v, want %v", c.stated, got, 63e9/c.rate)
		}
	}
}

// TestHierarchicalContext: ranks of a node exchange heads for tokens, and pass keys and values
// on to those of other nodes.
func TestHierarchicalContext(t *testing.T) {
	j := jobOf(dense(), 4)
	l, x := single(1), execution()
	l.TensorParallel, l.SequenceParallel, l.ContextParallel, x.ContextParallelType = 2, true, 16, "hierarchical"
	d := New(j, targetOf(runtimes.Whole())).Describe(&l, &x)
	const head = 512 * 32 * 2 * (8192 / 16) * 2 * 128 // bytes of a key and a value head of all layers and micro-batches, forward
	check(t, "exchange", collectiveBytes(&d, "context_parallel", "all_to_all"), 2*head*(16+4))
	check(t, "ring", collectiveBytes(&d, "context_parallel", "point_to_point"), 3*head*4*(16/4-1))
	for _, c := range d.Communication {
		if c.Group == "context_parallel" && c.Collective == "all_to_all" && c.Link != "nvlink" {
			t.Errorf("heads are exchanged over %s", c.Link)
		}
	}
}

// TestRing: a ring over four times as long a block keeps more of the rate of attention,
// by (1 + 1100/2048)/(1 + 1100/8192), and gathered keys and values do not depend on it.
func TestRing(t *testing.T) {
	seconds := func(d *Description) (s float64) {
		for _, b := range d.Time.Breakdown {
			if b.ID == "attention" {
				s = float64(b.Seconds)
			}
		}
		return s
	}
	attention := func(sequence int, kind string) float64 {
		j := jobOf(dense(), 1)
		j.Model.SequenceLength = sequence
		e := New(j, targetOf(runtimes.Whole()))
		l, x := single(8), execution()
		l.ContextParallel, l.DataParallelShard, l.MicroBatches, x.ContextParallelType = 4, 2, 256, kind
		ring := e.Describe(&l, &x)
		l.ContextParallel, l.DataParallelShard, l.MicroBatches = 1, 8, 64
		whole := e.Describe(&l, &x)
		return seconds(&whole) / seconds(&ring)
	}
	p, engine := DefaultParameters(), runtimes.Whole().Calibration.Time
	block, kept := p["ring_block."+engine], p["ring_efficiency."+engine]
	for _, c := range []struct {
		sequence int
		kind     string
		want     float64
	}{
		{8192, "ring", kept / (1 + block/2048)}, {32768, "ring", kept / (1 + block/8192)},
		{8192, "all_gather", kept}, {32768, "all_gather", kept},
	} {
		if got := attention(c.sequence, c.kind); math.Abs(got/c.want-1) > 1e-6 {
			t.Errorf("%s over %d tokens keeps %.4f, want %.4f", c.kind, c.sequence, got, c.want)
		}
	}
}

// TestOffloadBandwidth: activations cross a link of 225 GB/s no faster than one of
// 64, and one of 32 more slowly.
func TestOffloadBandwidth(t *testing.T) {
	step := func(link units.BytesPerSecond) units.Seconds {
		j := jobOf(dense(), 1)
		j.Cluster.PCIe.Bandwidth, j.Cluster.HostMemoryBandwidth = link, 4096e9
		l, x := single(8), execution()
		l.DataParallelShard, l.MicroBatches, x.OffloadActivations = 8, 64, true
		return New(j, targetOf(runtimes.Whole())).Step(&l, &x)
	}
	if wide, fits, narrow := step(225e9), step(64e9), step(32e9); wide != fits || narrow <= fits {
		t.Errorf("%v over 225 GB/s, %v over 64, %v over 32", wide, fits, narrow)
	}
}

// TestParameters: every parameter is bounded, has a unit and a source, and
// moves some prediction.
func TestParameters(t *testing.T) {
	seen, samples := map[string]bool{}, variety()
	for _, r := range ParameterRecords() {
		if seen[r.Name] || r.Source == "" || r.Unit == "" || r.Low > r.Value || r.Value > r.High || r.Low == r.High {
			t.Errorf("%s: twice, unbounded, or without unit or source", r.Name)
		}
		seen[r.Name] = true
		other := r.High
		if other == r.Value {
			other = r.Low
		}
		if !moves(samples, r.Name, other) {
			t.Errorf("%s moves no prediction", r.Name)
		}
	}
}

// moves reports whether a parameter changes one of the predictions.
func moves(samples []sample, name string, value float64) bool {
	changed := DefaultParameters().With(name, value)
	for i := range samples {
		c := &samples[i]
		c.evaluator.Use(changed)
		if c.evaluator.Step(&c.layout, &c.exec) != c.step {
			return true
		}
	}
	return false
}

// sample is one prediction.
type sample struct {
	job    *job.Job
	target *target.Target
	layout plan.Layout
	exec   plan.Execution

	evaluator *Evaluator
	step      units.Seconds // with the embedded parameters
}

// variety is every engine, GPU, precision and option once.
func variety() []sample {
	var out []sample
	for _, gpu := range []job.GPU{
		{Catalog: "h100_sxm", ComputeCapability: "9.0", Power: 700}, {Catalog: "a100_80gb", ComputeCapability: "8.0", Power: 400},
		{Catalog: "b200", ComputeCapability: "10.0", Power: 1000}, {Catalog: "h100_96gb_500w", ComputeCapability: "9.0", Power: 500},
		{Catalog: "v100_32gb", ComputeCapability: "7.0", Power: 300}, {Catalog: "gb200", ComputeCapability: "10.0", Power: 1200}, // with a Grace CPU
	} {
		for _, precision := range []string{"bf16", "fp8", "nvfp4"} {
			for _, r := range runtimes.All() {
				s := sample{job: jobOf(moe(), 1), target: targetOf(r), layout: single(8), exec: execution()}
				on(s.job, &gpu)
				s.job.Training.Precision = precision
				s.layout.ExpertParallel, s.layout.ContextParallel, s.layout.DataParallelShard, s.layout.MicroBatches = 8, 2, 4, 128
				out = append(out, s)
				captured := s
				captured.job = jobOf(moe(), 1)
				captured.job.Model.SequenceLength, captured.exec.CUDAGraphs = 256, "moe_router+moe_preprocess" // so little that the host is slower
				out = append(out, captured)
				short := jobOf(dense(), 8) // with chunks of one layer, for which it is slower, too
				short.Model.SequenceLength = 256
				out = append(out, sample{job: short, target: targetOf(r), layout: piped(plan.ScheduleInterleaved1F1B, 4, 16), exec: execution()})
				sent := s
				away := *s.job // with a link to the host that is wider than what activations reach
				away.Cluster.PCIe.Bandwidth, away.Cluster.HostMemoryBandwidth = 225e9, 4096e9
				sent.job, sent.exec.OffloadActivations = &away, true
				out = append(out, sent)
				for _, dispatcher := range []string{"deepep", "hybridep"} {
					beside := s
					beside.exec.MoEDispatcher, beside.exec.OverlapExpertParallel = dispatcher, true
					out = append(out, beside)
					fast := *s.job // links faster than what the dispatcher moves
					fast.Cluster.NVLink.Bandwidth = 900e9
					beside.job, beside.exec.OverlapExpertParallel = &fast, false
					out = append(out, beside)
				}
				s.target, s.exec.CrossEntropy, s.exec.OffloadOptimizer = old(s.target), "unfused", true
				s.job = jobOf(dense(), 1)
				on(s.job, &gpu)
				if precision == "fp8" {
					s.job.Cluster.CPUsPerNode = 112 // its memory is the limit then, one core for each rank before
				}
				s.layout.ExpertParallel = 1
				out = append(out, s)
				slow := *out[len(out)-1].job
				slow.Backend.Environment = []job.Variable{{Name: "CUDA_LAUNCH_BLOCKING", Value: "1"}}
				out = append(out, sample{job: &slow, target: targetOf(r), layout: single(8), exec: execution()})
				early := targetOf(r)
				early.Runtime.LowPrecision = runtime.LowPrecision{ReleasesBehind: 4, RowScaled: true}
				out = append(out, sample{job: jobOf(moe(), 1), target: early, layout: single(8), exec: execution()})
				out[len(out)-1].job.Training.Precision = precision
				s.job = jobOf(dense(), 1)
				s.job.Training.Optimizer.Kind, s.exec.Compile, s.exec.OffloadOptimizer = "muon", true, false
				out = append(out, s)
			}
		}
	}
	for i := range out {
		c := &out[i]
		c.evaluator = New(c.job, c.target)
		c.step = c.evaluator.Step(&c.layout, &c.exec)
	}
	return out
}

// on gives a job's GPU another name, silicon and power.
func on(j *job.Job, gpu *job.GPU) {
	g := &j.Cluster.GPU
	g.Catalog, g.ComputeCapability, g.Power = gpu.Catalog, gpu.ComputeCapability, gpu.Power
}

// TestSilicon: boards of one silicon share its parameters, and 16-bit products
// follow their power limit; what nothing is known of keeps the default.
func TestSilicon(t *testing.T) {
	p := DefaultParameters()
	gpu := func(capability string, watts float64) *job.GPU {
		return &job.GPU{ComputeCapability: capability, Power: watts}
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"a board of Hopper", p.ofSilicon("rate16", gpu("9.0", 900)), p["rate16.hopper"]},
		{"capability 10.3", p.ofSilicon("rate8", gpu("10.3", 0)), p["rate8.blackwell"]},
		{"capability 7.0", p.ofSilicon("rate16", gpu("7.0", 300)), p["rate16.default"]},
		{"no capability", p.ofSilicon("rate16", gpu("", 300)), p["rate16.default"]},
		{"the usual board", p.ofPower("power16", gpu("9.0", 700)), 1},
		{"500 of 700 W", p.ofPower("power16", gpu("9.0", 500)), math.Pow(5./7, p["power16.default"])},
		{"500 of 700 W in 8 bits", p.ofPower("power8", gpu("9.0", 500)), math.Pow(5./7, p["power8.hopper"])},
		{"1,000 of 1,200 W in 8 bits", p.ofPower("power8", gpu("10.0", 1000)), 1},
		{"unknown power", p.ofPower("power16", gpu("9.0", 0)), 1},
		{"300 W for 66 of 132 units", p.ofPower("power16", &job.GPU{ComputeCapability: "9.0", Power: 300, SMs: 66}), math.Pow(6./7, p["power16.default"])},
		{"500 W for 66 of 132 units", p.ofPower("power16", &job.GPU{ComputeCapability: "9.0", Power: 500, SMs: 66}), 1},
		{"1,000 W for 148 of 152 units", p.ofPower("power16", &job.GPU{ComputeCapability: "10.0", Power: 1000, SMs: 148}), math.Pow(1./1.2, p["power16.default"])},
		{"unknown silicon", p.ofPower("power16", gpu("7.0", 300)), 1},
		{"900 W, no board of which was measured", p.ofPower("power16", gpu("9.0", 900)), 1},
		{"900 W in 8 bits", p.ofPower("power8", gpu("9.0", 900)), 1},
		{"440 W, no board of which was measured", p.ofPower("power16", gpu("8.0", 440)), 1},
		{"1,400 W", p.ofPower("power16", gpu("10.3", 1400)), math.Pow(1400./1200, p["power16.default"])},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// old is the target with the kernels and the communication of 2021.
func old(t *target.Target) *target.Target {
	o := *t
	r := &o.Runtime
	r.Attention.Flash, r.Attention.Fused = "flash1", "flash2"
	r.TensorParallel.Overlaps, r.Pipeline.BlockingInterleaved = false, r.Pipeline.Blocking
	r.Pipeline.ScattersActivations = r.Sharding.Unit == runtime.Rank
	return &o
}

// TestUnquantisedExperts: experts that stay in bf16 take as long in a job of fp8 as in one
// of bf16, and its linear layers do not; a runtime that quantises weights in every
// micro-batch takes longer for those alone.
func TestUnquantisedExperts(t *testing.T) {
	l, x := single(8), execution()
	l.ExpertParallel = 8
	times := func(precision string, change func(*runtime.Runtime)) (linear, experts units.Seconds) {
		j := jobOf(moe(), 1)
		j.Training.Precision = precision
		r := runtimes.Whole()
		change(&r)
		for _, line := range New(j, targetOf(r)).Describe(&l, &x).Time.Breakdown {
			switch line.ID {
			case "linear":
				linear = line.Seconds
			case "experts":
				experts = line.Seconds
			}
		}
		return linear, experts
	}
	plainLinear, plain := times("bf16", func(*runtime.Runtime) {})
	linear, all := times("fp8", func(*runtime.Runtime) {})
	_, apart := times("fp8", func(r *runtime.Runtime) { r.Experts.Unquantised = true })
	if plain == 0 || all >= plain || linear >= plainLinear || apart != plain {
		t.Errorf("experts: %v in bf16, %v in fp8, %v apart; linear layers: %v and %v", plain, all, apart, plainLinear, linear)
	}
	for _, unquantised := range []bool{false, true} {
		j, r := jobOf(moe(), 1), runtimes.Whole()
		j.Training.Precision, j.Training.FP8.ParameterGather, r.Experts.Unquantised = "fp8", true, unquantised
		want := 1.0
		if unquantised {
			want = 2
		}
		x := execution()
		if dense, experts, _ := New(j, targetOf(r)).parameterBytes(&x); dense != 1 || experts != want {
			t.Errorf("unquantised %v: %v bytes are gathered for a weight, %v for one of an expert", unquantised, dense, experts)
		}
	}
	anew, slower := times("fp8", func(r *runtime.Runtime) { r.LowPrecision.QuantisesWeights = true })
	_, same := times("fp8", func(r *runtime.Runtime) { r.LowPrecision.QuantisesWeights, r.Experts.Unquantised = true, true })
	if anew <= linear || slower <= all || same != plain {
		t.Errorf("with weights quantised anew: linear layers %v, not %v; experts %v, not %v, and %v apart", anew, linear, slower, all, same)
	}
}
