package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// measured is the folder of measured rows.
var measured = os.DirFS("../../testdata/measured")

// loaded reads it once for all tests.
var loaded = sync.OnceValues(func() ([]example, error) { return load(measured, measured) })

// predicted predicts them once for all tests, by the embedded parameters. No test may
// write the results.
var predicted = sync.OnceValues(func() ([]result, error) {
	cases, err := loaded()
	return predictAll(cases, estimate.DefaultParameters()), err
})

// TestCeilings holds what has been reached, so that it can only improve: the
// median of each goal, the 90th percentile of all rows, and the counts.
func TestCeilings(t *testing.T) {
	results, err := predicted()
	if err != nil {
		t.Fatal(err)
	}
	for i := range goals {
		g := &goals[i]
		errors, _, _ := g.errorsOf(results, &crossValidation{})
		if len(errors) == 0 {
			t.Errorf("%s: no row was predicted", g.what)
			continue
		}
		s := summarise(errors)
		if s.median > g.ceiling {
			t.Errorf("%s: median error %.2f %% over %d rows, ceiling %.1f %%", g.what, s.median, s.n, g.ceiling)
		}
		if g.tail > 0 && s.p90 > g.tail {
			t.Errorf("%s: one row in ten is off by more than %.1f %%, ceiling %.1f %%", g.what, s.p90, g.tail)
		}
	}
	if ran, fits, out, caught := verdictCounts(results); float64(fits) < 0.98*float64(ran) || caught < out-1 {
		t.Errorf("%d of %d runs that ran are feasible, %d of %d that did not are infeasible", fits, ran, caught, out)
	}
	o := order(results)
	if o.right*100 < 83*o.pairs || o.rightDistinct*100 < 93*o.distinct || quantile(o.regrets, 0.9) > 1.04 {
		t.Errorf("order %d of %d, %d of %d; regret %.3f", o.right, o.pairs, o.rightDistinct, o.distinct, quantile(o.regrets, 0.9))
	}
}

// TestMargins holds docs/memory.md to how many runs that ran lie beyond their margin, of
// the sources that the fit has, and of one of them.
func TestMargins(t *testing.T) {
	results, err := predicted()
	if err != nil {
		t.Fatal(err)
	}
	var ran, beyond, raised, more, bridge, fit int
	for i := range results {
		r := &results[i]
		if r.Verdict == nil || !r.Verdict.Ran || r.judge {
			continue
		}
		ran++
		of := r.Source == "megatron_bridge_perf_summary" && !r.example.row.hybrid()
		if of {
			bridge++
		}
		if r.Verdict.Feasible {
			if of {
				fit++
			}
			continue
		}
		beyond++
		if r.Source == "mosaicml_llm_foundry" {
			raised++
		}
		if r.Verdict.Share > 1 {
			more++
		}
	}
	page, err := os.ReadFile("../../docs/memory.md")
	if err != nil {
		t.Fatal(err)
	}
	says := strings.Join(strings.Fields(string(page)), " ")
	for _, want := range []string{
		fmt.Sprintf("%d of %d measured runs that ran lie beyond their margin, of sources that the fit has. %d of them had micro-batches that were raised until they fitted. %d are predicted beyond the card itself.",
			beyond, ran, raised, more),
		fmt.Sprintf("Of %d Megatron-Bridge steps of models without mixers that ran (dense and MoE, bf16 to nvfp4, H100 to GB300), with the recipes' bf16 gradients and 8-bit parameters, %d are called feasible at the default limits.",
			bridge, fit),
	} {
		if !strings.Contains(says, want) {
			t.Errorf("docs/memory.md does not say: %s", want)
		}
	}
}

