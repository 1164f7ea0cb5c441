package caution

import (
	"fmt"

	"github.com/ndc-dev/ndc/lang/units"
)

// bandwidths warns of links in an order that no machine has: a GPU's memory is
// faster than its NVLink, that is no slower than PCIe, and an adapter, which
// hangs on PCIe, is no faster; twice is allowed for adapters that have a link of
// their own to the GPU. Bits written for bytes, or bytes for bits, break the
// order.
func (w *warner) bandwidths() {
	c := &w.job.Cluster
	memory, nvlink, pcie, adapter := c.GPU.MemoryBandwidth, c.NVLink.Bandwidth, c.PCIe.Bandwidth, c.Network.Bandwidth
	if adapter > 2*pcie && pcie > 0 {
		w.warn(UnlikelyBandwidth, "cluster.network.bandwidth", "An adapter of %s hangs on PCIe of %s, so that it cannot send as fast. Is %s meant?", gigabytes(adapter), gigabytes(pcie), gigabits(adapter/8))
	}
	if nvlink < pcie && nvlink > 0 {
		w.warn(UnlikelyBandwidth, "cluster.nvlink.bandwidth", "NVLink of %s is slower than PCIe, %s. Is %s meant?", gigabytes(nvlink), gigabytes(pcie), gigabytes(8*nvlink))
	}
	if memory < nvlink && memory > 0 {
		w.warn(UnlikelyBandwidth, "cluster.gpu.memory_bandwidth", "The GPU's memory, at %s, is slower than its NVLink, %s. Is %s meant?", gigabytes(memory), gigabytes(nvlink), gigabytes(8*memory))
	}
}

// generation warns of a GPU that does not say which it is. Nothing that only some
// generations have is refused then, so that the job may ask for what it lacks.
func (w *warner) generation() {
	g := &w.job.Cluster.GPU
	if g.ComputeCapability != "" {
		return
	}
	asks := ""
	switch p := w.job.Training.Precision; p {
	case "mxfp8", "nvfp4":
		asks = fmt.Sprintf(" precision = %q, which GPUs of 10.0 and 10.3 alone have, is taken for granted.", p)
	case "fp8":
		asks = " precision = \"fp8\", which GPUs of 8.9 and above have, is taken for granted."
	}
	w.warn(UnknownGeneration, "cluster.gpu.compute_capability",
		"The GPU %s has no compute_capability. Its kernels and their times are guessed from its rates, options that depend on it are those for Hopper, and nothing is refused that its generation may lack.%s Write it: \"8.0\" is A100's, \"9.0\" H100's and H200's, \"10.0\" B200's, \"10.3\" B300's.",
		g.Name, asks)
}

// gigabytes writes a bandwidth in bytes, as the language reads it.
func gigabytes(b units.BytesPerSecond) string { return units.Significant(float64(b)/1e9, 4) + "GB/s" }

// gigabits writes it in bits.
func gigabits(b units.BytesPerSecond) string { return units.Significant(float64(b)*8/1e9, 4) + "Gb/s" }
