package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/golden"
)

// example is a document with every section, of numbers that are easy to follow.
func example() *Document {
	l := plan.Layout{TensorParallel: 2, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 4, MicroBatchSize: 1, MicroBatches: 8, StageLayers: []int{4}}
	p := &plan.Plan{
		Feasible: true, Layout: l, Selection: &plan.Selection{Rule: "the fastest", Among: []plan.Contender{{Layout: moved(l, 1), WhyNot: "fewer axes"}}},
		Mesh: plan.Mesh{Groups: []plan.Group{{Name: "tensor_parallel", Size: 2, Stride: 1, Link: "nvlink", Count: 4}}},
		Memory: plan.Memory{GPUBytes: 80 * units.GiB, UsableBytes: 76 * units.GiB, NeededBytes: 66 * units.GiB, Peak: plan.Peak{DeviceBytes: 64 * units.GiB, DeviceRangeBytes: [2]units.Bytes{62 * units.GiB, 66 * units.GiB}},
			Stages: []plan.StageMemory{{Layers: []int{4}, AllocatedBytes: 60 * units.GiB, ReservedBytes: 61 * units.GiB, DeviceBytes: 64 * units.GiB}},
			Host:   plan.HostMemory{BytesPerNode: 8 * units.GiB, Ledger: []plan.LedgerLine{{Name: "processes", Bytes: 8 * units.GiB}}}},
		Time: plan.Time{StepSeconds: 10, StepRangeSeconds: [2]units.Seconds{9, 11.5}, ExposedCommunicationShare: 0.1},
	}
	faster := *p
	faster.Time.StepSeconds = 8
	return &Document{Title: "llama <8B> on megatron", Sections: []Section{
		Memory(p, 0, []plan.Term{{Name: "gradients", Amount: float64(40 * units.GiB), Formula: "4 B · 1.07e+10 parameters", Section: "docs/memory.md#state"}, {Name: "workspaces", Amount: float64(20 * units.GiB), Section: "docs/memory.md#always-there"}}),
		Time(p, []plan.Term{{Name: "matrix | products", Amount: 9, Formula: "8 micro-batches · 1.125 s", Section: "docs/time.md#gemms", Error: [2]float64{0.9, 1.11}}, {Name: "bubble", Amount: 1, Section: "docs/time.md#pipeline"}}),
		Layout(p, []plan.Neighbour{
			{Axis: "tensor_parallel", From: "2", To: "1", Layout: moved(l, 1), Feasible: true, StepSeconds: 9.5, PeakDeviceBytes: 70 * units.GiB},
			{Axis: "tensor_parallel", From: "2", To: "4", Layout: moved(l, 4), Execution: plan.Execution{OffloadOptimizer: true}, Feasible: true, StepSeconds: 11, PeakDeviceBytes: 50 * units.GiB},
			{Axis: "recompute", From: `"none"`, To: `"full"`, Layout: l, Why: "the framework has no recompute, and this is a long reason that has to be wrapped, since no terminal is as wide as it is long"}}),
		Communication(p, []plan.Route{{Communication: plan.Communication{Group: "tensor_parallel", Collective: "all_gather", Bytes: 3e9, Link: "nvlink", Seconds: 0.5, ExposedSeconds: 0.1}, Size: 2, Calls: 60, Algorithm: "ring", Why: "2 ranks", Latency: 1e-5, Bandwidth: 4e11, Messages: messagesOf("ring", 1e-5, 3e-3)}},
			[]plan.Route{{Communication: plan.Communication{Group: "world", Collective: "broadcast"}, Size: 8, Messages: messagesOf("double binary tree", 0, 0)}},
			[]plan.Averaging{{Name: "gradients, all-reduced", Every: 1, Bytes: 2e9, Seconds: 0.1, Agree: "in every step"}, {Name: "weights, all-reduced", Every: 100, Bytes: 4e7, Seconds: 0.002, Device: 4e9, Host: 1e9, Agree: "after 100 steps", Source: "arXiv"}}),
		Sensitivity(p, []plan.Sensitivity{{Path: "cluster.network.bandwidth", Change: "10 % less", Step: 10.5, Share: 0.05}}),
		WhatIf(p, []Changed{{Change: "cluster.network.bandwidth=1Tb/s", Kept: 9, Best: &faster}, {Change: "model.layers=800", Kept: 100}}),
		Launch([]string{"launch.sh"}, []Setting{{File: "launch.sh", Line: 3, Text: "--micro-batch-size 1", Path: "layout.micro_batch_size", Origin: "plan:search"}}),
	}}
}

// messagesOf are two messages, for which the library takes a ring; another algorithm is
// faster and needs something.
func messagesOf(other string, estimates ...units.Seconds) []plan.Message {
	list := []plan.Message{{Bytes: 64 << 10}, {Bytes: units.GiB}}
	for i := range list {
		list[i].Estimated = estimates[i]
		list[i].Algorithms = []plan.Algorithm{{Name: "ring", Formula: "h + D/B", Source: "NCCL", Seconds: 2e-5}, {Name: "fast " + other, Formula: "D/B", Needs: "switches that sum", Source: "a paper", Seconds: 1e-5}}
	}
	return list
}

func moved(l plan.Layout, tensor int) plan.Layout {
	l.TensorParallel = tensor
	return l
}

// TestGolden: a document tells the same to a terminal, on a page and to a program.
func TestGolden(t *testing.T) {
	data, err := json.MarshalIndent(example(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"example.txt": example().Text(), "example.md": example().Markdown(), "example.json": string(data) + "\n"} {
		golden.Compare(t, "testdata/"+name, []byte(got))
	}
}

// TestWrapped: no line of prose is longer than asked for, and no word is lost.
func TestWrapped(t *testing.T) {
	const text = "one two three four five six seven"
	got := wrapped(text, 12)
	for line := range strings.SplitSeq(got, "\n") {
		if utf8.RuneCountInString(line) > 12 {
			t.Errorf("%q is too long", line)
		}
	}
	if strings.Join(strings.Fields(got), " ") != text {
		t.Errorf("%q lost words", got)
	}
}
