package memory

import "github.com/ndc-dev/ndc/compiler/runtime"

// loss is the implementation of the cross-entropy that runs.
func (m *Model) loss(s *shape) *runtime.LossKernel {
	if s.fusedLoss {
		return &m.runtime.Loss.Fused
	}
	return &m.runtime.Loss.Unfused
}

// logits is the size per logit of what is alive at once while the loss runs
// backward.
func (m *Model) logits(s *shape) float64 {
	k := m.loss(s)
	fp32 := k.FP32
	if m.runtime.TensorParallel.LogitParts(s.TensorParallel) > 1 {
		fp32 += k.ParallelFP32
	}
	return float64(4*int64(fp32) + int64(k.Base)*m.element)
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
	local, rows := int64(vocabulary/m.runtime.TensorParallel.LogitParts(s.TensorParallel)), int64(vocabulary/m.runtime.TensorParallel.HeadParts(s.TensorParallel))
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
	if !m.loss(s).FreesFirst {
		out.loss += stream
	}
	if s.SequenceParallel && s.TensorParallel > 1 && !m.runtime.Layers.KeepsGathered {
		out.loss += 2 * whole // the gathered input, and its gradient before it is scattered
	}
	if m.runtime.Layers.AccumulatesWeightGradients {
		out.loss += rows * h * m.element // scratch weight gradient of the head
	}
	return out
}

// normed is what the final norm keeps of a micro-batch: its input and its
// output, the head's input, which may be kept gathered.
func (m *Model) normed(s *shape, whole int64) int64 {
	stream := m.stream(s)
	if m.runtime.Layers.KeepsGathered && s.SequenceParallel && s.TensorParallel > 1 {
		return stream + whole
	}
	if m.runtime.Layers.FP32Norm {
		return 2*stream + m.local(s)*int64(m.arch.Model.HiddenSize)*4
	}
	return 2 * stream
}
