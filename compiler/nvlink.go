package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// nvlinkReason says what would leave the fast links if nvlink_only allowed it:
// which axis, over how many ranks, and which collectives with how many bytes
// would go over the slow link in the layout that is best then. It is nil when
// even that finds no layout.
func nvlinkReason(j *job.Job, t *target.Target) *plan.Reason {
	free := *j
	free.Constraints.NVLinkOnly = nil
	o := search.Run(&free, t)
	if len(o.Best) == 0 {
		return nil
	}
	best := &o.Best[0]
	d := estimate.New(&free, t).Describe(&best.Layout, &best.Execution)
	var parts []string
	r := &plan.Reason{ID: string(search.IDLeavesNVLink), Available: float64(layout.Domain(j))}
	for _, a := range d.OffNVLink {
		if slices.Contains(j.Constraints.NVLinkOnly, string(a)) {
			parts = append(parts, fmt.Sprintf("%s = %d: %s", a, layout.Size(&best.Layout, a), traffic(d.Communication, string(a))))
			r.Needed = max(r.Needed, float64(layout.Size(&best.Layout, a)))
		}
	}
	if parts == nil {
		return nil
	}
	r.Summary = fmt.Sprintf("every layout takes an axis of nvlink_only out of the %d GPUs that share fast links; without that constraint the best one has %s",
		layout.Domain(j), strings.Join(parts, "; "))
	return r
}

// traffic lists what a group communicates in a step.
func traffic(all []plan.Communication, group string) string {
	var parts []string
	for _, c := range all {
		if c.Group == group && c.Seconds > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s over %s", c.Collective, gib(c.Bytes), c.Link))
		}
	}
	if parts == nil {
		return "no traffic"
	}
	return strings.Join(parts, ", ") + " a step"
}
