package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// TestCaseStudies holds docs/case-studies.md to what is predicted of the ten rows of
// SC21's table 1 and of table 5 of Korthikanti et al. The rows of testdata/cases that are not in
// testdata/measured had no part in any fit.
func TestCaseStudies(t *testing.T) {
	fitted, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	ten, err := load(os.DirFS("testdata/cases"), measured)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	times := []string{"|---|---|---|---|---|"}
	for i := range fitted {
		x := &fitted[i]
		known[x.row.ID] = true
		if strings.HasPrefix(x.row.ID, "korth-t5-") {
			r := predict(x, estimate.DefaultParameters())
			times = append(times, fmt.Sprintf("| %s | %d | %.4g s | %.4g s | %+.1f %% |", strings.TrimPrefix(x.row.ID, "korth-t5-"), x.row.Cluster.GPUs, r.Time.MeasuredSeconds, r.Time.PredictedSeconds, 100*(r.Time.PredictedSeconds/r.Time.MeasuredSeconds-1)))
		}
	}
	rates := []string{"|---|---|---|---|---|---|---|"}
	for i := range ten {
		x := &ten[i]
		r := predict(x, estimate.DefaultParameters())
		published := x.row.Measured.TFLOPS
		fit := ""
		if known[x.row.ID] {
			fit = "yes"
		}
		rates = append(rates, fmt.Sprintf("| %s | %d | %d, %d, %d | %g | %.0f | %+.1f %% | %s |", strings.TrimPrefix(x.row.ID, "sc21-t1-"), x.row.Cluster.GPUs, x.layout.TensorParallel, x.layout.PipelineParallel, x.layout.MicroBatchSize, published, published*r.Time.MeasuredSeconds/r.Time.PredictedSeconds, 100*(r.Time.PredictedSeconds/r.Time.MeasuredSeconds-1), fit))
	}
	page, err := os.ReadFile("../../docs/case-studies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range [][]string{rates, times} {
		if want := strings.Join(table, "\n") + "\n\n"; !strings.Contains(string(page), want) {
			t.Errorf("docs/case-studies.md has no table\n%s", want)
		}
	}
}
