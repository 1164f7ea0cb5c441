package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/ndc-dev/ndc/compiler/collective"
)

// message is one measured collective.
type message struct{ volume, seconds float64 }

// fitCollectives fits columns gpu, op, num_gpus, bytes, ms of nccl.csv: all
// ranks in one NVLink domain, bytes of the whole buffer.
func fitCollectives(folder fs.FS, devices map[string]device) ([]*collective.Measured, error) {
	rows, err := readTable(folder, "nccl")
	if err != nil {
		return nil, err
	}
	type key struct {
		gpu, op string
		ranks   int
	}
	groups := map[key][]message{}
	for _, r := range rows {
		k := key{r["gpu"], r["op"], int(r.number("num_gpus", &err))}
		volume := r.number("bytes", &err) * collective.Volume(collective.Operation(k.op), k.ranks)
		groups[k] = append(groups[k], message{volume, r.number("ms", &err) / 1000})
	}
	order := func(a, b key) int {
		return cmp.Or(cmp.Compare(a.gpu, b.gpu), cmp.Compare(a.op, b.op), cmp.Compare(a.ranks, b.ranks))
	}
	var out []*collective.Measured
	for _, k := range slices.SortedFunc(maps.Keys(groups), order) {
		d, ok := devices[k.gpu]
		if !ok {
			return nil, fmt.Errorf("nccl: no facts about GPU %q; give them with -gpus", k.gpu)
		}
		m := &collective.Measured{
			GPU: d.Catalog, Capability: d.Capability, Operation: collective.Operation(k.op), Ranks: k.ranks,
			Curve: fitCurve(groups[k]), NVLink: d.NVLink * 1e9, Rows: len(groups[k]),
		}
		m.Median, m.Max = curveError(groups[k])
		out = append(out, m)
	}
	return out, err
}

// curveError fits to every other size and measures on the rest.
func curveError(messages []message) (median, largest float64) {
	slices.SortFunc(messages, func(a, b message) int { return cmp.Compare(a.volume, b.volume) })
	var errors []float64
	var half []message
	for i := 0; i < len(messages); i += 2 {
		half = append(half, messages[i])
	}
	c := fitCurve(half)
	for i := 1; i < len(messages); i += 2 {
		errors = append(errors, math.Abs(c.At(messages[i].volume)/messages[i].seconds-1))
	}
	e := summarise(errors)
	return e.Median, e.Max
}

// fitCurve minimises the absolute relative error: the curve is linear in its
// latency, ramp and inverse bandwidth, so only the half volume is searched.
func fitCurve(messages []message) collective.Curve {
	best, least := collective.Curve{}, math.Inf(1)
	for exponent := 14.0; exponent <= 25; exponent += 0.25 {
		weights := slices.Repeat([]float64{1}, len(messages))
		for range robustRounds {
			c := solveCurve(messages, weights, math.Exp2(exponent))
			sum := 0.0
			for i, m := range messages {
				e := math.Abs(c.At(m.volume)/m.seconds - 1)
				weights[i] = 1 / max(0.02, e)
				sum += e
			}
			if sum < least {
				best, least = c, sum
			}
		}
	}
	return best
}

// solveCurve finds the best curve with a given half volume. A negative ramp
// is replaced by none.
func solveCurve(messages []message, weights []float64, half float64) collective.Curve {
	solve := func(withRamp float64) []float64 {
		s := &system{n: 3, left: make([]float64, 9), right: make([]float64, 3)}
		for k, m := range messages {
			terms := [3]float64{1e-6, withRamp * 1e-6 * m.volume / (m.volume + half), m.volume / 1e12}
			for i, a := range terms {
				s.right[i] += weights[k] * a / m.seconds
				for j, b := range terms {
					s.left[i*3+j] += weights[k] * a * b / (m.seconds * m.seconds)
				}
			}
		}
		for i := range 3 {
			s.left[i*4] += 1e-12
		}
		return s.solve()
	}
	x := solve(1)
	if x[1] < 0 {
		x = solve(0)
		x[1] = 0
	}
	return collective.Curve{Latency: round3(x[0]) * 1e-6, Ramp: round3(x[1]) * 1e-6, Half: math.Round(half), Bandwidth: math.Round(1e3/x[2]) * 1e9}
}

func round3(x float64) float64 { return math.Round(x*1000) / 1000 }

// printCollectives prints one line of Markdown per curve.
func printCollectives(w io.Writer, curves []*collective.Measured) {
	fmt.Fprintln(w, "\n| GPU | operation | ranks | latency µs | ramp µs | half MB | GB/s | median | max |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, m := range curves {
		fmt.Fprintf(w, "| %s | %s | %d | %.1f | %.1f | %.2f | %.0f | %.1f %% | %.0f %% |\n", m.GPU, m.Operation, m.Ranks,
			m.Latency*1e6, m.Ramp*1e6, m.Half/1e6, m.Bandwidth/1e9, 100*m.Median, 100*m.Max)
	}
}

// writeCollectives writes the curves as JSON lines.
func writeCollectives(folder string, curves []*collective.Measured) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	for _, m := range curves {
		if err := encoder.Encode(m); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "nvlink.jsonl"), b.Bytes(), 0o644)
}
