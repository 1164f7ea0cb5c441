package estimate

import (
	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// groups are the communicators of a layout.
type groups struct {
	tensor, pipeline, expert, expertTensor *collective.Group
	heads, ring                            *collective.Group // of context parallelism: ranks that exchange heads for tokens, and those that pass keys and values on
	shard, replica                         *collective.Group // of dense gradients; shard holds context parallelism
	expertShard, expertReplica             *collective.Group
	data, expertData                       *collective.Group // shards and replicas together
	embedding, world                       *collective.Group
	amax                                   *collective.Group // tensor and data parallelism together, which share delayed scaling
	hpz                                    *collective.Group // ZeRO++ secondary partition
}

// context is the group whose link the exchange of context parallelism waits for: what a ring
// passes on hides behind compute.
func (g *groups) context() *collective.Group {
	if g.heads.Size() > 1 {
		return g.heads
	}
	return g.ring
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
func (e *Evaluator) groupsOf(l *plan.Layout, x *plan.Execution) *groups {
	dense, expert := e.target.DenseMesh, e.target.ExpertMesh
	inner := min(layout.Stride(dense, l, plan.ContextParallel), layout.Stride(dense, l, plan.DataParallelShard))
	pipe := layout.Stride(dense, l, plan.PipelineParallel)
	g := &groups{
		tensor:   e.group(l.TensorParallel, layout.Stride(dense, l, plan.TensorParallel)),
		pipeline: e.group(l.PipelineParallel, pipe),
		shard:    e.group(l.ContextParallel*l.DataParallelShard, inner),
		replica:  e.group(l.DataParallelReplicate, layout.Stride(dense, l, plan.DataParallelReplicate)),
		data:     e.group(l.ContextParallel*l.DataParallel(), inner),
		world:    e.group(l.GPUs(), 1),
		amax:     e.group(l.GPUs()/l.PipelineParallel, 1),
	}
	neighbours, heads := layout.Stride(dense, l, plan.ContextParallel), 1
	switch x.ContextParallelType {
	case "ulysses":
		heads = l.ContextParallel
	case "hierarchical": // inside a node, and a ring across
		heads = min(l.ContextParallel, max(1, e.job.Cluster.GPUsPerNode/neighbours))
	}
	g.heads = e.group(heads, neighbours)
	g.ring = e.group(l.ContextParallel/heads, neighbours*heads)
	g.embedding = g.replica
	if l.PipelineParallel > 1 {
		g.embedding = e.group(2, pipe*(l.PipelineParallel-1))
	}
	if e.model.MoE != nil {
		shards := max(l.ExpertDataParallel()/l.DataParallelReplicate, 1)
		data := layout.Stride(expert, l, plan.ExpertDataParallel)
		g.expert = e.group(l.ExpertParallel, layout.Stride(expert, l, plan.ExpertParallel))
		g.expertTensor = e.group(l.ExpertTensorParallel, layout.Stride(expert, l, plan.ExpertTensorParallel))
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
