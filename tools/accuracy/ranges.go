package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// class90 is one record of compiler/estimate/data/ranges.json.
type class90 struct {
	GPU       string  `json:"gpu"`
	Precision string  `json:"precision"`
	MoE       bool    `json:"moe"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Source    string  `json:"source"`
}

// fewest is the number of rows below which a class of its own says nothing.
const fewest = 25

// writeRanges prints ranges.json: the 5th and 95th percentile of measured over
// predicted step time, for dense models and mixtures of experts, over all GPUs
// and for each GPU with enough rows.
func writeRanges(w io.Writer, results []result) error {
	ratios := map[class90][]float64{}
	for i := range results {
		r := &results[i]
		if r.Time == nil || r.uncertain {
			continue
		}
		j := r.example.job
		v := r.Time.MeasuredSeconds / r.Time.PredictedSeconds
		for _, gpu := range []string{"", j.Cluster.GPU.Catalog} {
			k := class90{GPU: gpu, MoE: j.Model.MoE != nil}
			ratios[k] = append(ratios[k], v)
		}
	}
	var classes []class90
	for k, v := range ratios {
		if len(v) < fewest {
			continue
		}
		slices.Sort(v)
		k.Low, k.High = round(min(1, quantile(v, 0.05))), round(max(1, quantile(v, 0.95)))
		k.Source = fmt.Sprintf("measured over predicted time of %d published steps that the parameters were fitted on (testdata/measured)", len(v))
		classes = append(classes, k)
	}
	slices.SortFunc(classes, func(a, b class90) int {
		return slices.Compare([]string{fmt.Sprint(a.MoE), a.GPU}, []string{fmt.Sprint(b.MoE), b.GPU})
	})
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(classes)
}

func round(v float64) float64 { return float64(int(v*1000+0.5)) / 1000 }
