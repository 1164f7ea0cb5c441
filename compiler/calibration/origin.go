package calibration

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/logs"
)

// own is what a log tells of a plan's runs. Launches of other runs, such as those of
// an earlier build into the same folder, are left out, with what contradicts the plan.
func own(p *plan.Plan, l *logs.Log) (*logs.Log, []logs.Refusal) {
	return l.Without(func(x *logs.Launch) string { return contradiction(p, x) })
}

// contradiction is what a launch says of itself that its plan says otherwise; "" where
// it says nothing such.
func contradiction(p *plan.Plan, x *logs.Launch) string {
	switch configuration := configurationOf(p); {
	case x.Framework != "" && x.Framework != p.Backend:
		return fmt.Sprintf("the log is of %s, and the plan for %s", x.Framework, p.Backend)
	case x.GPUs > 0 && x.GPUs != p.Input.GPUs:
		return fmt.Sprintf("the log is of a run on %s, and the plan for %d", units.Count(x.GPUs, "GPU"), p.Input.GPUs)
	case x.Length > 0 && p.Input.SequenceLength > 0 && x.Length != p.Input.SequenceLength:
		return fmt.Sprintf("the log is of sequences of %s, and the plan of %d", units.Count(x.Length, "token"), p.Input.SequenceLength)
	case x.Layers > 0 && layersOf(p) > 0 && x.Layers != layersOf(p):
		return fmt.Sprintf("the log is of a model of %s, and the plan of %d", units.Count(x.Layers, "layer"), layersOf(p))
	case x.Most > 0 && p.Input.ParametersTotal > 0 && (float64(p.Input.ParametersTotal) < x.Least || float64(p.Input.ParametersTotal) > x.Most):
		return fmt.Sprintf("the log is of a model of %s parameters, and the plan of %s", billions(x.Parameters), billions(float64(p.Input.ParametersTotal)))
	case x.Sequences > 0 && p.Input.GlobalBatchSize > 0 && x.Sequences != p.Input.GlobalBatchSize:
		return fmt.Sprintf("the log is of batches of %s, and the plan of %d", units.Count(x.Sequences, "sequence"), p.Input.GlobalBatchSize)
	case otherLayout(p, &x.Degrees) != "":
		return otherLayout(p, &x.Degrees)
	case x.Configuration != "" && configuration != "" && x.Configuration != configuration:
		return fmt.Sprintf("the log is of another build than the plan: configuration %.12s, and not %.12s", x.Configuration, configuration)
	case x.Edited != "":
		return fmt.Sprintf("the log is of a run whose %s was edited after ndc had written it", x.Edited)
	}
	return ""
}

// layersOf is how many layers a plan's model has, 0 where the plan does not tell.
func layersOf(p *plan.Plan) (n int) {
	for i := range p.Memory.Stages {
		for _, layers := range p.Memory.Stages[i].Layers {
			n += layers
		}
	}
	return n
}

func billions(parameters float64) string { return fmt.Sprintf("%.3g billion", parameters/1e9) }

// otherLayout is the first degree that a launch says of itself and its plan says otherwise.
func otherLayout(p *plan.Plan, d *logs.Degrees) string {
	l := &p.Layout
	for _, x := range []struct {
		axis      plan.Axis
		ran, plan int
	}{
		{plan.TensorParallel, d.Tensor, l.TensorParallel}, {plan.ContextParallel, d.Context, l.ContextParallel},
		{plan.PipelineParallel, d.Pipeline, l.PipelineParallel}, {plan.ExpertParallel, d.Expert, l.ExpertParallel},
		{plan.DataParallelReplicate, d.Replicate, l.DataParallelReplicate}, {plan.DataParallelShard, d.Shard, l.DataParallelShard},
		{"micro_batch_size", d.MicroBatch, l.MicroBatchSize},
	} {
		if x.ran > 0 && x.plan > 0 && x.ran != x.plan {
			return fmt.Sprintf("the log is of %s = %d, and the plan of %d", x.axis, x.ran, x.plan)
		}
	}
	return ""
}

// configurationOf is the hash by which scripts name the build that they belong to: that
// of its plan.json. It is "" where a plan does not have it.
func configurationOf(p *plan.Plan) string {
	for _, a := range p.Artifacts {
		if a.Path == "plan.json" {
			return a.SHA256
		}
	}
	return ""
}
