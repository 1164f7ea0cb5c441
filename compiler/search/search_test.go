package search

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	kinds "github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// certain limits take a prediction of memory as it is.
var certain = job.OOMProbability{Start: job.Some(1.0), Run: job.Some(1.0)}

// smallJob is a dense or MoE model on a few nodes of A100: small enough to try
// every layout, large enough that many do not fit.
func smallJob(moe bool, nodes int) *job.Job {
	m := job.Model{Name: "small", Architecture: "llama", Layers: 6, HiddenSize: 4096, FFNHiddenSize: 14336,
		Attention: job.Attention{Heads: 32, KVHeads: 8, HeadDim: 128}, VocabSize: 128256, SequenceLength: 8192, MaxPositions: 8192,
		Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm", Epsilon: 1e-5}, InitStd: 0.02,
		PositionEmbedding: job.PositionEmbedding{Kind: "rope", Theta: 500000}}
	if moe {
		m.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 14336, LayerFrequency: 1, LoadImbalance: 1, CapacityFactor: 0,
			Router: job.Router{Score: "softmax", Balance: "aux_loss", Normalize: true}}
	}
	gpu := job.GPU{Name: "a100_40gb", Catalog: "a100_40gb", Memory: 32 * units.GiB, TorchMemory: 31 * units.GiB, MemoryBandwidth: 1.555e12,
		ComputeCapability: "8.0", SMs: 108, PeakFLOPS: job.PeakFLOPS{BF16: 312e12, FP16: 312e12, TF32: 156e12, FP32: 19.5e12}}
	return &job.Job{
		Name: "small", Backend: job.Backend{Kind: "test", Version: "1"}, Model: m,
		Cluster: job.Cluster{Name: "few", GPU: gpu, Nodes: nodes, GPUsPerNode: 8, HostMemory: units.TiB,
			NVLink: job.NVLink{Domain: 8, Bandwidth: 300e9, Latency: 2e-6}, PCIe: job.Link{Bandwidth: 31e9, Latency: 2e-6},
			Network: job.Network{Kind: "infiniband", NICsPerNode: 8, Bandwidth: 25e9, Latency: 5e-6, Rails: 8, Oversubscription: 1}},
		Training: job.Training{GlobalBatchSize: 64, Steps: 1000, Tokens: 64 * 8192 * 1000, Precision: "bf16",
			Optimizer: job.Optimizer{Kind: "adamw", LearningRate: 1e-4, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8}},
		Constraints: job.Constraints{Objective: "throughput", NVLinkOnly: []string{"tensor_parallel"}, MemoryHeadroom: job.Some(units.Share(0.05)), MaxOOMProbability: certain},
		Sources:     job.Sources{},
	}
}

// smallTarget is a framework with a few rules.
func smallTarget() *target.Target {
	dense := []plan.Axis{plan.TensorParallel, plan.ContextParallel, plan.DataParallelShard, plan.DataParallelReplicate, plan.PipelineParallel}
	expert := []plan.Axis{plan.ExpertTensorParallel, plan.ExpertParallel, plan.ExpertDataParallel, plan.PipelineParallel}
	r := runtimes.Whole()
	r.Calibration.Memory = "" // the allocator wastes nothing
	return &target.Target{
		Backend: "test", Version: "1", Runtime: r, DenseMesh: dense, ExpertMesh: expert,
		Schedules:  []plan.Schedule{plan.Schedule1F1B, plan.ScheduleInterleaved1F1B},
		ZeroStages: []int{0, 1},
		Recomputes: []target.RecomputeOption{{Mode: plan.RecomputeNone}, {Mode: plan.RecomputeSelective, Modules: plan.ModuleCoreAttention},
			{Mode: plan.RecomputeFull, Method: "block"}, {Mode: plan.RecomputeFull, Method: "uniform", Layers: []int{1}}},
		SequenceParallel: []bool{true}, ContextParallel: true, PipelineParallel: true, VirtualPipeline: true, UnevenStages: true,
		ExpertParallel: true, ExpertTensorParallel: true,
		Rules: []target.Rule{
			{ID: "heads", Reason: "heads are cut evenly", Mesh: true, Breaks: func(f *target.Facts) bool { return f.Job.Model.Attention.KVHeads%f.Layout.TensorParallel != 0 }},
			{ID: "groups", Reason: "micro-batches come in groups", Breaks: func(f *target.Facts) bool {
				return f.Layout.VirtualPipeline > 1 && f.Layout.MicroBatches%f.Layout.PipelineParallel != 0
			}},
		},
		Resolve: func(j *job.Job, l *plan.Layout, x *plan.Execution) {
			*x = plan.Execution{Attention: "flash", OverlapGradientReduce: true, OverlapParameterGather: l.ZeroStage > 0, GradientDType: "fp32",
				OptimizerStateDType: "fp32", CrossEntropy: "fused", LossChunks: 1, CUDAGraphs: "none", ContextParallelType: "ring", ZeroHPZPartition: 1}
			if j.Model.MoE != nil {
				x.MoEDispatcher = "alltoall"
			}
		},
		PaddedVocab: func(m *job.Model, tp int) int { return (m.VocabSize + 128*tp - 1) / (128 * tp) * 128 * tp },
	}
}

