package compiler

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/lang/job"
)

// guard panics where a plan prints another memory than the search has judged,
// or calls feasible what breaks its own limits. That is never the job's fault,
// so it is not a diagnostic; and not a reason to call the job infeasible, which
// would be one more claim of a model that has just contradicted itself.
func guard(j *job.Job, p *plan.Plan, c *search.Candidate) {
	r, m := &c.Result, &p.Memory
	same := r.PeakDeviceBytes == m.Peak.DeviceBytes && r.PeakDeviceUpperBytes == m.Peak.DeviceRangeBytes[1] && r.NeededBytes == m.NeededBytes &&
		r.PeakStage == m.Peak.Stage && r.PeakRank == m.Peak.Rank && r.HostBytes == m.Host.BytesPerNode
	if !same {
		panic(fmt.Sprintf("compiler: the search judged %+v, the plan prints %+v and %v of a node", *r, m.Peak, m.Host.BytesPerNode))
	}
	if broken := breaks(j, p); p.Feasible && broken != "" {
		panic("compiler: a plan called feasible breaks its own limit: " + broken)
	}
}

// breaks names a limit of memory that the numbers of a plan break, "" if none.
func breaks(j *job.Job, p *plan.Plan) string {
	m := &p.Memory
	if needed := m.NeededBytes; needed > m.UsableBytes {
		return fmt.Sprintf("%v of %v usable", needed, m.UsableBytes)
	}
	if j.Cluster.HostMemory > 0 && m.Host.BytesPerNode > j.Cluster.HostMemory {
		return fmt.Sprintf("%v of %v on a node", m.Host.BytesPerNode, j.Cluster.HostMemory)
	}
	for i := range m.Stages {
		if s := &m.Stages[i]; s.DeviceBytes > m.Peak.DeviceBytes {
			return fmt.Sprintf("%v on stage %d, beyond the peak of %v", s.DeviceBytes, s.Stage, m.Peak.DeviceBytes)
		}
	}
	return ""
}