// TestUnseen holds what has been reached on sources that had no part in the
// fit, which is how close predictions are on another cluster.
func TestUnseen(t *testing.T) {
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	results, err := predicted()
	if err != nil {
		t.Fatal(err)
	}
	p := estimate.DefaultParameters()
	left := &crossValidation{source: newTuner(cases, p).leaveOut(func(x *example) string { return x.row.file })}
	for i := range goals {
		g := &goals[i]
		_, errors, _ := g.errorsOf(results, left)
		if g.unseen == 0 {
			continue
		}
		if s := summarise(errors); s.median > g.unseen || g.unseenTail > 0 && s.p90 > g.unseenTail {
			t.Errorf("%s: median error %.2f %%, one row in ten off by more than %.1f %%; ceilings %.1f and %.1f %%", g.what, s.median, s.p90, g.unseen, g.unseenTail)
		}
	}
	ranged(t, newEvidence(results, left))
}

// ranged holds the ranges that are embedded against steps that no fit of parameters saw,
// each source counting as one, and what is expected against what is predicted.
func ranged(t *testing.T, e *evidence) {
	e.without[""] = uncertainty.Embedded()
	for i := range e.rows {
		e.without[e.rows[i].source] = uncertainty.Embedded()
	}
	for i := range e.judges {
		e.without[e.judges[i].source] = uncertainty.Embedded()
	}
	unseen := slices.DeleteFunc(e.judgeSpreads(e.judges), func(j judged) bool { return j.orderOnly })
	for _, kind := range []string{denseRows, expertRows} {
		if m := meansBySource(append(e.judgeSpreads(e.rows), unseen...), kind); m.inside < 0.85 || m.inside > 0.95 {
			t.Errorf("ranges hold %.1f %% of a source%s; 85 to 95 were asked", 100*m.inside, kind)
		}
		if m := meansBySource(unseen, kind); m.expected > m.predicted {
			t.Errorf("sources%s that no fit saw are %.1f %% off what is predicted, %.1f %% off what is expected", kind, 100*m.predicted, 100*m.expected)
		}
	}
}

// TestRanges: the embedded ranges hold at least nine in ten steps, which they
// were made for with other parameters.
func TestRanges(t *testing.T) {
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	p := estimate.DefaultParameters()
	inside, n := 0, 0
	for i := range cases {
		x := &cases[i]
		if !x.fits() {
			continue
		}
		span := estimate.NewWith(x.job, x.target, p).Describe(&x.layout, &x.exec).Time.StepRangeSeconds
		n++
		if m := stepSeconds(x.row); m >= float64(span[0]) && m <= float64(span[1]) {
			inside++
		}
	}
	if inside*100 < 90*n {
		t.Errorf("%d of %d steps lie inside their range", inside, n)
	}
}

// TestCoverage: every row here is predicted, but for those whose own figures
// contradict each other.
func TestCoverage(t *testing.T) {
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	contradictions := 0
	for i := range cases {
		switch x := &cases[i]; {
		case strings.HasPrefix(x.skip, "contradiction"):
			contradictions++
		case x.skip != "":
			t.Errorf("%s is not predicted: %s", x.row.ID, x.skip)
		case x.assumed:
			t.Errorf("%s: nothing is known of its cluster", x.row.ID)
		}
	}
	if contradictions > 2 {
		t.Errorf("%d rows contradict themselves", contradictions)
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

// TestCounter: Megatron-LM's count of Qwen3 235B at 4,096 tokens is 148.0 GFLOPs a
// token, by which 276 TFLOPS are 17.6 s, as the source prints beside them.
func TestCounter(t *testing.T) {
	var r row
	m := &r.Model
	m.Layers, m.Hidden, m.Heads, m.KVHeads, m.HeadDim, m.Vocab, m.SeqLen = 94, 4096, 64, 4, 128, 151936, 4096
	m.MoE = &expertSizes{Experts: 128, TopK: 8, FFN: 1536}
	r.Cluster.GPUs, r.Layout.GBS = 256, 2048
	r.Measured.TFLOPS, r.Measured.TFLOPSDefinition = 276, "Megatron-LM's counter"
	if got := stepSeconds(&r); got < 17.55 || got > 17.65 {
		t.Errorf("%v s, want 17.6", got)
	}
	m.MoE, m.FFN = nil, 8*1536 // as many products
	if got := stepSeconds(&r); got < 17.55 || got > 17.65 {
		t.Errorf("dense: %v s, want 17.6", got)
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
