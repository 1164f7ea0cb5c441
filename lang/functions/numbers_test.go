package functions

import (
	"math"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestAgreed: fifteen digits, whole numbers untouched, errors as they were.
func TestAgreed(t *testing.T) {
	for _, c := range []struct {
		name       string
		a, b, want float64
	}{
		{"log", 1000, 10, 3}, // 2.9999999999999996 where the quotient of two logarithms is left as it is
		{"log", 7, 3, 1.77124374916142}, {"log", 16, 2, 4}, {"log", 0, 2, math.Inf(-1)},
		{"pow", 10, -3.5, 0.000316227766016838}, {"pow", 2, 53, 9007199254740992}, {"pow", 2, 62, 1 << 62}, {"pow", 3, 2, 9},
	} {
		got, err := table[c.name].Call([]cty.Value{cty.NumberFloatVal(c.a), cty.NumberFloatVal(c.b)})
		if err != nil || !got.RawEquals(cty.NumberFloatVal(c.want)) {
			t.Errorf("%s(%g, %g) = %#v, %v, want %v", c.name, c.a, c.b, got, err, c.want)
		}
	}
	if _, err := table["log"].Call([]cty.Value{cty.StringVal("x"), cty.NumberIntVal(2)}); err == nil {
		t.Error("a logarithm of text")
	}
	if got, err := table["pow"].Call([]cty.Value{cty.UnknownVal(cty.Number), cty.NumberIntVal(2)}); err != nil || got.IsKnown() {
		t.Errorf("a power of what is not known is %#v, %v", got, err)
	}
}
