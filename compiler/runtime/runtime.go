// Package runtime describes how an engine runs a layout: what it shards, gathers
// and reduces and when, how its layers, its loss and its pipeline are built,
// what it recomputes and what of it was measured under which name. A [Runtime]
// is a value that a backend fills in for its release; packages memory and
// estimate read it and know no engine by name.
//
// It holds data, and no formulas: what follows for bytes is package memory's,
// what follows for seconds package estimate's, which layouts are legal package
// target's. Where each value comes from stands beside it in the backend; what it
// changes stands in docs/memory.md and docs/time.md.
package runtime

// Runtime is how one version of an engine runs a job.
type Runtime struct {
	Sharding Sharding
	// FullySharded takes the place of Sharding where the option fully_sharded is
	// on; engines without that option leave it empty.
	FullySharded   Sharding
	Buckets        Buckets
	Pipeline       Pipeline
	TensorParallel TensorParallel
	Layers         Layers
	Attention      Attention
	Experts        Experts
	Recompute      Recompute
	Loss           Loss
	LowPrecision   LowPrecision
	Graphs         Graphs
	Host           Host
	Calibration    Calibration
	Checkpoints    Checkpoints
}

// Checkpoints is what becomes of them.
type Checkpoints struct {
	// KeepsEvery is of how many steps they are kept for good where all others but the
	// newest are deleted; 0: nothing is deleted so.
	KeepsEvery int
}

// Graphs is what CUDA graphs of modules have as inputs and outputs beside what the
// modules keep. Their memory lasts: one set for each layer and each micro-batch in
// flight.
type Graphs struct {
	// Masks says that a graph with attention has a mask of its own: a byte for every
	// query and key.
	Masks bool
	// SendsCopies says that preprocessing a mixture of experts ends with a copy of a
	// token for every expert that it goes to, unless the dispatcher's kernels send
	// tokens themselves.
	SendsCopies bool
}

// Host is what passes through the memory of a node before it is on its GPUs.
type Host struct {
	// BuildsCut says that a model whose tensors tensor or expert parallelism cuts is
	// made whole first, once per node.
	BuildsCut bool
	// Imports is how many whole models a node holds while it imports weights in
	// another form; ImportsSharded the same where every parameter is sharded as soon
	// as it exists.
	Imports, ImportsSharded int
	// ReadsFiles says that a rank that resumes reads each of its files as a whole.
	ReadsFiles bool
	// StagesGradients says that gradients whose optimizer is on the host wait there in
	// their own type, go back to the GPU for their norm, and come again in fp32, in which
	// they are scaled whether or not they are clipped; and that updated weights are cut to
	// 16 bits there.
	StagesGradients bool
}

// Pipeline is how pipeline stages hand over activations and their gradients.
type Pipeline struct {
	// Blocking says that the sender waits for the transfer under a schedule with
	// one chunk per rank, BlockingInterleaved under one with several; otherwise it
	// sends behind compute.
	Blocking, BlockingInterleaved bool
	// ScattersActivations says that, without sequence parallelism, every rank of a
	// tensor group sends its part of an activation that all hold, and the receivers
	// gather it again (Narayanan et al. 2021, arXiv:2104.04473, 4.1).
	ScattersActivations bool
	// KeepsOutputs says that a stage keeps its output until its backward pass.
	KeepsOutputs bool
	// ReceivesAll says that a stage has buffers to receive the activations and
	// gradients of all micro-batches into.
	ReceivesAll bool
	// NormBehindLayers says that the norm before the output head of a model with
	// multi-token prediction stands behind the last decoder layer, in whatever chunk
	// that is; otherwise it stands before the head.
	NormBehindLayers bool
}

// TensorParallel is how tensor parallelism cuts what a model is made of and
// communicates.
type TensorParallel struct {
	// WholeEmbedding and WholeHead say that the input embedding, or the output
	// head, stays whole on every rank; WholeLogits that every rank takes the loss
	// over the whole vocabulary, for which the logits of a head that is cut are
	// gathered.
	WholeEmbedding, WholeHead, WholeLogits bool
	// WholeEmbeddingGradient says that every rank makes the gradient of the whole
	// input embedding before it is cut.
	WholeEmbeddingGradient bool
	// ReducesEachColumn says that every GEMM that is cut by columns reduces the
	// gradient of its input by itself, where others reduce once for all GEMMs of
	// the same input.
	ReducesEachColumn bool
	// Overlaps says that the backward pass of a GEMM communicates behind its own
	// GEMMs: it gathers its input again behind the input gradient, and reduces
	// behind the weight gradient.
	Overlaps bool
	// CopiesSequences says that sequences lie behind the batch, so that sequence
	// parallelism copies all that it gathers, and all that it scatters, between the
	// order of ranks and the order of sequences.
	CopiesSequences bool
	// GathersQuantised says that, where one scale holds for a whole tensor, every rank
	// quantises its part before it is gathered over the tensor group.
	GathersQuantised bool
	// UserBuffers says that the option overlap_tensor_parallel registers buffers
	// for what is communicated.
	UserBuffers bool
}

