package compiler

import (
	"cmp"
	"slices"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// slower is what is left of a hardware fact that is varied, and longer what a model
// argument grows to.
const (
	slower = 0.9
	longer = 1.1
)

// fact is something of a job that a step depends on; vary changes it and reports
// whether the job has it.
type fact struct {
	path, change string
	vary         func(j *job.Job) bool
}

func fewer10(v *units.BytesPerSecond) bool { *v *= slower; return *v > 0 }

// facts are what Sensitivity varies.
var facts = []fact{
	{"cluster.gpu.peak_flops", "10 % less", func(j *job.Job) bool {
		p := &j.Cluster.GPU.PeakFLOPS
		for _, v := range []*units.FLOPsPerSecond{&p.FP32, &p.TF32, &p.BF16, &p.FP16, &p.FP8, &p.FP4} {
			*v *= slower
		}
		return true
	}},
	{"cluster.gpu.memory_bandwidth", "10 % less", func(j *job.Job) bool { return fewer10(&j.Cluster.GPU.MemoryBandwidth) }},
	{"cluster.nvlink.bandwidth", "10 % less", func(j *job.Job) bool { return fewer10(&j.Cluster.NVLink.Bandwidth) }},
	{"cluster.pcie.bandwidth", "10 % less", func(j *job.Job) bool { return fewer10(&j.Cluster.PCIe.Bandwidth) }},
	{"cluster.network.bandwidth", "10 % less", func(j *job.Job) bool { return fewer10(&j.Cluster.Network.Bandwidth) }},
	{"cluster.network.latency", "doubled", func(j *job.Job) bool { j.Cluster.Network.Latency *= 2; return j.Cluster.Network.Latency > 0 }},
	{"model.ffn_hidden_size", "10 % more", func(j *job.Job) bool { return grown(&j.Model.FFNHiddenSize, 256) }},
	{"model.vocab_size", "10 % more", func(j *job.Job) bool { return grown(&j.Model.VocabSize, 256) }},
	{"model.sequence_length", "10 % more", func(j *job.Job) bool { return grown(&j.Model.SequenceLength, 256) }},
}

// grown grows a number to a multiple of something, if it has any size.
func grown(n *int, multiple int) bool {
	if *n < multiple {
		return false
	}
	*n = int(float64(*n)*longer) / multiple * multiple
	return true
}

// Sensitivity varies one fact after the other under the plan's own layout and says
// what becomes of its step; what moves it most comes first.
func (d *Detail) Sensitivity() []plan.Sensitivity {
	var list []plan.Sensitivity
	for _, f := range facts {
		j := *d.job
		if j.Model.MoE != nil {
			experts := *j.Model.MoE
			j.Model.MoE = &experts
		}
		if !f.vary(&j) {
			continue
		}
		step := NewDetail(&j, d.target, d.plan).Step()
		list = append(list, plan.Sensitivity{Path: f.path, Change: f.change, Step: step, Share: units.RoundedTo(float64(step/d.plan.Time.StepSeconds)-1, 1)})
	}
	slices.SortStableFunc(list, func(a, b plan.Sensitivity) int { return cmp.Compare(abs(b.Share), abs(a.Share)) })
	return list
}

func abs(x float64) float64 { return max(x, -x) }

// Step is how long a step of the plan's layout takes for the job of the detail,
// whatever that of the plan was.
func (d *Detail) Step() units.Seconds {
	return units.Rounded(estimate.New(d.job, d.target).Step(&d.plan.Layout, &d.plan.Execution))
}