type variantList = []target.Variant

// everything evaluates all layouts without any shortcut and with a fresh
// evaluator for each, so that nothing remembered can matter. It returns the
// feasible ones, best first, the choice among them, and how many layouts there are.
func everything(j *job.Job, t *target.Target) ([]Candidate, Outcome, int64) {
	limits := newLimits(j)
	if j.Constraints.Objective == "memory" {
		fast := *j
		fast.Constraints.Objective = "throughput"
		list, o, leaves := everything(&fast, t)
		if len(o.Best) == 0 {
			return list, o, leaves
		}
		limits.within(AlmostAsFast(list[0].Result.StepSeconds), IDSlower)
		if elsewhere := j.Constraints.Fastest; elsewhere > 0 {
			limits.within(AlmostAsFast(elsewhere), IDSlower)
		}
	}
	s := &searcher{job: j, target: t, space: layout.NewSpace(j, t), limits: limits, bound: math.Inf(1), threshold: math.Inf(1), most: math.MaxInt64, best: ranking{less: better(j.Constraints.Objective)}}
	w := newWorker(s)
	s.workers = []*worker{w}
	w.mesh = &meshSearch{counts: Counts{Rejected: map[diag.ID]int64{}}}
	w.mesh.best = ranking{less: better(j.Constraints.Objective), most: 5000}
	w.mesh.ties.less = w.mesh.best.less
	s.nearest = ranking{less: nearer, most: 3}
	var leaves int64
	for i := range s.space.Meshes {
		m := &s.space.Meshes[i]
		w.layout = plan.Layout{}
		m.Fill(&w.layout)
		w.current.mesh, w.current.leaf, w.mesh.index = i, 0, i
		fault := w.meshFault(m, s.space.Leaves(m)) != ""
		pipelines := s.space.Pipelines(m)
		if s.space.Leaves(m) == 0 {
			leaves++
		}
		for p := range pipelines {
			pipelines[p].Fill(&w.layout)
			for _, mbs := range s.space.MicroBatchSizes(m) {
				w.micro(mbs)
				for r := range pipelines[p].Recomputes {
					choice := &pipelines[p].Recomputes[r]
					for n := choice.Layers; n <= max(choice.Layers, choice.Most); n++ {
						leaves++
						if !fault {
							w.evaluator = estimate.New(j, t)
							w.exhaust(choice, n)
						}
					}
				}
			}
		}
	}
	s.best, s.ties = w.mesh.best, w.mesh.ties
	for i := range s.best.list {
		if c := &s.best.list[i]; c.broken == "" {
			s.outcome.Best = append(s.outcome.Best, *c)
		} else {
			s.nearest.add(c)
		}
	}
	feasible := slices.Clone(s.outcome.Best)
	if len(feasible) == 0 {
		s.outcome.Nearest, s.outcome.Exposed, s.outcome.HostBytes = s.nearest.list, w.mesh.exposed, w.mesh.host
	}
	s.choose()
	return feasible, s.outcome, leaves
}

