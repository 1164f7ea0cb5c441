package megatron

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

//go:embed options.jsonl
var optionClasses string

// opRetain is the option of the steps of which checkpoints are kept, besides the newest.
const opRetain = "--save-retain-interval"

// extra says of every option of every release what it does as an extra argument.
var extra = schema.Extra{Classes: schema.EmbeddedClasses(optionClasses), Repeated: RepeatedExtraArgument, Unplanned: UnplannedExtraArgument, Uncounted: UncountedExtraArgument}

// checkExtraArguments passes backend.extra_args through the release's table,
// and says what they do to the plan.
func checkExtraArguments(v *version, j *job.Job, diags *diag.List) {
	for _, o := range occurrences(j.Backend.ExtraArgs) {
		at := extraRange(j, o)
		if o.name == "" {
			diags.Error(InvalidExtraArgument, at, "Invalid extra argument",
				fmt.Sprintf("%s stands before any option. Write the option and each of its values as elements of their own: [\"--option\", \"value\"].", spell(o.words)))
			continue
		}
		if p := v.options.Check(o.name, o.values...); p != nil {
			detail := p.Error()
			if s := since(o.name, ""); p.Unknown && s != "" {
				detail += " " + s + " has it."
			}
			diags.Error(InvalidExtraArgument, at, "Invalid extra argument", detail)
			continue
		}
		if o.name == opFuser && fusesExperts(j) || countsStatic(j, o.name) { // counted
			continue
		}
		option, _ := v.options.Lookup(o.name)
		extra.Report(option, o.name, at, diags)
	}
}

// extraRange is where an extra argument was written.
func extraRange(j *job.Job, o occurrence) diag.Range {
	return j.Sources.Range(fmt.Sprintf("backend.extra_args[%d]", o.at))
}

// replacements are the attributes that extra arguments set in ndc's place.
// Options that share an attribute, such as --swiglu and --no-swiglu, count as
// the same.
func replacements(v *version, j *job.Job) map[string]bool {
	replaced := map[string]bool{}
	for _, o := range occurrences(j.Backend.ExtraArgs) {
		if option, ok := v.options.Lookup(o.name); ok {
			if class, _ := extra.Of(option); class.Replaces() {
				replaced[option.Dest] = true
			}
		}
	}
	return replaced
}

// replaces reports whether an extra argument stands in place of an option of
// ndc's, and keeps what ndc would have said.
func (a *arguments) replaces(name string, values []string) bool {
	option, _ := a.v.options.Lookup(name)
	if !a.replaced[option.Dest] {
		return false
	}
	a.instead[option.Dest] = append(slices.Clone(values), name)
	return true
}

// originOf says where an extra argument comes from, and what it stands in
// place of.
func (a *arguments) originOf(name string) string {
	const origin = "spec: backend.extra_args"
	option, _ := a.v.options.Lookup(name)
	words, ok := a.instead[option.Dest]
	switch {
	case !ok:
		return origin
	case len(words) == 1 && words[0] == name:
		return origin + ", as ndc has it"
	case len(words) == 1:
		return origin + ", in place of " + words[0]
	}
	return origin + ", in place of " + units.List(words[:len(words)-1], "and")
}

// checkPlanned finds the extra arguments that the release refuses beside what the
// plan chose (arguments.py asserts all): Megatron-FSDP keeps its checkpoints in one
// format only, Transformer Engine's fused cross-entropy is switched off, and what is kept
// is a multiple of what is saved.
func (a *arguments) checkPlanned(diags *diag.List) {
	for _, o := range occurrences(a.j.Backend.ExtraArgs) {
		refused := ""
		switch {
		case o.name == "--ckpt-format" && a.p.Execution.FullySharded && !slices.Equal(o.values, []string{"fsdp_dtensor"}):
			refused = "Megatron-FSDP saves as fsdp_dtensor only. Leave --ckpt-format out, or set execution.fully_sharded = false."
		case o.name == "--ckpt-format" && a.p.Execution.OverlapOptimizerGather && !slices.Equal(o.values, []string{"torch"}):
			refused = "A gather behind the optimizer goes with the format torch only, saving or not. Leave --ckpt-format out, or set execution.overlap_optimizer_gather = false."
		case o.name == "--cross-entropy-fusion-impl" && a.p.Execution.CrossEntropy == "fused" && len(o.values) == 1 && Refuses(a.v.name, o.name, o.values[0]):
			refused = "From core_v0.18.2 on Megatron-LM refuses Transformer Engine's fused cross-entropy, as unstable. Leave --cross-entropy-fusion-impl out, or set execution.cross_entropy = \"unfused\"."
		case o.name == opRetain && a.j.Training.Checkpoint.KeepLast == 1:
			refused = "training.checkpoint.keep_last = 1 is emitted as " + opRetain + ". Leave one of the two out."
		case o.name == opRetain && a.p.Run.Checkpoints != nil && len(o.values) == 1:
			saved := a.p.Run.Checkpoints.IntervalSteps
			if kept, err := strconv.Atoi(o.values[0]); err == nil && (kept < 1 || kept%saved != 0) {
				refused = fmt.Sprintf("Checkpoints are %s apart, and Megatron-LM keeps those of a multiple of that alone. Set %s to %d, or another multiple; a multiple that stays one needs training.checkpoint.interval in steps.",
					units.Count(saved, "step"), opRetain, max(1, (kept+saved/2)/saved)*saved)
			}
		}
		if refused != "" {
			diags.Error(UnplannedExtraArgument, extraRange(a.j, o), "Extra argument makes another run", refused)
		}
	}
}
