package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
)

// key names the surface that a row belongs to.
type key struct {
	gpu, dtype      string
	headDim, window int
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.gpu, b.gpu), cmp.Compare(a.dtype, b.dtype), cmp.Compare(a.headDim, b.headDim), cmp.Compare(a.window, b.window))
}

// fewest measurements that make a surface.
const fewest = 100

// group sorts rows by surface; names gives the column of the data type.
func group(rows []row, dtypeColumn string) (map[key][]row, []key) {
	groups := map[key][]row{}
	for _, r := range rows {
		k := key{gpu: r["gpu"], dtype: cmp.Or(dtypes[r[dtypeColumn]], r[dtypeColumn])}
		k.headDim, _ = strconv.Atoi(r["head_dim"])
		k.window, _ = strconv.Atoi(r["window_size"])
		groups[k] = append(groups[k], r)
	}
	for k, g := range groups {
		if len(g) < fewest {
			delete(groups, k)
		}
	}
	return groups, slices.SortedFunc(maps.Keys(groups), compareKeys)
}

// newRecord starts the record of a surface.
func newRecord(operation string, k key, devices map[string]device) (*surface.Record, error) {
	d, ok := devices[k.gpu]
	if !ok {
		return nil, fmt.Errorf("no facts about GPU %q; give them with -gpus", k.gpu)
	}
	roof, err := d.roof(k.dtype)
	return &surface.Record{GPU: d.Catalog, Capability: d.Capability, Operation: operation, DType: k.dtype, HeadDim: k.headDim, Window: k.window, Roof: roof}, err
}

// Axes are base-2 logarithms, dense where the measured rates bend.
var (
	gemmAxes      = [][]float64{{9, 10, 11, 13, 15}, {8, 9, 10, 11, 12, 14, 16}, {8, 9, 10, 11, 12, 14, 16}} // m, n, k
	attentionAxes = [][]float64{{10, 11, 12, 13, 14}, {2, 3, 4, 5, 6, 7, 9}, {0, 1, 3}}                      // keys, sequences × heads, heads per KV head
	mlaAxes       = [][]float64{{10, 11, 12, 13, 15}, {0, 2, 4, 5, 6, 7, 9, 11}, {0}}
)

// tileChoices are tried for each surface of multiplications; the one that
// predicts left-out shapes best is kept. Libraries that always use large tiles
// show whole waves.
var tileChoices = []*surface.Tile{nil, {M: 128, N: 256}}

// fitGEMM fits columns gpu, dtype, m, n, k, ms.
func fitGEMM(rows []row, devices map[string]device) ([]*surface.Record, error) {
	groups, keys := group(rows, "dtype")
	var records []*surface.Record
	for _, k := range keys {
		r, err := newRecord(surface.GEMM, k, devices)
		if err != nil {
			return nil, err
		}
		if _, err := gemmSamples(r, groups[k]); err != nil {
			return nil, err
		}
		records = append(records, fitTiles(r, gemmAxes, func(r *surface.Record) []sample {
			samples, _ := gemmSamples(r, groups[k]) // read without error above
			return samples
		}))
	}
	return records, nil
}

// fitTiles fits a surface with each choice of tile and keeps the best.
func fitTiles(r *surface.Record, axes [][]float64, samples func(*surface.Record) []sample) *surface.Record {
	var best *surface.Record
	for _, tile := range tileChoices {
		choice := *r
		choice.Tile = tile
		finish(&choice, axes, samples(&choice))
		if best == nil || score(&choice.LeftOut) < score(&best.LeftOut) {
			best = &choice
		}
	}
	return best
}

// score is what a choice is judged by: typical and large errors alike.
func score(e *surface.Error) float64 { return e.Median + e.P90/3 }

func gemmSamples(r *surface.Record, rows []row) (samples []sample, err error) {
	for _, x := range rows {
		s := surface.Shape{M: x.number("m", &err), N: x.number("n", &err), K: x.number("k", &err)}
		samples = append(samples, sample{seconds: x.number("ms", &err) / 1000, roof: r.Roof.GEMM(s, r.Tile), at: s.Point()})
	}
	return samples, err
}

// fitAttention fits columns gpu, attn_dtype, batch_size, isl, num_heads,
// num_key_value_heads, head_dim, window_size, ms: causal, forward.
func fitAttention(rows []row, devices map[string]device) ([]*surface.Record, error) {
	groups, keys := group(rows, "attn_dtype")
	return fitScores(surface.Attention, groups, keys, devices)
}

// fitMLA fits columns gpu, mla_dtype, batch_size, isl, num_heads (of the
// rank), ms: causal, forward, 192-wide queries and keys, 128-wide values.
func fitMLA(rows []row, devices map[string]device) ([]*surface.Record, error) {
	groups, keys := group(rows, "mla_dtype")
	return fitScores(surface.MLA, groups, keys, devices)
}

func fitScores(operation string, groups map[key][]row, keys []key, devices map[string]device) ([]*surface.Record, error) {
	axes := attentionAxes
	if operation == surface.MLA {
		axes = mlaAxes
	}
	var records []*surface.Record
	for _, k := range keys {
		r, err := newRecord(operation, k, devices)
		if err != nil {
			return nil, err
		}
		samples, err := scoreSamples(r, groups[k])
		if err != nil {
			return nil, err
		}
		records = append(records, finish(r, axes, samples))
	}
	return records, nil
}

func scoreSamples(r *surface.Record, rows []row) (samples []sample, err error) {
	for _, x := range rows {
		s := surface.Scores{Sequences: x.number("batch_size", &err), Heads: x.number("num_heads", &err), Queries: x.number("isl", &err)}
		s.Keys, s.KVHeads, s.QK, s.V = s.Queries, s.Heads, 192, 128
		if r.Operation == surface.Attention {
			s.KVHeads, s.QK, s.V = x.number("num_key_value_heads", &err), float64(r.HeadDim), float64(r.HeadDim)
		}
		s.Pairs = surface.CausalPairs(s.Queries, s.Keys, float64(r.Window))
		samples = append(samples, sample{seconds: x.number("ms", &err) / 1000, roof: r.Roof.Attention(s), at: s.Point()})
	}
	return samples, err
}