// open leaves options to the search: two that hide communication, one of which
// needs memory of its own, CUDA graphs, which need some for every layer and
// micro-batch in flight, and kernels of the job's lists.
func open(j *job.Job, t *target.Target) {
	t.Runtime.TensorParallel.UserBuffers = true
	t.Runtime.Graphs.Masks, t.Runtime.Graphs.SendsCopies = true, true
	graphs := "layer"
	if j.Model.MoE != nil {
		graphs = "attention+moe_router+moe_preprocess"
	}
	t.Offers = []target.Offer{
		{Option: "cuda_graphs", Values: []string{"full"}, Asked: "nobody has tried it"},
		{Option: "cuda_graphs", Values: []string{graphs}, Applies: func(f *target.Facts) bool {
			return f.Layout.ContextParallel == 1 && f.Layout.MicroBatches < 16
		}},
		{Option: "overlap_tensor_parallel", Values: []string{"true"}, Applies: func(f *target.Facts) bool { return f.Layout.SequenceParallel }},
		{Option: "overlap_expert_parallel", Values: []string{"true"}, Applies: func(f *target.Facts) bool { return f.Layout.ExpertParallel > 1 }},
		{Option: "gradient_dtype", Values: []string{"bf16"}},
		{Option: "attention", Values: []string{"unfused"}, Asked: "it is slow"},
	}
	t.Rules = append(t.Rules, target.Rule{ID: "overlap", Reason: "no whole layer is recomputed", Breaks: func(f *target.Facts) bool {
		return f.Exec.OverlapExpertParallel && (f.Layout.Recompute == plan.RecomputeFull || f.Layout.PipelineParallel > 1 && f.Layout.VirtualPipeline == 1)
	}})
	t.Rules = append(t.Rules, target.Rule{ID: "graphs", Reason: "no recompute runs through a graph", Breaks: func(f *target.Facts) bool {
		return f.Exec.CUDAGraphs != "none" && f.Layout.Recompute == plan.RecomputeFull
	}})
	j.Constraints.Execution = map[string][]string{"cross_entropy": {"unfused", "fused"}}
	if j.Model.MoE != nil {
		j.Constraints.Execution = map[string][]string{"moe_dispatcher": {"alltoall", "allgather"}}
	}
	resolve := t.Resolve
	t.Resolve = func(j *job.Job, l *plan.Layout, x *plan.Execution) {
		resolve(j, l, x)
		x.OverlapTensorParallel, x.OverlapExpertParallel = j.Execution.OverlapTensorParallel.Or(false), j.Execution.OverlapExpertParallel.Or(false)
		x.CUDAGraphs = j.Execution.CUDAGraphs.Or("none")
		x.CrossEntropy = j.Execution.CrossEntropy.Or("unfused")
		x.MoEDispatcher = j.Execution.MoEDispatcher.Or(x.MoEDispatcher)
	}
}

// exhaust fits a layout with every combination of the values of its options, each by itself
// and without a floor, and tells of what it misses with each.
func (w *worker) exhaust(r *layout.Recompute, layers int) {
	r.Fill(&w.layout, layers)
	w.current.leaf++
	w.recommend()
	if w.breaksRule() && !w.legalise() {
		return
	}
	var best *Candidate
	for _, p := range w.options.all {
		copy(w.options.picks, p)
		if !w.resolve(w.options.picks) || w.breaksRule() {
			continue
		}
		if w.fitBare(nil); w.current.broken != "" && !w.idle(&w.current.Execution) {
			w.searcher.nearest.add(&w.current)
		}
		if w.fitBare(w.variants) != feasible || w.idle(&w.execution) {
			continue
		}
		w.consider()
		if best == nil || w.mesh.best.less(&w.current, best) {
			c := w.current
			best = &c
		}
	}
	if best != nil {
		w.mesh.best.add(best)
	}
}

// fitBare is fit without a floor, with some variants.
func (w *worker) fitBare(sets []variantSet) verdict {
	w.stateKnown = false
	without := w.execution
	v := w.predict()
	if v != outOfMemory {
		return v
	}
	best, enough := w.current, []uint{}
	for i := range sets {
		set := &sets[i]
		w.execution, w.stateKnown = without, false
		if slices.ContainsFunc(enough, func(part uint) bool { return set.bits&part == part }) || !w.with(set) || w.breaksRule() {
			continue
		}
		next := w.predict()
		if next == outOfMemory {
			continue
		}
		if next == overLimit && !w.idle(&w.current.Execution) {
			w.searcher.nearest.add(&w.current)
		}
		enough = append(enough, set.bits)
		if next > v || next == v && w.improves(&best) {
			best, v = w.current, next
		}
	}
	w.current, w.execution = best, best.Execution
	return v
}

