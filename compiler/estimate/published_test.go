package estimate

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestBest: the best of the class, of as many GPUs where somebody used them.
func TestBest(t *testing.T) {
	list := []Published{
		{GPU: "a", Precision: "bf16", GPUs: 8, MFU: 0.6}, {GPU: "a", Precision: "bf16", GPUs: 512, MFU: 0.5},
		{GPU: "a", Precision: "bf16", GPUs: 512, MFU: 0.4}, {GPU: "a", Precision: "bf16", Experts: true, GPUs: 512, MFU: 0.3},
		{GPU: "a", Precision: "bf16", Long: true, GPUs: 8, MFU: 0.45},
	}
	for _, c := range []struct {
		of   Published
		want units.Share
	}{
		{Published{GPU: "a", Precision: "bf16", GPUs: 8}, 0.6},
		{Published{GPU: "a", Precision: "bf16", GPUs: 1024}, 0.5},
		{Published{GPU: "a", Precision: "bf16", GPUs: 4096}, 0.6},
		{Published{GPU: "a", Precision: "bf16", Experts: true, GPUs: 8}, 0.3},
		{Published{GPU: "a", Precision: "bf16", Long: true, GPUs: 64}, 0.45},
		{Published{GPU: "a", Precision: "fp8", GPUs: 8}, 0},
		{Published{GPU: "b", Precision: "bf16", GPUs: 8}, 0},
	} {
		got := units.Share(0)
		if p := best(list, c.of); p != nil {
			got = p.MFU
		}
		if got != c.want {
			t.Errorf("%+v: %v, want %v", c.of, got, c.want)
		}
	}
}

// TestDoubt: what is predicted to be faster than anything published is doubted,
// what is as fast is not; and the data are in order.
func TestDoubt(t *testing.T) {
	list := published()
	seen := map[Published]bool{}
	for _, p := range list {
		if p.Source == "" || p.GPUs <= 0 || p.MFU <= 0 || p.MFU > 0.7 || seen[p] {
			t.Errorf("%+v", p)
		}
		seen[p] = true
	}
	e := New(jobOf(dense(), 8), targetOf(runtimes.Whole()))
	l := single(64)
	top := best(list, PublishedClass(e.job, 64)).MFU
	if w := e.doubt(&l, &plan.Throughput{MFU: top}); len(w) != 0 {
		t.Errorf("the best published is doubted: %+v", w)
	}
	l.DataParallelShard = 1 << 20 // more GPUs than anybody used
	if top := best(list, PublishedClass(e.job, l.GPUs())).MFU; len(e.doubt(&l, &plan.Throughput{MFU: top * 1.01})) != 1 || len(e.doubt(&l, &plan.Throughput{MFU: top})) != 0 {
		t.Error("on a million GPUs only what is above all that was published is doubted")
	}
	l = single(64)
	w := e.doubt(&l, &plan.Throughput{MFU: top * 1.1})
	if len(w) != 1 || w[0].ID != "beyond-published" || !strings.Contains(w[0].Detail, "dense models in bf16 on h100_sxm") {
		t.Errorf("a tenth more: %+v", w)
	}
}
