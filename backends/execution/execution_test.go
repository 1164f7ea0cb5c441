package execution_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/backends/execution"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestEveryOptionIsAFeature: the capability table says of every option who has
// it, so that a backend without a row for it refuses it.
func TestEveryOptionIsAFeature(t *testing.T) {
	for _, o := range option.Options {
		name, known := "execution."+o.Name, false
		for _, r := range capability.Rows() {
			known = known || r.Feature.Argument() == name
		}
		if !known {
			t.Errorf("%s: no feature of the capability table", name)
		}
	}
}

// table has a row for one option alone.
func table(rows ...execution.Row[struct{}]) *execution.Table[struct{}] {
	return &execution.Table[struct{}]{Kind: "torchtitan", Name: "TorchTitan", Version: "0.2.2", Rows: rows}
}

// TestWithoutRow: what the capability table does not give a version is refused
// and stays off, though its backend says nothing of the option.
func TestWithoutRow(t *testing.T) {
	j := &job.Job{}
	j.Execution.CUDAGraphs, j.Execution.OverlapExpertParallel = job.Some("full"), job.Some(true)
	j.Execution.LossChunks, j.Execution.CrossEntropy = job.Some(1), job.Some("unfused")
	var got []string
	table().Check(j, func(argument, why string) { got = append(got, argument+": "+why) })
	want := `execution.overlap_expert_parallel: TorchTitan 0.2.2 has no overlap_expert_parallel = true; it offers false. Megatron-LM has it.
execution.cuda_graphs: TorchTitan 0.2.2 has no cuda_graphs = "full"; it offers "none". Megatron-LM and TorchTitan 0.3.0 have it.`
	if strings.Join(got, "\n") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	x := plan.Execution{OverlapExpertParallel: true}
	table().Resolver()(j, &plan.Layout{}, &x)
	if want := (plan.Execution{LossChunks: 1, CUDAGraphs: "none", SHARP: "none", ZeroHPZPartition: 1}); x != want {
		t.Errorf("%+v, want %+v", x, want)
	}
}

// TestRow: a row without a function gives the job's value, and one with says
// why a value is refused.
func TestRow(t *testing.T) {
	j := &job.Job{}
	j.Execution.OverlapTensorParallel, j.Execution.FullySharded = job.Some(true), job.Some(true)
	rows := table(execution.Row[struct{}]{Option: "overlap_tensor_parallel", Check: func(*job.Job) string { return "Not today." }},
		execution.Row[struct{}]{Option: "fully_sharded", Instead: "It shards anyway."})
	var got []string
	rows.Check(j, func(argument, why string) { got = append(got, argument+": "+why) })
	want := `execution.overlap_tensor_parallel: Not today.
execution.fully_sharded: TorchTitan 0.2.2 has no fully_sharded = true; it offers false. It shards anyway. Megatron-LM has it.`
	if strings.Join(got, "\n") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	var x plan.Execution
	if rows.Resolver()(j, &plan.Layout{}, &x); !x.OverlapTensorParallel {
		t.Error("the job's value is lost")
	}
}

// TestSilent: an option that a version has, and no row.
func TestSilent(t *testing.T) {
	silent := table(execution.Row[struct{}]{Option: "compile"}).Silent()
	if slices.Contains(silent, "compile") || slices.Contains(silent, "loss_chunks") || !slices.Contains(silent, "overlap_tensor_parallel") {
		t.Errorf("%v", silent)
	}
}
