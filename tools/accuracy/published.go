package main

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/lang/units"
)

// scales are the numbers of GPUs of which the best rows are kept apart.
var scales = [...]int{64, 1024, math.MaxInt}

// writePublished prints compiler/estimate/data/published.json: the row with the
// highest utilisation of every class and scale. Rows of another framework's grids,
// those whose layout is a guess or that were not made to be fast, and what make gpu
// measured on one GPU are left out.
func writePublished(w io.Writer, results []result) error {
	best := map[estimate.Published]estimate.Published{}
	for i := range results {
		r := &results[i]
		if r.Time == nil || r.apart || r.orderOnly() || r.example.notBest || r.example.job.Model.LayerPattern != "" || strings.HasPrefix(r.Source, "gpu_") {
			continue
		}
		x := r.example
		p := estimate.PublishedClass(x.job, x.layout.GPUs())
		d := estimate.New(x.job, x.target).Describe(&x.layout, &x.exec)
		p.MFU = units.Share(math.Round(1e4*float64(d.Throughput.MFU)*float64(d.Time.StepSeconds)/r.Time.MeasuredSeconds) / 1e4)
		p.Source = r.ID
		k := p
		k.MFU, k.Source = 0, ""
		for _, most := range scales {
			if p.GPUs <= most {
				k.GPUs = most
				break
			}
		}
		if p.MFU > best[k].MFU {
			best[k] = p
		}
	}
	var list []estimate.Published
	for _, p := range best {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b estimate.Published) int {
		if n := strings.Compare(a.GPU+" "+a.Precision, b.GPU+" "+b.Precision); n != 0 {
			return n
		}
		return strings.Compare(a.Source, b.Source)
	})
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(list)
}
