package job

// Model is a decoder-only transformer. Sizes are counts of elements, layers or
// heads; zero means that the architecture has no such part.
type Model struct {
	Name    string // label of the model block
	Catalog string // catalogue entry it descends from; "" if none

	Architecture      string // gpt, llama, mixtral, deepseek_v3, qwen2, qwen3, qwen3_moe, glm4_moe, gpt_oss, gemma2, nemotron_h, qwen3_next
	Layers            int    // decoder layers, MTP layers not counted
	LayerPattern      string // hybrid models: the block of each decoder layer, as a letter; "": attention and MLP or experts
	HiddenSize        int
	FFNHiddenSize     int // of dense layers
	VocabSize         int
	PaddedVocabSize   int // 0: the framework pads
	SequenceLength    int // tokens per sequence in this run
	MaxPositions      int // positions the model is built for; at least SequenceLength
	InitStd           float64
	Dropout           float64 // hidden and attention dropout
	TiedEmbeddings    bool
	EmbeddingScale    float64 // factor on the embedding output; 0 or 1: none
	FinalSoftcap      float64 // final_logit_softcap
	MLPBias           bool
	PositionEmbedding PositionEmbedding
	Attention         Attention
	Activation        Activation
	Norm              Norm
	MTP               MTP
	Mamba             *Mamba
	DeltaNet          *DeltaNet
	MoE               *MoE

	// Published are numbers of the model's published configuration, by argument,
	// that nobody is known to have trained with.
	Published []Variable

	// BuiltBy lists, per backend, the version constraint that can build this
	// architecture, as the catalogue states it; empty for a user's own model.
	BuiltBy []BuiltBy
}

// Attention is how the tokens of a sequence look at one another.
type Attention struct {
	Heads         int
	KVHeads       int
	HeadDim       int
	Bias          bool // on q, k, v and the output projection
	QKVBias       bool // on q, k and v alone; false beside Bias
	QKNorm        bool
	Gate          bool // attention_output_gate: the query projection makes a gate of the output too
	Sinks         bool
	Softcap       float64 // attention_logit_softcap
	Scale         float64 // of the softmax; 0: 1/sqrt(head_dim)
	SlidingWindow SlidingWindow
	MLA           *MLA // nil: heads of their own
}

// HeadWidths are the widths of a head's keys, which are those of its queries, and of
// its values. With latent attention they differ.
func (a *Attention) HeadWidths() (keys, values int) {
	if m := a.MLA; m != nil {
		return m.QKNopeHeadDim + m.QKRopeHeadDim, m.VHeadDim
	}
	return a.HeadDim, a.HeadDim
}

// Activation is the function between the matrices of an MLP.
type Activation struct {
	Kind   string  // swiglu, geglu, gelu, relu2
	Alpha  float64 // swiglu: the gate is x·sigmoid(alpha·x); 0 or 1: silu (gpt_oss: 1.702)
	Clamp  float64 // swiglu: gate and linear part clamped to this magnitude; 0: not clamped (gpt_oss: 7)
	Offset float64 // swiglu: added to the linear part (gpt_oss: 1)
}

// Norm is what normalises the input of a block.
type Norm struct {
	Kind         string  // rmsnorm, layernorm
	Epsilon      float64 // added to the variance under the root
	Post         bool    // the output of a block is normalised too
	ZeroCentered bool    // the weight is stored as w−1 (Gemma)
}

// MTP is multi-token prediction: layers that predict further tokens.
type MTP struct {
	Layers       int
	LayerPattern string  // beside Model.LayerPattern: the blocks of one of them
	LossScale    float64 // of the loss of these layers beside the model's
}

// BuiltBy says that a backend can build a model from a version on, or why not.
type BuiltBy struct {
	Backend  string
	Versions string // a version constraint, such as ">= core_v0.16.0"; "" with Reason: none
	Reason   string
}

// PositionEmbedding is rope, learned, alibi or none.
type PositionEmbedding struct {
	Kind    string
	Theta   float64 // base of the wavelengths
	Scaling *RopeScaling
	Partial float64 // share of the head dimension that rotates; 0 or 1: all
}

// ScalingType is how rope is stretched; "" where it is not.
func (p *PositionEmbedding) ScalingType() string {
	if p.Scaling == nil {
		return ""
	}
	return p.Scaling.Type
}

// RopeScaling stretches rope beyond its original length.
type RopeScaling struct {
	Type                string  // llama3, yarn, linear
	Factor              float64 // by which sequences are longer
	OriginalLength      int     // of sequences that the model was trained on, in tokens
	LowFrequencyFactor  float64 // llama3: wavelengths above OriginalLength over it are stretched by Factor
	HighFrequencyFactor float64 // llama3: those below OriginalLength over it stay
	BetaFast, BetaSlow  float64 // yarn: turns over OriginalLength between which it interpolates
	MScale              float64 // yarn: of the factor on rotated values, 0.1·MScale·ln Factor + 1
	MScaleAllDim        float64 // yarn: the same of all dimensions, by which that is divided
	Untruncated         bool    // yarn: the correction range is not rounded to whole dimensions (gpt_oss)
}

