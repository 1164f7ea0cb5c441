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
	moments := float64(m.savedMoments(x, true)*float64(matrices)) + float64(m.savedMoments(x, false)*float64(parameters-matrices))
	return units.Bytes((weight+master)*parameters + int64(moments))
}

// savedMoments is momentBytes as it is written: in fp32 where a save makes such copies
// of smaller ones.
func (m *Model) savedMoments(x *plan.Execution, matrix bool) float64 {
	each := m.momentBytes(x, matrix)
	if m.runtime.ShardingOf(x).Unit == runtime.Rank && !m.runtime.LowPrecision.WholeMasters && !x.OffloadOptimizer && m.element == 2 {
		each *= 4 / stateBytes(x)
	}
	return each
}

// matrices counts the elements that an optimizer of matrices treats as such: the
// weights of linear layers but routers.
func (m *Model) matrices() int64 {
	var n int64
	for kind := range m.arch.Kinds() {
		var of int64
		m.arch.Weights(kind, func(o *program.Operation, w *program.Weight) {
			if w.Matrix() && o.Component != program.Router {
				of += w.Elements()
			}
		})
		n += of * int64(m.arch.Count(kind, 0, m.job.Model.Layers))
	}
	return n
}