// EmbeddingParts is the number of parts into which a tensor group of so many
// ranks cuts the input embedding.
func (p *TensorParallel) EmbeddingParts(ranks int) int { return parts(ranks, p.WholeEmbedding) }

// HeadParts is the number of parts into which it cuts the output head.
func (p *TensorParallel) HeadParts(ranks int) int { return parts(ranks, p.WholeHead) }

// LogitParts is the number of parts into which it cuts the logits that the loss
// reads.
func (p *TensorParallel) LogitParts(ranks int) int { return parts(ranks, p.WholeHead || p.WholeLogits) }

func parts(ranks int, whole bool) int {
	if whole {
		return 1
	}
	return ranks
}

// Layers is how layers are built, as far as it decides which GEMMs run, what
// operations between them read and write, and what a backward pass keeps.
type Layers struct {
	// Implementation is the key of the operations between GEMMs in package
	// estimate's data/layers.json; "" for one kernel per operation.
	Implementation string
	// Compiled is that of the operations which a compiler has fused; "" for one kernel
	// per operation.
	Compiled string
	// Elementwise is the key of the factor on the bytes of memory-bound kernels
	// (elementwise.* in package estimate's data/parameters.json) of those of the
	// implementation that were not counted; "" where all were.
	Elementwise string
	// SeparateProjections says that query, key and value, and gate and up, come
	// from GEMMs of their own; otherwise each come from one, and the gradients of
	// query, key and value are joined.
	SeparateProjections bool
	// FusedQKV says that query, key and value are views of one projection whatever
	// gate and up are, which also decides what operator-level recompute keeps of
	// them.
	FusedQKV bool
	// SeparateGate keeps gate, activated gate, up and product of a gated MLP;
	// otherwise one fused kernel, or compiled code, keeps its inputs and the
	// product only.
	SeparateGate bool
	// JoinsClamped clamps both inputs of a gated expert activation with operators
	// of their own and keeps them, joined, beside the output of the GEMM.
	JoinsClamped bool
	// FP32Norm normalises in fp32 with separate operators, which keep fp32 copies.
	FP32Norm bool
	// AccumulatesWeightGradients says that the GEMM of a weight gradient adds to
	// the gradient that is reduced, and that one scratch gradient per distinct
	// weight shape is kept; otherwise weight gradients are copied there.
	AccumulatesWeightGradients bool
	// KeepsGathered keeps the input of a column-parallel GEMM gathered over the
	// tensor group until its backward pass, and keys and values gathered over the
	// context group.
	KeepsGathered bool
	// RotaryBytes is the size in bytes, per position and rotary dimension, of the
	// table of rotary embeddings that every layer has of its own, and from which it
	// keeps the rows that its positions pick; 0 where all layers share one.
	RotaryBytes int
	// MambaChunk and DeltaNetChunk are how many tokens the scan of a Mamba-2 mixer,
	// or of a gated delta net, works on at once; between chunks it passes the state
	// on. 0 where a runtime has no such layers.
	MambaChunk, DeltaNetChunk int
}

// SeparateQKV reports whether query, key and value come from GEMMs of their own.
func (l *Layers) SeparateQKV() bool { return l.SeparateProjections && !l.FusedQKV }

// Attention is how the core of attention runs.
type Attention struct {
	// Flash, Fused, FlexFlash and Varlen are the kernels, named as in package
	// compute, that run where the option attention says flash, fused, flex_flash or
	// varlen; "" where the engine has none.
	Flash, Fused, FlexFlash, Varlen string
	// ViewsValue hands values of latent attention over as a part of what they are
	// projected with, so that the keys in it are kept, too.
	ViewsValue bool
	// CopiesOutput keeps one more copy of the output under all-gather context
	// parallelism.
	CopiesOutput bool
}

