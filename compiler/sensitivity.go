package compiler

import (
	"cmp"
	"context"
	"slices"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
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

// Step is how long a step of the plan's layout takes for the job of the detail, which
// is that of the plan or differs in numbers that no layout depends on.
func (d *Detail) Step() units.Seconds {
	return units.Rounded(estimate.New(d.job, d.target).Step(&d.plan.Layout, &d.plan.Execution))
}

// Held is how long a step of the plan's layout takes for the job of the detail, which
// may be another one than the plan's: with the plan's options where they go with what
// the job says, and with micro-batches and stages cut anew where the job asks for that.
// It is zero where the job does not run in this layout. The only error is that of a
// context which ends first.
func (d *Detail) Held(ctx context.Context) (units.Seconds, error) {
	j := *d.job
	j.Constraints.Layout = job.LayoutConstraints{}
	t := predicted(&j, d.target)
	c := &plan.Choice{Layout: d.plan.Layout, Execution: d.plan.Execution}
	for _, t := range []*target.Target{pinTarget(t, c), t} {
		for _, c.Open = range [][]string{nil, {"micro_batches", "stage_layers"}} {
			pinned, why := pin(&j, t, c)
			if why != "" {
				continue
			}
			found, err := search.Run(ctx, pinned, t)
			if err != nil {
				return 0, err
			}
			if list := append(found.Best, found.Nearest...); len(list) > 0 {
				return list[0].Result.StepSeconds, nil
			}
		}
	}
	return 0, nil
}
