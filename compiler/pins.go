package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// lack is an axis of the kind Count on which a target can lack values.
type lack struct {
	name    string
	offered func(n int) bool
	without string // what the framework lacks
}

func lacks(j *job.Job, t *target.Target) []lack {
	only := func(has bool) func(int) bool { return func(n int) bool { return has || n <= 1 } }
	return []lack{
		{"context_parallel", only(t.ContextParallel), "has no context parallelism"},
		{"pipeline_parallel", only(t.PipelineParallel), "has no pipeline parallelism"},
		{"virtual_pipeline", only(t.VirtualPipeline), "has no interleaved schedule"},
		{"expert_parallel", only(t.ExpertParallel && j.Model.MoE != nil), lacksExperts(j)},
		{"expert_tensor_parallel", only(t.ExpertTensorParallel && j.Model.MoE != nil), "cannot split an expert over tensor ranks"},
		{"zero_stage", func(n int) bool { return slices.Contains(t.ZeroStages, n) || n == 0 && j.Cluster.GPUs() == 1 }, "offers zero_stage " + join(t.ZeroStages)},
	}
}

func lacksExperts(j *job.Job) string {
	if j.Model.MoE == nil {
		return "has no experts to distribute, because the model has no moe block"
	}
	return "has no expert parallelism"
}

// checkPins reports axes on which nothing that the user allows is offered.
func checkPins(j *job.Job, t *target.Target) diag.List {
	var diags diag.List
	for _, a := range lacks(j, t) {
		choice := *option.FindAxis(a.name).Counted(&j.Constraints.Layout)
		if choice.Free() || anyAllowed(choice, a.offered) {
			continue
		}
		lacksValue(j, t, &diags, a.name, fmt.Sprintf("%s, so %s = %s leaves nothing to choose from", a.without, a.name, show(choice)), asked(choice)...)
	}
	checkNames(j, t, &diags)
	checkRecompute(j, t, &diags)
	checkSequenceParallel(j, t, &diags)
	checkStageLayers(j, t, &diags)
	checkStages(j, t, &diags)
	checkChunks(j, t, &diags)
	return diags
}

// checkStages reports pipelines of more ranks than the model has layers. Only a pinned
// split may have empty stages.
func checkStages(j *job.Job, t *target.Target, diags *diag.List) {
	c, layers := &j.Constraints.Layout, j.Model.Layers
	if !t.PipelineParallel || len(c.StageLayers) > 0 {
		return
	}
	for pp := 1; pp <= layers; pp++ {
		if c.PipelineParallel.Allows(pp) {
			return
		}
	}
	diags.Error(IDLayersIndivisible, j.Sources.Range("constraints.layout.pipeline_parallel"), "More pipeline ranks than layers",
		fmt.Sprintf("The model has %s, and pipeline_parallel = %s leaves ranks without any. Take at most %d. Stages without layers are tried where stage_layers names them alone, and not every framework starts them.", units.Count(layers, "decoder layer"), show(c.PipelineParallel), layers))
}

// checkChunks reports schedules of which none runs as many chunks per rank as the job
// asks for.
func checkChunks(j *job.Job, t *target.Target, diags *diag.List) {
	c := &j.Constraints.Layout
	asked, fit, runs := "virtual_pipeline = "+show(c.VirtualPipeline), []string(nil), []string(nil)
	allows := c.VirtualPipeline.Allows
	if n := len(c.StageLayers); n > 0 {
		asked = fmt.Sprintf("%s in stage_layers for pipeline_parallel = %s", units.Count(n, "chunk"), show(c.PipelineParallel))
		allows = func(v int) bool {
			return n%v == 0 && c.PipelineParallel.Allows(n/v) && c.VirtualPipeline.Allows(v)
		}
	}
	for _, x := range t.Schedules {
		does := false
		for v := 1; v <= max(j.Model.Layers, len(c.StageLayers)); v++ {
			does = does || allows(v) && layout.Runs(x, v)
		}
		switch named := slices.Contains(c.PipelineSchedule, x.String()); {
		case does && named:
			return
		case does:
			fit = append(fit, x.String())
		case named:
			runs = append(runs, fmt.Sprintf("%q runs %s", x, chunksOf(x)))
		}
	}
	if len(runs) == 0 || len(fit) == 0 || slices.Contains(c.PipelineSchedule, job.NoValue) || c.PipelineParallel.Allows(1) && allows(1) {
		return
	}
	diags.Error(IDLayersIndivisible, j.Sources.Range("constraints.layout.pipeline_schedule"), "The schedule runs another number of chunks",
		fmt.Sprintf("Of a pipeline rank %s, and the job asks for %s. Set pipeline_schedule = %s, or change what asks for the chunks.", strings.Join(runs, ", "), asked, strings.Join(quoted(fit), " or ")))
}

