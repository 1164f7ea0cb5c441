package main

import (
	"math"
	"testing"
)

// TestInterval: three values with a standard deviation of one have a standard error
// of 1/√3, and Student's distribution with two degrees of freedom 2.92 of it.
func TestInterval(t *testing.T) {
	mean, half := interval([]float64{1, 2, 3})
	if mean != 2 || math.Abs(half-2.920/math.Sqrt(3)) > 1e-9 {
		t.Errorf("%v ± %v", mean, half)
	}
}

// TestBiasBySource: a source counts as one, however many rows it has, and rows
// that are apart, superseded or in no fit do not count unless they judge.
func TestBiasBySource(t *testing.T) {
	row := func(source, id string, ratio float64) result {
		return result{ID: id, Source: source, Time: &timeResult{1, ratio}, example: &example{}}
	}
	list := []result{row("a", "a1", 2), row("a", "a2", 2), row("b", "b1", 1), row("c", "c1", 4), row("d", "d1", 9), row("e", "e1", 3)}
	list[3].judge, list[4].apart, list[5].example.superseded = true, true, true
	c := &crossValidation{source: heldOut{"a1": 1.1, "a2": 1.3, "b1": 0.9, "d1": 9, "e1": 9}}
	all := func(*result) bool { return true }
	got := biasBySource(list, c, false, all)
	if want := math.Log(1.1*1.3) / 2; len(got) != 2 || math.Abs(got["a"]-want) > 1e-12 || math.Abs(got["b"]-math.Log(0.9)) > 1e-12 {
		t.Errorf("%v", got)
	}
	if got = biasBySource(list, c, true, all); len(got) != 3 || math.Abs(got["c"]-math.Log(4)) > 1e-12 {
		t.Errorf("with judges: %v", got)
	}
}
