package uncertainty

import (
	"math"
	"slices"

	"github.com/ndc-dev/ndc/lang/job"
)

// Named is the term of a name as data files write it; false for no term's.
func Named(name string) (Term, bool) {
	i := slices.IndexFunc(names[:], func(n struct{ id, words string }) bool { return n.id == name })
	return Term(max(i, 0)), i >= 0
}

// Factors are what the terms of an estimate are multiplied by on a cluster that
// was calibrated.
func Factors(c *job.Calibration) (of [Count]float64) {
	for k := range of {
		of[k] = 1
	}
	for i := range c.Terms {
		if k, ok := Named(c.Terms[i].Name); ok {
			of[k] = math.Exp(c.Terms[i].Mean)
		}
	}
	return of
}

// calibrate narrows a prior to what was measured on its machine. The estimate is
// multiplied by the means already. Where a job lies further from what was
// measured than those of the calibration, its variance is greater by as much. What all
// layouts of a model share that was trained there is in the errors of its terms. What
// other machines take longer in the mean says nothing more of one that was measured.
func (p *Prior) calibrate(c *job.Calibration) {
	if len(c.Terms) > 0 {
		p.Unmeasured = 0
	}
	before := p.Covariance
	if c.Trained {
		for k := range before {
			before[k][k] += p.Model * p.Model
		}
		p.Model = 0
	}
	for i := range c.Terms {
		k, ok := Named(c.Terms[i].Name)
		if !ok {
			continue
		}
		for m := range c.Terms {
			if other, ok := Named(c.Terms[m].Name); ok {
				p.Covariance[k][other] = c.Covariance[i][m]
			}
		}
		p.Mean[k] = 0
		p.Covariance[k][k] += max(0, before[k][k]-c.Terms[i].Before)
	}
}
