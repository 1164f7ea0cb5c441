package program

import "github.com/ndc-dev/ndc/compiler/plan"

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
	Activation                         // of an MLP
	ExpertBias                         // added to the outputs of the experts' products
	Routing                            // softmax, top-k and statistics
	Permute                            // rows to their experts and back
	Residual                           // sum with the residual stream
	Dropout                            // on the residual stream
	Scatter                            // of the block's output over the tensor group
	Convolution                        // causal and depthwise, along the sequence
	Scan                               // of a state along the sequence: Mamba-2 or gated delta rule
	Gate                               // a sigmoid that scales the output of attention or of shared experts
	GatedNorm                          // over the heads of a mixer, with a gate
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
)

// Collective is communication that stands before or after an operation. Its
// backward pass has the mirror image.
type Collective uint8

// The collectives.
const (
	NoCollective   Collective = iota
	TensorGather              // with sequence parallelism, all_gather of the input over the tensor group
	TensorReduce              // reduce_scatter of the output over the tensor group; all_reduce without sequence parallelism
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
}

// Block is a part of a layer between two sums with the residual stream: its
// backward pass is done, and what it kept is free, before that of the block
// before it begins.
type Block struct {
	Name       string
	Operations []Operation
	// Backward is what the backward pass adds to what is kept at its worst, in
	// bytes, the gradients of the residual stream included.
	Backward int64
	// Remade is what recompute of the layer makes at its end, when this block is
	// its last, beyond what is kept, in bytes, while Incoming bytes of gradients
	// wait for it. OnlyFull: unless recompute keeps the outputs of collectives.
	Remade, Incoming int64
	OnlyFull         bool
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

// Linears are the operations that multiply with weights.
func (l Layer) Linears() (out []*Operation) {
	l.Operations(func(o *Operation) {
		if o.Kind <= GroupedLinear {
			out = append(out, o)
		}
	})
	return out
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