// TestRunFindsWhatBruteForceFinds also holds the floors and the orders that
// prune to what they promise: the kept layouts are those of brute force but
// for ones that a better one dominates by its recompute alone.
func TestRunFindsWhatBruteForceFinds(t *testing.T) {
	for _, c := range []struct {
		moe       bool
		objective string
		exposed   float64
		offload   bool
		options   bool
		crowded   bool // steps slow near the GPU's limit
		short     bool // sequences, so that the host takes longer than the GPU
	}{{false, "throughput", 1, false, false, false, false}, {false, "throughput", 0.02, false, false, false, false}, {true, "throughput", 1, false, false, false, false},
		{false, "memory", 1, false, false, false, false}, {false, "throughput", 1, true, false, false, false}, {false, "throughput", 1, false, true, false, false},
		{true, "throughput", 1, false, true, false, false}, {false, "throughput", 0.02, false, true, false, false}, {false, "throughput", 1, false, false, true, false},
		{false, "throughput", 1, false, true, true, false}, {false, "throughput", 1, true, true, false, false}, {false, "memory", 1, true, false, false, false}, {false, "throughput", 1, false, true, false, true}, {true, "throughput", 1, false, true, false, true}, {false, "throughput", 0.02, true, true, false, false}, {false, "throughput", 0.025, true, true, false, false}} {
		t.Run(fmt.Sprintf("moe=%v,%s,%v,%v,%v,%v,%v", c.moe, c.objective, c.exposed, c.offload, c.options, c.crowded, c.short), func(t *testing.T) {
			j, target := smallJob(c.moe, 1), smallTarget()
			if c.short {
				j.Model.SequenceLength = 256
			}
			if c.crowded {
				target.Runtime.Calibration.Memory = "nanotron" // of whose runs some slowed
				j.Constraints.MemoryHeadroom = job.Some(units.Share(0))
			}
			if c.options {
				open(j, target)
			}
			if c.offload {
				target.Variants = variantList{offloadOptimizer, offloadActivations}
				j.Cluster.GPU.Memory = 10 * units.GiB // nothing fits without
			}
			j.Constraints.MaxExposedCommunication = job.Some(units.Share(c.exposed))
			j.Constraints.Objective = c.objective
			j.Constraints.Layout.VirtualPipeline = job.IntChoice{Values: []int{1, 2}}
			j.Training.GlobalBatchSize = 16
			if c.moe {
				j.Constraints.Layout.ContextParallel = job.IntChoice{Values: []int{1, 2}}
				j.Constraints.Layout.PipelineParallel = job.IntChoice{Values: []int{1, 2}}
			}
			got := searched(j, target)
			if testing.Short() {
				return // for the race detector: brute force is alone
			}
			want, chosen, leaves := everything(j, target)
			if len(got.Best) == 0 || len(want) == 0 {
				t.Fatalf("nothing feasible: search %d, brute force %d", len(got.Best), len(want))
			}
			if got.Counts.Enumerated != leaves {
				t.Errorf("enumerated %d, brute force %d", got.Counts.Enumerated, leaves)
			}
			if slows := func(b Candidate) bool { return b.Result.Slower > 0 }; slices.ContainsFunc(want, slows) != c.crowded {
				t.Errorf("some slow near the limit is not %v", c.crowded)
			}
			if offloads := func(b Candidate) bool { return b.Execution.OffloadOptimizer || b.Execution.OffloadActivations }; slices.ContainsFunc(got.Best, offloads) != c.offload {
				t.Errorf("offloading among the best is not %v", c.offload)
			}
			if graphs := func(b Candidate) bool { return b.Execution.CUDAGraphs != "none" }; slices.ContainsFunc(got.Best, graphs) != c.short {
				t.Errorf("graphs among the best is not %v", c.short)
			}
			compareChoice(t, &chosen, got)
			t.Logf("%s, %d among", got.Choice.Rule, len(got.Choice.Among))
			compared := got.Best[1:]
			if c.objective == "throughput" && c.exposed == 1 {
				want = undominated(want)
				compared = undominated(compared) // what does not fit with every option dominates nothing
			} else if c.objective == "memory" {
				compared = nil // of recompute over some layers only the most is looked at
			}
			want = slices.DeleteFunc(want, func(c Candidate) bool { return sameLayout(&c, &got.Best[0]) }) // the chosen one is compared above
			for i := range compared {
				if diff := cmp.Diff(want[i].Layout, compared[i].Layout); diff != "" {
					t.Fatalf("another layout at place %d (brute force -, search +):\n%s", i, diff)
				}
				if compared[i].Result != want[i].Result || compared[i].Execution != want[i].Execution {
					t.Errorf("place %d, brute force and search:\n%+v\n%+v\n%+v\n%+v", i, want[i].Result, compared[i].Result, want[i].Execution, compared[i].Execution)
				}
			}
			sum := got.Counts.Evaluated + got.Counts.Pruned
			for _, n := range got.Counts.Rejected {
				sum += n
			}
			if sum != got.Counts.Enumerated {
				t.Errorf("evaluated + pruned + rejected = %d, enumerated %d", sum, got.Counts.Enumerated)
			}
			t.Logf("%d layouts, %d evaluated, %d pruned, %v", got.Counts.Enumerated, got.Counts.Evaluated, got.Counts.Pruned, got.Counts.Rejected)
		})
	}
}

