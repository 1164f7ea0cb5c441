package memory

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// liveRow is the live peak of one simulated rank of the real Trainer
// (testdata/oracle/torchtitan_live_peak.jsonl).
type liveRow struct {
	Source         string
	Model          string
	SequenceLength int `json:"sequence_length"`
	GPUs           int
	Rank           int
	Shard          int    `json:"data_parallel_shard"`
	Replicate      int    `json:"data_parallel_replicate"`
	TP             int    `json:"tensor_parallel"`
	CP             int    `json:"context_parallel"`
	EP             int    `json:"expert_parallel"`
	PP             int    `json:"pipeline_parallel"`
	Schedule       string `json:"pipeline_schedule"`
	LocalBatch     int    `json:"local_batch_size"`
	Recompute      string
	Chunks         int     `json:"loss_chunks"`
	FusedQKV       bool    `json:"fused_qkv"`
	Live           float64 `json:"live_peak_gib"`
}

func llama(name string, sequence int) job.Model {
	m := job.Model{Layers: 32, HiddenSize: 4096, FFNHiddenSize: 14336, AttentionHeads: 32, KVHeads: 8, HeadDim: 128, VocabSize: 128256}
	if name == "llama3-70B" {
		m.Layers, m.HiddenSize, m.FFNHiddenSize, m.AttentionHeads = 80, 8192, 28672, 64
	}
	if name == "deepseek-v3-16B" {
		m = job.Model{Layers: 27, HiddenSize: 2048, FFNHiddenSize: 10944, AttentionHeads: 16, KVHeads: 16, HeadDim: 192, VocabSize: 102400,
			MLA: &job.MLA{KVLoraRank: 512, QKNopeHeadDim: 128, QKRopeHeadDim: 64, VHeadDim: 128},
			MoE: &job.MoE{Experts: 64, TopK: 6, ExpertFFNHiddenSize: 1408, SharedExperts: 2, SharedExpertFFNHiddenSize: 2816, FirstDenseLayers: 1}}
	}
	m.SequenceLength, m.Activation, m.Normalization = sequence, "swiglu", "rmsnorm"
	m.PositionEmbedding.Kind = "rope"
	return m
}

func (r *liveRow) predict() plan.Memory {
	j := &job.Job{Model: llama(r.Model, r.SequenceLength)}
	j.Training.Precision, j.Training.Optimizer.Kind = "bf16", "adamw"
	j.Cluster.GPUsPerNode, j.Cluster.GPU.ComputeCapability = 8, "9.0"
	l := &plan.Layout{TensorParallel: r.TP, SequenceParallel: r.TP > 1, ContextParallel: r.CP, PipelineParallel: r.PP, VirtualPipeline: 1,
		ExpertParallel: max(r.EP, 1), ExpertTensorParallel: 1, DataParallelReplicate: r.Replicate, DataParallelShard: r.Shard, ZeroStage: 3,
		MicroBatchSize: r.LocalBatch, MicroBatches: 1}
	if r.PP > 1 {
		l.PipelineSchedule, _ = plan.ParseSchedule(r.Schedule)
		l.MicroBatchSize, l.MicroBatches = 1, r.LocalBatch
		if l.PipelineSchedule == plan.ScheduleInterleaved1F1B {
			l.VirtualPipeline = 2
		}
		l.StageLayers = titanStages(j.Model.Layers, l.Chunks())
	}
	switch r.Recompute {
	case "op":
		l.Recompute, l.RecomputeModules = plan.RecomputeSelective, []string{"op"}
	case "full":
		l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "uniform", 1
	}
	tg := engineTarget(target.FSDP2)
	tg.FusedQKV, tg.KeepsReduceScatter, tg.WholeEmbeddingGradient, tg.PaddedVocab = r.FusedQKV, !r.FusedQKV, !r.FusedQKV, nil
	x := &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "unfused",
		LossChunks: r.Chunks, ContextParallelType: "ring", ReshardAfterForward: r.PP == 1}
	return New(j, tg).Memory(l, x)
}

// titanStages is torchtitan's own split: embedding and head count as a layer
// each, the first chunks take what is left over.
func titanStages(layers, chunks int) []int {
	out := make([]int, chunks)
	for i := range out {
		out[i] = (layers+2)/chunks + b2i(i < (layers+2)%chunks)
	}
	out[0]--
	out[chunks-1]--
	return out
}

// TestTorchTitanLive compares the ledger without workspaces with the live
// tensors of the real Trainer.
func TestTorchTitanLive(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "oracle", "torchtitan_live_peak.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var errors []float64
	var table strings.Builder
	for line := range strings.Lines(string(data)) {
		var r liveRow
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		mem := r.predict()
		s := mem.Stages[r.Rank*r.PP/r.GPUs]
		got := float64(s.AllocatedBytes)
		for _, y := range s.Ledger {
			if y.ID == lineNames[lineWorkspaces].id {
				got -= float64(y.Bytes)
			}
		}
		got /= 1 << 30
		errors = append(errors, got/r.Live-1)
		fmt.Fprintf(&table, "%s %s dp%dx%d tp%d cp%d pp%d %s lbs%d %s chunks%d rank %d: %.1f predicted %.1f (%+.1f %%)\n", r.Source[:16], r.Model, r.Replicate, r.Shard,
			r.TP, r.CP, r.PP, r.Schedule, r.LocalBatch, r.Recompute, r.Chunks, r.Rank, r.Live, got, 100*(got/r.Live-1))
		if testing.Verbose() {
			for _, y := range s.Ledger {
				fmt.Fprintf(&table, " %s=%d", y.ID, y.Bytes>>20)
			}
			table.WriteByte('\n')
		}
	}
	report(t, table.String(), errors, 0.015, 0.055)
}

// TestTorchTitanReserved compares with the reserved memory that torchtitan's
// published runs report on H100 (benchmarks of December 2024: one projection
// each for q, k and v, the whole loss at once, not compiled).
func TestTorchTitanReserved(t *testing.T) {
	var errors []float64
	var table strings.Builder
	for _, r := range readRows(t, "torchtitan.jsonl") {
		if r.Measured.Peak == 0 {
			continue
		}
		live := liveRow{Model: "llama3-8B", SequenceLength: r.Model.SeqLen, GPUs: r.Layout.DP * r.Layout.CP, Shard: r.Layout.DP, Replicate: 1,
			TP: r.Layout.TP, CP: r.Layout.CP, PP: r.Layout.PP, LocalBatch: r.Layout.MBS, Recompute: "op", Chunks: 1}
		if r.Layout.Recompute.Mode == "full" {
			live.Recompute = "full"
		}
		got := float64(live.predict().Peak.ReservedBytes) / (1 << 30)
		errors = append(errors, got/r.Measured.Peak-1)
		fmt.Fprintf(&table, "%-28s %.1f predicted %.1f (%+.1f %%)\n", r.ID, r.Measured.Peak, got, 100*(got/r.Measured.Peak-1))
	}
	report(t, table.String(), errors, 0.06, 0.12)
}
