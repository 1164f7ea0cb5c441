package memory

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestWholeLogits works out what the ends hold under tensor parallelism, for a vocabulary
// of 51,200 and sequences of 1,024 tokens over 4 tensor ranks: the loss of all
// logits takes 12 bytes each, a vocabulary-parallel one 16 of a quarter; the
// gradient of the hidden states is made when the fp32 tensors are gone.
func TestWholeLogits(t *testing.T) {
	j := gpt(2048, 16, 1024)
	j.Model.TiedEmbeddings, j.Model.PositionEmbedding.Kind = false, "rope"
	const table, logits = 51200 * 2048, 1024 * 51200
	l := &plan.Layout{TensorParallel: 4, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
		DataParallelReplicate: 1, DataParallelShard: 1, MicroBatchSize: 1, MicroBatches: 1}
	x := &plan.Execution{Attention: "flash", CrossEntropy: "unfused", LossChunks: 1}
	for _, c := range []struct {
		name            string
		change          func(*runtime.TensorParallel)
		embedding, head int64
		loss            int64
	}{
		{"cut", func(*runtime.TensorParallel) {}, table / 4, table / 4, 16 * logits / 4},
		{"logits gathered", func(p *runtime.TensorParallel) { p.WholeEmbedding, p.WholeLogits = true, true }, table, table / 4, 12 * logits},
		{"whole", func(p *runtime.TensorParallel) { p.WholeEmbedding, p.WholeHead = true, true }, table, table, 12 * logits},
	} {
		g := targetOf(runtimes.Buckets())
		g.PaddedVocab = nil
		c.change(&g.Runtime.TensorParallel)
		e := New(j, g).evaluate(l, x)
		if got := e.terms; got.embedding != c.embedding || got.word != c.head || got.head.loss != c.loss {
			t.Errorf("%s: embedding %d, head %d, loss %d; want %d, %d, %d", c.name, got.embedding, got.word, got.head.loss, c.embedding, c.head, c.loss)
		}
	}
}

// TestLogitsOfMTP: a multi-token-prediction layer has logits of its own, of which the
// fp32 probabilities wait until its loss runs backward. Its gradient is made when that
// of the head before is gone: 6, 10 and 14 bytes per logit.
func TestLogitsOfMTP(t *testing.T) {
	const logits, stream = 1024 * 51200, 2 * 1024 * 2048
	l := &plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
		DataParallelReplicate: 1, DataParallelShard: 1, MicroBatchSize: 1, MicroBatches: 1}
	for _, loss := range []string{"fused", "unfused"} {
		x := &plan.Execution{Attention: "flash", CrossEntropy: loss, LossChunks: 1}
		for n := range 3 {
			j := gpt(2048, 16, 1024)
			j.Model.MTP.Layers = n
			g := targetOf(runtimes.Whole())
			g.PaddedVocab = nil
			want := int64(4*(1+n)+2)*logits + stream
			if got := New(j, g).evaluate(l, x).terms.head.loss; got != want {
				t.Errorf("%s, %d layers: %d bytes, want %d", loss, n, got, want)
			}
		}
	}
	// A kernel that writes the gradient into the logits keeps only these.
	r := runtimes.Whole()
	r.Loss.Fused = runtime.LossKernel{Base: 1}
	j := gpt(2048, 16, 1024)
	j.Model.MTP.Layers = 2
	g := targetOf(r)
	g.PaddedVocab = nil
	if got, want := New(j, g).evaluate(l, &plan.Execution{Attention: "flash", CrossEntropy: "fused", LossChunks: 1}).terms.head.loss, int64(3*2*logits+stream); got != want {
		t.Errorf("in place: %d bytes, want %d", got, want)
	}
}

// TestWeightsInAnyLayout: fp8 with scales of whole tensors keeps no transpose of a
// weight where GEMMs read either layout; scales of blocks do.
func TestWeightsInAnyLayout(t *testing.T) {
	l := &plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
		DataParallelReplicate: 1, DataParallelShard: 1, ZeroStage: 1, MicroBatchSize: 1, MicroBatches: 1}
	x := &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "fused", LossChunks: 1}
	copies := func(recipe string, either bool) (bytes units.Bytes) {
		j, g := gpt(2048, 16, 1024), targetOf(runtimes.Whole())
		j.Training.Precision, j.Training.FP8.Recipe, g.Runtime.LowPrecision.AnyLayout = "fp8", recipe, either
		for _, line := range New(j, g).Memory(l, x).Stages[0].Ledger {
			if line.ID == "low_precision_weights" {
				bytes += line.Bytes
			}
		}
		return bytes
	}
	for _, recipe := range []string{"tensorwise", "delayed"} {
		if two, one := copies(recipe, false), copies(recipe, true); one == 0 || two != 2*one {
			t.Errorf("%s: %v, and %v in any layout", recipe, two, one)
		}
	}
	if two, same := copies("blockwise", false), copies("blockwise", true); two == 0 || two != same {
		t.Errorf("blockwise: %v, and %v in any layout", two, same)
	}
}
