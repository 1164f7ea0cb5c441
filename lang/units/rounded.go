package units

import (
	"math"
	"strconv"
)

// significant is how many digits of a computed number that ndc keeps. A
// processor that fuses a multiplication with an addition (arm64, GOAMD64=v3)
// changes the last of some sixteen digits; what is compared, decided or written
// has nine, which all processors agree on.
const significant = 9

// Rounded returns x with nine significant digits. It keeps order: of two
// numbers the larger is never the smaller when both are rounded.
func Rounded[T ~float64](x T) T { return RoundedTo(x, x) }

// RoundedTo returns x to the last of the nine digits that scale has. It is for
// what is left of a difference or is a part of a whole: the error of x is that
// of scale, and where nothing should be left, nothing is.
func RoundedTo[T ~float64](x, scale T) T {
	e := exponent(math.Abs(float64(scale)))
	if e == none {
		return T(rounded(float64(x)))
	}
	n := float64(x)
	switch decimals := significant - 1 - e; {
	case decimals > 0:
		n = math.Round(n*tens[decimals]) / tens[decimals]
	default:
		n = math.Round(n/tens[-decimals]) * tens[-decimals]
	}
	if n == 0 {
		return 0 // not -0
	}
	return T(n)
}

// tens are the powers of ten that a float64 holds exactly.
var tens = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
	1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// none is the exponent of what has no exact power of ten.
const none = math.MaxInt

// exponent is that of the first decimal digit of x: 0 for 1 to 10.
func exponent(x float64) int {
	switch {
	case x >= 1 && x < tens[len(tens)-1]:
		e := 0
		for x >= tens[e+1] {
			e++
		}
		return e
	case x < 1 && x >= 1/tens[len(tens)-significant-1]:
		e := 1
		for x < 1/tens[e] {
			e++
		}
		return -e
	}
	return none
}

// rounded is Rounded by way of text, for numbers too large or too small for
// tens.
func rounded(x float64) float64 {
	if x == 0 {
		return 0
	}
	v, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', significant-1, 64), 64)
	if err != nil {
		return x
	}
	return v
}
