package units

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// ofDigits is the number that nine digits of text say.
func ofDigits(x float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', significant-1, 64), 64)
	return v
}

// TestRounded: nine digits are kept, whatever the exponent.
func TestRounded(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{
		{0, 0}, {1, 1}, {30.891130730055234, 30.8911307}, {0.041125938648337246, 0.0411259386}, {0.04112593864833722, 0.0411259386},
		{999999999.6, 1e9}, {0.09999999999, 0.1}, {-20.148559906124913, -20.1485599}, {1.23456789012e-30, 1.23456789e-30}, {9.8765432151e25, 9.87654322e25},
		{math.Inf(1), math.Inf(1)}, {math.Copysign(0, -1), 0},
	} {
		if got := Rounded(c.x); got != c.want {
			t.Errorf("Rounded(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	if !math.IsNaN(Rounded(math.NaN())) {
		t.Error("Rounded(NaN) is a number")
	}
}

// A rounded number is the float64 nearest to its nine digits, so that it is
// written with them; it stays what it is; neighbours agree; order is kept.
func TestRoundedProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	last, rounded := 0.0, 0.0
	for range 200000 {
		x := math.Pow(10, r.Float64()*50-25)
		got := Rounded(x)
		if got != ofDigits(x) && math.Abs(got-x) > 0.5000001*math.Pow(10, math.Floor(math.Log10(x))-significant+1) {
			t.Fatalf("Rounded(%v) = %v, far off", x, got)
		}
		if got != ofDigits(got) || Rounded(got) != got || Rounded(-x) != -got {
			t.Fatalf("Rounded(%v) = %v is not a number of nine digits that stays", x, got)
		}
		if x < last != (got < rounded) && got != rounded {
			t.Fatalf("order: %v, %v became %v, %v", last, x, rounded, got)
		}
		last, rounded = x, got
	}
}

// Beside its own digits a number has those of the whole it is part of.
func TestRoundedTo(t *testing.T) {
	for _, c := range []struct{ x, scale, want float64 }{
		{3.552713678800501e-15, 29.8, 0}, {-1e-12, 1, 0}, {0.041125938648337246, 29.8, 0.0411259}, {29.81234567890, 1, 29.81234568}, {1234.5, 3e10, 1200}, {1.5, 0, 1.5},
	} {
		if got := RoundedTo(c.x, c.scale); got != c.want || math.Signbit(got) != (c.want < 0) {
			t.Errorf("RoundedTo(%v, %v) = %v, want %v", c.x, c.scale, got, c.want)
		}
	}
}