// TestRunAtTheLimit: where the usable memory is just what some layouts need, the search still
// chooses as brute force does. It is where what needs less than expected shows: few large
// micro-batches before there are gradients, and fewer recomputed layers with a variant.
func TestRunAtTheLimit(t *testing.T) {
	for _, c := range []struct {
		name, objective string
		runtime         kinds.Runtime
		variants        variantList
		layers, tokens  int
		exposed         float64 // with options left open
	}{
		{"throughput", "throughput", runtimes.Whole(), variantList{offloadOptimizer, offloadActivations}, 8, 1024, 1},
		{"memory", "memory", runtimes.Buckets(), variantList{lossInChunks, offloadOptimizer}, 8, 1024, 1},
		{"chunks", "throughput", runtimes.Buckets(), variantList{lossInChunks, offloadOptimizer}, 8, 1024, 1},
		{"blocks", "throughput", runtimes.Blocks(), nil, 6, 256, 1},
		{"exposed", "throughput", runtimes.Whole(), variantList{offloadOptimizer}, 6, 2048, 0.005},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, target := smallJob(false, 1), smallTarget()
			target.Runtime, target.Variants = c.runtime, c.variants
			target.Runtime.Calibration.Memory = ""
			j.Training.GlobalBatchSize, j.Model.SequenceLength = 16, c.tokens
			j.Cluster.GPU.Memory = 256 * units.GiB
			j.Constraints.Objective = c.objective
			j.Constraints.MemoryHeadroom = job.Some(units.Share(0))
			if j.Model.Layers = c.layers; c.exposed < 1 {
				open(j, target)
				j.Constraints.Execution = nil
				j.Constraints.MaxExposedCommunication = job.Some(units.Share(c.exposed))
			}
			few := job.IntChoice{Values: []int{1, 2}}
			l := &j.Constraints.Layout
			l.TensorParallel, l.ContextParallel, l.PipelineParallel, l.VirtualPipeline = few, job.IntChoice{Values: []int{1}}, few, job.IntChoice{Values: []int{1}}
			best := searched(j, target).Best[0]
			var needed []units.Bytes
			err := All(context.Background(), j, target, &plan.Choice{Layout: best.Layout, Execution: best.Execution}, math.MaxInt32, func(c *Candidate) { needed = append(needed, c.Result.NeededBytes) })
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(needed)
			for part := range 24 {
				used := float64(needed[part*len(needed)/24]) / float64(j.Cluster.GPU.Memory)
				j.Constraints.MemoryHeadroom = job.Some(units.Share(1 - used - 1e-9))
				got := searched(j, target)
				if testing.Short() {
					continue // as above
				}
				_, want, _ := everything(j, target)
				if len(got.Best) != 0 && len(want.Best) != 0 {
					compareChoice(t, &want, got)
				} else if len(got.Best) != len(want.Best) {
					t.Fatalf("in %v the search finds %d, brute force %d", j.UsableMemory(), len(got.Best), len(want.Best))
				}
			}
		})
	}
}

// TestNearestMiss: where not even the state fits, no layout needs less than the one told of.
func TestNearestMiss(t *testing.T) {
	j, target := smallJob(false, 1), smallTarget()
	slices.Reverse(target.Recomputes[2:]) // all layers before some, as targets have them
	j.Constraints.Layout.PipelineParallel = job.IntChoice{Values: []int{1, 2}}
	best := searched(j, target).Best[0]
	j.Cluster.GPU.Memory = units.GiB
	least := units.Bytes(math.MaxInt64)
	err := All(context.Background(), j, target, &plan.Choice{Layout: best.Layout, Execution: best.Execution}, math.MaxInt32, func(c *Candidate) {
		least = min(least, c.Result.NeededBytes)
	})
	if err != nil {
		t.Fatal(err)
	}
	if nearest := &searched(j, target).Nearest[0]; nearest.Result.NeededBytes != least {
		t.Errorf("the nearest needs %v, another layout %v: %+v", nearest.Result.NeededBytes, least, nearest.Layout)
	}
}

