package uncertainty

import (
	_ "embed" // for data/selection.json

	"github.com/ndc-dev/ndc/facts"
)

//go:embed data/selection.json
var selectionJSON string

// selection is by how much longer layouts took that a prediction chose among some
// others than it said, beyond what those others took.
var selection = facts.One[struct {
	Mean, Error float64 // of the logarithm
	Among       int     // the chosen one counted
	Source      string
}]("uncertainty: data/selection.json", selectionJSON)

// Selection is the mean of the logarithm of what a step takes over what is
// predicted of it, beyond the errors of every step, because it was chosen as the
// fastest of n layouts: the errors among them that speak for one are more likely the
// reason why it was chosen. It grows as the largest of n errors does, in
// proportion to what was measured, and is zero where there was no choice.
func Selection(n int) float64 {
	return selection.Mean * Largest(n) / Largest(selection.Among)
}

// Largest is about the mean of the largest of n numbers that are drawn from a
// standard normal distribution (Blom 1958, Statistical Estimates and Transformed
// Beta-Variables): zero for one, 1.6 for eleven.
func Largest(n int) float64 {
	return Deviations((float64(max(n, 1)) - 0.375) / (float64(max(n, 1)) + 0.25))
}
