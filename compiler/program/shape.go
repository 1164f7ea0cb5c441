package program

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
)

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

// Assembly is how a runtime builds the blocks of a model under some execution
// options, as far as it decides which operations there are and which tensors
// their backward passes need. The zero value counts weights and FLOPs, for which
// it does not matter.
type Assembly struct {
	Layers    runtime.Layers
	Attention runtime.Attention
	Experts   runtime.Experts
	Recompute runtime.Recompute
	// TensorParallel cuts the ends of the model.
	TensorParallel runtime.TensorParallel
	// KeepsWeightGradients says that a block's weight gradients stay in the compute
	// type until the block is reduced as a whole.
	KeepsWeightGradients bool

	UnfusedAttention bool   // attention keeps its probabilities
	Compiled         bool   // a compiler fuses what the MLP does between its GEMMs
	ContextExchange  string // how context parallelism moves keys and values: ring, all_gather or ulysses
	ExchangesRows    bool   // rows go to their experts and back by all-to-all

	Loss       runtime.LossKernel
	LossChunks int  // parts of a micro-batch that run forward and backward one by one; 0 or 1: the whole
	FusedLoss  bool // which keeps no probabilities

	Types Types
	// KernelsOnly leaves weights, tensors and the names of norms and sums out, on
	// which no time depends.
	KernelsOnly bool
}

// AssemblyOf is how a runtime builds layers where execution options and types do
// not matter.
func AssemblyOf(r *runtime.Runtime) Assembly {
	return Assembly{Layers: r.Layers, Attention: r.Attention, Experts: r.Experts, Recompute: r.Recompute, TensorParallel: r.TensorParallel,
		KeepsWeightGradients: r.Sharding.ReducesFP32}
}

// Types is the sizes of what the operations compute with.
type Types struct {
	Compute   int64   // bytes of one element of the compute type
	Input     float64 // bytes of one element kept as the input of a linear layer
	Quantised bool    // linear layers run in a quantised type
	RowAlign  int64   // rows of an expert are padded to a multiple of this
}
