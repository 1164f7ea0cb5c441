package estimate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestWeak: a node without NVLink and a power limit that nobody measured say
// what they do to the range; what was measured or calibrated, and a short run,
// say nothing.
func TestWeak(t *testing.T) {
	told := func(change func(*job.Job)) (*Evaluator, string, []plan.Warning) {
		j := jobOf(dense(), 2)
		j.Training.Steps = 100_000
		change(j)
		e := New(j, targetOf(runtimes.Whole()))
		l, x := single(16), execution()
		l.TensorParallel, l.DataParallelShard, l.MicroBatches = 2, 8, 64
		var ids []string
		list := e.weak(&l, &x, e.Step(&l, &x))
		for _, w := range list {
			ids = append(ids, w.ID)
			if strings.Contains(w.Detail, "%!") || strings.Contains(w.Detail, "NaN") {
				t.Error(w.Detail)
			}
		}
		return e, strings.Join(ids, " "), list
	}
	card := func(j *job.Job) {
		c := &j.Cluster
		c.NVLink, c.GPU.Name, c.GPU.Catalog, c.GPU.Power = job.NVLink{}, "h100_pcie", "h100_pcie", 350
	}
	for _, c := range []struct {
		name   string
		change func(*job.Job)
		want   string
	}{
		{"measured", func(*job.Job) {}, ""},
		{"card", card, "no-nvlink power-limited"},
		{"card in fp8", func(j *job.Job) { card(j); j.Training.Precision = "fp8" }, "no-nvlink power-limited"},
		{"card in 4 bits", func(j *job.Job) { card(j); j.Training.Precision = "nvfp4" }, "no-nvlink"},
		{"card of unknown power", func(j *job.Job) { card(j); j.Cluster.GPU.Power = 0 }, "no-nvlink"},
		{"one card", func(j *job.Job) { card(j); j.Cluster.GPUsPerNode, j.Cluster.Nodes = 1, 16 }, "power-limited"},
		{"measured boards, held to what was not", func(j *job.Job) { j.Cluster.GPU.Power = 350 }, "power-limited"},
		{"measured at 500 W", func(j *job.Job) { j.Cluster.GPU.Catalog, j.Cluster.GPU.Power = "h100_96gb_500w", 500 }, ""},
		{"fewer units, as much power for each", func(j *job.Job) {
			j.Cluster.GPU.Catalog, j.Cluster.GPU.Power, j.Cluster.GPU.SMs = "h20", 400, 75
		}, ""},
		{"calibrated", func(j *job.Job) { card(j); j.Cluster.Calibration = &job.Calibration{} }, ""},
		{"trial", func(j *job.Job) { card(j); j.Training.Steps = 10 }, ""},
	} {
		if _, got, _ := told(c.change); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}

	e, _, list := told(card)
	l, x := single(16), execution()
	l.TensorParallel, l.DataParallelShard, l.MicroBatches = 2, 8, 64
	var s uncertainty.Step
	e.Uncertain(&l, &x, &s)
	step, share := float64(e.Step(&l, &x)), s.Terms[uncertainty.PCIe]/s.Terms.Sum()
	if share < 0.01 {
		t.Fatalf("%.4f of the step waits for PCIe: nothing to compare", share)
	}
	certain := s
	certain.Terms[uncertainty.NVLink], certain.Terms[uncertainty.PCIe] = s.Terms[uncertainty.NVLink]+s.Terms[uncertainty.PCIe], 0
	is, would := e.Prior().Ratio(&s), e.Prior().Ratio(&certain)
	if is.Spread <= would.Spread {
		t.Errorf("PCIe is as certain as NVLink: %v, %v", is.Spread, would.Spread)
	}
	// The spreads of PCIe: its own and that of nodes without NVLink.
	for _, want := range []string{fmt.Sprintf("a spread of %.0f %%", 100*math.Hypot(0.263, 0.3)), fmt.Sprintf("%.1f %% of this step", 100*share), sides(is) + " what is expected", sides(would) + " it if"} {
		if !strings.Contains(list[0].Detail, want) {
			t.Errorf("no %q in %s", want, list[0].Detail)
		}
	}
	// Half the power: 0.5 to the exponent; at its bounds 0.3 and 1.5.
	kept := math.Pow(0.5, DefaultParameters()["power16.default"])
	products := float64(s.Terms[uncertainty.Linear])
	at := func(other float64) float64 { return step + products*(kept/other-1) }
	for _, want := range []string{"350 W", "700 W", fmt.Sprintf("at %.0f %% of", 100*kept), "Between 35 and 81 %",
		fmt.Sprintf("%.3g to %.3g s instead of %.3g s", at(math.Pow(0.5, 0.3)), at(math.Pow(0.5, 1.5)), step), fmt.Sprintf("it takes %.3g s", at(1))} {
		if !strings.Contains(list[1].Detail, want) {
			t.Errorf("no %q in %s", want, list[1].Detail)
		}
	}
	// In 8 bits by their own exponent.
	e, _, low := told(func(j *job.Job) { card(j); j.Training.Precision = "fp8" })
	e.Uncertain(&l, &x, &s)
	step, products, kept = float64(e.Step(&l, &x)), float64(s.Terms[uncertainty.Linear8]), math.Pow(0.5, DefaultParameters()["power8.hopper"])
	if products < step/10 {
		t.Fatalf("8-bit products take %.3g of %.3g s: nothing to compare", products, step)
	}
	for _, want := range []string{fmt.Sprintf("8-bit products are predicted at %.0f %% of", 100*kept), fmt.Sprintf("%.3g to %.3g s instead of %.3g s", at(1), at(math.Pow(0.5, 1.13)), step)} {
		if !strings.Contains(low[1].Detail, want) {
			t.Errorf("no %q in %s", want, low[1].Detail)
		}
	}
	t.Log(list[0].Detail)
	t.Log(list[1].Detail)
}
