package memory

import (
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
)

// loss is the implementation of the cross-entropy that runs.
func (m *Model) loss(s *shape) *runtime.LossKernel {
	if s.fusedLoss {
		return &m.runtime.Loss.Fused
	}
	return &m.runtime.Loss.Unfused
}

// head is what the output head of the last stage adds.
type head struct {
	kept    int64 // per micro-batch that waits for its backward pass
	output  int64 // its logits, which a pipeline keeps as the stage's output
	saved   int64 // what the loss of a micro-batch keeps while that of another runs backward
	loss    int64 // while the loss of one micro-batch runs backward
	reduced int64 // the same after the last chunk, when the head's gradient is reduced; 0 for a loss without chunks
}

// head folds the operations after the last layer into its terms.
func (m *Model) head(s *shape, end *program.Block) (h head) {
	for i := range end.Operations {
		switch o := &end.Operations[i]; o.Kind {
		case program.CrossEntropy:
			h.saved = o.Kept()
		case program.Linear:
			for k := range o.Tensors {
				h.output += o.Tensors[k].Bytes
			}
			if s.lossChunks > 1 {
				h.reduced = o.Backward
			}
		default:
			h.kept += o.Kept()
		}
	}
	h.loss = h.saved + end.Backward()
	return h
}
