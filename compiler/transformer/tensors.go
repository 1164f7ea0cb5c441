package transformer

import "github.com/ndc-dev/ndc/lang/job"

// Component is the part of a layer that a tensor belongs to.
type Component uint8

// The components.
const (
	Attention Component = iota
	MLP
	Router
	Experts
	SharedExperts
	Norm
	MTPProjection
)

// Sharding says which groups cut a tensor.
type Sharding uint8

// The shardings.
const (
	Replicated     Sharding = iota // the same on every tensor rank
	TensorSharded                  // rows or columns over the tensor group, evenly
	ExpertSharded                  // experts over the expert group, each cut over the expert-tensor group
	ExpertParallel                 // experts over the expert group, whole on every expert-tensor rank
)

// Tensor is one parameter tensor of a layer, or one per expert.
type Tensor struct {
	Name          string
	Component     Component
	Sharding      Sharding
	Rows, Columns int // outputs × inputs of a projection; a vector has one column
	Copies        int // experts; 1 otherwise
}

// Matrix reports whether the tensor is the weight of a matrix product, which
// low-precision recipes and matrix optimizers treat differently from vectors.
func (t *Tensor) Matrix() bool { return t.Columns > 1 }

// Elements is the size of the whole tensor, all experts together.
func (t *Tensor) Elements() int64 {
	return int64(t.Rows) * int64(t.Columns) * int64(t.Copies)
}

// Split is how a layer is cut over ranks.
type Split struct {
	TensorParallel       int
	ExpertParallel       int
	ExpertTensorParallel int
}

// Local is the number of elements of the tensor on one rank. Sizes that the
// groups do not divide are rounded up (package layout rejects them first).
func (t *Tensor) Local(s Split) int64 {
	n := t.Elements()
	switch t.Sharding {
	case TensorSharded:
		return ceil(n, s.TensorParallel)
	case ExpertSharded:
		return ceil(n, s.ExpertParallel*s.ExpertTensorParallel)
	case ExpertParallel:
		return ceil(n, s.ExpertParallel)
	}
	return n
}

// Expert reports whether the tensor is reduced over the expert data-parallel
// group instead of the dense one.
func (t *Tensor) Expert() bool { return t.Sharding >= ExpertSharded }

func ceil(n int64, by int) int64 { return (n + int64(by) - 1) / int64(by) }

// Tensors lists the parameter tensors of one layer of a kind.
func (a *Architecture) Tensors(kind int) []Tensor { return a.tensor[kind] }

// layerTensors builds the list for one kind of layer.
func layerTensors(m *job.Model, k Kind) []Tensor {
	b := builder{m: m}
	if k.MTP {
		b.norm("mtp.embedding_norm", m.HiddenSize)
		b.norm("mtp.hidden_norm", m.HiddenSize)
		b.add("mtp.projection", MTPProjection, TensorSharded, m.HiddenSize, 2*m.HiddenSize)
	}
	b.norm("attention_norm", m.HiddenSize)
	if m.MLA != nil {
		b.latentAttention(m.MLA)
	} else {
		b.attention()
	}
	b.norm("mlp_norm", m.HiddenSize)
	if m.PostNorms {
		b.norm("attention_post_norm", m.HiddenSize)
		b.norm("mlp_post_norm", m.HiddenSize)
	}
	if k.MoE {
		b.experts(m.MoE)
	} else {
		b.mlp("mlp", MLP, m.FFNHiddenSize)
	}
	if k.MTP {
		b.norm("mtp.final_norm", m.HiddenSize)
	}
	return b.out
}

// builder collects the tensors of a layer.
type builder struct {
	m   *job.Model
	out []Tensor
}

func (b *builder) add(name string, c Component, s Sharding, rows, columns int) {
	b.out = append(b.out, Tensor{Name: name, Component: c, Sharding: s, Rows: rows, Columns: columns, Copies: 1})
}

// norm adds a weight and, for LayerNorm, a bias.
func (b *builder) norm(name string, size int) {
	b.add(name+".weight", Norm, Replicated, size, 1)
	if b.m.Normalization == "layernorm" {
		b.add(name+".bias", Norm, Replicated, size, 1)
	}
}

