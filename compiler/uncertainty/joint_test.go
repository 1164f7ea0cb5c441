package uncertainty

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// TestJoint: what several steps are known by together is what they are known by in
// pairs.
func TestJoint(t *testing.T) {
	j := &job.Job{}
	j.Cluster.Nodes, j.Cluster.GPUsPerNode = 1, 8
	p := For(j, "an engine")
	steps := []Step{{Terms: Terms{Linear: 2, Attention: 1}}, {Terms: Terms{Linear: 1.8, Network: 0.9}, Beyond: 1}, {Terms: Terms{Linear: 2.5}}}
	joint := p.Joint(steps)
	for a := range steps {
		if got, want := math.Exp(joint.Mean[a]), float64(steps[a].Terms.Sum()); math.Abs(got-want) > 1e-12 {
			t.Errorf("step %d takes %g, want %g", a, got, want)
		}
		for b := range steps {
			if a == b {
				continue
			}
			got, want := joint.Difference(a, b), p.Difference(&steps[a], &steps[b])
			if math.Abs(got.Mean-want.Mean) > 1e-12 || math.Abs(got.Spread-want.Spread) > 1e-9 {
				t.Errorf("steps %d and %d: %v, want %v", a, b, got, want)
			}
		}
	}
	only := joint.Only([]int{2, 0})
	if only.Difference(1, 0) != joint.Difference(0, 2) {
		t.Errorf("of two: %v, want %v", only.Difference(1, 0), joint.Difference(0, 2))
	}
}

// TestObserve: normal errors add, as in closed form, and one measured quantity tells
// of what it shares with another.
func TestObserve(t *testing.T) {
	j := &Joint{}
	j.Add(2)
	j.Add(2)
	j.Covariance[0][1], j.Covariance[1][0] = 2, 2
	before := j.Clone()
	j.Observe([]float64{1}, 3, 1)
	if want := 4.0 / 5; math.Abs(j.Mean[0]-3*want) > 1e-12 || math.Abs(j.Covariance[0][0]-want) > 1e-12 || math.Abs(j.Mean[1]-3*2.0/5) > 1e-12 || math.Abs(j.Covariance[1][1]-(4-4.0/5)) > 1e-12 {
		t.Errorf("%+v", j)
	}
	if before.Mean[0] != 0 || before.Covariance[0][0] != 4 {
		t.Errorf("the copy has changed: %+v", before)
	}
	j.Observe([]float64{1, -1}, 0, 1e-6)
	if d := j.Difference(0, 1); math.Abs(d.Mean) > 1e-6 || d.Spread > 1e-5 {
		t.Errorf("two that are equal differ by %v", d)
	}
}

// TestDraws have the means and covariances that they are drawn by.
func TestDraws(t *testing.T) {
	j := &Joint{Mean: []float64{1, 2}, Covariance: [][]float64{{4, 3}, {3, 9}}}
	const n = 20000
	var mean [2]float64
	var square [2][2]float64
	for _, x := range j.Draws(n) {
		for a := range mean {
			mean[a] += x[a] / n
			for b := range mean {
				square[a][b] += (x[a] - j.Mean[a]) * (x[b] - j.Mean[b]) / n
			}
		}
	}
	for a := range mean {
		if math.Abs(mean[a]-j.Mean[a]) > 0.08 {
			t.Errorf("mean %g, want %g", mean[a], j.Mean[a])
		}
		for b := range mean {
			if math.Abs(square[a][b]-j.Covariance[a][b]) > 0.25 {
				t.Errorf("covariance %d %d: %g, want %g", a, b, square[a][b], j.Covariance[a][b])
			}
		}
	}
}
