package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/units"
)

// CheckpointBytes is what a checkpoint of a layout takes in the storage: of every
// parameter, those of multi-token prediction among them, its weight and what the
// optimizer keeps of it, each once however many ranks hold it. Embeddings are not
// padded, and file headers, random states and positions in the data are left out.
func (m *Model) CheckpointBytes(l *plan.Layout, x *plan.Execution) units.Bytes {
	parameters := m.arch.ParametersTotal() + m.arch.ParametersMTP()
	sharding := m.runtime.ShardingOf(x)
	weight, master := int64(4), int64(0)
	if l.ZeroStage < sharding.SavesWeights {
		weight = m.element
		// an optimizer that is cut by buckets has masters of weights in fp32, too
		if m.element == 2 || sharding.Unit == runtime.Bucket && l.ZeroStage >= sharding.Optimizer {
			master = 4
		}
	}
	if !m.job.Training.Checkpoint.SaveOptimizer {
		return units.Bytes(weight * parameters)
	}
	var matrices int64
	if m.job.Training.Optimizer.Kind == "muon" {
		matrices = m.matrices()
	}
	moments := m.savedMoments(x, true)*matrices + m.savedMoments(x, false)*(parameters-matrices)
	return units.Bytes((weight+master)*parameters + moments)
}

// savedMoments is momentBytes as it is written, in bytes of an element: in fp32 where a
// save makes such copies of smaller ones.
func (m *Model) savedMoments(x *plan.Execution, matrix bool) int64 {
	each := m.momentBytes(x, matrix)
	if m.runtime.ShardingOf(x).Unit == runtime.Rank && !m.runtime.LowPrecision.WholeMasters && !x.OffloadOptimizer && m.element == 2 {
		each *= 4 / x.MomentBytes()
	}
	return int64(each)
}

// matrices counts the elements of the whole model that an optimizer of matrices treats
// as such, those of multi-token prediction among them.
func (m *Model) matrices() int64 {
	var whole shape
	whole.Split = program.Split{TensorParallel: 1, ExpertParallel: 1, ExpertTensorParallel: 1}
	var n int64
	for kind := range m.arch.Kinds() {
		layers := m.arch.Count(kind, 0, m.job.Model.Layers)
		if kind == m.arch.MTPKind() {
			layers += m.job.Model.MTP.Layers
		}
		var l layer
		m.weights(&l, kind, &whole)
		n += l.matrices.Sum() * int64(layers)
	}
	return n
}
