package memory

import (
	"maps"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
	"pgregory.net/rapid"
)

// TestHostPhases counts what a node holds of models and checkpoints in each phase
// beside the processes: a model made whole is there once per node, and an optimizer
// of 12 bytes per parameter is read by the ranks that share it.
func TestHostPhases(t *testing.T) {
	r := runtimes.Buckets()
	r.Host = runtime.Host{BuildsCut: true, Imports: 2, ImportsSharded: 1, ReadsFiles: true}
	for name, c := range map[string]struct {
		tensor, zero int
		start        string
		want         map[string]float64 // bytes per parameter of the model and phase
	}{
		"made":              {2, 1, "scratch", map[string]float64{"start": 2, "load": 12, "steady": 0, "save": 0}},
		"made on the GPU":   {1, 1, "scratch", map[string]float64{"start": 0, "load": 16, "steady": 0, "save": 0}}, // eight times the 2 of parameters are more than the 12
		"imported":          {2, 1, "huggingface", map[string]float64{"start": 4, "load": 12, "steady": 0, "save": 0}},
		"imported in parts": {1, 3, "huggingface", map[string]float64{"start": 2, "load": 12, "steady": 0, "save": 0}},
	} {
		j := gpt(2048, 16, 2048)
		j.Training.Checkpoint.Path, j.Training.Checkpoint.SaveOptimizer, j.Training.Start.From = "/c", true, c.start
		l := &plan.Layout{TensorParallel: c.tensor, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
			DataParallelReplicate: 1, DataParallelShard: 8 / c.tensor, ZeroStage: c.zero, MicroBatchSize: 1, MicroBatches: 1}
		x := &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "fused", LossChunks: 1}
		m := New(j, targetOf(r))
		got := map[string]float64{}
		for _, p := range m.Memory(l, x).Host.Phases {
			got[p.Name] = 0
			for _, y := range p.Ledger {
				if y.ID != "processes" && y.ID != "data_workers" {
					got[p.Name] += float64(y.Bytes) / float64(m.arch.ParametersTotal())
				}
			}
		}
		if !maps.EqualFunc(got, c.want, func(a, b float64) bool { return a > 0.97*b-0.01 && a < 1.06*b+0.01 }) { // norms, and what tensor ranks hold whole
			t.Errorf("%s: bytes per parameter %v, want %v", name, got, c.want)
		}
	}
}

// TestHostLedgers: every phase's ledger sums, and the worst phase is what the
// search judges.
func TestHostLedgers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		r := rapid.SampledFrom(runtimes.All()).Draw(t, "runtime")
		r.Host = runtime.Host{BuildsCut: true, Imports: 2, ImportsSharded: 1, ReadsFiles: rapid.Bool().Draw(t, "reads files")}
		j.Training.Checkpoint = job.Checkpoint{Async: rapid.Bool().Draw(t, "async"), Path: rapid.SampledFrom([]string{"", "/c"}).Draw(t, "path"), SaveOptimizer: true}
		j.Training.Start.From = rapid.SampledFrom([]string{"scratch", "checkpoint", "huggingface"}).Draw(t, "start")
		l, x := drawAny(t, j)
		m := New(j, targetOf(r))
		host, searched := m.Memory(l, x).Host, m.Peak(l, x).Host
		var most units.Bytes
		for _, p := range host.Phases {
			if got := sumOf(p.Ledger); got != p.BytesPerNode {
				t.Fatalf("%s: %v, the ledger says %v", p.Name, p.BytesPerNode, got)
			}
			most = max(most, p.BytesPerNode)
		}
		if most != host.BytesPerNode || most != searched || sumOf(host.Ledger) != most {
			t.Fatalf("worst phase %v, node %v, its ledger %v, search %v", most, host.BytesPerNode, sumOf(host.Ledger), searched)
		}
	})
}

func sumOf(ledger []plan.LedgerLine) (n units.Bytes) {
	for _, y := range ledger {
		n += y.Bytes
	}
	return n
}