// TestChoiceBesideTheFastest: the rule of choice holds, too, where of the class of the fastest
// something is kept that takes as long and needs less memory, as what recomputes more may.
func TestChoiceBesideTheFastest(t *testing.T) {
	choose := func(change func(fastest *Candidate)) Outcome {
		j, target := smallJob(false, 1), smallTarget()
		s := newSearcher(j, target, newLimits(j), math.Inf(1))
		if err := s.run(context.Background()); err != nil {
			t.Fatal(err)
		}
		s.outcome.Best = slices.Clone(s.best.list)
		change(&s.ties.list[slices.IndexFunc(s.ties.list, func(c Candidate) bool { return sameChoice(&c, &s.outcome.Best[0]) })])
		s.choose()
		return s.outcome
	}
	want := choose(func(*Candidate) {})
	got := choose(func(c *Candidate) {
		c.Layout.Recompute, c.Layout.RecomputeModules = plan.RecomputeSelective, plan.ModuleCoreAttention
		c.Result.PeakDeviceBytes--
	})
	if len(want.Choice.Among) == 0 || len(got.Choice.Among) != len(want.Choice.Among) || got.Choice.Rule != want.Choice.Rule {
		t.Errorf("by the rule %q among %d, without the equal by %q among %d", got.Choice.Rule, len(got.Choice.Among), want.Choice.Rule, len(want.Choice.Among))
	}
}

// compareChoice holds what the rule chose to what it chooses of everything.
func compareChoice(t *testing.T, want, got *Outcome) {
	t.Helper()
	if !sameChoice(&want.Best[0], &got.Best[0]) || want.Choice.Rule != got.Choice.Rule || want.Choice.Loss != got.Choice.Loss || len(want.Choice.Among) != len(got.Choice.Among) {
		t.Fatalf("brute force chooses %+v\n(%s, of %d), the search %+v\n(%s, of %d)", want.Best[0].Layout, want.Choice.Rule, len(want.Choice.Among), got.Best[0].Layout, got.Choice.Rule, len(got.Choice.Among))
	}
	for i := range want.Choice.Among {
		if a, b := &want.Choice.Among[i], &got.Choice.Among[i]; !sameChoice(&a.Candidate, &b.Candidate) || a.Difference != b.Difference || a.WhyNot != b.WhyNot {
			t.Errorf("tied %d: brute force %+v, search %+v", i, a, b)
		}
	}
}

// undominated leaves out layouts that differ from a better one in recompute
// alone and recompute more by the orders of fits.
func undominated(list []Candidate) []Candidate {
	var kept []Candidate
	better := map[string][]plan.Layout{}
	for i := range list {
		l := list[i].Layout
		bare := l
		bare.Recompute, bare.RecomputeModules, bare.RecomputeMethod, bare.RecomputeLayers = 0, 0, "", 0
		key := fmt.Sprint(bare)
		if !slices.ContainsFunc(better[key], func(a plan.Layout) bool { return lessRecompute(a, l) }) {
			kept = append(kept, list[i])
			if x := &list[i].Execution; !x.OffloadOptimizer && !x.OffloadActivations && list[i].Result.Slower == 0 { // what offloads or slows may recompute less and yet take longer
				better[key] = append(better[key], l)
			}
		}
	}
	return kept
}

// lessRecompute is the order of fits, for layouts equal in everything else.
func lessRecompute(a, b plan.Layout) bool {
	return a.Recompute == plan.RecomputeNone || b.RecomputeMethod == "uniform" ||
		b.Recompute == plan.RecomputeFull && a.RecomputeMethod == b.RecomputeMethod
}

// TestNot: values that constraints leave out are nowhere, and the others are.
func TestNot(t *testing.T) {
	seen := func(j *job.Job) map[int]bool {
		degrees := map[int]bool{}
		for _, m := range layout.NewSpace(j, smallTarget()).Meshes {
			degrees[m.TensorParallel] = true
		}
		return degrees
	}
	j := smallJob(false, 1)
	want := seen(j)
	delete(want, 2)
	delete(want, 8)
	j.Constraints.Layout.TensorParallel = job.IntChoice{Ranged: true, Min: 1, Not: []int{2, 8}}
	if got := seen(j); !cmp.Equal(got, want) {
		t.Errorf("tensor_parallel is one of %v, want %v", got, want)
	}
}

