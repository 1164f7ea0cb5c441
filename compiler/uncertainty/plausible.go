package uncertainty

import "math"

// MostOff is how many times as much as predicted, or as little, what is measured may be
// and still tell of the machine: more is no error of a prediction but something else
// that was measured.
const MostOff = 4.0

// Beyond reports whether measured over predicted is off by more than a factor.
func Beyond(ratio, factor float64) bool { return math.Abs(math.Log(ratio)) > math.Log(factor) }
