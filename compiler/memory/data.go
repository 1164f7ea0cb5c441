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

var (
	// precisions by name, and by name/recipe.
	precisions = facts.By(facts.Lines[precision]("memory: precisions.jsonl", precisionData), func(p precision) string { return p.Precision })
	// overheads by kind, each with its source in the data file.
	overheads = readOverheads()
	// deepEPs are DeepEP's buffers by the number of ranks.
	deepEPs = facts.By(facts.Lines[deepEP]("memory: deepep.jsonl", deepEPData), func(d deepEP) int { return d.Ranks })
)

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
