package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
)

// mlp adds an MLP of the given full width, cut over tensor ranks: the input of
// the activation and its output. share 0 leaves out what a surrounding module
// already counts as its backward moment.
func (b *builder) mlp(ln line, drop modules, width int64, share int64) {
	m := b.arch.Model
	f := b.tokens * width / int64(b.shape.tp)
	up := int64(1)
	if m.GatedActivation() {
		up = 2
	}
	for range up {
		b.product(ln, inMLP, drop, f*b.element)
	}
	if b.style.separateGate && up == 2 && !b.shape.compiled {
		b.saveHere(ln, inMLP, drop, f*b.element)
	}
	b.saveHere(ln, inMLP, drop, b.asInput(f))
	b.unneeded(ln, inMLP, b.tokens*int64(m.HiddenSize)*b.element)
	if share > 0 {
		b.runningMLP(f*b.element, up)
	}
}

// runningMLP settles the worst backward moment of an MLP whose activation
// output takes f bytes: its gradients of the activation's inputs take the place
// of what the last product needed. Where column-parallel layers gather, three
// whole streams, the two partial gradients of their input and the sum that is
// about to be scattered, can be more when all that the MLP kept is gone. A
// block's gradients stay in the compute type until it is reduced as a whole.
func (b *builder) runningMLP(f, up int64) {
	m := b.arch.Model
	stream := int64(m.HiddenSize) * b.element
	var weight int64 // the gradient of one of the weights
	if b.style.reduceFP32 {
		weight = int64(m.HiddenSize*m.FFNHiddenSize/b.shape.tp) * b.element
	}
	b.extraMLP = up*f + weight
	if b.gathers() {
		b.extraMLP = max(b.extraMLP, 2*b.tokens*stream-2*up*f+(up+1)*weight)
	}
	b.extraMLP += b.local * stream
	if b.gathers() && b.shape.recompute == plan.RecomputeFull { // the last product, run again, its copy to scatter and what is scattered, beside the gathered gradient
		b.remade, b.incoming = 2*b.tokens*stream+b.local*stream, b.tokens*stream+b.local*stream
	}
}

// moe adds the router, the dispatch of tokens to experts, the grouped expert
// MLPs and the shared expert.
func (b *builder) moe() {
	m, e := b.arch.Model, b.arch.Model.MoE
	hidden := int64(m.HiddenSize)
	// Router logits, scores, probabilities and the auxiliary loss's scores in
	// fp32, and the routing map in bytes, per token and expert.
	b.saveHere(lineExperts, inMLP, moduleMoE, b.local*int64(e.Experts)*(4*4+1))
	rows := b.rows()
	f := rows * int64(e.ExpertFFNHiddenSize/b.shape.etp)
	up := int64(1)
	if m.GatedActivation() {
		up = 2
	}
	b.save(lineExperts, inMLP, moduleMoE, b.asInput(rows*hidden))
	b.save(lineExperts, inMLP, moduleMoE, up*f*b.element)
	if b.style.separateGate && up == 2 {
		b.save(lineExperts, inMLP, moduleMoE, f*b.element)
	}
	if b.style.separateGate && m.ActivationClamp > 0 { // the clamped halves, and the sigmoid apart from what it scales
		b.save(lineExperts, inMLP, moduleMoE, 3*f*b.element)
	}
	b.saveHere(lineExperts, inMLP, moduleMoE|moduleMoEActivation, b.asInput(f))
	if b.target.KeepsAllToAll && b.shape.ep > 1 {
		b.saveOp(lineExperts, inMLP, 2*rows*hidden*b.element)
	}
	b.shared()
	b.expertMoments(rows*hidden*b.element, up*f*b.element)
	if b.style.fp32Combine {
		b.combine(rows*hidden, b.tokens*int64(e.TopK)*hidden)
		b.incoming = b.local * hidden * b.element
		b.sharedDone(up)
	}
}

// combine adds what weighing the experts' outputs in fp32 keeps and needs: one
// product of matrices over all tokens of the tensor group, whose gradient is as
// large as what it keeps, or products element by element over this rank's rows,
// with two such gradients at once.
func (b *builder) combine(rows, tokens int64) {
	if b.target.WholeCombine {
		b.save(lineExperts, inMLP, moduleMoE, 4*tokens)
		b.extraMLP = max(b.extraMLP, 4*tokens)
		b.remade = 2 * tokens * b.element // the rows as they came and in the order of the tokens
		return
	}
	b.save(lineExperts, inMLP, moduleMoE, 4*rows)
	b.extraMLP += 2 * 4 * rows
	b.remade = rows * (4 + 2*b.element) // the product in fp32, too
}

// rows is the number of rows that this rank's experts multiply, with the
// imbalance of the busiest rank and the padding that low precision asks of
// each expert.
func (b *builder) rows() int64 {
	e := b.arch.Model.MoE
	cut := int64(b.shape.tp)
	n := b.tokens * int64(e.TopK*b.shape.etp) / cut
	if e.TokenDrop && e.CapacityFactor > 0 {
		n = int64(float64(n) * e.CapacityFactor)
	} else if e.LoadImbalance > 1 {
		n = int64(float64(n) * e.LoadImbalance)
	}
	return n + int64(e.Experts/b.shape.ep)*b.align/2
}

// shared adds the shared expert.
func (b *builder) shared() {
	if w := sharedWidth(b.arch); w > 0 {
		b.mlp(lineExperts, moduleMoE|moduleSharedExperts, int64(w), 0)
	}
}

// sharedDone takes off what the shared expert keeps: it ran last, so that its
// backward pass is done when that of the experts begins, and has left the
// gradients of its weights.
func (b *builder) sharedDone(up int64) {
	f := int64(sharedWidth(b.arch)/b.shape.tp) * b.element
	b.extraMLP -= (2 + up) * b.tokens * f
	if b.style.reduceFP32 {
		b.extraMLP += (1 + up) * f * int64(b.arch.Model.HiddenSize)
	}
	b.extraMLP = max(b.extraMLP, 0)
}

// expertMoments settles the worst backward moment of a mixture-of-experts
// layer: the combine (two copies of the routed rows), the activation (the
// gradient of its input) or the dispatch (two copies of the routed rows, when
// the experts' own tensors are gone).
func (b *builder) expertMoments(rows, activation int64) {
	residual := b.local * int64(b.arch.Model.HiddenSize) * b.element
	experts := rows + activation + activation/2
	b.extraMLP = residual + max(2*rows, activation, 2*rows+rows-experts)
}

func sharedWidth(a *program.Program) int { return program.SharedWidth(a.Model.MoE) }
