package uncertainty

import (
	"math"
	"slices"
)

// Joint is what is known of several quantities together: the logarithms of the
// times of steps of one job on one machine, and of what disturbs measuring them.
type Joint struct {
	Mean       []float64   `json:"mean"`
	Covariance [][]float64 `json:"covariance"`
}

// Joint is what is known of the times of steps of one job, in seconds.
func (p *Prior) Joint(steps []Step) *Joint {
	j := &Joint{}
	shares := make([][Count]float64, len(steps))
	for i := range steps {
		var longer float64
		shares[i], longer = p.shares(&steps[i].Terms)
		j.Mean = append(j.Mean, math.Log(float64(steps[i].Terms.Sum()))+longer)
	}
	for i := range steps {
		row := make([]float64, len(steps))
		for k := range steps {
			row[k] = p.Model*p.Model + p.between(&shares[i], &shares[k])
		}
		row[i] += p.own(&steps[i])
		j.Covariance = append(j.Covariance, row)
	}
	return j
}

// between is the covariance of two weighted sums of the errors of the terms.
func (p *Prior) between(a, b *[Count]float64) (v float64) {
	for i, x := range a {
		if x == 0 {
			continue
		}
		for k, y := range b {
			v += x * y * p.Covariance[i][k]
		}
	}
	return v
}

// Add adds a quantity around zero that has nothing to do with the others.
func (j *Joint) Add(spread float64) {
	n := len(j.Mean)
	j.Mean = append(j.Mean, 0)
	for i := range j.Covariance {
		j.Covariance[i] = append(j.Covariance[i], 0)
	}
	j.Covariance = append(j.Covariance, make([]float64, n+1))
	j.Covariance[n][n] = spread * spread
}

// Clone is a copy that shares nothing.
func (j *Joint) Clone() *Joint {
	c := &Joint{Mean: slices.Clone(j.Mean)}
	for _, row := range j.Covariance {
		c.Covariance = append(c.Covariance, slices.Clone(row))
	}
	return c
}

// Observe learns that a weighted sum of the quantities was measured, with an error
// of some spread. Weights that are left out at the end are zero.
func (j *Joint) Observe(weights []float64, value, spread float64) {
	with := make([]float64, len(j.Mean)) // covariance of the sum with each quantity
	total := spread * spread
	for i, w := range weights {
		value -= w * j.Mean[i]
		for k := range with {
			with[k] += w * j.Covariance[i][k]
		}
	}
	for i, w := range weights {
		total += w * with[i]
	}
	if total <= 0 {
		return
	}
	for i := range with {
		j.Mean[i] += with[i] / total * value
		for k := range with {
			j.Covariance[i][k] -= with[i] * with[k] / total
		}
	}
}

// Difference is the distribution of the ratio of two times.
func (j *Joint) Difference(a, b int) Normal {
	v := j.Covariance[a][a] + j.Covariance[b][b] - 2*j.Covariance[a][b]
	return Normal{j.Mean[a] - j.Mean[b], math.Sqrt(max(0, v))}
}

// Draws are samples of the quantities, the same ones every time.
func (j *Joint) Draws(n int) [][]float64 {
	root := make([][]float64, len(j.Mean))
	for i := range root {
		root[i] = slices.Clone(j.Covariance[i])
	}
	decompose(root)
	var r sequence
	draws := make([][]float64, n)
	for d := range draws {
		draws[d] = slices.Clone(j.Mean)
		for k := range root {
			z := Deviations(r.next())
			for i := k; i < len(root); i++ {
				draws[d][i] += root[i][k] * z
			}
		}
	}
	return draws
}

// sequence is one of numbers that look drawn evenly between 0 and 1, the same in
// every run: SplitMix64 (Steele, Lea and Flood 2014, Fast splittable pseudorandom
// number generators).
type sequence uint64

func (s *sequence) next() float64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return (float64(z>>11) + 0.5) / (1 << 53)
}

// Only is what is known of some of the quantities.
func (j *Joint) Only(places []int) *Joint {
	o := &Joint{}
	for _, i := range places {
		row := make([]float64, len(places))
		for k, p := range places {
			row[k] = j.Covariance[i][p]
		}
		o.Mean, o.Covariance = append(o.Mean, j.Mean[i]), append(o.Covariance, row)
	}
	return o
}
