package main

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
)

// system holds the normal equations of a weighted least-squares problem over
// the nodes of a grid, with a penalty on second differences along each axis.
type system struct {
	n     int
	left  []float64 // n × n, symmetric
	right []float64
}

// ridge keeps nodes determinate that no measurement reaches.
const ridge = 1e-6

// newSystem starts with the smoothness penalty alone.
func newSystem(axes [][]float64, smoothness float64) *system {
	n := 1
	for _, nodes := range axes {
		n *= len(nodes)
	}
	s := &system{n: n, left: make([]float64, n*n), right: make([]float64, n)}
	step := n
	for _, nodes := range axes {
		step /= len(nodes)
		s.penalise(len(nodes), step, smoothness)
	}
	for i := range n {
		s.left[i*n+i] += ridge
	}
	return s
}

// penalise adds the squared second differences between nodes that lie step
// apart on an axis of the given length.
func (s *system) penalise(length, step int, smoothness float64) {
	for node := range s.n {
		if i := node / step % length; i < 1 || i > length-2 {
			continue
		}
		s.add([]surface.Weight{{Node: node - step, Share: 1}, {Node: node, Share: -2}, {Node: node + step, Share: 1}}, 0, smoothness)
	}
}

// add counts one equation: stencil · values = target.
func (s *system) add(stencil []surface.Weight, target, weight float64) {
	for _, a := range stencil {
		s.right[a.Node] += weight * a.Share * target
		for _, b := range stencil {
			s.left[a.Node*s.n+b.Node] += weight * a.Share * b.Share
		}
	}
}

// solve factors the matrix (Cholesky) and substitutes. It destroys the system.
func (s *system) solve() []float64 {
	n, a := s.n, s.left
	for j := range n {
		for i := j; i < n; i++ {
			sum := a[i*n+j]
			for k := range j {
				sum -= a[i*n+k] * a[j*n+k]
			}
			if i == j {
				a[j*n+j] = math.Sqrt(max(sum, 1e-12))
			} else {
				a[i*n+j] = sum / a[j*n+j]
			}
		}
	}
	x := s.right
	for i := range n {
		for k := range i {
			x[i] -= a[i*n+k] * x[k]
		}
		x[i] /= a[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= a[k*n+i] * x[k]
		}
		x[i] /= a[i*n+i]
	}
	return x
}
