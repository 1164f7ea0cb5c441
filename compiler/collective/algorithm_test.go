package collective

import (
	"math"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/lang/units"
	"pgregory.net/rapid"
)

func named(t interface{ Fatalf(string, ...any) }, list []Algorithm, name string) float64 {
	for _, a := range list {
		if a.Name == name {
			return float64(a.Seconds)
		}
	}
	t.Fatalf("no %s among %v", name, list)
	return 0
}

// TestAlgorithms: one rank and no bytes need none; more bytes take longer; a ring's
// all-reduce is its reduce-scatter and its all-gather without the second start; nothing is faster than
// the bytes that some link has to carry.
func TestAlgorithms(t *testing.T) {
	names := slices.Sorted(mapKeys(measuredOn))
	rapid.Check(t, func(t *rapid.T) {
		c := measuredOn[rapid.SampledFrom(names).Draw(t, "cluster")]
		c.Nodes = 64
		size := 1 << rapid.IntRange(1, 6).Draw(t, "log2 size")
		stride := 1 << rapid.IntRange(0, 4).Draw(t, "log2 stride")
		bytes := units.Bytes(1) << rapid.IntRange(3, 36).Draw(t, "log2 bytes")
		top := NewTopology(&c)
		s := top.shape(size, stride)
		inside, rails := math.Max(top.nvlink, top.pcie), float64(s.local)*top.network
		for _, op := range Operations {
			if len(top.Algorithms(op, 1, stride, bytes)) > 0 || len(top.Algorithms(op, size, stride, 0)) > 0 {
				t.Fatalf("%s: one rank, or no bytes, take an algorithm", op)
			}
			list, twice := top.Algorithms(op, size, stride, bytes), top.Algorithms(op, size, stride, 2*bytes)
			if list[0].Needs != "" {
				t.Fatalf("%s: NCCL has nothing", op)
			}
			for _, a := range list {
				// What every way has to move: somebody sends or receives all pieces but its own.
				floor := float64(bytes) / 2 / inside
				if s.islands > 1 {
					floor = float64(bytes) / 2 / rails
				}
				if op == AllToAll || op == Send { // every rank has bytes of its own
					floor = 0
					if s.islands > 1 {
						floor = float64(bytes) / 2 / top.network
					}
				}
				if s := float64(a.Seconds); s < floor || s <= 0 || named(t, twice, a.Name) <= s {
					t.Fatalf("%s by %s: %v s, twice the bytes %v, floor %v", op, a.Name, s, named(t, twice, a.Name), floor)
				}
			}
		}
		both := named(t, top.Algorithms(ReduceScatter, size, stride, bytes), "ring") + named(t, top.Algorithms(AllGather, size, stride, bytes), "ring")
		if ring := named(t, top.Algorithms(AllReduce, size, stride, bytes), "ring"); ring > both || ring < both-14.1e-6 {
			t.Fatalf("all-reduce on a ring %v s, its two halves %v", ring, both)
		}
	})
}

// TestLogarithm: with twice the nodes a double binary tree takes one more step up and
// down, a ring as many more as there were; so trees win for short messages, rings and the switches for long.
func TestLogarithm(t *testing.T) {
	c := measuredOn["h100_ib"]
	c.Nodes = 2048
	top := NewTopology(&c)
	at := func(nodes int, name string) float64 {
		return named(t, top.Algorithms(AllReduce, nodes, 8, 8), name)
	}
	for nodes := 4; nodes <= 1024; nodes *= 2 {
		if more := at(2*nodes, "double binary tree") - at(nodes, "double binary tree"); math.Abs(more-2*5e-6) > 1e-9 {
			t.Errorf("%d nodes: %v s more for twice as many", nodes, more)
		}
		if more := at(2*nodes, "ring") - at(nodes, "ring"); math.Abs(more-2*float64(nodes)*2.7e-6) > 1e-9 {
			t.Errorf("%d nodes: a ring takes %v s more for twice as many", nodes, more)
		}
	}
}

// TestTaken: which algorithm NCCL takes, as its users see it in its logs.
func TestTaken(t *testing.T) {
	c := measuredOn["h100_ib"]
	c.Nodes = 128
	a100 := with(cluster("a100_80gb", "8.0", 8, 8, 300), "infiniband", 8, 200)
	a100.Nodes = 128
	for _, x := range []struct {
		on           Topology
		op           Operation
		size, stride int
		bytes        units.Bytes
		want         string
	}{
		{*NewTopology(&c), AllReduce, 8, 1, 1 << 10, "ring"},
		{*NewTopology(&c), AllReduce, 8, 1, 1 << 30, "in the NVLink switches"},
		{*NewTopology(&c), AllReduce, 1024, 1, 1 << 10, "double binary tree"},
		{*NewTopology(&c), AllReduce, 1024, 1, 1 << 30, "in the NVLink switches, trees between"},
		{*NewTopology(&a100), AllReduce, 8, 1, 1 << 30, "ring"},
		{*NewTopology(&a100), AllReduce, 1024, 1, 1 << 20, "double binary tree"},
		{*NewTopology(&c), AllGather, 1024, 1, 1 << 30, "ring"},
		{*NewTopology(&c), AllGather, 128, 8, 1 << 20, "parallel aggregated trees"},
		{*NewTopology(&c), AllToAll, 64, 1, 1 << 20, "direct"},
	} {
		if got := x.on.Algorithms(x.op, x.size, x.stride, x.bytes); got[0].Name != x.want {
			t.Errorf("%s of %d bytes over %d ranks: %+v, want %s", x.op, x.bytes, x.size, got, x.want)
		}
	}
}

// TestFormulasMeasured says how far the formulas alone are from what was measured,
// which is why steps are priced by curves. The bounds may only be lowered.
func TestFormulasMeasured(t *testing.T) {
	var errors []float64
	for _, m := range readMeasurements(t) {
		c := measuredOn[m.Cluster]
		c.Nodes = m.GPUs / c.GPUsPerNode
		if list := NewTopology(&c).Algorithms(m.Operation, m.GPUs, 1, units.Bytes(m.Bytes)); len(list) > 0 {
			errors = append(errors, math.Abs(float64(list[0].Seconds)/m.Seconds-1))
		}
	}
	slices.Sort(errors)
	median, p90 := errors[len(errors)/2], errors[len(errors)*9/10]
	t.Logf("n=%d median %.3f p90 %.3f", len(errors), median, p90)
	if len(errors) < 300 || median > 0.34 || p90 > 0.68 {
		t.Errorf("n %d, median error %.3f, p90 %.3f", len(errors), median, p90)
	}
}
