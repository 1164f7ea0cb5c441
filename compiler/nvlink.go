package compiler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// nvlinkReason says what would leave the fast links if nvlink_only allowed it:
// which axis, over how many ranks, and which collectives with how many bytes
// would go over the slow link in the layout that is best then. It is nil when
// even that finds no layout.
func nvlinkReason(ctx context.Context, j *job.Job, t *target.Target) *plan.Reason {
	free := *j
	free.Constraints.NVLinkOnly = nil
	o, err := search.Run(ctx, &free, t)
	if err != nil || len(o.Best) == 0 {
		return nil
	}
	best := &o.Best[0]
	d := estimate.New(&free, t).Describe(&best.Layout, &best.Execution)
	var parts []string
	r := &plan.Reason{ID: string(search.IDLeavesNVLink), Available: float64(layout.Domain(j))}
	for _, a := range d.OffNVLink {
		if slices.Contains(j.Constraints.NVLinkOnly, string(a)) {
			parts = append(parts, fmt.Sprintf("%s = %d: %s", a, layout.Size(&best.Layout, a), traffic(d.Communication, string(a))))
			g := d.Mesh.Groups[slices.IndexFunc(d.Mesh.Groups, func(g plan.Group) bool { return g.Name == string(a) })]
			r.Needed = max(r.Needed, float64((g.Size-1)*g.Stride+1)) // from the first of its GPUs to the last
		}
	}
	if parts == nil {
		return nil
	}
	r.Summary = fmt.Sprintf("every layout takes an axis of nvlink_only out of the %s that share fast links; without that constraint the best one has %s",
		units.Count(layout.Domain(j), "GPU"), strings.Join(parts, "; "))
	return r
}

// traffic lists what a group communicates in a step.
func traffic(all []plan.Communication, group string) string {
	var parts []string
	for _, c := range all {
		if c.Group == group && c.Seconds > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s over %s", c.Collective, c.Bytes.HumanGiB(), c.Link))
		}
	}
	if parts == nil {
		return "no traffic"
	}
	return strings.Join(parts, ", ") + " a step"
}

// segmentChange asks Slurm for blocks of nodes that the layout's groups fill:
// a domain of 72 GPUs cannot be cut into groups of 16, one of 64 can.
func segmentChange(j *job.Job, o *search.Outcome) []change {
	segment := layout.Segment(j)
	if o.Counts.Rejected[search.IDLeavesNVLink] == 0 || j.Slurm.Segment > 0 || segment == 0 {
		return nil
	}
	return []change{{
		describe: fixed(fmt.Sprintf("slurm.segment = %d (blocks of %s that share NVLink)", segment, units.Count(segment*j.Cluster.GPUsPerNode, "GPU"))),
		apply:    func(j *job.Job) { j.Slurm.Segment = segment },
	}}
}
