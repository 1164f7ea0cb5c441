package memory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestBigScience compares the device prediction with nvidia-smi on 384 A100
// (BigScience topology search, ZeRO-1 under a pipeline): GPT layers with GELU and
// unfused attention, full recompute, fp16 with fp16 gradients, later bf16 with
// fp32 accumulation.
func TestBigScience(t *testing.T) {
	var errors []float64
	var table strings.Builder
	for _, r := range readRows(t, "bigscience_bloom.jsonl") {
		if r.Measured.Peak == 0 {
			continue
		}
		j := &job.Job{Model: job.Model{Layers: r.Model.Layers, HiddenSize: r.Model.Hidden, FFNHiddenSize: r.Model.FFN,
			Attention: job.Attention{Heads: r.Model.Heads, KVHeads: r.Model.KVHeads, HeadDim: r.Model.Hidden / r.Model.Heads, Bias: true},
			VocabSize: r.Model.Vocab, SequenceLength: r.Model.SeqLen,
			Activation: job.Activation{Kind: "gelu"}, Norm: job.Norm{Kind: "layernorm"}, MLPBias: true, TiedEmbeddings: true, Dropout: 0.1,
			PaddedVocabSize: 250880, PositionEmbedding: job.PositionEmbedding{Kind: "alibi"}}}
		j.Training.Optimizer.Kind, j.Cluster.GPU.ComputeCapability = "adam", "8.0"
		x := &plan.Execution{Attention: "unfused", OptimizerStateDType: "fp32", CrossEntropy: "unfused", LossChunks: 1, GradientDType: "fp16"}
		j.Training.Precision = "fp16"
		if strings.HasPrefix(r.Precision, "bf16") {
			j.Training.Precision, x.GradientDType = "bf16", "fp32"
		}
		y := &r.Layout
		l := &plan.Layout{TensorParallel: y.TP, ContextParallel: 1, PipelineParallel: y.PP, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
			DataParallelReplicate: 1, DataParallelShard: y.DP, ZeroStage: y.Zero, MicroBatchSize: y.MBS, MicroBatches: y.GBS / y.MBS / y.DP,
			Recompute: plan.RecomputeFull, RecomputeMethod: "uniform", RecomputeLayers: 1}
		if y.PP > 1 {
			l.PipelineSchedule = plan.Schedule1F1B
		}
		if y.Partition == "type:transformer|embedding" { // the embeddings at both ends count as layers
			for i := range y.PP {
				l.StageLayers = append(l.StageLayers, (r.Model.Layers+2)/y.PP-b2i(i == 0 || i == y.PP-1))
			}
		}
		tg := targetOf(runtimes.Buckets())
		tg.Runtime.Calibration.Memory += "_2022"
		tg.PaddedVocab = func(m *job.Model, _ int) int { return m.PaddedVocabSize }
		mem := New(j, tg).Memory(l, x)
		got := float64(mem.Peak.DeviceBytes) / (1000 << 20) // nvidia-smi prints MiB, the table thousands of them
		errors = append(errors, got/r.Measured.Peak-1)
		fmt.Fprintf(&table, "%-34s tp%d pp%d dp%d mbs%d zero%d %s  %.0f predicted %.1f (%+.1f %%) stage %d\n", r.ID, y.TP, y.PP, y.DP, y.MBS, y.Zero, j.Training.Precision, r.Measured.Peak, got, 100*(got/r.Measured.Peak-1), mem.Peak.Stage)
		if testing.Verbose() {
			for _, y := range mem.Stages[mem.Peak.Stage].Ledger {
				fmt.Fprintf(&table, " %s=%d", y.ID, y.Bytes>>20)
			}
			table.WriteByte('\n')
		}
	}
	report(t, table.String(), errors, 0.023, 0.155)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
