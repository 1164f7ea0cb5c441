package collective

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	_ "github.com/ndc-dev/ndc/tools/draws"
	"pgregory.net/rapid"
)

// cluster builds a cluster of the shape that a measurement was taken on.
func cluster(gpu, capability string, perNode, domain int, nvlink float64) job.Cluster {
	return job.Cluster{
		GPU: job.GPU{Catalog: gpu, ComputeCapability: capability}, GPUsPerNode: perNode, Nodes: 1,
		NVLink: job.NVLink{Domain: domain, Bandwidth: units.BytesPerSecond(nvlink * 1e9)},
		PCIe:   job.Link{Bandwidth: 64e9},
	}
}

// with adds a network of nics per node at a rate in Gb/s.
func with(c job.Cluster, kind string, nics int, gbps float64) job.Cluster {
	c.Network = job.Network{Kind: kind, NICsPerNode: nics, Bandwidth: units.BytesPerSecond(gbps / 8 * 1e9), Rails: nics}
	return c
}

var measuredOn = map[string]job.Cluster{
	"h100_ib":     with(cluster("h100_sxm", "9.0", 8, 8, 450), "infiniband", 8, 400),
	"h100_efa":    with(cluster("h100_sxm", "9.0", 8, 8, 450), "efa", 32, 100),
	"h100_tcpxo":  with(cluster("h100_sxm", "9.0", 8, 8, 450), "roce", 8, 200),
	"h200_roce":   with(cluster("h200", "9.0", 8, 8, 450), "roce", 8, 400),
	"h200_efa":    with(cluster("h200", "9.0", 8, 8, 450), "efa", 16, 200),
	"b200_ib":     with(cluster("b200", "10.0", 8, 8, 900), "infiniband", 8, 400),
	"b200_ib_325": with(cluster("b200", "10.0", 8, 8, 900), "infiniband", 8, 325), // four weak HCAs
	"b200_efa":    with(cluster("b200", "10.0", 8, 8, 900), "efa", 8, 400),
	"b200_roce":   with(cluster("b200", "10.0", 8, 8, 900), "roce", 8, 400),
	"gb200":       with(cluster("gb200", "10.0", 4, 72, 900), "roce", 4, 400),
}

type measurement struct {
	ID, Cluster, Source string
	Operation           Operation
	GPUs                int
	Bytes, Seconds      float64
}

