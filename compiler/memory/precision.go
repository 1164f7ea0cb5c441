package memory

import (
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
)

// precision is what a training precision changes in memory.
type precision struct {
	Precision string `json:"precision"` // its name, or name/recipe
	// WeightBytes is the size of the quantised copies of one weight element,
	// row- and column-wise together with their scales; 0: none.
	WeightBytes float64 `json:"weight_bytes"`
	// AnyLayoutBytes is the same where GEMMs read weights in either layout; 0: as
	// WeightBytes.
	AnyLayoutBytes float64 `json:"any_layout_bytes"`
	// InputBytes is the size of one element saved as the input of a linear layer.
	InputBytes float64 `json:"input_bytes"`
	// Align is the number of rows that each expert's tokens are padded to.
	Align  int64  `json:"align"`
	Source string `json:"source"`
}

// gathers reports whether parameters are stored and gathered in low precision
// instead of being copied from the compute type.
func (p precision) gathers(t *job.Training) bool {
	return p.WeightBytes > 0 && t.FP8.ParameterGather
}

// precisionOf reads the embedded table of precisions for an engine.
func precisionOf(t *job.Training, r *runtime.LowPrecision) precision {
	p := precisionRow(t)
	if r.AnyLayout && p.AnyLayoutBytes > 0 {
		p.WeightBytes = p.AnyLayoutBytes
	}
	return p
}

// precisionRow is the row of a precision. A delayed, per-tensor or per-block recipe
// is looked up before the bare precision.
func precisionRow(t *job.Training) precision {
	if row, ok := precisions[t.Precision+"/"+t.FP8.Recipe]; ok {
		return row
	}
	if row, ok := precisions[t.Precision]; ok {
		return row
	}
	return precision{InputBytes: float64(t.ElementBytes())}
}
