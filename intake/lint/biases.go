package lint

import (
	"fmt"
	"slices"
)

// biasedExperts reports experts whose linear layers have biases where the releases assert that
// they have none: split over tensor ranks (core/transformer/transformer_config.py), beside
// shared experts (moe/shared_experts.py) and, while biases are fused with dropout, in grouped
// GEMMs (moe/experts.py: TEGroupedMLP).
func (s *script) biasedExperts(a *arguments) {
	experts, _, ok := a.certain("--num-experts")
	if !ok || experts < 1 || !s.upstream(a) || slices.ContainsFunc([]string{"--disable-bias-linear", "--language-model-type", "--use-checkpoint-args"}, a.mayHave) {
		return // a model of examples/multimodal or of a checkpoint may have no biases
	}
	tensor, whole, ok := a.certain("--tensor-model-parallel-size")
	split, own, said := a.certain("--expert-tensor-parallel-size")
	var o *option
	why := ""
	switch shared, at, ok2 := a.certain("--moe-shared-expert-intermediate-size"); {
	case said && split > 1:
		o, why = own, "are split over "+own.first()+" tensor ranks"
	case own == nil && !a.unsure && ok && tensor > 1:
		o, why = whole, "are split over "+whole.first()+" tensor ranks, as the other layers are without --expert-tensor-parallel-size 1"
	case a.mayHave("--spec"):
		return // whose layers may be anything
	case ok2 && shared > 0:
		o, why = at, "stand beside shared experts"
	case a.has("--moe-grouped-gemm") && !a.mayHave("--no-bias-dropout-fusion") && (!a.mayHave("--transformer-impl") || a.is("--transformer-impl", "transformer_engine")):
		o, why = a.last("--moe-grouped-gemm"), "are multiplied in groups, without --no-bias-dropout-fusion"
	default:
		return
	}
	s.report(Contradiction, s.place(o), fmt.Sprintf("Linear layers have biases where --disable-bias-linear is not set, and experts %s: Megatron-LM from %s ends with an AssertionError. Set --disable-bias-linear.", why, span()))
}
