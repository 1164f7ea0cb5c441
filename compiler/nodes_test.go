package compiler

import (
	"context"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

func onNodes(nodes, batch int) *job.Job {
	j := &job.Job{}
	j.Cluster.Nodes, j.Cluster.GPUsPerNode, j.Training.GlobalBatchSize = nodes, 8, batch
	return j
}

// TestAwkwardNodes: nodes with a factor that the batch lacks are told from those
// without, and what is near that has none.
func TestAwkwardNodes(t *testing.T) {
	for _, c := range []struct {
		nodes, batch int
		fewer        []int // nil: the nodes divide the batch
		round        int
		between      []int // of more nodes
	}{
		{41, 960, []int{40, 32}, 984, []int{48, 60, 64, 80}},
		{40, 960, nil, 960, []int{48, 60, 64}},
		{32, 1024, nil, 1024, nil},
		{33, 1024, []int{32}, 1056, []int{64}},
		{6, 1009, nil, 1008, []int{8}}, // 4 is too far below
		{2048, 960, nil, 1024, nil},
		{3, 2, nil, 0, []int{4}},
	} {
		j := onNodes(c.nodes, c.batch)
		if got := fewer(j); !slices.Equal(got, c.fewer) {
			t.Errorf("%d nodes, batch %d: fewer are %v, want %v", c.nodes, c.batch, got, c.fewer)
		}
		if got := roundBatch(j); got != c.round {
			t.Errorf("%d nodes, batch %d: the round batch is %d, want %d", c.nodes, c.batch, got, c.round)
		}
		if got := dividing(j, c.nodes, 2*c.nodes); c.between != nil && !slices.Equal(got, c.between) {
			t.Errorf("%d nodes, batch %d: %v between them and twice as many, want %v", c.nodes, c.batch, got, c.between)
		}
	}
}

// TestPlacedNodes: advice is of numbers of nodes that Slurm takes the job on: whole segments,
// and no fewer than its list of nodes names.
func TestPlacedNodes(t *testing.T) {
	for _, c := range []struct {
		nodes, batch int
		slurm        job.Slurm
		fewer, above []int
	}{
		{33, 1024, job.Slurm{}, []int{32}, []int{64}},
		{33, 1024, job.Slurm{Segment: 11}, nil, []int{44, 55}}, // none of which divides the batch
		{12, 1024, job.Slurm{Segment: 4}, nil, []int{16}},
		{33, 1024, job.Slurm{NodeList: "n[1-33]"}, nil, []int{64}},
		{33, 1024, job.Slurm{NodeList: "n[1-33]", SpareNodes: 1}, []int{32}, []int{64}},
	} {
		j := onNodes(c.nodes, c.batch)
		j.Slurm = c.slurm
		if got := fewer(j); !slices.Equal(got, c.fewer) {
			t.Errorf("%d nodes, %+v: fewer are %v, want %v", c.nodes, c.slurm, got, c.fewer)
		}
		if got := dividing(j, c.nodes, 2*c.nodes); !slices.Equal(got, c.above) {
			t.Errorf("%d nodes, %+v: %v above, want %v", c.nodes, c.slurm, got, c.above)
		}
	}
}

// TestNodesSetting: where a job says its own number of nodes, the cluster's decides
// nothing but the most.
func TestNodesSetting(t *testing.T) {
	for _, c := range []struct {
		most, nodes, spare int
		want               string
	}{
		{0, 4, 0, "cluster.nodes = 4"},
		{0, 4, 1, "cluster.nodes = 4"},
		{8, 4, 0, "nodes = 4"},
		{8, 7, 1, "nodes = 7"},
		{8, 8, 1, "cluster.nodes = 9 and nodes = 8"},
		{8, 16, 0, "cluster.nodes = 16 and nodes = 16"},
	} {
		j := onNodes(2, 64)
		j.MostNodes, j.Slurm.SpareNodes = c.most, c.spare
		if got := nodesSetting(j, c.nodes); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestExpertNodes: a mixture on whole racks of 72 GPUs has a factor that no count of
// experts has but for those made for it; racks of a power of two share any.
func TestExpertNodes(t *testing.T) {
	for _, c := range []struct {
		nodes, domain, experts int
		fewer                  []int // nil: the nodes spread the experts
	}{
		{72, 72, 256, []int{64}},
		{18, 72, 128, []int{16}},
		{18, 72, 288, nil},
		{64, 72, 256, nil},
		{24, 72, 384, nil}, // 96 GPUs have the factor 3, and so have 384 experts
		{72, 8, 256, nil},
		{72, 72, 0, nil}, // dense
	} {
		j := onNodes(c.nodes, 9*256)
		j.Cluster.GPUsPerNode, j.Cluster.NVLink.Domain = 4, c.domain
		if c.experts > 0 {
			j.Model.MoE = &job.MoE{Experts: c.experts}
		}
		if got := fewer(j); !slices.Equal(got, c.fewer) {
			t.Errorf("%d experts on %d nodes with domains of %d: fewer are %v, want %v", c.experts, c.nodes, c.domain, got, c.fewer)
		}
	}
}

// TestLeft: an odd share of the batch keeps GPUs from it; an even one, a single
// sequence, and one of replicas that no other GPU could join do not.
func TestLeft(t *testing.T) {
	for _, c := range []struct{ nodes, batch, shard, replicate, want int }{
		{16, 720, 16, 1, 45},
		{16, 720, 4, 4, 45},
		{16, 720, 8, 1, 0},
		{16, 704, 128, 1, 0},
		{16, 128, 128, 1, 0},
		{16, 384, 128, 1, 0},
		{3, 24, 8, 1, 0},
	} {
		l := plan.Layout{DataParallelShard: c.shard, DataParallelReplicate: c.replicate}
		if got := left(onNodes(c.nodes, c.batch), &l); got != c.want {
			t.Errorf("%d nodes, batch %d over %d x %d: %d is left, want %d", c.nodes, c.batch, c.replicate, c.shard, got, c.want)
		}
	}
}

// TestEnoughNodes: nodes are doubled as long as that brings the nearest layout nearer, and
// sizes beyond are not searched: of a job that is illegal on any, and of one whose utilisation
// falls with them.
func TestEnoughNodes(t *testing.T) {
	for name, c := range map[string]struct {
		illegal bool
		mfu     float64
		memory  units.Bytes
		fits    bool
		asked   []int
	}{
		"illegal": {illegal: true, memory: 80 * units.GiB, asked: []int{2, 4}},
		"slow":    {mfu: 0.99, memory: 80 * units.GiB, asked: []int{2, 4}},
		"memory":  {memory: 7 * units.GiB, fits: true, asked: []int{2, 4, 8, 6, 5}},
	} {
		j := &job.Job{Name: "j", Backend: job.Backend{Kind: "test", Version: "1"}, Sources: job.Sources{},
			Model: job.Model{Name: "m", Architecture: "llama", Layers: 2, HiddenSize: 4096, FFNHiddenSize: 14336, Attention: job.Attention{Heads: 32, KVHeads: 8, HeadDim: 128},
				VocabSize: 32000, SequenceLength: 1024, MaxPositions: 1024, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm", Epsilon: 1e-5},
				PositionEmbedding: job.PositionEmbedding{Kind: "rope", Theta: 500000}},
			Cluster: job.Cluster{Name: "c", Nodes: 1, GPUsPerNode: 1, HostMemory: units.TiB, NVLink: job.NVLink{Domain: 1},
				GPU: job.GPU{Name: "a100_80gb", Catalog: "a100_80gb", Memory: c.memory, TorchMemory: c.memory, MemoryBandwidth: 2e12, ComputeCapability: "8.0", SMs: 108,
					PeakFLOPS: job.PeakFLOPS{BF16: 312e12, FP16: 312e12, TF32: 156e12, FP32: 19.5e12}},
				Network: job.Network{Kind: "infiniband", NICsPerNode: 1, Bandwidth: 25e9, Latency: 5e-6, Rails: 1, Oversubscription: 1}},
			Training: job.Training{GlobalBatchSize: 840, Steps: 1000, Tokens: 840 * 1024 * 1000, Precision: "bf16",
				Optimizer: job.Optimizer{Kind: "adamw", LearningRate: 1e-4, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8}},
			Constraints: job.Constraints{Objective: "throughput", MaxOOMProbability: job.OOMProbability{Start: job.Some(1.0), Run: job.Some(1.0)}}}
		if c.mfu > 0 {
			j.Constraints.MinMFU = job.Some(c.mfu)
		}
		r := runtimes.Whole()
		r.Calibration.Memory = ""
		var asked []int
		small := &target.Target{Backend: "test", Version: "1", Runtime: r, ZeroStages: []int{1}, Recomputes: []target.RecomputeOption{{Mode: plan.RecomputeFull, Method: "uniform", Layers: []int{1}}},
			DenseMesh: []plan.Axis{plan.TensorParallel, plan.ContextParallel, plan.DataParallelShard, plan.DataParallelReplicate, plan.PipelineParallel}, Schedules: []plan.Schedule{plan.Schedule1F1B},
			Rules: []target.Rule{{ID: "never", Mesh: true, Breaks: func(*target.Facts) bool { return c.illegal }}},
			Resolve: func(_ *job.Job, _ *plan.Layout, x *plan.Execution) {
				*x = plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "fused", LossChunks: 1, CUDAGraphs: "none", ZeroHPZPartition: 1}
			},
			PaddedVocab: func(m *job.Model, _ int) int { return m.VocabSize }}
		small.For = func(j *job.Job) (*target.Target, diag.List) {
			asked = append(asked, j.Cluster.Nodes)
			return small, nil
		}
		o := outcome(context.Background(), j, small)
		asked = nil
		n, best := enoughNodes(context.Background(), j, small, o)
		if best != nil != c.fits || !slices.Equal(asked, c.asked) {
			t.Errorf("%s: on %d nodes %v, asked of %v, want %v", name, n, best != nil, asked, c.asked)
		}
	}
}
