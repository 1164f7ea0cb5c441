package megatron

import (
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// offers are the values of execution options that may make a step faster than
// what resolve recommends. Those that need a package beside Transformer Engine,
// or memory that is not predicted, only a job that names them gets.
func (v *version) offers(j *job.Job) []target.Offer {
	m, blackwell := &j.Model, gpuMajor(&j.Cluster.GPU) >= 10
	var list []target.Offer
	offer := func(name string, asked string, applies func(*target.Facts) bool, values ...string) {
		list = append(list, target.Offer{Option: name, Values: values, Asked: asked, Applies: applies})
	}
	if registersBuffers(j) {
		offer("overlap_tensor_parallel", "", func(f *target.Facts) bool {
			return f.Layout.SequenceParallel && f.Layout.TensorParallel <= f.Job.Cluster.GPUsPerNode
		}, "true")
	}
	if m.MoE != nil && m.LayerPattern == "" {
		// CUDA_DEVICE_MAX_CONNECTIONS would have to be 1 and 32 at once before
		// Blackwell (arguments.py warns).
		offer("overlap_expert_parallel", "", func(f *target.Facts) bool {
			return f.Layout.ExpertParallel > 1 && (blackwell || f.Layout.TensorParallel == 1 && f.Layout.ContextParallel == 1)
		}, "true")
		offer("moe_dispatcher", "it needs the package DeepEP", func(f *target.Facts) bool {
			return f.Layout.ExpertParallel > 1 && f.Layout.ExpertTensorParallel == 1
		}, "deepep", "hybridep")
	}
	if m.LayerPattern == "" {
		const asked = "published gains run from none to a third of a step"
		if m.MoE != nil && v.atLeast(16, 0) {
			offer("cuda_graphs", asked, nil, "attention+moe_router+moe_preprocess", "layer", "full")
		} else {
			offer("cuda_graphs", asked, nil, "layer", "full")
		}
	}
	if v.options.Has("--fine-grained-activation-offloading") && m.LayerPattern == "" && j.Cluster.PCIe.Bandwidth > 0 {
		offer("offload.activations", "it needs the packages cuda-python and nvidia-ml-py", nil, "true")
	}
	if attention(j) == "flash" {
		offer("attention", "", nil, "fused")
	}
	offer("gradient_dtype", "", nil, "bf16")
	return list
}

// registersBuffers reports whether Transformer Engine has user buffers for every
// linear layer of a job that sequence parallelism communicates around: its names
// are those of a plain transformer's (qkv, proj, fc1, fc2), in 16 bits and with
// scales of whole tensors.
func registersBuffers(j *job.Job) bool {
	m, recipe := &j.Model, j.Training.FP8.Recipe
	switch j.Training.Precision {
	case "bf16", "fp16":
	case "fp8":
		if recipe != "delayed" && recipe != "tensorwise" {
			return false
		}
	default:
		return false
	}
	return j.Cluster.NVLink.Domain > 1 && m.MLA == nil && m.LayerPattern == "" && (m.MoE == nil || m.MoE.SharedExpertFFNHiddenSize == 0)
}
