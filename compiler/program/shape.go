package program

import "github.com/ndc-dev/ndc/compiler/plan"

// Split is how the weights of a layer are cut over ranks.
type Split struct {
	TensorParallel       int
	ExpertParallel       int
	ExpertTensorParallel int
}

// whole is the split of a model on a single rank.
var whole = Split{TensorParallel: 1, ExpertParallel: 1, ExpertTensorParallel: 1}

// SplitOf is the split of a layout.
func SplitOf(l *plan.Layout) Split {
	return Split{TensorParallel: l.TensorParallel, ExpertParallel: l.ExpertParallel, ExpertTensorParallel: l.ExpertTensorParallel}
}

// Shape is what the sizes of a rank's operations depend on: how weights and
// tokens are cut, and how many sequences a micro-batch has.
type Shape struct {
	Split
	ContextParallel  int
	MicroBatch       int  // sequences
	SequenceParallel bool // the residual stream is cut over the tensor group
}

// ShapeOf is the shape of a layout.
func ShapeOf(l *plan.Layout) Shape {
	return Shape{Split: SplitOf(l), ContextParallel: l.ContextParallel, MicroBatch: l.MicroBatchSize, SequenceParallel: l.SequenceParallel}
}

// Tokens is the number of tokens of a micro-batch on one context-parallel
// rank: micro_batch_size · sequence / context_parallel.
func (p *Program) Tokens(s *Shape) int {
	return s.MicroBatch * p.Model.SequenceLength / s.ContextParallel
}

// RoutedTokens is the mean number of rows that the experts of one rank
// multiply per micro-batch: tokens · top_k · etp / tp when the tokens are cut
// over the tensor group before the router (sequence parallelism), times the
// capacity factor when tokens are dropped.
func (p *Program) RoutedTokens(s *Shape) int {
	e := p.Model.MoE
	n := float64(p.Tokens(s)*e.TopK*s.ExpertTensorParallel) / float64(s.TensorParallel)
	if e.TokenDrop && e.CapacityFactor > 0 {
		n *= e.CapacityFactor
	}
	return int(n)
}

// Assembly is how a runtime builds the blocks of a model, as far as it decides
// which operations there are and which tensors their backward passes need. The
// zero value counts weights and FLOPs, for which it does not matter.
type Assembly struct {
	// SeparateProjections says that q, k and v, and gate and up, are projected by
	// matrix multiplications of their own; otherwise they are fused. It changes
	// shapes of multiplications, never counts of elements.
	SeparateProjections bool
	// FusedQKV says that query, key and value come out of one projection as one
	// tensor, of which the value is copied.
	FusedQKV bool
	// SeparateGate keeps gate, activated gate, up and product of a gated MLP;
	// otherwise one kernel keeps its inputs and the product only.
	SeparateGate bool
	// Compiled says that a compiler fuses what the MLP does between its products.
	Compiled bool
	// UnfusedAttention keeps the attention probabilities.
	UnfusedAttention bool
	// FP32Norm normalises in fp32 with separate operators, which keep fp32 copies.
	FP32Norm bool
	// FP32Combine weighs the experts' outputs with their scores in fp32 after the
	// experts, so that the outputs are kept, instead of before the last product.
	FP32Combine bool
	// ReplicatedCombine says that every rank of a tensor group weighs the experts'
	// outputs for all tokens of the group, not for its part of them.
	ReplicatedCombine bool
	// KeepsGathered keeps the input of a column-parallel layer gathered over the
	// tensor group until its backward pass, and keys and values gathered over the
	// context group.
	KeepsGathered bool
	// KeepsReduceScatter and KeepsAllToAll say that recompute by operators keeps
	// the outputs of these collectives.
	KeepsReduceScatter, KeepsAllToAll bool
	// KeepsWeightGradients says that a block's weight gradients stay in the compute
	// type until the block is reduced as a whole.
	KeepsWeightGradients bool
	// ViewsValue hands values of latent attention over as a part of what they are
	// projected with, so that the keys in it are kept, too.
	ViewsValue bool
	// ContextExchange is how context parallelism moves keys and values: ring, all_gather or
	// ulysses. CopiesQuery says that a ring keeps one more copy of the query.
	ContextExchange string
	CopiesQuery     bool
	// RotaryBytes is the size, per position and rotary dimension, of the rows of
	// rotary embeddings that every layer keeps; 0 where layers share them.
	RotaryBytes int

	Types Types
}

// Types is the sizes of what the operations compute with.
type Types struct {
	Compute   int64   // bytes of one element of the compute type
	Input     float64 // bytes of one element kept as the input of a linear layer
	Quantised bool    // linear layers run in a quantised type
	RowAlign  int64   // rows of an expert are padded to a multiple of this
}
