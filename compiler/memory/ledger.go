package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// line is one named amount of memory.
type line uint8

// The lines of the ledger, in order of print.
const (
	lineParameters line = iota
	lineLowPrecision
	lineGradients
	lineMaster
	lineMoments
	lineGathered
	lineReduce
	lineAttention
	lineMixer
	lineMLP
	lineExperts
	lineNorms
	lineInputs
	lineTransfer
	lineReceive
	lineGraphs
	lineRecomputed
	lineBackward
	lineHead
	lineWeightGradients
	lineStep
	lineWorkspaces
	numLines
)

var lineNames = [numLines]struct{ id, name string }{
	lineParameters:      {"parameters", "parameters"},
	lineLowPrecision:    {"low_precision_weights", "low-precision copies of weights"},
	lineGradients:       {"gradients", "gradients"},
	lineMaster:          {"master_parameters", "fp32 master parameters"},
	lineMoments:         {"optimizer_moments", "optimizer moments"},
	lineGathered:        {"gathered_parameters", "gathered parameters and prefetch"},
	lineReduce:          {"gradient_buckets", "gradients and buckets on their way into the reduction"},
	lineAttention:       {"activations_attention", "activations: attention"},
	lineMixer:           {"activations_mixer", "activations: Mamba-2 and gated delta nets"},
	lineMLP:             {"activations_mlp", "activations: MLP"},
	lineExperts:         {"activations_experts", "activations: router and experts"},
	lineNorms:           {"activations_norms", "activations: residual stream and norms"},
	lineInputs:          {"activations_checkpoints", "activations: inputs kept for recompute"},
	lineTransfer:        {"activations_in_transfer", "activations on their way to the host and back"},
	lineReceive:         {"pipeline_buffers", "buffers that pipeline stages receive into"},
	lineGraphs:          {"cuda_graphs", "CUDA graphs: inputs, outputs and pages of experts"},
	lineRecomputed:      {"recomputed_layer", "activations of the layer being recomputed"},
	lineBackward:        {"backward_transients", "activation gradients of the running layer"},
	lineHead:            {"logits_and_loss", "logits, loss and output head"},
	lineWeightGradients: {"weight_gradient_buffers", "cached weight-gradient buffers"},
	lineStep:            {"optimizer_temporaries", "temporaries of the optimizer step or of a save"},
	lineWorkspaces:      {"workspaces", "workspaces and tables"},
}

// ledger holds bytes per line.
type ledger [numLines]int64

// sum is the total in bytes.
func (l *ledger) sum() int64 {
	var n int64
	for _, b := range l {
		n += b
	}
	return n
}

// add adds n times another ledger.
func (l *ledger) add(o *ledger, n int64) {
	for i := range l {
		l[i] += n * o[i]
	}
}

// print lists the lines that are not empty.
func (l *ledger) print() []plan.LedgerLine {
	out := make([]plan.LedgerLine, 0, numLines)
	for i, b := range l {
		if b != 0 {
			out = append(out, plan.LedgerLine{ID: lineNames[i].id, Name: lineNames[i].name, Bytes: units.Bytes(b)})
		}
	}
	return out
}
