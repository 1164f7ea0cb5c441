package program

import (
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// The convention of model FLOPs: every matrix multiplication of the model
// counts 2·M·N·K forward and twice that backward, causal attention only the
// half that is computed (meanKeys), top-k experts only, nothing for recompute,
// norms, activations or the softmax. MTP layers count with their projection and
// one more output head each. A scan counts what docs/time.md says, convolutions
// nothing.

// LayerFLOPs is the forward model FLOPs per token of one layer of a kind.
func (p *Program) LayerFLOPs(kind int) float64 {
	return p.flops(kind, func(*Operation) bool { return true }) + p.attentionFLOPs(kind) + p.scanFLOPs(kind)
}

// ModuleFLOPs is the part of [Program.LayerFLOPs] that is spent on the matrix
// multiplications of a module of selective recompute.
func (p *Program) ModuleFLOPs(kind int, m plan.Modules) float64 {
	return p.flops(kind, func(o *Operation) bool { return o.Modules&m != 0 })
}

// flops counts the matrix multiplications of the operations that are accepted.
func (p *Program) flops(kind int, accepted func(o *Operation) bool) float64 {
	var n float64
	p.Weights(kind, func(o *Operation, w *Weight) {
		if !w.Matrix() || !accepted(o) {
			return
		}
		used := float64(w.Elements())
		if o.Component == Experts {
			used *= float64(p.Model.MoE.TopK) / float64(w.Copies)
		}
		n += 2 * used
	})
	return n
}

// attentionFLOPs is the forward core attention per token.
func (p *Program) attentionFLOPs(kind int) float64 {
	blocks := strings.Count(p.kinds[kind].Blocks, string(job.AttentionBlock)) // a layer of multi-token prediction may have several
	if blocks == 0 {
		return 0
	}
	m := p.Model
	keys, values := m.Attention.HeadWidths()
	return 2 * float64(blocks*m.Attention.Heads*(keys+values)) * meanKeys(m.SequenceLength, p.kinds[kind].Window)
}

// scanFLOPs is the forward scan of a mixer's state per token.
func (p *Program) scanFLOPs(kind int) float64 {
	var n float64
	for _, o := range p.weights[kind] {
		n += o.FLOPs
	}
	return n
}

// modelFLOPsPerToken is forward and backward of the whole model per token,
// MTP included.
func (p *Program) modelFLOPsPerToken() units.FLOPs {
	n := p.headFLOPs() * float64(1+p.Model.MTP.Layers)
	for k := range p.kinds {
		n += float64(p.totals[k]) * p.LayerFLOPs(k)
	}
	if p.mtp >= 0 {
		n += float64(p.Model.MTP.Layers) * p.LayerFLOPs(p.mtp)
	}
	return units.FLOPs(3 * n)
}

// ModelFLOPsPerSequence is forward and backward of the whole model per sequence, MTP
// included: attention is causal, and recompute does not count.
func (p *Program) ModelFLOPsPerSequence() units.FLOPs {
	return p.modelFLOPsPerToken() * units.FLOPs(p.Model.SequenceLength)
}
