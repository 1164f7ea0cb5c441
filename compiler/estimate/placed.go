package estimate

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// placedBy is by what a step has to take longer for a placement to be told of, as a
// share of it.
const placedBy = 0.02

// unplaced tells of a step that is predicted as if Slurm placed blocks of nodes inside
// NVLink domains of several nodes, as collective.NewTopology takes for granted of a job
// that does not fill them, where the job does not ask Slurm for it, and of what the step
// takes where groups lie across two domains. Short runs waste nothing.
func (e *Evaluator) unplaced(l *plan.Layout, x *plan.Execution, t units.Seconds) []plan.Warning {
	c := &e.job.Cluster
	segment := layout.Segment(e.job)
	if segment == 0 || e.job.Slurm.Segment > 0 || c.GPUs()%c.NVLink.Domain == 0 || t*units.Seconds(e.job.Training.Steps) <= short {
		return nil
	}
	loose := *e.job
	loose.Cluster.NVLink.Domain = collective.Unplaced(c, segment*c.GPUsPerNode)
	step := NewWith(&loose, e.target, e.parameters).Step(l, x)
	if step <= t*(1+placedBy) {
		return nil
	}
	return []plan.Warning{{ID: string(IDUnplacedBlocks), Summary: "Blocks of nodes that nothing places",
		Detail: fmt.Sprintf("%s do not fill NVLink domains of %d. The step is predicted as if blocks of %s lay within one each, and slurm.segment, which asks Slurm for that, is not set. Where groups lie across two domains it would take up to %s s (%+.0f %%). Set slurm.segment = %d.",
			units.Count(c.GPUs(), "GPU"), c.NVLink.Domain, units.Count(segment, "node"), units.Significant(float64(step), 3), 100*float64(step/t-1), segment)}}
}
