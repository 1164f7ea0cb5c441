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
func (m *Model) logits(s *shape) float64 {
	switch e := float64(m.element); {
	case m.style.weightGradients && s.fusedLoss && m.target.InPlaceLoss:
		return e
	case m.style.weightGradients:
		return 4 + e
	case s.fusedLoss:
		return 2 * e
	}
	if m.target.LogitParts(s.TensorParallel) > 1 {
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
func (m *Model) head(s *shape, vocabulary int) head {
	model, tokens := m.arch.Model, int64(m.arch.Tokens(&s.Shape))
	h := int64(model.HiddenSize)
	stream, whole := m.stream(s), tokens*h*m.element
	perLogit := m.logits(s)
	if model.FinalSoftcap > 0 {
		perLogit += float64(m.element)
	}
	models := int64(1 + model.MTPLayers)
	local, rows := int64(vocabulary/m.target.LogitParts(s.TensorParallel)), int64(vocabulary/m.target.HeadParts(s.TensorParallel))
	logits, plain := int64(perLogit*float64(tokens*local)), m.element*tokens*local
	out := head{kept: m.normed(s, whole) * models}
	if n := int64(s.lossChunks); n > 1 {
		// The gradient of the hidden states is collected in fp32 over the chunks,
		// which are copied unless they are one piece of a single sequence.
		collected := 4 * tokens * h
		if s.MicroBatch > 1 {
			collected += whole
		}
		out.loss = (logits+plain)/n*models + collected
		out.reduced = plain/n*models + collected + whole/n
		out.saved = collected
		return out
	}
	out.loss, out.output = logits*models, plain
	if !s.fusedLoss {
		out.saved = 4 * tokens * local // log-probabilities in fp32
	}
	if s.fusedLoss || m.style.weightGradients { // otherwise the fp32 tensors are gone before the hidden states' gradient is made
		out.loss += stream
	}
	if s.SequenceParallel && s.TensorParallel > 1 && !m.style.keepsGathered {
		out.loss += 2 * whole // the gathered input, and its gradient before it is scattered
	}
	if m.style.weightGradients {
		out.loss += rows * h * m.element // scratch weight gradient of the head
	}
	return out
}

// normed is what the final norm keeps of a micro-batch: its input and its
// output, the head's input, which may be kept gathered.
func (m *Model) normed(s *shape, whole int64) int64 {
	stream := m.stream(s)
	if m.style.keepsGathered && s.SequenceParallel && s.TensorParallel > 1 {
		return stream + whole
	}
	if m.style.fp32Norm {
		return 2*stream + m.local(s)*int64(m.arch.Model.HiddenSize)*4
	}
	return 2 * stream
}
