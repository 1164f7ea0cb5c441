package catalog_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// machine is one line of testdata/hardware: what publishers state.
type machine struct {
	Name    string
	Facts   map[string]any
	Sources map[string]string
}

func readMachines(t *testing.T, path string) map[string]machine {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	machines := map[string]machine{}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var m machine
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		machines[m.Name] = m
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return machines
}

// compare holds a number of the catalogue to a published fact, where it is
// published.
func (m *machine) compare(t *testing.T, fact string, got float64) bool {
	t.Helper()
	want, ok := m.Facts[fact].(float64)
	if !ok {
		return false
	}
	if m.Sources[fact] == "" {
		t.Errorf("%s: %s has no source", m.Name, fact)
	}
	if math.Abs(got-want) > 1e-6*want {
		t.Errorf("%s: %s is %g in the catalogue, published %g (%s)", m.Name, fact, got, want, m.Sources[fact])
	}
	return true
}

// peakFacts are the published names of the dense peaks.
var peakFacts = map[string]func(job.PeakFLOPS) units.FLOPsPerSecond{
	"peak_fp32_tflops":              func(p job.PeakFLOPS) units.FLOPsPerSecond { return p.FP32 },
	"peak_tf32_dense_tflops":        func(p job.PeakFLOPS) units.FLOPsPerSecond { return p.TF32 },
	"peak_bf16_dense_tflops":        func(p job.PeakFLOPS) units.FLOPsPerSecond { return p.BF16 },
	"peak_fp16_dense_tflops":        func(p job.PeakFLOPS) units.FLOPsPerSecond { return p.FP16 },
	"peak_fp16_tensor_dense_tflops": func(p job.PeakFLOPS) units.FLOPsPerSecond { return p.FP16 },
	"peak_fp8_dense_tflops":         func(p job.PeakFLOPS) units.FLOPsPerSecond { return p.FP8 },
	"peak_fp4_dense_tflops":         func(p job.PeakFLOPS) units.FLOPsPerSecond { return p.FP4 },
}

// TestGPUsMatchPublishedFacts compares every GPU with what is published of it.
func TestGPUsMatchPublishedFacts(t *testing.T) {
	machines := readMachines(t, "../../testdata/hardware/gpus.jsonl")
	for _, name := range catalog.Names("gpu") {
		m, ok := machines[name]
		if !ok {
			t.Errorf("gpu %s has no published facts in testdata/hardware", name)
			continue
		}
		g := load(t, "dgx_h100", "gpu = catalog.gpu."+name, "debug").Cluster.GPU
		m.compare(t, "memory_driver_mib", float64(g.Memory)/float64(units.MiB))
		m.compare(t, "memory_bandwidth_gb_s", float64(g.MemoryBandwidth)/1e9)
		m.compare(t, "sm_count", float64(g.SMs))
		m.compare(t, "power_w", g.Power)
		m.compare(t, "power_default_w", g.Power)
		if torch, ok := m.Facts["memory_torch_gib"].(float64); ok && math.Abs(float64(g.TorchMemory)/float64(units.GiB)-torch) > 0.005 {
			t.Errorf("%s: torch_memory is %.3f GiB in the catalogue, published %g", name, float64(g.TorchMemory)/float64(units.GiB), torch)
		}
		if g.ComputeCapability != m.Facts["compute_capability"] {
			t.Errorf("%s: compute_capability %q, published %v", name, g.ComputeCapability, m.Facts["compute_capability"])
		}
		for fact, of := range peakFacts {
			if !m.compare(t, fact, float64(of(g.PeakFLOPS))/1e12) && of(g.PeakFLOPS) != 0 && !taken(name) && !strings.Contains(fact, "fp16") {
				t.Errorf("%s: %s is in the catalogue and not among the published facts", name, fact)
			}
		}
	}
}

// taken reports peaks that the catalogue takes from a sibling and says so in
// its sources.
func taken(name string) bool {
	return strings.Contains(string(catalog.Source("gpu", name)), "that of the H100 SXM, not read for this part")
}

// TestClustersMatchPublishedFacts compares every cluster with what is
// published of its nodes.
func TestClustersMatchPublishedFacts(t *testing.T) {
	machines := readMachines(t, "../../testdata/hardware/clusters.jsonl")
	for _, name := range catalog.Names("cluster") {
		m, ok := machines[name]
		if !ok {
			t.Errorf("cluster %s has no published facts in testdata/hardware", name)
			continue
		}
		c := load(t, name, "", "debug").Cluster
		if gpu, ok := m.Facts["gpu"]; ok && gpu != c.GPU.Catalog {
			t.Errorf("%s: GPU %s, published %v", name, c.GPU.Catalog, gpu)
		}
		m.compare(t, "gpus_per_node", float64(c.GPUsPerNode))
		if c.NVLink.Domain != 0 { // a single GPU is published as a domain of one
			m.compare(t, "nvlink_domain_gpus", float64(c.NVLink.Domain))
		}
		nics := float64(c.Network.NICsPerNode)
		if !m.compare(t, "compute_nics_per_node", nics) {
			m.compare(t, "efa_devices", nics)
		}
		gbits := float64(c.Network.Bandwidth) * 8 / 1e9
		if !m.compare(t, "compute_nic_gbit_s", gbits) {
			m.compare(t, "efa_gbit_s_each", gbits)
		}
		m.compare(t, "rails", float64(c.Network.Rails))
		m.compare(t, "host_cores", float64(c.CPUsPerNode))
		m.compare(t, "host_memory_gb", float64(c.HostMemory)/1e9)
		m.compare(t, "host_memory_gib", float64(c.HostMemory)/float64(units.GiB))
		m.compare(t, "scalable_unit_gpus", float64(c.Network.GPUsPerPod))
	}
}
