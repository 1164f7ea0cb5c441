package megatron

import "github.com/ndc-dev/ndc/lang/job"

// Which heads the kernels of attention train. Megatron-LM turns all kernels off but
// the one that --attention-backend names, so that nothing stands in for it, and a run
// ends in its first step ("No dot product attention backend is available").

// attention is the kernel that Transformer Engine prefers: cuDNN's on Hopper
// and later and for what only it can do (latent attention, sinks), Flash
// Attention on Ampere, and torch's own in fp32 and before; the other one where it
// does not take the heads, and torch's own where neither does.
func attention(j *job.Job) string {
	major, latent := j.Cluster.GPU.Generation(), j.Model.Attention.MLA != nil
	flash := flashTakes(j) && !latent && !j.Model.Attention.Sinks
	switch {
	case j.Training.Precision == "fp32" || major < 8:
		return "unfused"
	case cudnnTakes(j) && (major >= 9 || !flash):
		return "fused"
	case flash:
		return "flash"
	}
	return "unfused"
}

// cudnnTakes reports whether cuDNN's attention trains the heads (Transformer Engine
// 2.9 to 2.17, common/fused_attn/fused_attn.cpp, and for a window with dropout
// pytorch/attention/dot_product_attention/utils.py).
func cudnnTakes(j *job.Job) bool {
	if j.Model.Attention.SlidingWindow.Size > 0 && j.Model.Dropout > 0 {
		return false
	}
	keys, values := headWidths(j)
	major := j.Cluster.GPU.Generation()
	switch {
	case j.Training.Data.DocumentMask && major < 9: // which packs documents (THD)
		return false
	case keys%8 != 0 || values%8 != 0:
		return false
	case keys <= 128 && values <= 128:
		return true
	case keys == 192 && values == 128:
		return major == 9 || major == 10
	}
	return major == 9 && keys <= 256 && values <= 256 && (keys == values || keys < 128 || values < 128)
}

// flashTakes reports whether FlashAttention takes heads of their width
// (pytorch/attention/dot_product_attention/utils.py).
func flashTakes(j *job.Job) bool {
	keys, values := headWidths(j)
	width := max(keys, values)
	if width > 192 {
		switch j.Cluster.GPU.Capability() {
		case 8, 9, 10, 12:
		default:
			return false
		}
	}
	return width%8 == 0 && width <= 256
}

// flashTakesLatent reports whether FlashAttention takes values of another width than
// keys: FlashAttention 2 since Transformer Engine 2.17, which fills them up, before it
// FlashAttention 3 alone, which is Hopper's (the same file).
func (v *version) flashTakesLatent(j *job.Job) bool {
	keys, values := headWidths(j)
	if keys == values || v.engine >= 17 {
		return true
	}
	return j.Cluster.GPU.Capability() == 9 && j.Model.Dropout == 0 &&
		(keys > 128 && keys <= 192 && values > 96 && values <= 128 || keys <= 64 && values <= 256)
}

// headWidths are the widths of a head's keys and values as a kernel sees them. Under
// document masks latent attention fills its values up to its keys
// (multi_latent_attention.py).
func headWidths(j *job.Job) (keys, values int) {
	keys, values = j.Model.Attention.HeadWidths()
	if j.Model.Attention.MLA != nil && j.Training.Data.DocumentMask {
		values = keys
	}
	return keys, values
}