func readMeasurements(t *testing.T) []measurement {
	t.Helper()
	f, err := os.Open("testdata/measured.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []measurement
	for s := bufio.NewScanner(f); s.Scan(); {
		var m measurement
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

func (m *measurement) predict(t *testing.T) float64 {
	c, ok := measuredOn[m.Cluster]
	if !ok {
		t.Fatalf("%s: no cluster %s", m.ID, m.Cluster)
	}
	c.Nodes = m.GPUs / c.GPUsPerNode
	g := NewTopology(&c).Group(m.GPUs, 1)
	return float64(g.Time(m.Operation, units.Bytes(m.Bytes)))
}

// TestMeasured holds the predictions to published collectives between nodes,
// from eight bytes to 32 GiB and 8 to 8,192 GPUs. The bounds are what the
// tables reach today; they may only be lowered.
func TestMeasured(t *testing.T) {
	byKind := map[string][]float64{}
	var all []float64
	for _, m := range readMeasurements(t) {
		e := m.predict(t)/m.Seconds - 1
		k := fmt.Sprintf("%s %s %5d", m.Cluster, m.Operation, m.GPUs)
		byKind[k] = append(byKind[k], e)
		all = append(all, math.Abs(e))
	}
	for _, k := range slices.Sorted(mapKeys(byKind)) {
		e := byKind[k]
		slices.Sort(e)
		t.Logf("%-36s n=%2d  min %+.2f  median %+.2f  max %+.2f", k, len(e), e[0], e[len(e)/2], e[len(e)-1])
	}
	slices.Sort(all)
	median, p90 := all[len(all)/2], all[len(all)*9/10]
	t.Logf("all: n=%d median %.3f p90 %.3f", len(all), median, p90)
	page, err := os.ReadFile("../../docs/collectives.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), fmt.Sprintf("On %d published measurements", len(all))) ||
		!strings.Contains(string(page), fmt.Sprintf("median error %.0f %%, 90th percentile %.0f %%", 100*median, 100*p90)) {
		t.Errorf("docs/collectives.md says another number than %d, %.0f %% or %.0f %%", len(all), 100*median, 100*p90)
	}
	for _, op := range []Operation{AllReduce, AllGather, AllToAll} {
		row, least, most := "|", 0.0, 0.0
		for gpus := 16; gpus <= 256; gpus *= 2 {
			e := byKind[fmt.Sprintf("h100_efa %s %5d", op, gpus)]
			row, least, most = row+" "+signed(e[len(e)/2])+" % |", min(least, e[0]), max(most, e[len(e)-1])
		}
		if row += " " + signed(least) + " to " + signed(most) + " % |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/collectives.md does not say of %s %s", op, row)
		}
	}
	if len(all) < 700 || median > 0.08 || p90 > 0.30 {
		t.Errorf("n %d, median error %.3f, p90 %.3f", len(all), median, p90)
	}
}

// signed is a share in whole percent as pages write it.
func signed(share float64) string {
	return strings.Replace(fmt.Sprintf("%+.0f", 100*share), "-", "−", 1)
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestInside holds the fitted curves to anchors of the same tables: 8 GPUs,
// 1 GiB, bus bandwidth in GB/s.
func TestInside(t *testing.T) {
	for _, c := range []struct {
		on                              string
		reduce, gather, scatter, toEach float64
	}{
		{"h100_ib", 445, 335, 336, 315},
		{"b200_ib", 704, 617, 613, 563},
	} {
		k := measuredOn[c.on]
		g := NewTopology(&k).Group(8, 1)
		if g.Link() != LinkNVLink {
			t.Errorf("%s: 8 neighbours over %s", c.on, g.Link())
		}
		for op, want := range map[Operation]float64{AllReduce: c.reduce, AllGather: c.gather, ReduceScatter: c.scatter, AllToAll: c.toEach} {
			m := measurement{Cluster: c.on, Operation: op, GPUs: 8, Bytes: 1 << 30}
			got := Volume(op, 8) * m.Bytes / m.predict(t) / 1e9
			if math.Abs(got/want-1) > 0.12 {
				t.Errorf("%s %s: %.0f GB/s, measured %.0f", c.on, op, got, want)
			}
		}
	}
}

// TestCutLinks: of an H800's NVLink, 8 links of the H100's 18, everything but all-reduce
// gets 80 %, whole links what was measured; none gets more than whole links would give.
func TestCutLinks(t *testing.T) {
	bus := func(nvlink float64, op Operation) float64 {
		c := with(cluster("h800", "9.0", 8, 8, nvlink), "infiniband", 8, 400)
		c.GPU.Catalog = "h800"
		g := NewTopology(&c).Group(8, 1)
		const bytes = 1 << 40 // latencies vanish
		t := map[Operation]units.Seconds{AllReduce: g.AllReduce(bytes), AllGather: g.AllGather(bytes), ReduceScatter: g.ReduceScatter(bytes), AllToAll: g.AllToAll(bytes)}[op]
		return Volume(op, 8) * bytes / float64(t) / 1e9
	}
	for op, most := range map[Operation]float64{AllGather: 160, ReduceScatter: 160, AllToAll: 160, AllReduce: bus(450, AllReduce) * 200 / 450} {
		if got := bus(200, op); math.Abs(got/most-1) > 1e-3 {
			t.Errorf("%s over 200 GB/s: %.0f GB/s, want %.0f", op, got, most)
		}
		last := 0.0
		for nvlink := 50.0; nvlink <= 900; nvlink += 50 {
			got := bus(nvlink, op)
			if got < last || nvlink <= 450 && got > bus(450, op)*(1+1e-9) {
				t.Errorf("%s over %g GB/s: %.0f GB/s after %.0f", op, nvlink, got, last)
			}
			last = got
		}
	}
}

// TestLocal: how many ranks of a group lie in one block of the machine, by their stride.
func TestLocal(t *testing.T) {
	for _, c := range []struct{ size, stride, block, want int }{
		{8, 1, 8, 8}, {4, 2, 8, 4}, {2, 8, 8, 1}, {16, 1, 8, 8}, {16, 4, 8, 2}, {64, 1, 72, 8},
		{6, 1, 8, 2}, {2, 6, 8, 2}, {3, 1, 8, 1}, {8, 9, 72, 8}, {144, 1, 72, 72}, {1024, 8, 8, 1},
	} {
		if got := local(c.size, c.stride, c.block); got != c.want {
			t.Errorf("local(%d, %d, %d) = %d, want %d", c.size, c.stride, c.block, got, c.want)
		}
	}
}

// TestLink: the link of a group is the slowest that its ranks have between them.
func TestLink(t *testing.T) {
	pairs := with(cluster("h100_pcie", "9.0", 8, 2, 300), "infiniband", 4, 400)
	nothing := with(cluster("rtx", "8.9", 8, 0, 0), "", 0, 0)
	rack := measuredOn["gb200"]
	part := rack // of one rack, and no power of two
	pairs.Nodes, rack.Nodes, part.Nodes = 4, 36, 6
	for _, c := range []struct {
		cluster      *job.Cluster
		size, stride int
		want         string
	}{
		{&pairs, 1, 1, LinkSelf}, {&pairs, 2, 1, LinkNVLink}, {&pairs, 4, 1, LinkPCIe}, {&pairs, 4, 8, LinkNetwork},
		{&nothing, 8, 1, LinkPCIe}, {&rack, 72, 1, LinkNVLink}, {&rack, 9, 8, LinkNVLink}, {&rack, 8, 4, LinkNetwork}, {&rack, 2, 72, LinkNetwork},
		{&part, 24, 1, LinkNVLink}, {&part, 3, 8, LinkNVLink},
	} {
		g := NewTopology(c.cluster).Group(c.size, c.stride)
		if g.Link() != c.want {
			t.Errorf("%s: %d ranks %d apart over %s, want %s", c.cluster.GPU.Catalog, c.size, c.stride, g.Link(), c.want)
		}
	}
}

// operations calls every method of a group.
func operations(g *Group, b units.Bytes) [5]units.Seconds {
	return [5]units.Seconds{g.AllReduce(b), g.AllGather(b), g.ReduceScatter(b), g.AllToAll(b), g.PointToPoint(b)}
}

// TestProperties: nothing is free but nothing, more bytes take longer, more
// ranks never less (but for noise, and for what was measured: the switches sum
// for eight GPUs faster than a ring of four),
// and no link carries more than it can.
func TestProperties(t *testing.T) {
	names := slices.Sorted(mapKeys(measuredOn))
	rapid.Check(t, func(t *rapid.T) {
		c := measuredOn[rapid.SampledFrom(names).Draw(t, "cluster")]
		c.Nodes = 64
		stride := 1 << rapid.IntRange(0, 4).Draw(t, "log2 stride")
		size := 1 << rapid.IntRange(1, 6).Draw(t, "log2 size")
		bytes := units.Bytes(1) << rapid.IntRange(3, 33).Draw(t, "log2 bytes")
		top := NewTopology(&c)
		small, large, one := top.Group(size, stride), top.Group(2*size, stride), top.Group(1, stride)
		for i, s := range operations(&small, bytes) {
			switch {
			case operations(&one, bytes)[i] != 0:
				t.Fatalf("operation %d: one rank takes %v", i, operations(&one, bytes)[i])
			case operations(&small, 0)[i] != 0:
				t.Fatalf("operation %d: no bytes take %v", i, operations(&small, 0)[i])
			case s <= 0 || operations(&small, 2*bytes)[i] <= s:
				t.Fatalf("operation %d: %v for %d bytes, %v for twice", i, s, bytes, operations(&small, 2*bytes)[i])
			case !(i == 0 && small.Link() == LinkNVLink) && float64(operations(&large, bytes)[i]) < 0.95*float64(s)-2e-6:
				t.Fatalf("operation %d: %v for %d ranks, %v for twice", i, s, size, operations(&large, bytes)[i])
			}
		}
		fastest := math.Max(top.nvlink, float64(top.nics)*top.network)
		if floor := float64(bytes) / fastest / 2; float64(small.AllGather(bytes)) < floor/2 {
			t.Fatalf("all-gather of %d bytes in %v, under %v", bytes, small.AllGather(bytes), floor)
		}
	})
}

// TestOversubscription: a ring slows down only when the group has fewer nodes
// in a pod than the oversubscription; an all-to-all always does.
func TestOversubscription(t *testing.T) {
	c := measuredOn["h100_ib"]
	c.Nodes, c.Network.GPUsPerPod = 64, 128
	flat := NewTopology(&c)
	c.Network.Oversubscription = 4
	thin := NewTopology(&c)
	const b = units.Bytes(1 << 30)
	for _, x := range []struct {
		size, stride   int
		gather, toEach bool // slower than on the flat network
	}{
		{128, 1, false, false}, {512, 1, false, true}, {8, 64, true, true}, {4, 128, true, true}, {64, 8, false, true},
	} {
		f, s := flat.Group(x.size, x.stride), thin.Group(x.size, x.stride)
		if got := s.AllGather(b) > f.AllGather(b); got != x.gather {
			t.Errorf("all-gather of %d, %d apart: slower %v, want %v", x.size, x.stride, got, x.gather)
		}
		if got := s.AllToAll(b) > f.AllToAll(b); got != x.toEach {
			t.Errorf("all-to-all of %d, %d apart: slower %v, want %v", x.size, x.stride, got, x.toEach)
		}
	}
}

// TestLatency: what the cluster states beyond the tables is paid per hop, and
// a cluster that says nothing still has finite costs.
func TestLatency(t *testing.T) {
	c := measuredOn["h100_ib"]
	c.Nodes = 4
	near := NewTopology(&c)
	c.Network.Latency, c.NVLink.Latency = 15e-6, 12.5e-6
	far := NewTopology(&c)
	for _, x := range []struct {
		size, stride int
		want         float64 // more of an all-gather
	}{{4, 8, 3 * 10e-6}, {32, 1, 3 * 10e-6}, {8, 1, 7 * 10e-6}} {
		n, f := near.Group(x.size, x.stride), far.Group(x.size, x.stride)
		if got := float64(f.AllGather(1024) - n.AllGather(1024)); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%d ranks %d apart: %v s more, want %v", x.size, x.stride, got, x.want)
		}
	}
	bare := job.Cluster{Nodes: 1, GPUsPerNode: 4}
	g := NewTopology(&bare).Group(4, 1)
	if s := g.AllReduce(1 << 30); math.IsInf(float64(s), 0) || s <= 0 {
		t.Errorf("without any link described: %v", s)
	}
}

// BenchmarkAllReduce: one all-reduce of a group that is known; it allocates nothing.
func BenchmarkAllReduce(b *testing.B) {
	c := measuredOn["h100_ib"]
	c.Nodes = 64
	g := NewTopology(&c).Group(64, 8)
	b.ReportAllocs()
	for b.Loop() {
		sink = g.AllReduce(256 << 20)
	}
}

// BenchmarkGroup: a group asked of the topology anew, as each layout does.
func BenchmarkGroup(b *testing.B) {
	c := measuredOn["h100_ib"]
	c.Nodes = 64
	top := NewTopology(&c)
	b.ReportAllocs()
	for b.Loop() {
		g := top.Group(64, 8)
		sink = g.AllReduce(1)
	}
}

var sink units.Seconds
