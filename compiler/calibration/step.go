package calibration

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// lineTerms are the lines of a breakdown that belong to one term whatever the
// layout; micro-batch lines come once per micro-batch, and the bubble waits for
// work like theirs.
var lineTerms = map[string]struct {
	term       uncertainty.Term
	microBatch bool
}{
	"linear": {uncertainty.Linear, true}, "head": {uncertainty.Linear, true}, "experts": {uncertainty.Grouped, true},
	"attention": {uncertainty.Attention, true}, "memory_bound": {uncertainty.Bandwidth, true}, "host": {uncertainty.Host, true},
	"contention": {uncertainty.Overlap, true}, "offload": {uncertainty.PCIe, true},
	"optimizer": {uncertainty.Bandwidth, false}, "host_update": {uncertainty.HostUpdate, false}, "straggler": {uncertainty.Straggler, false},
}

// lineGroups are the lines that are communication, and the groups of the mesh
// whose link they wait for.
var lineGroups = map[string]struct {
	groups     []plan.Axis
	microBatch bool
}{
	"tensor_parallel": {[]plan.Axis{plan.TensorParallel}, true}, "context_parallel": {[]plan.Axis{plan.ContextParallel}, true},
	"expert_parallel": {[]plan.Axis{plan.ExpertParallel}, true}, "pipeline_transfer": {[]plan.Axis{plan.PipelineParallel}, true},
	"sharded_state": {[]plan.Axis{plan.DataParallelShard}, true}, "parameter_gather": {[]plan.Axis{plan.DataParallelShard}, false},
	"gradient_reduction": {[]plan.Axis{plan.DataParallelShard, plan.DataParallelReplicate}, false},
	"small_collectives":  {[]plan.Axis{plan.TensorParallel, plan.DataParallelShard, plan.DataParallelReplicate, plan.PipelineParallel}, false},
}

// termsOf are the terms of a plan's step, by its breakdown: they sum to its step
// time.
func termsOf(p *plan.Plan) uncertainty.Terms {
	var each, once uncertainty.Terms
	var recompute, bubble units.Seconds
	for _, line := range p.Time.Breakdown {
		into, term := &once, uncertainty.Host
		switch {
		case line.ID == "recompute":
			recompute = line.Seconds
			continue
		case line.ID == "bubble":
			bubble = line.Seconds
			continue
		default:
			if t, ok := lineTerms[line.ID]; ok {
				if term = t.term; t.microBatch {
					into = &each
				}
			} else if g, ok := lineGroups[line.ID]; ok {
				if term = linkOf(p, g.groups); g.microBatch {
					into = &each
				}
			}
		}
		into[term] += line.Seconds
	}
	compute := each[uncertainty.Linear] + each[uncertainty.Grouped] + each[uncertainty.Attention] + each[uncertainty.Bandwidth]
	if compute > 0 {
		for _, k := range [...]uncertainty.Term{uncertainty.Linear, uncertainty.Grouped, uncertainty.Attention, uncertainty.Bandwidth} {
			each[k] *= 1 + recompute/compute
		}
	}
	if work := each.Sum(); work > 0 {
		for k := range each {
			each[k] *= 1 + bubble/work
		}
	}
	for k := range each {
		each[k] += once[k]
	}
	return each.In(p.Input.Precision)
}

// linkOf is the term of the slowest link that some groups of a mesh need.
func linkOf(p *plan.Plan, groups []plan.Axis) uncertainty.Term {
	slowest := uncertainty.NVLink
	for i := range p.Mesh.Groups {
		g := &p.Mesh.Groups[i]
		for _, name := range groups {
			switch {
			case g.Name != string(name) || slowest == uncertainty.Network:
			case g.Link == "network":
				slowest = uncertainty.Network
			case g.Link == "pcie":
				slowest = uncertainty.PCIe
			}
		}
	}
	return slowest
}

// jobOf is what the distance from what was measured depends on, as far as a plan
// tells of its job.
func jobOf(p *plan.Plan) *job.Job {
	j := &job.Job{}
	j.Cluster.GPU.Name, j.Cluster.GPU.Catalog = p.Input.GPU, p.Input.GPU
	j.Cluster.Nodes, j.Cluster.GPUsPerNode = p.Input.Nodes, p.Input.GPUs/max(1, p.Input.Nodes)
	j.Cluster.NVLink.Domain = j.Cluster.GPUsPerNode
	for i := range p.Mesh.Groups {
		if p.Mesh.Groups[i].Link == "pcie" {
			j.Cluster.NVLink.Domain = 0
		}
	}
	j.Training.Precision, j.Model.SequenceLength = p.Input.Precision, p.Input.SequenceLength
	if p.Input.ParametersActive < p.Input.ParametersTotal {
		j.Model.MoE = &job.MoE{Experts: max(1, p.Layout.ExpertParallel)}
	}
	return j
}

// stepOf is a plan's step as its uncertainty needs it.
func stepOf(p *plan.Plan) uncertainty.Step {
	return uncertainty.Step{Terms: termsOf(p), Beyond: uncertainty.Embedded().Of(jobOf(p)).Measured.Beyond(&p.Layout, p.Input.SequenceLength)}
}

// priorOf is how far predictions like a plan's can be trusted before anything was
// measured on its machine. Engine is the key of its runtime's calibration of time.
func priorOf(p *plan.Plan, engine string) *uncertainty.Prior {
	return uncertainty.For(jobOf(p), engine)
}
