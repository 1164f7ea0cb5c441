package lang

import (
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// decodeCluster reads a cluster's tree, without its GPU.
func decodeCluster(b *block) job.Cluster {
	c := job.Cluster{
		Name: b.labelOr(""), Catalog: b.catalog,
		Nodes: b.count("nodes"), GPUsPerNode: b.count("gpus_per_node"),
		HostMemory: get[units.Bytes](b, "host_memory"), HostMemoryBandwidth: get[units.BytesPerSecond](b, "host_memory_bandwidth"), CPUsPerNode: b.count("cpus_per_node"),
		PricePerGPUHour: b.number("price_per_gpu_hour"),
	}
	if n := b.find("nvlink"); n != nil {
		c.NVLink = job.NVLink{Domain: n.count("domain"), Bandwidth: n.bandwidth("bandwidth"), Latency: n.seconds("latency")}
	}
	if s := b.find("storage"); s != nil {
		c.Storage = job.Storage{Bandwidth: s.bandwidth("bandwidth"), PerNode: s.bandwidth("per_node")}
	}
	if r := b.find("reliability"); r != nil {
		c.Reliability = &job.Reliability{GPUHoursBetweenFailures: r.number("gpu_hours_between_failures"), Restart: r.seconds("restart")}
	}
	if p := b.find("pcie"); p != nil {
		c.PCIe = job.Link{Bandwidth: p.bandwidth("bandwidth"), Latency: p.seconds("latency")}
	}
	if n := b.find("network"); n != nil {
		c.Network = job.Network{
			Kind: n.text("kind"), NICsPerNode: n.count("nics_per_node"), Bandwidth: n.bandwidth("bandwidth"), Latency: n.seconds("latency"),
			GPUsPerPod: n.count("gpus_per_pod"), Oversubscription: n.number("oversubscription"), Environment: n.vars("environment"),
			Topology: n.text("topology"), Congestion: get[units.Share](n, "congestion"),
		}
		c.Network.Rails = n.countOr("rails", c.Network.NICsPerNode)
	}
	return c
}

// decodeGPU reads a GPU's tree.
func decodeGPU(b *block) job.GPU {
	peak := b.child("peak_flops")
	return job.GPU{
		Name: b.labelOr(""), Catalog: b.catalog,
		Memory: get[units.Bytes](b, "memory"), TorchMemory: get[units.Bytes](b, "torch_memory"),
		MemoryBandwidth:   b.bandwidth("memory_bandwidth"),
		ComputeCapability: b.text("compute_capability"), SMs: b.count("sms"), Power: float64(get[units.Watts](b, "power")),
		PeakFLOPS: job.PeakFLOPS{
			FP32: peak.rate("fp32"), TF32: peak.rate("tf32"), BF16: peak.rate("bf16"),
			FP16: peak.rate("fp16"), FP8: peak.rate("fp8"), FP4: peak.rate("fp4"),
		},
	}
}
