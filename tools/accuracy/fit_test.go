package main

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// TestFit: from the middle of all bounds the fit finds parameters about as
// good as the embedded ones, within their bounds.
func TestFit(t *testing.T) {
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	var some []example // every third row, to be quick
	for i := 0; i < len(cases); i += 3 {
		some = append(some, cases[i])
	}
	names := []string{"rate16.ampere", "rate16.hopper", "rate16.blackwell", "rate8.hopper"}
	p := estimate.DefaultParameters()
	tuner := newTuner(some, p, names...)
	in := slices.Repeat([]bool{true}, len(tuner.rows))
	shares, residuals := tuner.fit(in)
	embedded := tuner.predict(p)
	if got, most := tuner.loss(in, shares, residuals), tuner.loss(in, tuner.shares(p), embedded); got > 1.01*most {
		t.Errorf("loss %.3f, %.3f with the embedded parameters", got, most)
	}
	for i, u := range shares {
		if u < 0 || u > 1 {
			t.Errorf("%s: share %v", tuner.records[i].Name, u)
		}
	}
}

// TestNothingToLearn: a parameter that the rows in a fit do not move stays in
// the middle of its bounds, whatever its embedded value is, where none of its kin takes part.
func TestNothingToLearn(t *testing.T) {
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	var some []example
	for i := 0; i < len(cases); i += 10 {
		some = append(some, cases[i])
	}
	tuner := newTuner(some, estimate.DefaultParameters(), "rate16.ampere", "elementwise.eager")
	in := make([]bool, len(tuner.rows))
	for i, x := range tuner.rows {
		in[i] = x.job.Cluster.GPU.Catalog == "h100_sxm"
	}
	shares, _ := tuner.fit(in)
	for i, r := range tuner.records {
		if moved := shares[i] != 0.5; moved != (r.Name == "elementwise.eager") {
			t.Errorf("%s: share %v", r.Name, shares[i])
		}
	}
}

// TestKinship: what no row decides is what the rows of its kin say, between that and the
// middle of its bounds.
func TestKinship(t *testing.T) {
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	tuner := newTuner(cases, estimate.DefaultParameters(), "rate16.hopper", "rate16.blackwell")
	in := make([]bool, len(tuner.rows))
	for i, x := range tuner.rows {
		in[i] = x.job.Cluster.GPU.Catalog == "h100_sxm"
	}
	shares, _ := tuner.fit(in)
	if hopper, blackwell := shares[0], shares[1]; hopper <= 0.5 || blackwell <= 0.5 || blackwell >= hopper {
		t.Errorf("shares %v of Hopper and %v of Blackwell", hopper, blackwell)
	}
}

// TestOneSource: a parameter says which one source it rests on, and none that
// was fitted is at a bound.
func TestOneSource(t *testing.T) {
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	tuner := newTuner(cases, estimate.DefaultParameters())
	for _, r := range estimate.ParameterRecords() {
		if got := tuner.sourceOf(r.Name); got != r.Only {
			t.Errorf("%s: only %q, it is moved by %q", r.Name, r.Only, got)
		}
		if !r.Fixed && r.Only != "none" && (r.Value == r.Low || r.Value == r.High) {
			t.Errorf("%s = %v is at its bound", r.Name, r.Value)
		}
	}
}
