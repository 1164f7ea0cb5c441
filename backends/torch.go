package backends

import "github.com/ndc-dev/ndc/lang/job"

// SDPA is the kernel that torch.nn.functional.scaled_dot_product_attention picks for a
// job, named as in package compute: FlashAttention in 16 bits and from compute capability
// 8.0 on (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, check_sm_version), else
// one that keeps no scores either.
func SDPA(j *job.Job) string {
	switch {
	case j.Training.Precision == "fp32":
		return "memory_efficient_fp32"
	case j.Cluster.GPU.Capability() < 8:
		return "memory_efficient"
	}
	return "sdpa"
}