// Experts is how a mixture of experts runs.
type Experts struct {
	// FP32Combine weighs the experts' outputs with their scores in fp32 after the
	// experts, so that the outputs are kept, instead of before the last GEMM.
	FP32Combine bool
	// ReplicatedCombine says that every rank of a tensor group weighs the experts'
	// outputs for all tokens of the group, not for its part of them.
	ReplicatedCombine bool
	// HoldsRows says that rows are held in each order that all-to-all brings them
	// into until the mixture is done: as they were chosen, as they came, as the
	// experts made them and as they went back.
	HoldsRows bool
	// ChunkedExchange says that the dispatcher deepep exchanges rows through buffers of
	// fixed numbers of rows for each rank, which its first version has.
	ChunkedExchange bool
	// Input is what of the tokens of a tensor group a mixture reads on each of its ranks.
	Input ExpertInput
	// LaunchedTogether says that one launch multiplies the rows of all experts of a
	// rank, not one for each expert.
	LaunchedTogether bool
	// Unquantised says that routed experts multiply in the compute type, such as bf16,
	// where a job's linear layers do in 8 or 4 bits.
	Unquantised bool
	// FusedMLP says that an expert MLP is one kernel that activates and quantises
	// between its GEMMs.
	FusedMLP bool
	// BiasAlone says that experts are balanced by a bias on their scores, whatever
	// loss a job asks for.
	BiasAlone bool
	// GroupedStreams says that grouped GEMMs run on several streams, each with a
	// workspace.
	GroupedStreams bool
	// Static are the buffers of experts that drop no token in the graph of a whole
	// step; zero where the engine has none.
	Static StaticExperts
}

// ExpertInput is what of the tokens of a tensor group a mixture of experts reads on
// each of its ranks.
type ExpertInput uint8

const (
	// PartInput is the rank's part. Ranks that split experts exchange the rows that
	// were routed to them.
	PartInput ExpertInput = iota
	// WholeWhereSplit is all tokens where ranks split experts: they are gathered before
	// the mixture and its output is scattered, as around dense blocks.
	WholeWhereSplit
	// WholeInput is all tokens always.
	WholeInput
)

// StaticExperts are buffers of fixed size for what is routed to the experts of a
// rank. One kernel runs an expert MLP in them and works on the rows alone that a
// step really routes. What of it the backward pass needs is copied into pages,
// without the rows that are empty. A step that routes more than a buffer holds
// runs once more without them, so that no token is lost.
type StaticExperts struct {
	// Capacity is how many rows a buffer has for every row of balanced routing,
	// RowMultiple what their number is a multiple of.
	Capacity    float64
	RowMultiple int
	// Pages is how many rows of pages of the GPU there are for every such row, and
	// HostPages how many of pinned host memory, which serve when those are full.
	Pages, HostPages float64
}

// Recompute is what recompute leaves out.
type Recompute struct {
	// StopsEarly says that it ends with the last tensor that the backward pass
	// needs, so that a layer's last GEMM is not recomputed.
	StopsEarly bool
	// KeepsReduceScatter and KeepsAllToAll say that operator-level recompute keeps
	// the outputs of these collectives.
	KeepsReduceScatter, KeepsAllToAll bool
}

// Loss is how the cross-entropy and its backward pass run.
type Loss struct {
	Fused, Unfused LossKernel // by the option cross_entropy
	// CompilesLoss says that the option compile covers the loss, too, which is then
	// fused.
	CompilesLoss bool
	// RecomputesChunks says that each chunk of a loss runs forward again in its
	// backward pass, instead of backward at once.
	RecomputesChunks bool
}

// LossKernel is what one implementation has alive at once while the loss runs
// backward.
type LossKernel struct {
	FP32 int // values per logit in fp32
	Base int // values per logit in the compute type
	// ParallelFP32 is how many fp32 values per logit more there are where tensor
	// parallelism cuts the logits.
	ParallelFP32 int
	// FreesFirst says that they are gone before the gradient of the hidden states
	// is made.
	FreesFirst bool
}

// LowPrecision is how 8-bit and 4-bit types are used.
type LowPrecision struct {
	// RowScaled says that precision fp8 scales by rows instead of whole tensors.
	RowScaled bool
	// QuantisesWeights says that each pass of a micro-batch turns weights into the
	// job's type anew, where others keep them in it for a step.
	QuantisesWeights bool
	// AnyLayout says that GEMMs of precision fp8 with scales of whole tensors read a
	// weight in either layout, so that no transpose of it is kept.
	AnyLayout bool
	// CopiesMoments says that an optimizer step copies states in bf16 to fp32, as it
	// does with those in 8 bits or fp16 anyway.
	CopiesMoments bool
	// WholeMasters says that an optimizer with small states keeps its parameters whole
	// in fp32, and reads gradients in fp32, where others keep of a parameter what its
	// stored type lacks and read gradients as they are.
	WholeMasters bool
	// Attention says that attention computes in the job's 8-bit type, too.
	Attention bool
	// ReleasesBehind counts the releases from this one to the newest of which steps
	// were measured: kernels of low precision gain with every release (parameter
	// release of package estimate).
	ReleasesBehind int
}

// Calibration names what was measured of an engine.
type Calibration struct {
	// Time is its key in package estimate's data/parameters.json (ring_efficiency.*,
	// host_layer.*, host_step.*) and among the engines of package uncertainty's data/prior.json.
	Time string
	// Memory is its key in package memory's data/overheads.jsonl (slack/*,
	// loss_slack/*, range_*/*, and context/* where it has one of its own).
	Memory string
}