// chunksOf says how many chunks per rank a schedule runs.
func chunksOf(x plan.Schedule) string {
	switch {
	case layout.Runs(x, 1):
		return "one chunk"
	case layout.Runs(x, 3):
		return "two chunks or more"
	}
	return "two chunks"
}

// anyAllowed asks for the values that the choice names and for those that
// tell frameworks apart, all below 4. The GPUs are not counted here: a degree
// beyond them is not one that the framework lacks.
func anyAllowed(choice job.IntChoice, offered func(int) bool) bool {
	probes := append([]int{0, 1, 2, 3, choice.Min}, choice.Values...)
	for _, n := range choice.Not {
		probes = append(probes, n+max(1, choice.Step))
	}
	return slices.ContainsFunc(probes, func(n int) bool {
		return choice.Allows(n) && offered(n)
	})
}

// whoHas says which backend or version has values of an axis, if the
// target knows, and else what to do with the constraint that asks for them.
func whoHas(t *target.Target, name string, values ...string) string {
	if s := elsewhere(t, name, values...); s != "" {
		return s
	}
	return " Remove the constraint, or choose another backend or version."
}

// elsewhere is the first of these, or "".
func elsewhere(t *target.Target, name string, values ...string) string {
	if t.Alternatives != nil {
		if s := t.Alternatives(name, values); s != "" {
			return " " + s
		}
	}
	return ""
}

// checkNames does the same for the axes whose values are names.
func checkNames(j *job.Job, t *target.Target, diags *diag.List) {
	c := &j.Constraints.Layout
	var schedules, recomputes []string
	for _, s := range t.Schedules {
		schedules = append(schedules, s.String())
	}
	for _, r := range t.Recomputes {
		if name := r.Mode.String(); !slices.Contains(recomputes, name) {
			recomputes = append(recomputes, name)
		}
	}
	if !c.PipelineSchedule.Allows(job.NoValue) || !c.PipelineParallel.Allows(1) {
		checkName(j, t, diags, nameAxis{"pipeline_schedule", c.PipelineSchedule, schedules})
	}
	checkName(j, t, diags, nameAxis{"recompute", c.Recompute, recomputes})
}

type nameAxis struct {
	name    string
	choice  job.StringChoice
	offered []string
}

func checkName(j *job.Job, t *target.Target, diags *diag.List, a nameAxis) {
	if a.choice == nil || slices.ContainsFunc(a.offered, a.choice.Allows) {
		return
	}
	offers := "offers " + a.name + " = " + strings.Join(quoted(a.offered), ", ")
	if len(a.offered) == 0 {
		offers = "has no " + a.name
	}
	lacksValue(j, t, diags, a.name, offers+"; the job asks for "+strings.Join(quoted(a.choice.Names()), ", "), a.choice.Names()...)
}

// lacksValue reports a pin that the target lacks: what the version does instead, and who has
// the values that are asked for.
func lacksValue(j *job.Job, t *target.Target, diags *diag.List, axis, does string, values ...string) {
	diags.Error(IDAxisUnsupported, j.Sources.Range("constraints.layout."+axis), "The framework lacks this value of the layout",
		fmt.Sprintf("%s %s %s.%s", t.Backend, t.Version, does, whoHas(t, axis, values...)))
}

