package memory

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// row is one published measurement (testdata/measured).
type row struct {
	ID    string `json:"id"`
	Model struct {
		Layers, Hidden, FFN, Heads, Vocab int
		KVHeads                           int `json:"kv_heads"`
		HeadDim                           int `json:"head_dim"`
		SeqLen                            int `json:"seq_len"`
		MoE                               *struct {
			Experts, TopK int
			FFN           int `json:"moe_ffn"`
			Shared        int
			SharedFFN     int  `json:"shared_ffn"`
			FirstDense    *int `json:"first_dense"`
		}
		MLA *struct {
			Q    int `json:"q_lora_rank"`
			KV   int `json:"kv_lora_rank"`
			Nope int `json:"qk_nope_dim"`
			Rope int `json:"qk_rope_dim"`
			V    int `json:"v_head_dim"`
		}
	} `json:"model"`
	Precision string `json:"precision"`
	Layout    struct {
		TP, PP, VPP, CP, EP, DP, MBS, GBS int
		SP                                bool `json:"sp"`
		Zero                              int  `json:"zero_stage"`
		Recompute                         struct{ Mode string }
		Partition                         string `json:"pp_partition"`
	} `json:"layout"`
	Measured struct {
		Peak     float64            `json:"peak_memory_gb"`
		Reserved float64            `json:"peak_reserved_gb"`
		ByRank   map[string]float64 `json:"peak_memory_by_rank_mib"`
	} `json:"measured"`
}

// readRows reads one file of measurements.
func readRows(t *testing.T, name string) []row {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "measured", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []row
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var r row
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows = append(rows, r)
	}
	return rows
}

// wholeTarget keeps parameters and gradients whole.
func wholeTarget() *target.Target {
	r := runtimes.Whole()
	r.Loss.Fused = runtime.LossKernel{Base: 1} // the gradient is written into the logits
	return &target.Target{Runtime: r,
		DenseMesh:   []plan.Axis{plan.TensorParallel, plan.ContextParallel, plan.DataParallelShard, plan.DataParallelReplicate, plan.PipelineParallel},
		PaddedVocab: func(m *job.Model, tp int) int { n := 128 * tp; return (m.VocabSize + n - 1) / n * n }}
}