// attention adds multi-head or grouped-query attention. The key and value
// projection is cut evenly even over more ranks than it has heads: Megatron
// gathers what it computed and slices it, so that activations repeat heads and
// parameters do not (Megatron-LM core_v0.17.0 transformer/attention.py).
func (b *builder) attention() {
	m := b.m
	q, kv := m.AttentionHeads*m.HeadDim, 2*m.KVHeads*m.HeadDim
	b.add("attention.q.weight", Attention, TensorSharded, q, m.HiddenSize)
	b.add("attention.kv.weight", Attention, TensorSharded, kv, m.HiddenSize)
	b.add("attention.output.weight", Attention, TensorSharded, m.HiddenSize, q)
	if m.BiasesQKV() {
		b.add("attention.q.bias", Attention, TensorSharded, q, 1)
		b.add("attention.kv.bias", Attention, TensorSharded, kv, 1)
	}
	if m.AttentionBias {
		b.add("attention.output.bias", Attention, Replicated, m.HiddenSize, 1)
	}
	if m.QKNorm {
		b.norm("attention.q_norm", m.HeadDim)
		b.norm("attention.k_norm", m.HeadDim)
	}
	if m.AttentionSinks {
		b.add("attention.sinks", Attention, TensorSharded, m.AttentionHeads, 1)
	}
}

// latentAttention adds multi-head latent attention. The down projections and
// the norms of the latents are replicated over the tensor group, the up
// projections are cut by heads.
func (b *builder) latentAttention(l *job.MLA) {
	h, n := b.m.HiddenSize, b.m.AttentionHeads
	qk := l.QKNopeHeadDim + l.QKRopeHeadDim
	if l.QLoraRank > 0 {
		b.add("attention.q_down.weight", Attention, Replicated, l.QLoraRank, h)
		b.norm("attention.q_norm", l.QLoraRank)
		b.add("attention.q_up.weight", Attention, TensorSharded, n*qk, l.QLoraRank)
	} else {
		b.add("attention.q.weight", Attention, TensorSharded, n*qk, h)
	}
	b.add("attention.kv_down.weight", Attention, Replicated, l.KVLoraRank+l.QKRopeHeadDim, h)
	b.norm("attention.kv_norm", l.KVLoraRank)
	b.add("attention.kv_up.weight", Attention, TensorSharded, n*(l.QKNopeHeadDim+l.VHeadDim), l.KVLoraRank)
	b.add("attention.output.weight", Attention, TensorSharded, h, n*l.VHeadDim)
}

// mlp adds a dense MLP of the given width.
func (b *builder) mlp(name string, c Component, width int) {
	in := width * upProjections(b.m)
	b.add(name+".in.weight", c, TensorSharded, in, b.m.HiddenSize)
	b.add(name+".out.weight", c, TensorSharded, b.m.HiddenSize, width)
	if b.m.MLPBias {
		b.add(name+".in.bias", c, TensorSharded, in, 1)
		b.add(name+".out.bias", c, Replicated, b.m.HiddenSize, 1)
	}
}

// experts adds the router, the routed experts and the shared expert.
func (b *builder) experts(e *job.MoE) {
	h := b.m.HiddenSize
	in := e.ExpertFFNHiddenSize * upProjections(b.m)
	b.add("router.weight", Router, Replicated, e.Experts, h)
	if e.Router.Bias {
		b.add("router.bias", Router, Replicated, e.Experts, 1)
	}
	first := len(b.out)
	b.add("experts.in.weight", Experts, ExpertSharded, in, h)
	b.add("experts.out.weight", Experts, ExpertSharded, h, e.ExpertFFNHiddenSize)
	if b.m.MLPBias {
		b.add("experts.in.bias", Experts, ExpertSharded, in, 1)
		b.add("experts.out.bias", Experts, ExpertParallel, h, 1)
	}
	for i := first; i < len(b.out); i++ {
		b.out[i].Copies = e.Experts
	}
	if w := SharedWidth(e); w > 0 {
		b.mlp("shared_experts", SharedExperts, w)
	}
}

// SharedWidth is the FFN width of all shared experts together; 0: none.
func SharedWidth(e *job.MoE) int {
	if e.SharedExperts == 0 {
		return 0
	}
	if e.SharedExpertFFNHiddenSize > 0 {
		return e.SharedExpertFFNHiddenSize
	}
	return e.SharedExperts * e.ExpertFFNHiddenSize
}

// upProjections is 2 for gated activations (gate and up), else 1.
func upProjections(m *job.Model) int {
	if m.GatedActivation() {
		return 2
	}
	return 1
}