// checkRecompute reports methods and depths of full recompute of which the
// target offers none. Depths that it does not list are for the enumerator.
func checkRecompute(j *job.Job, t *target.Target, diags *diag.List) {
	c := &j.Constraints.Layout
	var methods []string
	deep := c.RecomputeLayers.Free()
	for _, o := range t.Recomputes {
		if o.Mode != plan.RecomputeFull {
			continue
		}
		methods = append(methods, o.Method)
		deep = deep || c.RecomputeMethod.Allows(o.Method) && (o.Layers == nil || slices.ContainsFunc(o.Layers, c.RecomputeLayers.Allows))
	}
	if !c.Recompute.Allows(plan.RecomputeFull.String()) || len(methods) == 0 {
		return
	}
	others := slices.ContainsFunc(t.Recomputes, func(o target.RecomputeOption) bool {
		return o.Mode != plan.RecomputeFull && c.Recompute.Allows(o.Mode.String())
	})
	if others && c.RecomputeMethod.Allows(job.NoValue) && !slices.ContainsFunc(methods, c.RecomputeMethod.Allows) {
		return // the others have no method
	}
	before := len(*diags)
	checkName(j, t, diags, nameAxis{"recompute_method", c.RecomputeMethod, methods})
	if !deep && len(*diags) == before {
		lacksValue(j, t, diags, "recompute_layers", "does not recompute in steps of recompute_layers = "+show(c.RecomputeLayers))
	}
}

// checkSequenceParallel reports a choice that the target lacks where tensor
// parallelism, which gives it a meaning, is asked for.
func checkSequenceParallel(j *job.Job, t *target.Target, diags *diag.List) {
	c := &j.Constraints.Layout
	if !c.SequenceParallel.Set || slices.Contains(t.SequenceParallel, c.SequenceParallel.Value) || c.TensorParallel.Allows(1) {
		return
	}
	value := fmt.Sprint(c.SequenceParallel.Value)
	lacksValue(j, t, diags, "sequence_parallel", "has no sequence_parallel = "+value+" beside tensor parallelism for this model", value)
}

// checkStageLayers holds a pinned split to the model and the target.
func checkStageLayers(j *job.Job, t *target.Target, diags *diag.List) {
	split := j.Constraints.Layout.StageLayers
	if len(split) == 0 {
		return
	}
	at, sum := j.Sources.Range("constraints.layout.stage_layers"), 0
	for _, n := range split {
		sum += n
	}
	if sum != j.Model.Layers {
		diags.Error(IDStageLayers, at, "Stage layers do not add up",
			fmt.Sprintf("The %s of stage_layers hold %s, the model has %d. MTP layers are not counted: they stand beside the head.", units.Count(len(split), "chunk"), units.Count(sum, "decoder layer"), j.Model.Layers))
	}
	if !t.UnevenStages && slices.Min(split) != slices.Max(split) {
		lacksValue(j, t, diags, "stage_layers", "gives every stage the same number of layers")
	}
}

// checkFound reports input for which there is no layout at all.
func checkFound(j *job.Job, t *target.Target, o *search.Outcome) diag.List {
	var diags diag.List
	none := func(id diag.ID) bool { return o.Counts.Rejected[id] == o.Counts.Enumerated }
	switch {
	case o.Counts.Enumerated == 0:
		diags.Error(IDDegreesDoNotFit, j.Sources.Range("constraints.layout"), "No product of degrees uses all GPUs",
			degreesDetail(j, t))
	case none(search.IDBatchNotDivisible):
		diags.Error(IDBatchIndivisible, j.Sources.Range("training.global_batch_size"), "No layout divides the global batch", batchDetail(j, t))
	case none(search.IDLayersNotDivisible):
		diags.Error(IDLayersIndivisible, j.Sources.Range("constraints.layout"), "No layout cuts the layers as asked",
			fmt.Sprintf("The model has %s, and %s %s has no pipeline and recompute for them that the constraints allow (%s). A pipeline has pipeline_parallel x virtual_pipeline chunks of at least a layer each, and recompute_layers are at most those of a chunk. Change or remove one of the constraints.",
				units.Count(j.Model.Layers, "layer"), t.Backend, t.Version, pinned(j, func(a *option.Axis) bool { return a.Name == "pipeline_parallel" || !a.Mesh && !a.Batch })))
	}
	return diags
}

