package slurm

import (
	"math"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// What the checks of nodes take for bad, and how long that is believed; ndc's
// choices, not measurements.
const (
	// idleMemory is what an idle GPU may have in use: more than the context of one
	// process, which is half of it, and less than any training.
	idleMemory = 1 * units.GiB
	// checkTime is how long the check of a node may take: the minute that it waits for
	// what a run left, and a driver that answers slowly.
	checkTime units.Seconds = 300
)

// spares is what the batch script does with more nodes than the layout has; nil
// without slurm.spare_nodes.
type spares struct {
	Fruitless    int // starts in a row that save nothing and are followed by another
	CheckSeconds int // that the check of all nodes may take
	Segment      int // nodes of a segment, 0: none
	Group, Whole int // nodes of the allocation that lie together, and of those that train
	LastStart    int // seconds of the job after which nothing is started again; 0: any
	Speed        bool
	SpeedSeconds int // that measuring the speed of all nodes may take
}

func spareNodes(j *job.Job, p *plan.Plan, l Launch) *spares {
	s := &j.Slurm
	if s.SpareNodes == 0 {
		return nil
	}
	v := &spares{
		Fruitless: s.SpareNodes, CheckSeconds: int(checkTime),
		Segment: s.Segment, Group: j.AllocatedNodes(), Whole: j.Cluster.Nodes,
	}
	if c := nodeCheckOf(j); c != nil {
		v.CheckSeconds += c.Seconds
	}
	if s.Segment > 0 {
		v.Group, v.Whole = s.Segment+s.SpareNodes, s.Segment
	}
	if checksSpeed(j) {
		v.Speed, v.SpeedSeconds = true, speedLimit(j)
	}
	if warnedBySlurm(j, l) {
		v.LastStart = max(1, int(s.Time-signalLead(j, p, l)))
	}
	return v
}

type checkView struct {
	Header, Summary, ScriptName string
	GPUsPerNode, OtherGPUs      int // OtherGPUs is one less
	NeededMiB, IdleMiB          int64
	NVLink                      bool
	Segment                     int
	NodeCheck                   *nodeCheck // nil: none
}

// checkScript looks at a node: check.sh.
func checkScript(j *job.Job, p *plan.Plan, l Launch) []byte {
	return templates.Execute("check.sh.tmpl", checkView{
		Header: render.Header, Summary: summary(j, l), ScriptName: j.Name + ".sbatch",
		GPUsPerNode: j.Cluster.GPUsPerNode, OtherGPUs: j.Cluster.GPUsPerNode - 1,
		NeededMiB: int64(math.Ceil(float64(p.Memory.Peak.DeviceBytes) / float64(units.MiB))), IdleMiB: int64(idleMemory / units.MiB),
		NVLink: j.Cluster.NVLink.Domain > 1 && j.Cluster.GPUsPerNode > 1, Segment: j.Slurm.Segment,
		NodeCheck: nodeCheckOf(j),
	})
}
