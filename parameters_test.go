// Package ndc_test holds checks that need several rooms of the house at once.
package ndc_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/ndc-dev/ndc/compiler/program"
)

// counts is what a file of testdata/models says about parameters.
type counts struct {
	Name      string
	Published struct {
		Total           float64 `json:"total_billion"`
		Tolerance       float64 `json:"tolerance"` // relative: rounding of the publisher
		Active          float64 `json:"active_billion"`
		ActiveTolerance float64 `json:"active_tolerance"`
		CountsEmbedding bool    `json:"active_counts_input_embedding"`
		Source          string
		Checkpoint      int64 `json:"checkpoint_total"` // elements of the published weights
	} `json:"published_parameters"`
	Counted struct {
		Total, Active, MTP     int64
		ActiveWithoutEmbedding int64 `json:"active_without_input_embedding"`
		MTPEmbeddingAndHead    int64 `json:"mtp_embedding_and_head"` // copies that the published weights hold
		ScoreCorrectionBias    int64 `json:"score_correction_bias"`  // balancing biases, which are not trained
	} `json:"counted_parameters"`
}

// TestParameterCounts counts every model of the catalogue and compares with
// the count that follows from its published shapes, to the last parameter, and
// with the published figure, within its rounding.
func TestParameterCounts(t *testing.T) {
	paths, err := filepath.Glob("testdata/models/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no published counts: ", err)
	}
	for _, path := range paths {
		c := readCounts(t, path)
		t.Run(c.Name, func(t *testing.T) {
			m := &modelJob(t, c.Name, "deepspeed", "0.19.8").Model
			a := program.New(m)
			equal(t, "total", a.ParametersTotal(), c.Counted.Total)
			near(t, "total", a.ParametersTotal(), c.Published.Total, c.Published.Tolerance)
			if c.Counted.MTP != 0 {
				equal(t, "multi-token prediction", a.ParametersMTP(), c.Counted.MTP)
			}
			if c.Published.Checkpoint != 0 {
				equal(t, "published weights", a.ParametersTotal()+a.ParametersMTP()+c.Counted.MTPEmbeddingAndHead+c.Counted.ScoreCorrectionBias, c.Published.Checkpoint)
			}
			if c.Published.Active == 0 {
				return
			}
			active, want := a.ParametersActive(), c.Counted.Active
			if !c.Published.CountsEmbedding {
				active, want = active-int64(m.VocabSize*m.HiddenSize), c.Counted.ActiveWithoutEmbedding
			}
			equal(t, "active", active, want)
			near(t, "active", active, c.Published.Active, c.Published.ActiveTolerance)
		})
	}
}

func readCounts(t *testing.T, path string) (c counts) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return c
}

func equal(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: counted %d, the published shapes give %d (%+d)", what, got, want, got-want)
	}
}

func near(t *testing.T, what string, got int64, billions, tolerance float64) {
	t.Helper()
	if d := float64(got)/1e9/billions - 1; math.Abs(d) > tolerance {
		t.Errorf("%s: counted %.3f B, published %g B: %+.3f %%, at most %.3f %%", what, float64(got)/1e9, billions, d*100, tolerance*100)
	}
}
