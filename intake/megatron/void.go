package megatron

import (
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
)

// implied are arguments that a job has no need to say where the launch says them: rows as
// ndc makes them, and norms that latent attention has in any case.
var implied = []string{"model.padded_vocab_size", "model.qk_norm"}

// voidable are the arguments, and the blocks of such, that the job has wherever the launch
// says something by them.
var voidable = []string{"model.", "constraints.layout.expert", "training.start", "training.data.validation.interval", "execution.context_parallel_type"}

// void says of settings, from a place in the report on, that were taken for an argument
// which the job is without that another setting makes them void. Where the model stands
// elsewhere, nobody knows what reads them.
func (r *reading) void(from int) {
	elsewhere := r.isElsewhere() || r.unread["model.moe.experts"] && !r.has("num_experts")
	for i := from; i < len(r.d.Findings); i++ {
		f := &r.d.Findings[i]
		is := func(p string) bool { return strings.HasPrefix(f.To, p) }
		switch {
		case f.Verdict != draft.Mapped, !slices.ContainsFunc(voidable, is), slices.Contains(implied, f.To),
			r.d.HasBlock(f.To), slices.Contains(r.d.Asked(), f.To):
		case f.To == "training.start" && (elsewhere || r.has("load")):
			f.Verdict, f.To, f.Why = draft.Unknown, "", "what the run starts from, which it is about, is not known"
		case elsewhere && (is("model.moe") || is("constraints.layout.expert")):
			f.Verdict, f.To, f.Why = draft.Unknown, "", "the experts, which it is about, stand elsewhere"
		case r.isElsewhere() && is("model."):
			f.Verdict, f.To, f.Why = draft.Unknown, "", "the model, which it is about, stands elsewhere"
		default:
			f.Verdict, f.To, f.Why = draft.Left, "", "it changes nothing beside the other settings"
		}
	}
}
