package units

import "strconv"

// Significant writes a number with that many significant digits and without an
// exponent: 0.0123, 4560, 1200000.
func Significant(f float64, digits int) string {
	n, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', digits, 64), 64) // what it wrote itself
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// scales are the words for large numbers, the largest first.
var scales = []struct {
	from float64
	word string
}{{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}, {1e3, " thousand"}}

// InWords writes a large number with that many significant digits: 4.233 billion.
func InWords(f float64, digits int) string {
	for _, s := range scales {
		if text := Significant(f/s.from, digits); f >= s.from {
			return text + s.word
		}
	}
	return Significant(f, digits)
}
