package program

import (
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// OperationKind says what an operation is to the kernels that run it.
type OperationKind uint8

// The kinds of operation.
const (
	Linear        OperationKind = iota // a matrix multiplication with a weight
	GroupedLinear                      // one for each expert of a rank, in one kernel
	AttentionCore                      // softmax(q·kᵀ)·v
	Norm                               // over the residual stream
	HeadNorm                           // over queries and keys
	Rotary                             // position embedding
	JoinGradients                      // of q, k and v, which one projection made; backward only
	SumGradients                       // that several projections give their input; backward only
	Activation                         // of an MLP
	Clamp                              // of the inputs of a gated activation
	ExpertInBias                       // added to the output of the experts' first GEMM
	ExpertOutBias                      // added, by a row's probability, to the output of their second
	Routing                            // softmax, top-k and statistics
	Permute                            // rows to their experts and back
	Combine                            // sum of the rows of a token, weighed in fp32
	Residual                           // sum with the residual stream
	Dropout                            // on the residual stream
	Scatter                            // of the block's output over the tensor group
	Convolution                        // causal and depthwise, along the sequence
	Scan                               // of a state along the sequence: Mamba-2 or gated delta rule
	Gate                               // a sigmoid that scales the output of attention or of shared experts
	GatedNorm                          // over the heads of a mixer, with a gate
	Lookup                             // of tokens in the input embedding
	CrossEntropy                       // of the logits
)

// Component is the part of a layer that an operation belongs to.
type Component uint8

// The components.
const (
	Attention Component = iota
	MLP
	Router
	Experts
	SharedExperts
	Norms
	MTP
	Mixer // of a state: Mamba-2, gated delta net
	Ends  // input embedding, output head and loss
)

// Collective is communication that stands before or after an operation. Its
// backward pass has the mirror image.
type Collective uint8

// The collectives.
const (
	NoCollective   Collective = iota
	TensorGather              // with sequence parallelism, all_gather of the input over the tensor group
	TensorReduce              // reduce_scatter of the output over the tensor group; all_reduce without sequence parallelism
	HeadGather                // all_gather of the output over the tensor group, whose ranks share key-value heads
	WidthGather               // all_gather of the output over the tensor group, of which each rank goes on with its own tokens with sequence parallelism
	ContextGather             // keys and values over the context group, in any way
	ExpertDispatch            // rows to their experts over the expert group
	ExpertCombine             // and back
)

// Operation is one step of a block on one rank for one micro-batch.
type Operation struct {
	Name      string
	Kind      OperationKind
	Component Component
	// Modules are those of selective recompute that run the operation again.
	Modules plan.Modules
	Weights []Weight
	// Before and After are what the operation waits for and what waits for it.
	Before, After Collective
	// Gathered is the width per token of what TensorGather gathers, in elements; 0
	// where an operation before it in its block has gathered the same.
	Gathered int

	GEMM GEMM          // of Linear and GroupedLinear
	Core CoreAttention // of AttentionCore
	// FLOPs are those of the forward pass per token over all ranks, of Scan.
	FLOPs float64
	// Elements is what a memory-bound operation works on: elements of its output
	// on this rank.
	Elements float64
	// Tensors are those that the operation writes and something may keep for the
	// backward pass.
	Tensors []Tensor
	// Forward and Backward are what the pass adds at its worst to what is kept
	// then, in bytes: what comes and goes with it, such as gradients of what it
	// reads and writes, less those of its own tensors that are gone by then. The
	// gradient of the residual stream is the block's.
	Forward, Backward int64
	// WeightGradient is what the gradients of its weights take, in bytes, from its
	// backward pass to that of the first operation of the block; 0 where they are
	// accumulated elsewhere at once.
	WeightGradient int64
}

// Kept is what an operation leaves that a backward pass needs, in bytes.
func (o *Operation) Kept() (bytes int64) {
	for i := range o.Tensors {
		if o.Tensors[i].Autograd {
			bytes += o.Tensors[i].Bytes
		}
	}
	return bytes
}

// Tensor is a tensor that an operation leaves behind.
type Tensor struct {
	Bytes int64
	// Dropped by these modules of selective recompute, which make it again.
	Dropped plan.Modules
	// Autograd tensors are needed by the backward pass. Operator tensors are kept
	// by recompute that chooses among operators, needed or not.
	Autograd, Operator bool
	// Resident tensors stay on the GPU when activations are offloaded.
	Resident bool
	// Paged tensors have the size of a static buffer while their layer runs, and
	// wait for the backward pass in pages.
	Paged bool
}

// Block is a part of a layer between two sums with the residual stream: its
// backward pass is done, and what it kept is free, before that of the block
// before it begins.
type Block struct {
	Name       string
	Operations []Operation
	Stream     int64 // bytes of the residual stream
	Gathered   int64 // of the stream gathered over the tensor group before a backward pass; 0 where none is
}

// GraphModule is the module by whose name CUDA graphs capture the block: plan's
// constants, or "" where only the graph of a whole step has it.
func (b *Block) GraphModule() string {
	switch {
	case b.Name == "attention", b.Name == "delta_net": // which stands where attention does
		return plan.GraphAttention
	case b.Name == "mamba":
		return plan.GraphMamba
	case b.Name == "mlp" && slices.ContainsFunc(b.Operations, func(o Operation) bool { return o.Component == Router }):
		return plan.GraphMoERouter
	case b.Name == "mlp":
		return plan.GraphMLP
	}
	return ""
}

// Backward is the most that the backward pass adds to what is kept, in bytes, the
// gradient of the residual stream included. Operations run backward one by one;
// each frees what was kept for it and leaves the gradients of its weights.
func (b *Block) Backward() int64 {
	var most, freed, gradients int64
	for i := len(b.Operations) - 1; i >= 0; i-- {
		o := &b.Operations[i]
		gradients += o.WeightGradient
		if added := o.Backward + gradients - freed; i == len(b.Operations)-1 || added > most {
			most = added
		}
		freed += o.Kept()
	}
	return max(b.Stream+most, 0)
}

// Remade is the most that an operation of the block adds when recompute runs it
// again, in bytes, and what the gradient takes that waits at its end meanwhile.
// Recompute by operators keeps what collectives reduce, and runs no operation
// again for it.
func (b *Block) Remade(byOperators bool) (bytes, incoming int64) {
	for i := range b.Operations {
		o := &b.Operations[i]
		reduced := o.After == TensorReduce
		if o.Forward <= bytes || reduced && byOperators {
			continue
		}
		bytes, incoming = o.Forward, b.Stream
		if reduced {
			incoming += b.Gathered
		}
	}
	return bytes, incoming
}

// Layer is the blocks of one layer in order of execution.
type Layer []Block

// Operations calls a function with every operation in order.
func (l Layer) Operations(visit func(o *Operation)) {
	for i := range l {
		for k := range l[i].Operations {
			visit(&l[i].Operations[k])
		}
	}
}

// weighted are the operations that have weights.
func (l Layer) weighted() (out []*Operation) {
	l.Operations(func(o *Operation) {
		if len(o.Weights) > 0 {
			out = append(out, o)
		}
	})
	return out
}
