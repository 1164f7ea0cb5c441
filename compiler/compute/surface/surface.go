// Package surface is the form of a fitted kernel surface: how long a kernel
// takes by shape, as a roof (the larger of arithmetic and traffic, plus a
// launch) times a smooth measured correction on a grid of logarithms.
//
// tools/fit writes surfaces from measurements, package compute evaluates them
// for a GPU; both share the formulas of this package. It knows neither GPUs
// by name nor transformers.
package surface

import (
	"encoding/json"
	"fmt"
	"math"
)

// maxAxes is the largest number of axes of a grid.
const maxAxes = 3

// corners is the number of grid nodes around a point.
const corners = 1 << maxAxes

// Point is a place in a grid: the base-2 logarithm of each coordinate. Unused
// axes are zero.
type Point [maxAxes]float64

// Grid is a function of up to three logarithmic coordinates: multilinear
// between nodes, constant beyond the outer ones. The last axis varies fastest.
type Grid struct {
	Axes   [][]float64 `json:"axes"`        // ascending base-2 logarithms
	Values []int16     `json:"values_1e-3"` // thousandths
}

// Weight is the share that one node has in the value at a point.
type Weight struct {
	Node  int     // index in Grid.Values
	Share float64 // 0 to 1
}

// Weights finds the nodes around p and their shares, which sum to one. It
// appends to out.
func (g *Grid) Weights(p Point, out []Weight) []Weight {
	first := len(out)
	out = append(out, Weight{0, 1})
	for a, nodes := range g.Axes {
		i, f := locate(nodes, p[a])
		n := len(out)
		for j := first; j < n; j++ {
			w := out[j]
			w.Node = w.Node*len(nodes) + i
			out[j] = Weight{w.Node, w.Share * (1 - f)}
			if f > 0 {
				out = append(out, Weight{w.Node + 1, w.Share * f})
			}
		}
	}
	return out
}

// At is the value at p, as the sum of Weights would give it. It allocates
// nothing: the corners around p are loaded and then halved along one axis
// after the other.
func (g *Grid) At(p Point) float64 {
	var corner [corners]float64
	var index [corners]int
	var fraction [maxAxes]float64
	n := 1
	for a, nodes := range g.Axes {
		i, f := locate(nodes, p[a])
		step := 0
		if f > 0 {
			step = 1
		}
		for j := range n {
			first := index[j]*len(nodes) + i
			index[j], index[n+j] = first, first+step
		}
		fraction[a] = f
		n *= 2
	}
	for j := range n {
		corner[j] = float64(g.Values[index[j]])
	}
	for a := len(g.Axes) - 1; a >= 0; a-- {
		n /= 2
		for j := range n {
			corner[j] += fraction[a] * (corner[n+j] - corner[j])
		}
	}
	return corner[0] / 1000
}

// locate finds the cell of x and how far into it x lies, 0 to 1.
func locate(nodes []float64, x float64) (cell int, fraction float64) {
	last := len(nodes) - 1
	if last <= 0 || !(x > nodes[0]) {
		return 0, 0
	}
	if x >= nodes[last] {
		return last, 0
	}
	i := 0
	for x >= nodes[i+1] {
		i++
	}
	return i, (x - nodes[i]) / (nodes[i+1] - nodes[i])
}

// check reports a grid whose parts do not fit together.
func (g *Grid) check() error {
	size := 1
	for _, nodes := range g.Axes {
		size *= len(nodes)
		for i := 1; i < len(nodes); i++ {
			if nodes[i] <= nodes[i-1] {
				return fmt.Errorf("axis %v does not ascend", nodes)
			}
		}
	}
	if len(g.Axes) > maxAxes || size != len(g.Values) || size == 0 {
		return fmt.Errorf("%d axes and %d values for %d nodes", len(g.Axes), len(g.Values), size)
	}
	return nil
}

// Operations that have surfaces.
const (
	GEMM      = "gemm"
	Attention = "attention"
	MLA       = "mla" // attention with 192-wide queries and keys, 128-wide values
)

// Record is one fitted surface with where it comes from and how well it holds.
type Record struct {
	GPU        string `json:"gpu"`        // catalogue name
	Capability string `json:"capability"` // compute capability of that GPU, such as "9.0"
	Operation  string `json:"operation"`
	DType      string `json:"dtype"`
	HeadDim    int    `json:"head_dim,omitempty"` // attention
	Window     int    `json:"window,omitempty"`   // attention: keys each query sees; 0: all
	Source     string `json:"source"`
	Rows       int    `json:"rows"`           // measurements used
	LeftOut    Error  `json:"left_out"`       // error on each fifth of the rows when fitted to the rest
	Roof       Roof   `json:"roof"`           // of the measured GPU, in this data type
	Tile       *Tile  `json:"tile,omitempty"` // gemm: output is computed in whole waves of such tiles
	Grid
}

// Error sums up relative errors |predicted/measured − 1|.
type Error struct {
	Count  int     `json:"count"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	Max    float64 `json:"max"`
}

// Parse reads one JSON line and checks it.
func Parse(line []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%s %s %s: %w", r.GPU, r.Operation, r.DType, err)
	}
	return r, nil
}

// Correction is the measured time over the roof at p.
func (r *Record) Correction(p Point) float64 { return math.Exp(r.At(p)) }
