package resume

import (
	_ "embed"
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/review"
)

// Wrong is the answer of package review that was never seen: the new run starts
// with other numbers.
const Wrong review.Answer = "wrong"

// Result is what was seen of one pair.
type Result struct {
	Framework string        `json:"framework"`
	Version   string        `json:"version"`
	Model     string        `json:"model"`
	Precision string        `json:"precision"`
	From      string        `json:"from"`
	To        string        `json:"to"`
	Old       file.Layout   `json:"old"`
	New       file.Layout   `json:"new"`
	Answer    review.Answer `json:"answer"`
	// Weights and Optimizer say that every tensor has the same bits; Rest the
	// same of random state, schedule, position in the data.
	Weights   bool            `json:"weights"`
	Optimizer bool            `json:"optimizer"`
	Rest      map[string]bool `json:"rest,omitempty"`
	// Losses is the largest difference of the next ten losses to those of the run
	// that kept its layout.
	Losses float64 `json:"losses"`
	// Error is what the framework says where it does not go on by itself.
	Error string `json:"error,omitempty"`
}

//go:embed results.jsonl
var recorded string

// Recorded returns the committed results.
func Recorded() []Result { return facts.Lines[Result]("results.jsonl", recorded) }

// Name names a result's pair.
func (r Result) Name() string {
	return fmt.Sprintf("%s %s: %s to %s", r.Framework, r.Version, r.From, r.To)
}