// TestStepLimits: a limit on the time, the GPU-hours or the cost of the run is met by the
// fastest layout or by none.
func TestStepLimits(t *testing.T) {
	j, target := smallJob(false, 1), smallTarget()
	free := searched(j, target)
	fastest := free.Best[0].Result.StepSeconds * units.Seconds(j.Training.Steps)
	hours := float64(fastest) / 3600 * float64(j.Cluster.GPUs())
	j.Cluster.PricePerGPUHour = 2.5
	for id, limit := range map[diag.ID]func(c *job.Constraints, share float64){
		IDTrainingTime: func(c *job.Constraints, share float64) { c.MaxTrainingTime = job.Some(fastest * units.Seconds(share)) },
		IDGPUHours:     func(c *job.Constraints, share float64) { c.MaxGPUHours = job.Some(hours * share) },
		IDCost:         func(c *job.Constraints, share float64) { c.MaxCost = job.Some(2.5 * hours * share) },
	} {
		limited := *j
		limit(&limited.Constraints, 1.0001)
		if o := searched(&limited, target); len(o.Best) == 0 || !cmp.Equal(o.Best[0].Layout, free.Best[0].Layout) {
			t.Errorf("%s: the limit admits the fastest layout, but %d are feasible", id, len(o.Best))
		}
		limit(&limited.Constraints, 0.98)
		o := searched(&limited, target)
		if len(o.Best) > 0 || !slices.ContainsFunc(o.Nearest, func(c Candidate) bool { return c.Broken() == id }) {
			t.Errorf("%s: the limit admits nothing, but %d are feasible; nearest: %+v", id, len(o.Best), o.Nearest)
		}
		for i := range o.Nearest {
			if slices.ContainsFunc(o.Nearest[:i], func(c Candidate) bool { return cmp.Equal(c.Layout, o.Nearest[i].Layout) }) {
				t.Errorf("%s: among the nearest is twice %+v", id, o.Nearest[i].Layout)
			}
		}
	}
}

// TestSettled: where no layout meets the limit on the step, those are left out that miss it by more
// than the nearest, whatever another limit says of them.
func TestSettled(t *testing.T) {
	j, target := smallJob(false, 32), smallTarget()
	j.Model.Layers, j.Training.GlobalBatchSize = 80, 1024
	fast := MFU(j, searched(j, target).Best[0].Result.StepSeconds)
	for _, exposed := range []units.Share{1, 0.0001} {
		j.Constraints.MinMFU, j.Constraints.MaxExposedCommunication = job.Some(2*fast), job.Some(exposed)
		o := searched(j, target)
		if len(o.Best) > 0 || len(o.Nearest) == 0 {
			t.Fatalf("%d are feasible, %d near", len(o.Best), len(o.Nearest))
		}
		c := o.Counts
		if looked := c.Rejected[IDMemory] + c.Rejected[IDMFU] + c.Rejected[IDExposed]; looked > c.Enumerated/20 {
			t.Errorf("exposed %v: %d of %d layouts were looked at", exposed, looked, c.Enumerated)
		}
	}
}

// TestMFU: min_mfu limits the utilisation that plans tell of, at every precision.
func TestMFU(t *testing.T) {
	for _, precision := range []string{"bf16", "fp16", "fp32"} {
		j, target := smallJob(false, 1), smallTarget()
		j.Training.Precision = precision
		best := searched(j, target).Best[0]
		told := float64(estimate.New(j, target).Describe(&best.Layout, &best.Execution).Throughput.MFU)
		if got := MFU(j, best.Result.StepSeconds); math.Abs(got/told-1) > 1e-6 {
			t.Errorf("%s: the limit counts %v, plans tell %v", precision, got, told)
		}
	}
}

// TestResultDoesNotDependOnWorkers: one worker and four find the same, in the same order.
func TestResultDoesNotDependOnWorkers(t *testing.T) {
	j, target := smallJob(true, 2), smallTarget()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := searched(j, target)
	runtime.GOMAXPROCS(4)
	four := searched(j, target)
	layouts := func(o *Outcome) (l []plan.Layout) {
		for _, c := range o.Best {
			l = append(l, c.Layout)
		}
		return l
	}
	if diff := cmp.Diff(layouts(one), layouts(four)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(one.Counts, four.Counts); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkRun: layouts per second of 80 layers on 256 GPUs with every axis open.
func BenchmarkRun(b *testing.B) {
	j, target := smallJob(false, 32), smallTarget()
	j.Model.Layers, j.Training.GlobalBatchSize = 80, 1024
	b.ReportAllocs()
	var layouts int64
	for b.Loop() {
		layouts = searched(j, target).Counts.Enumerated
	}
	b.ReportMetric(float64(layouts)*float64(b.N)/b.Elapsed().Seconds(), "layouts/s")
}

// TestParallelPanics hands a worker's panic to the caller, who can recover.
func TestParallelPanics(t *testing.T) {
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "number 7") || !strings.Contains(p, "search_test.go") {
			t.Errorf("the caller's panic is %s", p)
		}
	}()
	s := searcher{workers: make([]*worker, 4)}
	s.parallel(context.Background(), 100, func(_ *worker, i int) {
		if i == 7 {
			panic(fmt.Sprintf("number %d", i))
		}
	})
}

