package memory

// logits is the size per logit of what is alive at once while the loss runs
// backward, by engine style and implementation.
//
// Megatron: Transformer Engine's fused loss writes the gradient into the
// logits; Megatron's own, fused or not, keeps fp32 probabilities, from which
// the gradient is made in the compute type.
// A compiled or otherwise fused loss over plain logits keeps them and writes
// their gradient, both in the compute type.
// torchtitan and Hugging Face: fp32 log-probabilities, their gradient and the
// gradient of the fp32 logits; a vocabulary-parallel loss holds one more.
func (b *builder) logits() float64 {
	switch e := float64(b.element); {
	case b.style.weightGradients && b.shape.fusedLoss && b.target.InPlaceLoss:
		return e
	case b.style.weightGradients:
		return 4 + e
	case b.shape.fusedLoss:
		return 2 * e
	}
	if b.target.LogitParts(b.shape.tp) > 1 {
		return 16
	}
	return 12
}

// head is what the output head of the last stage adds.
type head struct {
	kept   int64 // per micro-batch that waits for its backward pass
	output int64 // its logits, which a pipeline keeps as the stage's output
	saved  int64 // what the loss of a micro-batch keeps while that of another runs backward
	loss   int64 // while the loss of one micro-batch runs backward
}

// head settles the terms of the final norm, output head and loss, for a
// vocabulary as built.
func (b *builder) head(vocabulary int) head {
	m := b.arch.Model
	h := int64(m.HiddenSize)
	stream := b.local * h * b.element
	kept := 2 * stream // the final norm's input and the head's
	if b.style.fp32Norm {
		kept += b.local * h * 4
	}
	perLogit := b.logits()
	if m.FinalSoftcap > 0 {
		perLogit += float64(b.element)
	}
	local, rows := int64(vocabulary/b.target.LogitParts(b.shape.tp)), int64(vocabulary/b.target.HeadParts(b.shape.tp))
	logits := int64(perLogit * float64(b.tokens*local))
	if n := int64(b.shape.lossChunks); n > 1 {
		// A chunk also holds its logits. After the last one the head's gradient,
		// collected in fp32, is copied for its reduction.
		logits = max((logits+b.element*b.tokens*local)/n, 4*rows*h+b.element*b.tokens*local/n)
	}
	if b.shape.lossChunks > 1 { // the hidden states' gradient in fp32, beside their chunks
		logits += (4 + b.element) * b.tokens * h
	}
	out := head{kept: kept * int64(1+m.MTPLayers), loss: logits*int64(1+m.MTPLayers) + stream}
	if b.shape.lossChunks == 1 {
		out.output = b.element * b.tokens * local
		if !b.shape.fusedLoss {
			out.saved = 4 * b.tokens * local // log-probabilities in fp32
		}
	}
	if b.shape.sequence && b.shape.tp > 1 {
		out.loss += b.tokens * h * b.element // the gathered input
		if !b.style.keepsGathered {
			out.loss += b.tokens * h * b.element // its gradient before it is scattered
		}
	}
	if b.style.weightGradients {
		out.loss += rows * h * b.element // scratch weight gradient of the head
	}
	return out
}
