package memory

import (
	_ "embed"

	"github.com/ndc-dev/ndc/facts"
)

//go:embed data/precisions.jsonl
var precisionData string

//go:embed data/overheads.jsonl
var overheadData string

//go:embed data/deepep.jsonl
var deepEPData string

// precisions by name, and by name/recipe.
var precisions = readPrecisions()

// overheads by kind, each with its source in the data file.
var overheads = readOverheads()

// deepEPs are DeepEP's buffers by the number of ranks.
var deepEPs = readDeepEPs()

func readDeepEPs() map[int64]deepEP {
	out := map[int64]deepEP{}
	for _, row := range facts.Lines[struct {
		Ranks   int64  `json:"ranks"`
		NVLink  int64  `json:"nvlink"`
		Network int64  `json:"network"`
		Source  string `json:"source"`
	}]("memory: deepep.jsonl", deepEPData) {
		out[row.Ranks] = deepEP{row.NVLink, row.Network}
	}
	return out
}

func readPrecisions() map[string]precision {
	out := map[string]precision{}
	for _, row := range facts.Lines[struct {
		Precision   string  `json:"precision"`
		WeightBytes float64 `json:"weight_bytes"`
		InputBytes  float64 `json:"input_bytes"`
		Align       int64   `json:"align"`
		Source      string  `json:"source"`
	}]("memory: precisions.jsonl", precisionData) {
		out[row.Precision] = precision{row.WeightBytes, row.InputBytes, row.Align}
	}
	return out
}

func readOverheads() map[string]float64 {
	out := map[string]float64{}
	for _, row := range facts.Lines[struct {
		Kind   string  `json:"kind"`
		Value  float64 `json:"value"`
		Unit   string  `json:"unit"`
		Source string  `json:"source"`
	}]("memory: overheads.jsonl", overheadData) {
		out[row.Kind] = row.Value
	}
	return out
}
