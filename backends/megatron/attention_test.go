package megatron

import (
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// TestKernel: the kernel that stands where a job names none trains its heads.
func TestKernel(t *testing.T) {
	latent := func(nope, values int) func(j *job.Job) {
		return func(j *job.Job) {
			j.Model = deepseek()
			j.Model.Attention.MLA.QKNopeHeadDim, j.Model.Attention.MLA.VHeadDim = nope, values
		}
	}
	width := func(n int) func(j *job.Job) {
		return func(j *job.Job) { j.Model.Attention.HeadDim = n }
	}
	for _, c := range []struct {
		name, capability string
		edit             func(j *job.Job)
		want             string
	}{
		{"128", "9.0", width(128), "fused"},
		{"256", "9.0", width(256), "fused"},
		{"256", "10.0", width(256), "flash"},
		{"256", "10.3", width(256), "unfused"},
		{"192", "10.3", width(192), "flash"},
		{"128", "8.0", width(128), "flash"},
		{"100", "9.0", width(100), "unfused"},
		{"latent, 192 and 128", "9.0", latent(128, 128), "fused"},
		{"latent, 192 and 128", "10.0", latent(128, 128), "fused"},
		{"latent, 192 and 128", "8.0", latent(128, 128), "unfused"},
		{"latent, 128 and 64", "8.0", latent(64, 64), "fused"},
		{"latent, 256 and 128", "9.0", latent(192, 128), "unfused"},
		{"latent, 256 and 256", "9.0", latent(192, 256), "fused"},
		{"latent with document masks", "9.0", func(j *job.Job) {
			latent(128, 128)(j)
			j.Training.Data.DocumentMask = true
		}, "fused"},
		{"latent with document masks", "10.0", func(j *job.Job) {
			latent(128, 128)(j)
			j.Training.Data.DocumentMask = true
		}, "unfused"},
		{"sinks", "8.0", func(j *job.Job) { j.Model = gptOSS() }, "fused"},
		{"sinks with document masks", "9.0", func(j *job.Job) {
			j.Model = gptOSS()
			j.Training.Data.DocumentMask = true
		}, "fused"},
		{"sinks with document masks", "8.0", func(j *job.Job) {
			j.Model = gptOSS()
			j.Training.Data.DocumentMask = true
		}, "unfused"},
		{"a window", "9.0", func(j *job.Job) { j.Model.Attention.SlidingWindow.Size = 4096 }, "fused"},
		{"a window with dropout", "9.0", func(j *job.Job) {
			j.Model.Attention.SlidingWindow.Size, j.Model.Dropout = 4096, 0.1
		}, "flash"},
	} {
		j := baseJob("core_v0.19.2")
		j.Cluster.GPU = job.GPU{ComputeCapability: c.capability}
		c.edit(j)
		if got := attention(j); got != c.want {
			t.Errorf("%s on %s: %s, want %s", c.name, c.capability, got, c.want)
		}
	}
}
