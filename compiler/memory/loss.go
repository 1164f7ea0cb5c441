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
	kept    int64 // per micro-batch that waits for its backward pass
	output  int64 // its logits, which a pipeline keeps as the stage's output
	saved   int64 // what the loss of a micro-batch keeps while that of another runs backward
	loss    int64 // while the loss of one micro-batch runs backward
	reduced int64 // the same after the last chunk, when the head's gradient is reduced
}

// head settles the terms of the final norm, output head and loss, for a
// vocabulary as built.
func (b *builder) head(vocabulary int) head {
	m := b.arch.Model
	h := int64(m.HiddenSize)
	stream, whole := b.local*h*b.element, b.tokens*h*b.element
	perLogit := b.logits()
	if m.FinalSoftcap > 0 {
		perLogit += float64(b.element)
	}
	models := int64(1 + m.MTPLayers)
	local, rows := int64(vocabulary/b.target.LogitParts(b.shape.tp)), int64(vocabulary/b.target.HeadParts(b.shape.tp))
	logits, plain := int64(perLogit*float64(b.tokens*local)), b.element*b.tokens*local
	out := head{kept: b.normed(stream, whole) * models}
	if n := int64(b.shape.lossChunks); n > 1 {
		// The gradient of the hidden states is collected in fp32 over the chunks,
		// which are copied unless they are one piece of a single sequence.
		collected := 4 * b.tokens * h
		if b.shape.micro > 1 {
			collected += whole
		}
		out.loss = (logits+plain)/n*models + collected
		out.reduced = plain/n*models + collected + whole/n
		out.saved = collected
		return out
	}
	out.loss, out.output = logits*models, plain
	if !b.shape.fusedLoss {
		out.saved = 4 * b.tokens * local // log-probabilities in fp32
	}
	if b.shape.fusedLoss || b.style.weightGradients { // otherwise the fp32 tensors are gone before the hidden states' gradient is made
		out.loss += stream
	}
	if b.shape.sequence && b.shape.tp > 1 && !b.style.keepsGathered {
		out.loss += 2 * whole // the gathered input, and its gradient before it is scattered
	}
	if b.style.weightGradients {
		out.loss += rows * h * b.element // scratch weight gradient of the head
	}
	return out
}

// normed is what the final norm keeps of a micro-batch: its input and its
// output, the head's input, which may be kept gathered.
func (b *builder) normed(stream, whole int64) int64 {
	if b.gathers() {
		return stream + whole
	}
	if b.style.fp32Norm {
		return 2*stream + b.local*int64(b.arch.Model.HiddenSize)*4
	}
	return 2 * stream
}
