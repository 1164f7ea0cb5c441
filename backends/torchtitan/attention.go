package torchtitan

import (
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// The kernels that 0.3.0 has beside FlexAttention's own
// (models/common/config_utils.py, get_attention_config), under its names, which are
// the language's, too.
const (
	// flexFlash is FlexAttention, lowered to FlashAttention 4.
	flexFlash = "flex_flash"
	// varlen is torch.nn.attention.varlen: FlashAttention, told where each document
	// begins. torch has version 2 itself; TorchTitan activates 3 on Hopper and 4 after
	// it (tools/utils.py, get_cuda_flash_attention_impl).
	varlen = "varlen"
)

// Packages that the kernels import.
const (
	packageFlash3 = "FlashAttention 3 (flash_attn_interface, of its folder hopper)"
	packageFlash4 = "flash-attn-4 (flash_attn.cute; 4.0.0b17 or later)"
)

// attentionPackage is the package beside torch that a kernel needs on the job's
// GPU, "" where it needs none.
func attentionPackage(j *job.Job, kernel string) string {
	c := j.Cluster.GPU.Capability()
	switch {
	case kernel == flexFlash, kernel == varlen && c >= 10:
		return packageFlash4
	case kernel == varlen && c >= 9:
		return packageFlash3
	}
	return ""
}

// checkAttention says why the kernel that a job names cannot train it, "" where it
// can.
func checkAttention(j *job.Job) string { return lacksKernel(j, j.Execution.Attention.Value) }

// lacksKernel is checkAttention for a kernel.
func lacksKernel(j *job.Job, kernel string) string {
	if kernel != flexFlash && kernel != varlen {
		return ""
	}
	if j.Training.Precision == "fp32" {
		return fmt.Sprintf("%s multiplies in 16 bits: with precision fp32 only flash computes in it.", kernel)
	}
	why := lacksFlexFlash
	if kernel == varlen {
		why = lacksVarlen
	}
	return why(j)
}

// lacksFlexFlash: FlashAttention 4 takes masks in blocks on Hopper and on B200 to GB300
// (flash_attn/cute/interface.py: none in the backward pass of compute capability 12).
// Heads wider than 128 have kernels whose tiles do not divide the blocks of 256 × 128.
func lacksFlexFlash(j *job.Job) string {
	if c := j.Cluster.GPU.Capability(); c < 9 || c >= 11 {
		return fmt.Sprintf("flex_flash is FlashAttention 4 under a mask, which has kernels for compute capability 9 and 10 (Hopper, B200 to GB300); %s has %s.", j.Cluster.GPU.Name, j.Cluster.GPU.ComputeCapability)
	}
	if keys, values := j.Model.Attention.HeadWidths(); max(keys, values) > 128 {
		return fmt.Sprintf("flex_flash has a backward pass for heads of at most 128: FlashAttention 4 does not take TorchTitan's masks in blocks of 256 × 128 with wider ones. The model has %d for keys and %d for values.", keys, values)
	}
	return ""
}

// lacksVarlen: each FlashAttention has its own GPUs and widths. torch 2.14 gives none
// the gradient of the log-sum-exp (nn/attention/varlen.py, _backward), by which a model
// with sinks scales the output, and tells its compiler and whoever else asks for shapes
// that outputs are as wide as queries (_varlen_attn_fake).
func lacksVarlen(j *job.Job) string {
	if j.Model.Attention.Sinks {
		return "With attention sinks varlen learns wrong queries and keys: torch 2.14 drops, without an error, the gradient of the log-sum-exp that sinks scale the output by. flash and flex_flash have it."
	}
	c := j.Cluster.GPU.Capability()
	keys, values := j.Model.Attention.HeadWidths()
	switch {
	case c < 8 || c >= 11:
		return fmt.Sprintf("varlen is FlashAttention 2, 3 or 4 on compute capability 8, 9 or 10; %s has %s.", j.Cluster.GPU.Name, j.Cluster.GPU.ComputeCapability)
	case keys != values:
		return fmt.Sprintf("With varlen torch 2.14 takes the output to be as wide as the keys, and the model is built wrong. It has %d for keys and %d for values.", keys, values)
	case c >= 10 && keys > 128 && keys != 256, keys > 256:
		return fmt.Sprintf("varlen has no kernel for heads of %d on %s.", keys, j.Cluster.GPU.Name)
	}
	return ""
}

// offersAttention are the kernels that train the job. FlashAttention 4 takes no mask
// that context parallelism cuts after Hopper, and varlen none at all.
func offersAttention(j *job.Job) (offers []target.Offer) {
	for _, kernel := range []string{flexFlash, varlen} {
		if lacksKernel(j, kernel) != "" {
			continue
		}
		offer := target.Offer{Values: []string{kernel}, Asked: "the host reads the bounds of the documents from the GPU before every micro-batch, which is not predicted"}
		if library := attentionPackage(j, kernel); library != "" {
			name, _, _ := strings.Cut(library, " (")
			offer.Asked = "it needs the package " + name
		}
		offer.Applies = func(f *target.Facts) bool { return f.Layout.ContextParallel == 1 || cutsMask(f.Job, kernel) }
		offers = append(offers, offer)
	}
	return offers
}

// maskBlock is how many rows of a mask torch keeps together when context parallelism
// cuts it (_create_cp_block_mask).
const maskBlock = 128

// cutsMask reports whether a kernel takes the part of a mask that context
// parallelism leaves a rank: torch makes it anew, in blocks of 128 × 128
// (distributed/tensor/experimental/_context_parallel/_attention.py,
// _create_cp_block_mask), and FlashAttention 4 works on 256 rows at a time after
// Hopper.
func cutsMask(j *job.Job, kernel string) bool {
	return kernel != varlen && (kernel != flexFlash || j.Cluster.GPU.Capability() < 10)
}

// attentionRules are the rules that the kernels bring.
var attentionRules = []target.Rule{
	{ID: ruleContextAttention, Reason: "context_parallel goes neither with varlen (NotImplementedError in TorchTitan) nor, after Hopper, with flex_flash: torch cuts masks into blocks of 128 rows, FlashAttention 4 takes 256", Breaks: func(f *target.Facts) bool {
		return f.Layout.ContextParallel > 1 && !cutsMask(f.Job, f.Exec.Attention)
	}},
	{ID: ruleGraphsAttention, Reason: "CUDA graphs take arguments of one size, and varlen under document_mask as many bounds as a batch has documents", Breaks: func(f *target.Facts) bool {
		return f.Exec.CUDAGraphs != "none" && f.Exec.Attention == varlen && f.Job.Training.Data.DocumentMask
	}},
}

// attentionWords are the framework's name of the kernel, as Python.
func attentionWords(b *build) string {
	if kernel := b.p.Execution.Attention; kernel != "flash" {
		return render.Python(kernel)
	}
	return render.Python("flex")
}
