package transformer

import "github.com/ndc-dev/ndc/lang/units"

// The convention of model FLOPs: every matrix product of the model counts
// 2·M·N·K forward and twice that backward, causal attention only the half that
// is computed (meanKeys), top-k experts only, nothing for recompute, norms,
// activations or the softmax. MTP layers count with their projection and one
// more output head each.

// LayerFLOPs is the forward model FLOPs per token of one layer of a kind.
func (a *Architecture) LayerFLOPs(kind int) float64 {
	return a.ProductFLOPs(kind, func(*Tensor) bool { return true }) + a.attentionFLOPs(kind)
}

// ProductFLOPs is the part of [Architecture.LayerFLOPs] that is spent on the
// products with the weights that a choice accepts.
func (a *Architecture) ProductFLOPs(kind int, accepted func(t *Tensor) bool) float64 {
	var n float64
	for i := range a.tensor[kind] {
		t := &a.tensor[kind][i]
		if !t.Matrix() || !accepted(t) {
			continue
		}
		used := float64(t.Elements())
		if t.Component == Experts {
			used *= float64(a.Model.MoE.TopK) / float64(t.Copies)
		}
		n += 2 * used
	}
	return n
}

// attentionFLOPs is the forward core attention per token.
func (a *Architecture) attentionFLOPs(kind int) float64 {
	m := a.Model
	dims := 2 * m.HeadDim
	if m.MLA != nil {
		dims = m.MLA.QKNopeHeadDim + m.MLA.QKRopeHeadDim + m.MLA.VHeadDim
	}
	return 2 * float64(m.AttentionHeads*dims) * meanKeys(m.SequenceLength, a.kinds[kind].Window)
}

// HeadFLOPs is the forward model FLOPs per token of the output head.
func (a *Architecture) HeadFLOPs() float64 {
	return 2 * float64(a.Model.HiddenSize) * float64(a.Model.VocabSize)
}

// ModelFLOPsPerToken is forward and backward of the whole model per token,
// MTP included.
func (a *Architecture) ModelFLOPsPerToken() units.FLOPs {
	n := a.HeadFLOPs() * float64(1+a.Model.MTPLayers)
	for k := range a.kinds {
		n += float64(a.totals[k]) * a.LayerFLOPs(k)
	}
	if a.mtp >= 0 {
		n += float64(a.Model.MTPLayers) * a.LayerFLOPs(a.mtp)
	}
	return units.FLOPs(3 * n)
}

// ModelFLOPsPerSequence is [Architecture.ModelFLOPsPerToken] times the
// sequence length.
func (a *Architecture) ModelFLOPsPerSequence() units.FLOPs {
	return a.ModelFLOPsPerToken() * units.FLOPs(a.Model.SequenceLength)
}
