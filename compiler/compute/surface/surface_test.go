package surface

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/ndc-dev/ndc/tools/draws"
)

// TestAt: the fast evaluation equals the sum over nodes, meets the nodes and
// stays constant outside.
func TestAt(t *testing.T) {
	for _, axes := range [][][]float64{{{0, 1, 3}, {2, 4}, {-1, 0, 1, 2}}, {{0, 1, 3}, {5}, {-1, 0}}, {{2, 4}}} {
		g := Grid{Axes: axes}
		nodes := 1
		for _, a := range axes {
			nodes *= len(a)
		}
		for i := range nodes {
			g.Values = append(g.Values, int16(i*i%37-11))
		}
		if err := g.check(); err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			var p Point
			for a := range p {
				p[a] = rapid.Float64Range(-3, 7).Draw(t, "coordinate")
			}
			want, shares := 0.0, 0.0
			for _, w := range g.Weights(p, nil) {
				want += w.Share * float64(g.Values[w.Node]) / 1000
				shares += w.Share
			}
			if got := g.At(p); math.Abs(got-want) > 1e-12 || math.Abs(shares-1) > 1e-12 {
				t.Fatalf("at %v: %v, want %v; shares %v", p, got, want, shares)
			}
		})
		if got, want := g.At(Point{9, 9, 9}), float64(g.Values[nodes-1])/1000; got != want {
			t.Errorf("beyond the last node: %v, want %v", got, want)
		}
		if got, want := g.At(Point{math.Inf(-1), math.NaN(), -1}), float64(g.Values[0])/1000; got != want {
			t.Errorf("below the first node: %v, want %v", got, want)
		}
	}
}

// TestParse: a surface whose values do not fill its axes, or whose axes do not rise, is refused.
func TestParse(t *testing.T) {
	for _, line := range []string{
		`{"gpu":"x","axes":[[1,2],[3]],"values_1e-3":[1]}`,
		`{"gpu":"x","axes":[[2,1]],"values_1e-3":[1,2]}`,
		`{"gpu":"x","axes":[[1],[1],[1],[1]],"values_1e-3":[1]}`,
		`{"gpu":`,
	} {
		if r, err := Parse([]byte(line)); err == nil {
			t.Errorf("%s: accepted as %+v", line, r)
		}
	}
	if r, err := Parse([]byte(`{"gpu":"x","axes":[[1,2]],"values_1e-3":[0,693]}`)); err != nil || math.Abs(r.Correction(Point{2})-2) > 1e-3 {
		t.Errorf("correction %v, %v", r, err)
	}
}

// TestWholeWaves: tiles are computed in waves of as many as there are multiprocessors, the last one
// counted whole.
func TestWholeWaves(t *testing.T) {
	r := Roof{SMs: 4}
	// 5 tiles on 4 multiprocessors: two waves of 4 tiles of 2 × 3.
	if got := r.wholeWaves(Shape{M: 9, N: 3, K: 1}, &Tile{2, 3}); got != 2*4*6 {
		t.Errorf("area %v, want 48", got)
	}
}

// FuzzParse: whatever is parsed can be evaluated anywhere.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"gpu":"x","axes":[[1,2],[3]],"values_1e-3":[1,2]}`), 1.5)
	f.Add([]byte(`{"axes":[],"values_1e-3":[7]}`), 0.0)
	f.Add([]byte(`{"axes":[[],[1]],"values_1e-3":[]}`), 0.0)
	f.Fuzz(func(t *testing.T, line []byte, x float64) {
		r, err := Parse(line)
		if err != nil {
			return
		}
		if v := r.At(Point{x, x, x}); math.IsNaN(v) || math.Abs(v) > 33 {
			t.Errorf("%s at %v: %v", line, x, v)
		}
	})
}
