package estimate

import (
	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// size is the number of ranks of a layout along an axis.
func size(l *plan.Layout, a plan.Axis) int {
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
	panic("estimate: unknown axis " + string(a))
}

// stride is the distance between neighbours along an axis: the product of the
// sizes of the axes inside it.
func stride(order []plan.Axis, l *plan.Layout, axis plan.Axis) int {
	n := 1
	for _, a := range order {
		if a == axis {
			return n
		}
		n *= size(l, a)
	}
	return n
}

// groups are the communicators of a layout.
type groups struct {
	tensor, context, pipeline, expert, expertTensor *collective.Group
	shard, replica                                  *collective.Group // of dense gradients; shard holds context parallelism
	expertShard, expertReplica                      *collective.Group
	data, expertData                                *collective.Group // shards and replicas together
	embedding, world                                *collective.Group
	hpz                                             *collective.Group // ZeRO++ secondary partition
}

// group returns the communicator of size ranks, stride apart, from the cache.
func (e *Evaluator) group(size, stride int) *collective.Group {
	if size <= 1 {
		stride = 1
	}
	k := [2]int{size, stride}
	g, ok := e.communicators[k]
	if !ok {
		v := e.topology.Group(size, stride)
		g = &v
		e.communicators[k] = g
	}
	return g
}

// groupsOf finds the communicators of a layout. The ranks that reduce dense
// gradients are the data-parallel and the context-parallel ones, which every
// framework keeps next to each other in its mesh order.
func (e *Evaluator) groupsOf(l *plan.Layout, x *plan.Execution) groups {
	dense, expert := e.target.DenseMesh, e.target.ExpertMesh
	inner := min(stride(dense, l, plan.ContextParallel), stride(dense, l, plan.DataParallelShard))
	pipe := stride(dense, l, plan.PipelineParallel)
	g := groups{
		tensor:   e.group(l.TensorParallel, stride(dense, l, plan.TensorParallel)),
		context:  e.group(l.ContextParallel, stride(dense, l, plan.ContextParallel)),
		pipeline: e.group(l.PipelineParallel, pipe),
		shard:    e.group(l.ContextParallel*l.DataParallelShard, inner),
		replica:  e.group(l.DataParallelReplicate, stride(dense, l, plan.DataParallelReplicate)),
		data:     e.group(l.ContextParallel*l.DataParallel(), inner),
		world:    e.group(l.GPUs(), 1),
	}
	g.embedding = g.replica
	if l.PipelineParallel > 1 {
		g.embedding = e.group(2, pipe*(l.PipelineParallel-1))
	}
	if e.model.MoE != nil {
		shards := max(l.ExpertDataParallel()/l.DataParallelReplicate, 1)
		data := stride(expert, l, plan.ExpertDataParallel)
		g.expert = e.group(l.ExpertParallel, stride(expert, l, plan.ExpertParallel))
		g.expertTensor = e.group(l.ExpertTensorParallel, stride(expert, l, plan.ExpertTensorParallel))
		g.expertShard = e.group(shards, data)
		g.expertData = e.group(l.ExpertDataParallel(), data)
		g.expertReplica = e.group(l.ExpertDataParallel()/shards, data*shards)
	}
	g.hpz = g.shard
	if x.ZeroHPZPartition > 1 {
		g.hpz = e.group(x.ZeroHPZPartition, 1)
	}
	return g
}
