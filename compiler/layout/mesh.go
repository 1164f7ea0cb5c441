// Package layout knows what a layout is made of: the axes and their ranks, and
// the space of all layouts that a target and the user's constraints leave
// open. It enumerates; what is legal beyond arithmetic is asked of the
// target's rules, and what a layout costs is the business of package estimate.
package layout

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// Size returns the number of ranks on an axis.
func Size(l *plan.Layout, a plan.Axis) int {
	switch a {
	case plan.TensorParallel:
		return l.TensorParallel
	case plan.ContextParallel:
		return l.ContextParallel
	case plan.PipelineParallel:
		return l.PipelineParallel
	case plan.DataParallelShard:
		return l.DataParallelShard
	case plan.DataParallelReplicate:
		return l.DataParallelReplicate
	case plan.ExpertParallel:
		return l.ExpertParallel
	case plan.ExpertTensorParallel:
		return l.ExpertTensorParallel
	case plan.ExpertDataParallel:
		return l.ExpertDataParallel()
	}
	panic("layout: unknown axis " + string(a))
}

// Stride returns how far apart neighbours on an axis are in rank numbers:
// the product of the axes inside it. Order runs from the innermost axis; an
// axis that is not in it has stride 0.
func Stride(order []plan.Axis, l *plan.Layout, a plan.Axis) int {
	stride := 1
	for _, inner := range order {
		if inner == a {
			return stride
		}
		stride *= Size(l, inner)
	}
	return 0
}

// Domain returns how many neighbouring ranks, counted from the first, share
// the fast links: an NVLink domain, cut to the Slurm segment if the job asks
// for one; a node on a cluster without NVLink.
func Domain(j *job.Job) int {
	c := &j.Cluster
	domain := c.NVLink.Domain
	if domain == 0 {
		return c.GPUsPerNode
	}
	if s := j.Slurm.Segment * c.GPUsPerNode; s > 0 && s < domain {
		return s
	}
	return domain
}

// Segment returns how many nodes a block has that Slurm can be asked to place within one
// NVLink domain of several nodes (slurm.segment): the largest power of two that divides
// the job's nodes. It is 0 where no such domain is, or where the job is inside one.
func Segment(j *job.Job) int {
	c := &j.Cluster
	if c.NVLink.Domain <= c.GPUsPerNode || c.GPUs() <= c.NVLink.Domain {
		return 0
	}
	segment := 1
	for 2*segment*c.GPUsPerNode <= c.NVLink.Domain && c.Nodes%(2*segment) == 0 {
		segment *= 2
	}
	if segment == 1 {
		return 0
	}
	return segment
}

// Confined reports whether every group of size ranks, stride apart, stays
// within one domain of neighbouring ranks, in a job of the given number of
// GPUs. Groups are aligned blocks of size × stride ranks.
func Confined(size, stride, domain, gpus int) bool {
	span := size * stride
	return size <= 1 || gpus <= domain || span <= domain && domain%span == 0
}
