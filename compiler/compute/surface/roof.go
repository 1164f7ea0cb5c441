package surface

import "math"

// Roof is what bounds a kernel on a GPU.
type Roof struct {
	FLOPS     float64 `json:"flops"`      // dense peak of the data type
	Bandwidth float64 `json:"bandwidth"`  // of the memory, bytes per second
	SMs       int     `json:"sms"`        // streaming multiprocessors
	InputSize float64 `json:"input_size"` // bytes per element that the kernel multiplies, scales included
}

// Launch overheads of the roofs, in seconds: about the shortest call in the
// measurements. They are no facts by themselves: surfaces are shares of their roofs, so
// that another value takes another fit (tools/fit).
const (
	gemmLaunch      = 3e-6
	attentionLaunch = 5e-6
)

// Tile is the block of the output that one streaming multiprocessor computes.
type Tile struct {
	M int `json:"m"`
	N int `json:"n"`
}

// Shape is one matrix multiplication: (m × k) times (k × n).
type Shape struct{ M, N, K float64 }

// FLOPs is 2·m·n·k.
func (s Shape) FLOPs() float64 { return 2 * s.M * s.N * s.K }

// Point is the place of the shape in a GEMM grid: m, n, k.
func (s Shape) Point() Point { return Point{math.Log2(s.M), math.Log2(s.N), math.Log2(s.K)} }

// GEMM is the roof of one matrix multiplication whose activations are read in
// 16 bits and, when the type is narrower, quantised first.
func (r Roof) GEMM(s Shape, tile *Tile) float64 {
	flops := s.FLOPs()
	if tile != nil {
		flops = 2 * s.K * r.wholeWaves(s, tile)
	}
	traffic := r.InputSize*(s.M*s.K+s.K*s.N) + 2*s.M*s.N
	if r.InputSize < 2 {
		traffic += (2 + r.InputSize) * s.M * s.K
	}
	return gemmLaunch + max(flops/r.FLOPS, traffic/r.Bandwidth)
}

// wholeWaves is the output area that is computed when every wave of tiles keeps all
// multiprocessors busy to its end.
func (r Roof) wholeWaves(s Shape, t *Tile) float64 {
	tiles := math.Ceil(s.M/float64(t.M)) * math.Ceil(s.N/float64(t.N))
	return math.Ceil(tiles/float64(r.SMs)) * float64(r.SMs*t.M*t.N)
}

// Scores is one attention core.
type Scores struct {
	Sequences      float64 // batch
	Heads, KVHeads float64
	Queries, Keys  float64
	Pairs          float64 // (query, key) pairs of one head that the mask keeps
	QK, V          float64 // head dimensions
	Full           bool    // no causal mask
}

// FLOPs of the forward pass: 2·b·h·(d_qk + d_v) per pair.
func (s Scores) FLOPs() float64 { return 2 * s.Sequences * s.Heads * (s.QK + s.V) * s.Pairs }

// Point is the place in an attention grid: keys, sequences × heads, query
// heads per KV head. A full mask is placed where a causal one of four times
// the length is: its rows are equally long (docs/time-kernels.md). Fewer
// queries than keys count as less parallelism.
func (s Scores) Point() Point {
	keys := s.Keys
	if s.Full {
		keys *= 4
	}
	return Point{math.Log2(keys), math.Log2(s.Sequences * s.Heads * s.Queries / s.Keys), math.Log2(s.Heads / s.KVHeads)}
}

// Attention is the roof of the forward pass.
func (r Roof) Attention(s Scores) float64 {
	q := s.Queries * s.Heads * (s.QK + s.V)
	kv := s.Keys * s.KVHeads * (s.QK + s.V)
	return attentionLaunch + max(s.FLOPs()/r.FLOPS, 2*s.Sequences*(q+kv)/r.Bandwidth)
}

// CausalPairs counts the (query, key) pairs of a causal mask aligned at the
// last key, at most window keys per query (0: all).
func CausalPairs(queries, keys, window float64) float64 {
	if window <= 0 || window >= keys {
		return queries*keys - queries*(queries-1)/2
	}
	full := max(0, queries-(window-(keys-queries))) // queries that see a whole window
	full = min(full, queries)
	rest := queries - full
	return full*window + rest*(keys-queries) + rest*(rest+1)/2
}
