package units

import "testing"

// TestSignificant: numbers for people have no exponent.
func TestSignificant(t *testing.T) {
	for _, c := range []struct {
		f      float64
		digits int
		plain  string
		words  string
	}{
		{0, 3, "0", "0"}, {0.012345, 2, "0.012", "0.012"}, {100, 2, "100", "100"}, {999.9, 3, "1000", "1000"}, {1234, 3, "1230", "1.23 thousand"},
		{4.2329e9, 4, "4233000000", "4.233 billion"}, {1e6, 3, "1000000", "1 million"}, {1.5e13, 3, "15000000000000", "15 trillion"},
	} {
		if got := Significant(c.f, c.digits); got != c.plain {
			t.Errorf("Significant(%g, %d) = %s, want %s", c.f, c.digits, got, c.plain)
		}
		if got := InWords(c.f, c.digits); got != c.words {
			t.Errorf("InWords(%g, %d) = %s, want %s", c.f, c.digits, got, c.words)
		}
	}
}
