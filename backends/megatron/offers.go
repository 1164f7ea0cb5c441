package megatron

import (
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// The values of execution options that may make a step faster than what is
// recommended. Those that need a package beside Transformer Engine, or of which too
// little is known, only a job that names them gets. graphs.go has those of CUDA graphs.

func offersTensor(j *job.Job) []target.Offer {
	if !registersBuffers(j) {
		return nil
	}
	// Scales of mxfp8 are gathered for whole blocks of 128 rows (Transformer Engine,
	// fill_userbuffers_buffer_for_all_gather).
	rows := 1
	if j.Training.Precision == "mxfp8" {
		rows = 128
	}
	return []target.Offer{{Values: []string{"true"}, Applies: func(f *target.Facts) bool {
		l := f.Layout
		return l.SequenceParallel && l.TensorParallel <= f.Job.Cluster.GPUsPerNode &&
			l.MicroBatchSize*f.Job.Model.SequenceLength/(l.ContextParallel*l.TensorParallel)%rows == 0
	}}}
}

// buffersCarry reports whether Megatron-LM's user buffers carry what a job's layers exchange. They
// hold bf16, because initialize_ub is called without a type (training/initialize.py): fp32 is refused
// (Transformer Engine, comm_gemm_overlap.cpp, "dtypes are not compatible"), fp16 is read as bf16.
// Latent attention has linear layers without buffers, and the first of them turns the overlap off for all
// that are built after it (core/extensions/transformer_engine.py, TELinear).
func buffersCarry(j *job.Job) bool {
	return j.Training.Precision != "fp32" && j.Training.Precision != "fp16" && scalesHaveBuffers(j) && j.Model.Attention.MLA == nil
}

// scalesHaveBuffers reports whether user buffers hold the scales of a job's precision:
// those of whole tensors and of mxfp8. Others are refused when the layers are built
// (Transformer Engine, module/base.py, "Unsupported quantizer for Userbuffers").
func scalesHaveBuffers(j *job.Job) bool {
	recipe := j.Training.FP8.Recipe
	return j.Training.Precision != "nvfp4" && (j.Training.Precision != "fp8" || recipe == "delayed" || recipe == "tensorwise")
}

func offersOptimizerGather(j *job.Job) []target.Offer {
	if j.Model.MoE != nil || j.Model.LayerPattern != "" {
		return nil
	}
	return []target.Offer{{Values: []string{"true"}, Asked: "the first chunk is then gathered in one piece, and nobody has published what that saves",
		Applies: func(f *target.Facts) bool { return interleaved(f.Layout) }}}
}

func offersShardBuffers(*job.Job) []target.Offer {
	return []target.Offer{{Values: []string{"double", "registered"}, Asked: "what such buffers take off a step was never published alone",
		Applies: func(f *target.Facts) bool { return f.Exec.FullySharded && f.Layout.ZeroStage == 3 }}}
}

func offersExperts(j *job.Job) []target.Offer {
	if j.Model.MoE == nil || j.Model.LayerPattern != "" {
		return nil
	}
	// CUDA_DEVICE_MAX_CONNECTIONS would have to be 1 and 32 at once before
	// Blackwell (arguments.py warns).
	blackwell := j.Cluster.GPU.Generation() >= 10
	return []target.Offer{{Values: []string{"true"}, Applies: func(f *target.Facts) bool {
		return f.Layout.ExpertParallel > 1 && (blackwell || f.Layout.TensorParallel == 1 && f.Layout.ContextParallel == 1)
	}}}
}

func offersDispatcher(j *job.Job) []target.Offer {
	if j.Model.MoE == nil || j.Model.LayerPattern != "" {
		return nil
	}
	// What pairs of published steps took stands in docs/accuracy.md (What options gained).
	return []target.Offer{{Values: []string{"deepep", "hybridep"}, Asked: "it needs the package DeepEP, and published pairs of steps took from 27 % less to 11 % longer with it", Applies: func(f *target.Facts) bool {
		return f.Layout.ExpertParallel > 1 && f.Layout.ExpertTensorParallel == 1
	}}, {Values: []string{"allgather"}, Asked: "no step with it was published", Applies: func(f *target.Facts) bool {
		return f.Layout.ExpertParallel > 1
	}}}
}

func (v *version) offersActivations(j *job.Job) []target.Offer {
	if !v.options.Has("--fine-grained-activation-offloading") || j.Model.LayerPattern != "" || j.Cluster.PCIe.Bandwidth == 0 {
		return nil
	}
	return []target.Offer{{Values: []string{"true"}, Asked: "it needs the packages cuda-python and nvidia-ml-py"}}
}

func offersAttention(j *job.Job) []target.Offer {
	if attention(j) != "flash" || !cudnnTakes(j) {
		return nil
	}
	return []target.Offer{{Values: []string{"fused"}}}
}

// registersBuffers reports whether Transformer Engine has user buffers for every
// linear layer of a job that sequence parallelism communicates around: its names
// are those of a plain transformer's (qkv, proj, fc1, fc2).
func registersBuffers(j *job.Job) bool {
	m := &j.Model
	return buffersCarry(j) && j.Cluster.NVLink.Domain > 1 && m.LayerPattern == "" && (m.MoE == nil || m.MoE.SharedExpertFFNHiddenSize == 0)
}