// jobOf turns a SimuMax row into a job.
func (r *row) jobOf() *job.Job {
	m := job.Model{Layers: r.Model.Layers, HiddenSize: r.Model.Hidden, FFNHiddenSize: r.Model.FFN,
		Attention: job.Attention{Heads: r.Model.Heads, KVHeads: r.Model.KVHeads, HeadDim: r.Model.HeadDim},
		VocabSize: r.Model.Vocab, SequenceLength: r.Model.SeqLen,
		Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"}, PositionEmbedding: job.PositionEmbedding{Kind: "rope"}}
	if x := r.Model.MLA; x != nil {
		m.Attention.MLA = &job.MLA{QLoraRank: x.Q, KVLoraRank: x.KV, QKNopeHeadDim: x.Nope, QKRopeHeadDim: x.Rope, VHeadDim: x.V}
	}
	if x := r.Model.MoE; x != nil {
		m.MoE = &job.MoE{Experts: x.Experts, TopK: x.TopK, ExpertFFNHiddenSize: x.FFN, SharedExperts: x.Shared,
			SharedExpertFFNHiddenSize: x.SharedFFN, FirstDenseLayers: 1, TokenDrop: true, CapacityFactor: 1}
		if x.FirstDense != nil { // left out where the published config has its one leading dense layer
			m.MoE.FirstDenseLayers = *x.FirstDense
		}
	}
	j := &job.Job{Model: m}
	j.Training.Precision = "bf16"
	j.Training.Optimizer.Kind = "adam"
	j.Cluster.GPU.ComputeCapability = "10.0"
	j.Cluster.GPUsPerNode = 8
	return j
}

func (r *row) layoutOf() (*plan.Layout, *plan.Execution) {
	x := &r.Layout
	l := &plan.Layout{TensorParallel: x.TP, SequenceParallel: x.SP, ContextParallel: x.CP, PipelineParallel: x.PP, VirtualPipeline: 1,
		ExpertParallel: x.EP, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: x.DP, ZeroStage: 1,
		MicroBatchSize: x.MBS, MicroBatches: x.GBS / x.MBS / x.DP}
	if x.PP > 1 {
		l.PipelineSchedule = plan.Schedule1F1B
	}
	return l, &plan.Execution{Attention: "fused", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "fused", LossChunks: 1, ContextParallelType: "ulysses", MoEDispatcher: "alltoall"}
}

// TestSimuMax compares with the exact allocated bytes of Megatron-LM runs on
// 8 B200 (SimuMax B200 release v1.2, whose launches say --cp-comm-type a2a): every
// stage of every row, and the row's worst rank.
func TestSimuMax(t *testing.T) {
	var errors, reserved []float64
	var table strings.Builder
	for _, r := range readRows(t, "simumax_b200.jsonl") {
		if len(r.Measured.ByRank) == 0 {
			continue
		}
		l, x := r.layoutOf()
		mem := New(r.jobOf(), wholeTarget()).Memory(l, x)
		const mib = 1 << 20
		got := float64(mem.Peak.AllocatedBytes) / mib
		want := r.Measured.Peak * 1024
		errors = append(errors, got/want-1)
		reserved = append(reserved, float64(mem.Peak.ReservedBytes)/(1<<30)/r.Measured.Reserved-1)
		fmt.Fprintf(&table, "%-60s %9.0f %9.0f %+6.2f %%", strings.TrimPrefix(r.ID, "simumax-b200-"), want, got, 100*(got/want-1))
		for s, st := range mem.Stages {
			rank := r.Measured.ByRank[strconv.Itoa(s*8/l.PipelineParallel)]
			off := float64(st.AllocatedBytes)/mib - rank
			fmt.Fprintf(&table, "   stage %d %+6.0f MiB", s, off)
			if math.Abs(off/rank) > 0.003 {
				t.Errorf("%s: stage %d is off by %+.2f %%", r.ID, s, 100*off/rank)
			}
		}
		table.WriteByte('\n')
		if testing.Verbose() {
			for _, st := range mem.Stages {
				fmt.Fprint(&table, "      ")
				for _, y := range st.Ledger {
					fmt.Fprintf(&table, " %s=%d", y.ID, y.Bytes>>20)
				}
				table.WriteByte('\n')
			}
		}
	}
	report(t, table.String(), errors, 0.001, 0.002)
	report(t, "reserved\n", reserved, 0.015, 0.05)
}

// report prints the table and holds median and maximum of the absolute errors
// under their ceilings.
func report(t *testing.T, table string, errors []float64, median, maximum float64) {
	t.Helper()
	abs := make([]float64, len(errors))
	bias := 0.0
	for i, e := range errors {
		abs[i] = math.Abs(e)
		bias += e / float64(len(errors))
	}
	slices.Sort(abs)
	ratios := make([]float64, len(errors)) // measured over predicted
	for i, e := range errors {
		ratios[i] = 1 / (1 + e)
	}
	slices.Sort(ratios)
	t.Logf("90 %% of measurements lie between %+.1f and %+.1f %% of the prediction", 100*(ratios[len(ratios)/20]-1), 100*(ratios[len(ratios)-1-len(ratios)/20]-1))
	t.Logf("\n%s%d rows: median %.2f %%, max %.2f %%, bias %+.2f %%", table, len(abs), 100*abs[len(abs)/2], 100*abs[len(abs)-1], 100*bias)
	if got := abs[len(abs)/2]; got > median {
		t.Errorf("median error %.4f above its ceiling %.4f", got, median)
	}
	if got := abs[len(abs)-1]; got > maximum {
		t.Errorf("maximum error %.4f above its ceiling %.4f", got, maximum)
	}
}