// batchDetail names the smallest data-parallel size that is open, the nearest batches that it
// divides, and fewer nodes on which one divides the job's own.
func batchDetail(j *job.Job, t *target.Target) string {
	gbs := j.Training.GlobalBatchSize
	smallest, unit := leastBatch(j, t)
	nodes := ""
	for _, n := range fewer(j) {
		changed := withNodes(j, n)
		able, diags := t.Again(changed)
		if diags.HasErrors() || Check(changed, able).HasErrors() {
			continue
		}
		if _, unit := leastBatch(changed, able); unit > 0 && gbs%unit == 0 {
			nodes = fmt.Sprintf(", or %s", units.Count(n, "node"))
			break
		}
	}
	below := gbs / unit * unit
	return fmt.Sprintf("global_batch_size = %d is cut into micro_batch_size x micro_batches x data parallel size, and the smallest data parallel size that the %d GPUs allow here is %d (%s). Use a multiple of %d, such as %d or %d%s.",
		gbs, j.Cluster.GPUs(), smallest, pinned(j, cuts), unit, max(unit, below), max(unit, below)+unit, nodes)
}

// leastBatch is the smallest data-parallel size of a job, of the meshes that the framework's
// rules allow where there are such, and the least batch for it; 0 where there is no mesh.
func leastBatch(j *job.Job, t *target.Target) (replicas, sequences int) {
	legal := false
	for _, m := range layout.NewSpace(j, t).Meshes {
		var l plan.Layout
		m.Fill(&l)
		f := target.Facts{Job: j, Layout: &l, Exec: &plan.Execution{}, GPUs: j.Cluster.GPUs()}
		allowed := !slices.ContainsFunc(t.Rules, func(r target.Rule) bool { return r.Mesh && r.Breaks(&f) })
		if dp := l.DataParallel(); replicas == 0 || allowed && !legal || allowed == legal && dp < replicas {
			replicas, legal = dp, allowed
		}
	}
	return replicas, replicas * least(j.Constraints.Layout.MicroBatchSize) * least(j.Constraints.Layout.MicroBatches)
}

// least is the smallest value of a choice, 1 when it is free.
func least(c job.IntChoice) int {
	if len(c.Values) > 0 {
		return c.Values[0]
	}
	n := max(1, c.Min)
	for slices.Contains(c.Not, n) {
		n += max(1, c.Step)
	}
	return n
}

// cuts are the axes that share out the GPUs and the batch.
func cuts(a *option.Axis) bool { return a.Mesh || a.Batch }

// pinned lists what the user fixed of some axes, for messages.
func pinned(j *job.Job, of func(*option.Axis) bool) string {
	c := &j.Constraints.Layout
	var parts []string
	for i := range option.Axes {
		a := &option.Axes[i]
		if !of(a) || a.IsFree(c) {
			continue
		}
		part := a.Name
		if a.Kind == option.Count {
			part += " = " + show(*a.Counted(c))
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return "no degree is constrained"
	}
	return strings.Join(parts, ", ")
}

// asked lists the values that a choice names.
func asked(c job.IntChoice) []string {
	var values []string
	for _, n := range c.Values {
		values = append(values, fmt.Sprint(n))
	}
	return values
}

// show writes a choice as the user would.
func show(c job.IntChoice) string {
	if !c.Ranged {
		if len(c.Values) == 1 {
			return fmt.Sprint(c.Values[0])
		}
		return "[" + join(c.Values) + "]"
	}
	var parts []string
	if c.Min > 1 || c.Max > 0 || c.Step > 1 || c.Not == nil {
		parts = append(parts, fmt.Sprintf("min = %d", c.Min))
	}
	if c.Max > 0 {
		parts = append(parts, fmt.Sprintf("max = %d", c.Max))
	}
	if c.Step > 1 {
		parts = append(parts, fmt.Sprintf("step = %d", c.Step))
	}
	if c.Not != nil {
		parts = append(parts, "not = ["+join(c.Not)+"]")
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func join(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ", ")
}

func quoted(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return out
}