// TestLeastMemoryOfTheFastest: what is almost as fast is held against the fastest
// layout, whatever the rule of ties would choose, and whatever the job prefers.
func TestLeastMemoryOfTheFastest(t *testing.T) {
	tied := 0
	for _, nodes := range []int{1, 2} {
		for _, prefer := range [][]string{nil, {"recompute"}, {"pipeline_parallel"}} {
			j, target := smallJob(false, nodes), smallTarget()
			j.Training.GlobalBatchSize = 16 * nodes
			j.Constraints.Prefer = prefer
			fast := searched(j, target)
			fastest := fast.Best[0].Result.StepSeconds
			for _, c := range fast.Best[1:] {
				fastest = min(fastest, c.Result.StepSeconds)
			}
			if fastest < fast.Best[0].Result.StepSeconds {
				tied++
			}
			j.Constraints.Objective = "memory"
			small := searched(j, target)
			if small.Fastest != fastest {
				t.Errorf("%d nodes, prefer %v: the fastest takes %v, not %v", nodes, prefer, small.Fastest, fastest)
			}
			if step := small.Best[0].Result.StepSeconds; step > AlmostAsFast(fastest) {
				t.Errorf("%d nodes, prefer %v: the least memory takes %v, the fastest %v", nodes, prefer, step, fastest)
			}
			j.Constraints.Fastest = units.Rounded(fastest * 0.98)
			held := searched(j, target)
			if step := held.Best[0].Result.StepSeconds; step > AlmostAsFast(j.Constraints.Fastest) || held.Fastest != fastest {
				t.Errorf("%d nodes, prefer %v: held against %v, the least memory takes %v, and the fastest %v", nodes, prefer, j.Constraints.Fastest, step, held.Fastest)
			}
		}
	}
	if tied == 0 {
		t.Error("nowhere a tied layout is preferred to the fastest")
	}
}

// TestUses: what a job prefers or avoids counts once, however often it says so.
func TestUses(t *testing.T) {
	c := &Candidate{Layout: plan.Layout{TensorParallel: 2, PipelineParallel: 1, Recompute: plan.RecomputeFull}}
	if got := uses([]string{"tensor_parallel", "pipeline_parallel", "recompute"}, c); got != 2 {
		t.Errorf("uses %d of three, want 2", got)
	}
	if got := uses(slices.Repeat([]string{"tensor_parallel", "recompute"}, 100), c); got != 2 {
		t.Errorf("uses %d of two that are named again and again, want 2", got)
	}
}

// TestLeastExposed: where a limit on exposed communication admits nothing, the nearest layout is
// the one that exposes the least of all, and it is told with any options.
func TestLeastExposed(t *testing.T) {
	for _, options := range []bool{false, true} {
		for _, slow := range []bool{false, true} {
			j, target := smallJob(true, 1), smallTarget()
			j.Constraints.Layout.VirtualPipeline = job.IntChoice{Values: []int{1, 2}}
			j.Constraints.Layout.PipelineParallel = job.IntChoice{Values: []int{1, 2}}
			j.Constraints.Layout.DataParallelShard = job.IntChoice{Values: []int{4}}
			j.Training.GlobalBatchSize = 16
			if options {
				open(j, target)
			}
			j.Constraints.MaxExposedCommunication = job.Some(units.Share(0.999))
			share := func(c *Candidate) float64 {
				return float64(c.Result.ExposedCommunicationSeconds / c.Result.StepSeconds)
			}
			all, _, _ := everything(j, target)
			if len(all) == 0 || len(all) == 5000 {
				t.Fatalf("%d are feasible", len(all))
			}
			if slow { // only the faster half may be taken
				longest := all[len(all)/2].Result.StepSeconds
				j.Constraints.MinMFU = job.Some(MFU(j, longest))
				all = slices.DeleteFunc(all, func(c Candidate) bool { return c.Result.StepSeconds > longest })
			}
			least := all[0]
			for _, c := range all {
				if share(&c) < share(&least) {
					least = c
				}
			}
			j.Constraints.MaxExposedCommunication = job.Some(units.Share(share(&least) / 2))
			o := searched(j, target)
			if len(o.Best) > 0 || o.Exposed == nil {
				t.Fatalf("%d are feasible under the limit, and what exposes least is %v", len(o.Best), o.Exposed)
			}
			if got := share(o.Exposed); got > share(&least) || !options && got < share(&least) {
				t.Errorf("options %v, a limit on the step %v: %.4f %% is exposed at least, brute force finds %.4f %%", options, slow, 100*got, 100*share(&least))
			}
			if got := share(&o.Nearest[0]); !slow && !options && got != share(&least) {
				t.Errorf("the nearest exposes %.4f %%, brute force finds %.4f %%", 100*got, 100*share(&least))
			}
		}
	}
}
