package slurm

import (
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// exclusionTime is how long a bad node is kept from the jobs that follow. By then it
// is repaired or drained; if not, it is checked again. ndc's choice.
const exclusionTime = units.Day

// handOn is what the links of a chain tell one another of bad nodes.
type handOn struct {
	Exclude       render.Word // of every job
	Excludes      bool        // Exclude is not empty
	ExpireSeconds int
	Most          int // nodes that are excluded at once
}

// handOnOf is that of a job; nil without a chain, and where the job names its nodes:
// sbatch refuses a list of nodes of which some are excluded. Nor can nodes be added to
// those of a file, which sbatch reads, and scontrol does not.
func handOnOf(j *job.Job) *handOn {
	if !j.Slurm.Chain.IsSet() || j.Slurm.NodeList != "" || strings.Contains(j.Slurm.Exclude, "/") {
		return nil
	}
	return &handOn{
		Exclude: render.Literal(j.Slurm.Exclude), Excludes: j.Slurm.Exclude != "",
		ExpireSeconds: int(exclusionTime), Most: max(1, mostBad(j)),
	}
}

// Besides is what stands before further nodes in the option --exclude.
func (h *handOn) Besides() string {
	if !h.Excludes {
		return ""
	}
	return h.Exclude.String() + ","
}

// HandsOn reports whether the next link is told of bad nodes.
func (v batchView) HandsOn() bool { return v.Chain != nil && v.Chain.HandOn != nil }

// AsksNodes reports whether what nodes say of themselves, without a check of all, counts.
func (v batchView) AsksNodes() bool { return v.Spares == nil && (v.HandsOn() || v.NodeCheck != nil) }

// mostBad is how many nodes may be bad at once before the checks are doubted: those
// to spare, or a tenth.
func mostBad(j *job.Job) int {
	return max(j.AllocatedNodes()-j.Cluster.Nodes, j.AllocatedNodes()/10)
}
