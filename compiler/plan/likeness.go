package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Likeness names what runs have in common that were planned alike: model, machine, batch,
// layout and execution. Where something else makes their plans differ, such as their data,
// their steps take as long.
func (p *Plan) Likeness() string {
	in := &p.Input
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %s %s %d %d %d %d %s %+v %+v", in.Model, in.ParametersTotal, in.ParametersActive, p.Backend,
		in.GPU, in.Nodes, in.GPUs, in.GlobalBatchSize, in.SequenceLength, in.Precision, p.Layout, p.Execution))
	return hex.EncodeToString(sum[:8])
}