// SlidingWindow limits attention to Size keys in some layers.
type SlidingWindow struct {
	Size    int // 0: none
	Pattern int // every Pattern-th layer attends to everything; 0: none does
}

// MLA is multi-head latent attention. Both latents are RMS-normalised, as in
// DeepSeek-V2 and V3; Model.QKNorm, which is per head, does not apply.
type MLA struct {
	QLoraRank     int // 0: q is projected directly
	KVLoraRank    int
	QKNopeHeadDim int
	QKRopeHeadDim int
	VHeadDim      int
}

// The letters of a layer pattern, as Megatron-LM writes them.
const (
	MambaBlock     = 'M'
	DeltaNetBlock  = 'G'
	AttentionBlock = '*'
	MLPBlock       = '-'
	ExpertsBlock   = 'E'
)

// Mamba is a Mamba-2 mixer (arXiv:2405.21060): one projection makes gate, inner
// stream, the state's input and output of every group and a time step of every
// head.
type Mamba struct {
	Heads      int
	HeadDim    int
	StateDim   int
	Groups     int
	ConvKernel int
}

// InnerSize is the width of the mixer's inner stream.
func (m *Mamba) InnerSize() int { return m.Heads * m.HeadDim }

// DeltaNet is a gated delta net (arXiv:2412.06464): one projection makes query,
// key, value and gate, and two scalars of every value head.
type DeltaNet struct {
	KeyHeads     int
	ValueHeads   int
	KeyHeadDim   int
	ValueHeadDim int
	ConvKernel   int
}

// MoE describes the mixture-of-experts layers.
type MoE struct {
	Experts                   int
	TopK                      int
	ExpertFFNHiddenSize       int
	SharedExperts             int
	SharedExpertFFNHiddenSize int // of all shared experts together
	SharedExpertGate          bool
	LatentSize                int // width of what the routed experts read and write; 0: the hidden size
	FirstDenseLayers          int
	LayerFrequency            int // every n-th layer after the dense ones is MoE; 1: all
	TokenDrop                 bool
	CapacityFactor            float64 // capacity of an expert over the mean load, with TokenDrop
	LoadImbalance             float64 // tokens of the busiest expert rank over the mean; 1: balanced
	Router                    Router
}

// Router decides which experts see a token. Balance bias is DeepSeek-V3's
// loss-free balancing by an expert bias that is not trained; an AuxCoefficient
// beside it is its complementary sequence-wise loss.
type Router struct {
	Score            string  // softmax, sigmoid
	Balance          string  // aux_loss, sequence_aux_loss, global_aux_loss, bias, none
	AuxCoefficient   float64 // of the loss that balances
	ZLossCoefficient float64 // of the loss on large logits
	BiasUpdateRate   float64 // of Balance bias, a step
	Groups           int     // of experts
	GroupTopK        int     // groups that a token goes to
	ScalingFactor    float64 // on the weights of the experts of a token
	Normalize        bool    // normalise the top-k weights to sum to one
	PreSoftmax       bool    // softmax over all experts before the top-k
	DType            string  // fp32, bf16, fp64
	Bias             bool    // the router's linear layer has a bias (gpt_oss)
}

// LayerBlocks spells the blocks of decoder layer i (from 0) with the letters of
// a layer pattern: a mixer and what follows it, or one of them.
func (m *Model) LayerBlocks(i int) string {
	switch {
	case m.LayerPattern != "":
		return m.LayerPattern[i : i+1]
	case m.IsMoELayer(i):
		return "*E"
	}
	return "*-"
}

// MTPBlocks spells the blocks of a multi-token-prediction layer.
func (m *Model) MTPBlocks() string {
	if m.LayerPattern != "" {
		return m.MTP.LayerPattern
	}
	return m.LayerBlocks(m.Layers - 1)
}

// IsMoELayer reports whether decoder layer i (from 0) is a mixture-of-experts
// layer.
func (m *Model) IsMoELayer(i int) bool {
	if m.LayerPattern != "" {
		return m.LayerPattern[i] == ExpertsBlock
	}
	if m.MoE == nil || i < m.MoE.FirstDenseLayers {
		return false
	}
	f := m.MoE.LayerFrequency
	return f <= 1 || (i-m.MoE.FirstDenseLayers)%f == f-1
}

// Vocabulary is the vocabulary of a framework that pads nothing by itself: padded where
// the model says how far.
func (m *Model) Vocabulary() int { return max(m.VocabSize, m.PaddedVocabSize) }

// BiasesQKV reports whether the projections of queries, keys and values have
// biases, with the output's or alone.
func (m *Model) BiasesQKV() bool { return m.Attention.Bias || m.Attention.QKVBias }

// GatedActivation reports whether the MLP has a gate projection beside the up
// projection.
func (m *Model) GatedActivation() bool {
	return m.Activation.Kind == "swiglu" || m.Activation.Kind == "geglu"
}
