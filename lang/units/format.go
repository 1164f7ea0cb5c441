package units

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// String formats the amount exactly, as the shortest text that ParseBytes reads
// back to the same value: "80GiB", "80GB", "1.5MiB".
func (b Bytes) String() string {
	if b == math.MinInt64 { // it has no positive counterpart
		return strconv.FormatInt(math.MinInt64, 10) + "B"
	}
	if b < 0 {
		return "-" + (-b).String()
	}
	best := strconv.FormatInt(int64(b), 10) + "B"
	for _, u := range bytesQuantity.units {
		if s, ok := exact(int64(b), u); ok && len(s) < len(best) {
			best = s
		}
	}
	return best
}

// exact writes n bytes in the unit when at least one of it and at most five
// decimals are needed.
func exact(n int64, u unit) (string, bool) {
	v := new(big.Rat).Quo(new(big.Rat).SetInt64(n), u.factor)
	digits, terminates := v.FloatPrec()
	if v.Cmp(rat(1, 1)) < 0 || !terminates || digits > 5 {
		return "", false
	}
	return v.FloatString(digits) + u.name, true
}

// Human formats the amount for reading, rounded to one decimal of the largest
// fitting binary unit: "74.6 GiB".
func (b Bytes) Human() string {
	sign, n := "", float64(b)
	if n < 0 {
		sign, n = "-", -n
	}
	for _, u := range bytesQuantity.units[:4] {
		f, _ := u.factor.Float64()
		if n >= f*0.99995 {
			return sign + strconv.FormatFloat(n/f, 'f', 1, 64) + " " + u.name
		}
	}
	return sign + strconv.FormatFloat(n, 'f', 0, 64) + " B"
}

// HumanGiB formats the amount in GiB, so that amounts can be compared: "74.6 GiB".
// What would be none of them is in a smaller unit, as of Human.
func (b Bytes) HumanGiB() string {
	if b > 0 && b < GiB/20 {
		return b.Human()
	}
	return strconv.FormatFloat(b.GiB(), 'f', 1, 64) + " GiB"
}

// GiB returns the amount as a number of GiB.
func (b Bytes) GiB() float64 { return float64(b) / float64(GiB) }

// String formats the bandwidth with the shortest digits that ParseBandwidth
// reads back to the same value: "50GB/s".
func (b BytesPerSecond) String() string {
	return scaled(float64(b), bandwidthQuantity.units[:5], ParseBandwidth)
}

// String formats the rate with the shortest digits that ParseFLOPS reads back
// to the same value: "989TFLOPS".
func (f FLOPsPerSecond) String() string {
	return scaled(float64(f), flopsQuantity.units, ParseFLOPS)
}

// String formats the duration with one unit and the shortest digits that
// ParseSeconds reads back to the same value: "30m", "5us", "1.5h".
func (s Seconds) String() string {
	if s == 0 {
		return "0s"
	}
	return scaled(float64(s), secondsQuantity.units, ParseSeconds)
}

// Clock formats the duration as Slurm writes time limits, rounded up to a
// second: "23:59:59", "1-00:00:00" from a day on.
func (s Seconds) Clock() string {
	const day, hour = int64(Day), int64(Hour)
	n := int64(math.Ceil(float64(s)))
	clock := fmt.Sprintf("%02d:%02d:%02d", n%day/hour, n%hour/60, n%60)
	if n < day {
		return clock
	}
	return fmt.Sprintf("%d-%s", n/day, clock)
}

// String formats the share in percent with the shortest digits that ParseShare
// reads back to the same value: "6%".
func (s Share) String() string {
	return scaled(float64(s), shareQuantity.units, ParseShare)
}

// scaled writes v as the shortest text in one of the units that parse reads
// back to v, with at least one of the unit where that is possible.
func scaled[T ~float64](v float64, us []unit, parse func(string) (T, error)) string {
	if v < 0 {
		return "-" + scaled(-v, us, parse)
	}
	best, smallest := "", us[len(us)-1]
	for _, u := range us {
		f, _ := u.factor.Float64()
		if v < f && u.name != smallest.name {
			continue
		}
		if s, ok := shortest(v, f, u.name, parse); ok && (best == "" || len(s) < len(best)) {
			best = s
		}
	}
	if best != "" {
		return best
	}
	f, _ := smallest.factor.Float64()
	return strconv.FormatFloat(v/f, 'g', -1, 64) + smallest.name
}

// shortest writes v in units of f with as few digits as read back to v.
func shortest[T ~float64](v, f float64, name string, parse func(string) (T, error)) (string, bool) {
	for digits := 1; digits <= 17; digits++ {
		n, _ := strconv.ParseFloat(strconv.FormatFloat(v/f, 'g', digits, 64), 64)
		s := trimNumber(n) + name
		if back, err := parse(s); err == nil && float64(back) == v {
			return s, true
		}
	}
	return "", false
}

// trimNumber writes a float, without an exponent where that is readable.
func trimNumber(f float64) string {
	if f != 0 && (f < 1e-5 || f >= 1e16) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
