package main

import (
	"os"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// measured is the folder of measured rows.
var measured = os.DirFS("../../testdata/measured")

// TestCeilings holds the median error of the step time per source to what has
// been reached, so that it can only improve, in per cent.
func TestCeilings(t *testing.T) {
	cases, err := load(measured, measured)
	if err != nil {
		t.Fatal(err)
	}
	errors := map[string][]float64{}
	for _, r := range predictAll(cases, estimate.DefaultParameters()) {
		if r.Time == nil || r.uncertain {
			continue
		}
		e := r.Time.PredictedSeconds/r.Time.MeasuredSeconds - 1
		for _, name := range []string{"everything", r.Source + " " + class(&r)} {
			errors[name] = append(errors[name], e)
		}
	}
	for name, ceiling := range map[string]float64{
		"everything":                         3.2,
		"bigscience_bloom dense":             5.8,
		"megatron_bridge_perf_summary dense": 2,
		"megatron_bridge_perf_summary moe":   6.2,
		"megatron_sc21 dense":                4.5,
		"mosaicml_llm_foundry dense":         2.3,
		"nvidia_dgxc_benchmarking dense":     2.2,
		"nvidia_dgxc_benchmarking moe":       3.7,
		"simumax_b200 dense":                 2.7,
		"simumax_b200 moe":                   1,
		"torchtitan dense":                   6.2,
	} {
		if len(errors[name]) == 0 {
			t.Errorf("%s: no row was predicted", name)
			continue
		}
		if s := summarise(errors[name]); s.median > ceiling {
			t.Errorf("%s: median error %.1f %% over %d rows, ceiling %.1f %%", name, s.median, s.n, ceiling)
		}
	}
}

// TestStepSeconds: rates become times by each source's own formula.
func TestStepSeconds(t *testing.T) {
	var r row
	r.Cluster.GPUs, r.Layout.GBS, r.Model.SeqLen = 8, 16, 4096
	r.Measured.Tokens = 1024
	if got := stepSeconds(&r); got != 8 {
		t.Errorf("16 × 4096 tokens at 1024 per GPU and second on 8 GPUs: %v s, want 8", got)
	}
	r.Measured.StepTime = 3
	if got := stepSeconds(&r); got != 3 {
		t.Errorf("a stated step time comes first: %v", got)
	}
	// Narayanan et al. 2021, table 1: GPT 3.6B, 64 GPUs, batch 512, 138 TFLOPS.
	r = row{}
	r.Cluster.GPUs, r.Layout.GBS, r.Model.SeqLen = 64, 512, 2048
	r.Model.Layers, r.Model.Hidden, r.Model.Vocab = 30, 3072, 51200
	r.Measured.TFLOPS, r.Measured.MFUDefinition = 138, "F=96*B*s*l*h^2*(1+s/(6h)+V/(16*l*h))"
	if got := stepSeconds(&r); got < 3.69 || got > 3.70 {
		t.Errorf("3.6B: %v s, want 3.697", got)
	}
}

// TestPrecision reads what the tables call their precision.
func TestPrecision(t *testing.T) {
	for in, want := range map[string][2]string{
		"bf16":          {"bf16", ""},
		"fp16 mixed":    {"fp16", ""},
		"mxfp8":         {"mxfp8", ""},
		"fp8-cs":        {"fp8", "tensorwise"},
		"nvfp4":         {"nvfp4", ""},
		"fp8 blockwise": {"fp8", "blockwise"},
	} {
		if name, recipe := precision(in); [2]string{name, recipe} != want {
			t.Errorf("%q: %s %s, want %v", in, name, recipe, want)
		}
	}
}

// TestTail holds the 90th percentile of all rows in the same way.
func TestTail(t *testing.T) {
	cases, err := load(measured, measured)
	if err != nil {
		t.Fatal(err)
	}
	var errors []float64
	for _, r := range predictAll(cases, estimate.DefaultParameters()) {
		if r.Time != nil && !r.uncertain {
			errors = append(errors, r.Time.PredictedSeconds/r.Time.MeasuredSeconds-1)
		}
	}
	if s := summarise(errors); s.p90 > 11.2 {
		t.Errorf("one row in ten is off by more than %.1f %%, ceiling 11.2 %%", s.p90)
	}
}
