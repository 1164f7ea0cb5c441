package layout

import (
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// Space is every layout that a target offers and the user's constraints leave
// open, before legality rules. It is a product of three levels: the meshes,
// and for each mesh its pipelines and micro-batches, and for each pipeline its
// recompute choices. The levels are made once; Fill writes one layout.
type Space struct {
	Meshes    []Mesh
	pipelines map[int][]Pipeline // by pipeline_parallel
	batches   map[int][]int      // micro batch sizes, by data parallel size

	job    *job.Job
	target *target.Target
}

// Mesh is a choice of every parallel degree.
type Mesh struct {
	TensorParallel, ContextParallel, PipelineParallel int
	SequenceParallel                                  bool
	DataParallelReplicate, DataParallelShard          int
	ZeroStage                                         int
	// LesserStages are those whose run this is because there is nothing to share, as long
	// as the framework can do them so and no state goes to the host.
	LesserStages                         []int
	ExpertParallel, ExpertTensorParallel int
}

// Pipeline is a choice of schedule, virtual stages and layer split, with the
// recompute choices that its chunks allow.
type Pipeline struct {
	VirtualPipeline int
	Schedule        plan.Schedule
	StageLayers     []int
	Recomputes      []Recompute
}

// Recompute is one recompute choice, or with Most the choices of Layers to
// Most layers.
type Recompute struct {
	Mode    plan.Recompute
	Modules plan.Modules
	Method  string
	Layers  int
	Most    int // 0: only Layers
}

// Leaves counts the choices.
func (r *Recompute) Leaves() int64 {
	if r.Most == 0 {
		return 1
	}
	return int64(r.Most - r.Layers + 1)
}

// Leaves counts the recompute choices of a pipeline.
func (p *Pipeline) Leaves() int64 {
	var n int64
	for i := range p.Recomputes {
		n += p.Recomputes[i].Leaves()
	}
	return n
}

// NewSpace enumerates the levels for a job on a target.
func NewSpace(j *job.Job, t *target.Target) *Space {
	s := &Space{job: j, target: t, pipelines: map[int][]Pipeline{}, batches: map[int][]int{}}
	s.meshes()
	for _, m := range s.Meshes {
		if _, ok := s.pipelines[m.PipelineParallel]; !ok {
			s.pipelines[m.PipelineParallel] = s.newPipelines(m.PipelineParallel)
		}
		dp := m.DataParallelReplicate * m.DataParallelShard
		if _, ok := s.batches[dp]; !ok {
			s.batches[dp] = s.newBatches(dp)
		}
	}
	return s
}

// Pipelines returns the pipelines of a mesh.
func (s *Space) Pipelines(m *Mesh) []Pipeline { return s.pipelines[m.PipelineParallel] }

// MicroBatchSizes returns the micro batch sizes of a mesh, ascending. It is
// empty when the global batch cannot be cut evenly over the replicas.
func (s *Space) MicroBatchSizes(m *Mesh) []int {
	return s.batches[m.DataParallelReplicate*m.DataParallelShard]
}

// Leaves counts the layouts of a mesh.
func (s *Space) Leaves(m *Mesh) int64 {
	var n int64
	for i := range s.pipelines[m.PipelineParallel] {
		n += s.pipelines[m.PipelineParallel][i].Leaves()
	}
	return n * int64(len(s.MicroBatchSizes(m)))
}

// Fill writes the axes of a mesh into a layout.
func (m *Mesh) Fill(l *plan.Layout) {
	l.TensorParallel, l.ContextParallel, l.PipelineParallel = m.TensorParallel, m.ContextParallel, m.PipelineParallel
	l.SequenceParallel, l.ZeroStage = m.SequenceParallel, m.ZeroStage
	l.DataParallelReplicate, l.DataParallelShard = m.DataParallelReplicate, m.DataParallelShard
	l.ExpertParallel, l.ExpertTensorParallel = m.ExpertParallel, m.ExpertTensorParallel
}

// Fill writes a pipeline into a layout.
func (p *Pipeline) Fill(l *plan.Layout) {
	l.VirtualPipeline, l.PipelineSchedule, l.StageLayers = p.VirtualPipeline, p.Schedule, p.StageLayers
}

// Fill writes a recompute choice over some layers into a layout.
func (r *Recompute) Fill(l *plan.Layout, layers int) {
	l.Recompute, l.RecomputeModules, l.RecomputeMethod, l.RecomputeLayers = r.Mode, r.Modules, r.Method, layers
}

// meshes lists every product of degrees that uses all GPUs, outermost
// pipeline, then tensor, context, data and expert axes, each ascending. Degrees
// that do not divide what they cut, heads and the sequence, nobody would try.
func (s *Space) meshes() {
	c, gpus := &s.job.Constraints.Layout, s.job.Cluster.GPUs()
	for _, pp := range Divisors(gpus, 1<<30) {
		if !s.pipelineDegree(pp) {
			continue
		}
		for _, tp := range Divisors(gpus/pp, s.job.Model.Attention.Heads) {
			if !c.TensorParallel.Allows(tp) || s.job.Model.Attention.Heads%tp != 0 {
				continue
			}
			for _, cp := range Divisors(gpus/pp/tp, s.job.Model.SequenceLength) {
				if !c.ContextParallel.Allows(cp) || cp > 1 && !s.target.ContextParallel || s.job.Model.SequenceLength%cp != 0 {
					continue
				}
				s.dataAxes(Mesh{TensorParallel: tp, ContextParallel: cp, PipelineParallel: pp}, gpus/pp/tp/cp)
			}
		}
	}
}

// pipelineDegree reports whether a pipeline of pp ranks can exist: no more
// ranks than layers, unless the user pinned a split with empty chunks.
func (s *Space) pipelineDegree(pp int) bool {
	if !s.job.Constraints.Layout.PipelineParallel.Allows(pp) || pp > 1 && !s.target.PipelineParallel {
		return false
	}
	return pp <= s.job.Model.Layers || len(s.job.Constraints.Layout.StageLayers) > 0
}

// dataAxes splits the data-parallel ranks into replicas and shards.
func (s *Space) dataAxes(m Mesh, dp int) {
	c := &s.job.Constraints.Layout
	stages := s.zeroStages(dp * m.ContextParallel)
	for i, zero := range stages {
		if dp*m.ContextParallel == 1 {
			m.LesserStages = stages[:i]
		}
		for _, shard := range Divisors(dp, dp) {
			replicate := dp / shard
			switch {
			case zero == 0 && shard > 1,
				zero > 0 && dp > 1 && shard == 1,
				replicate > 1 && shard > 1 && !s.target.Replicate,
				!c.DataParallelShard.Allows(shard), !c.DataParallelReplicate.Allows(replicate):
				continue
			}
			m.ZeroStage, m.DataParallelShard, m.DataParallelReplicate = zero, shard, replicate
			s.expertAxes(m)
		}
	}
}

// zeroStages lists the stages for a number of ranks that could share state,
// ascending; with nothing to share also stage 0.
func (s *Space) zeroStages(ranks int) []int {
	c := s.job.Constraints.Layout.ZeroStage
	stages := slices.Clone(s.target.ZeroStages)
	if ranks == 1 && !slices.Contains(stages, 0) {
		stages = append(stages, 0)
	}
	stages = slices.DeleteFunc(stages, func(z int) bool { return !c.Allows(z) })
	slices.Sort(stages)
	return stages
}

// expertAxes lays the expert mesh over the same ranks.
func (s *Space) expertAxes(m Mesh) {
	c := &s.job.Constraints.Layout
	width := m.TensorParallel * m.ContextParallel * m.DataParallelReplicate * m.DataParallelShard
	for _, ep := range s.expertDegrees(width) {
		for _, etp := range s.expertTensorDegrees(m.TensorParallel) {
			if width%(ep*etp) != 0 || !c.ExpertParallel.Allows(ep) || !c.ExpertTensorParallel.Allows(etp) {
				continue
			}
			m.ExpertParallel, m.ExpertTensorParallel = ep, etp
			s.sequenceAxis(m)
		}
	}
}

func (s *Space) expertDegrees(width int) []int {
	if s.job.Model.MoE == nil || !s.target.ExpertParallel {
		return []int{1}
	}
	return slices.DeleteFunc(Divisors(width, s.job.Model.MoE.Experts), func(ep int) bool {
		return s.job.Model.MoE.Experts%ep != 0
	})
}

// expertTensorDegrees offers 1 and, where the framework can, the tensor
// degree and its divisors. A dense model has no experts to cut.
func (s *Space) expertTensorDegrees(tp int) []int {
	if s.job.Model.MoE == nil || !s.target.ExpertTensorParallel {
		return []int{1}
	}
	return Divisors(tp, tp)
}

func (s *Space) sequenceAxis(m Mesh) {
	c := s.job.Constraints.Layout.SequenceParallel
	choices := s.target.SequenceParallel
	if m.TensorParallel == 1 {
		// Without tensor parallelism the option has no effect, and there is nothing to exclude.
		choices = []bool{c.Set && c.Value && !c.OrNone}
	}
	for _, sp := range choices {
		if c.Allows(sp) || m.TensorParallel == 1 {
			m.SequenceParallel = sp
			s.Meshes = append(s.Meshes, m)
		}
	}
}

// newBatches lists the micro batch sizes for a data-parallel size.
func (s *Space) newBatches(dp int) []int {
	c, gbs := &s.job.Constraints.Layout, s.job.Training.GlobalBatchSize
	if gbs%dp != 0 {
		return nil
	}
	return slices.DeleteFunc(Divisors(gbs/dp, gbs), func(mbs int) bool {
		return !c.MicroBatchSize.Allows(mbs) || !c.MicroBatches.Allows(gbs/dp/mbs)
	})
}

// Divisors lists the divisors of n up to limit, ascending.
func Divisors(n, limit int) []int {
	var d []int
	for i := 1; i*i <= n; i++ {
		if n%i == 0 {
			d = append(d, i)
			if i != n/i {
				d = append(d, n/i)
			}
		}
	}
	slices.Sort(d)
	return slices.DeleteFunc(d, func(v int) bool { return v > limit })
}
