package units

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// String formats the amount exactly: with the largest binary unit of which it
// is a multiple of at most five decimals, else the largest such decimal unit,
// else in bytes. ParseBytes reads it back to the same value.
func (b Bytes) String() string {
	if b < 0 {
		if b == math.MinInt64 {
			return strconv.FormatInt(int64(b), 10) + "B"
		}
		return "-" + (-b).String()
	}
	for _, u := range bytesQuantity.units {
		if s, ok := exact(int64(b), u); ok {
			return s
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// exact writes n bytes in the unit when at least one of it and at most five
// decimals are needed.
func exact(n int64, u unit) (string, bool) {
	v := new(big.Rat).Quo(new(big.Rat).SetInt64(n), u.factor)
	if v.Cmp(rat(1, 1)) < 0 {
		return "", false
	}
	digits, terminates := v.FloatPrec()
	if !terminates || digits > 5 {
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
// second: "24:00:00", "1-12:00:00" above a day.
func (s Seconds) Clock() string {
	n := int64(math.Ceil(float64(s)))
	clock := func(hours int64) string {
		return pad(hours) + ":" + pad(n/60%60) + ":" + pad(n%60)
	}
	if n > 86400 {
		return strconv.FormatInt(n/86400, 10) + "-" + clock(n/3600%24)
	}
	return clock(n / 3600)
}

func pad(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// String formats the share in percent with the shortest digits that ParseShare
// reads back to the same value: "6%".
func (s Share) String() string {
	return scaled(float64(s), shareQuantity.units, ParseShare)
}

// scaled writes v in the largest unit that gives at least one and reads back
// exactly; the smallest unit otherwise.
func scaled[T ~float64](v float64, us []unit, parse func(string) (T, error)) string {
	if v < 0 {
		return "-" + scaled(-v, us, parse)
	}
	if !IsFinite(v) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	best := ""
	for _, u := range us {
		f, _ := u.factor.Float64()
		if v < f {
			continue
		}
		s := trimNumber(v/f) + u.name
		if back, err := parse(s); err == nil && float64(back) == v && (best == "" || len(s) < len(best)-2) {
			best = s
		}
	}
	if best != "" {
		return best
	}
	return exactScaled(v, us[len(us)-1])
}

// exactScaled writes v in a unit with as many digits as it takes.
func exactScaled(v float64, u unit) string {
	r := new(big.Rat).SetFloat64(v)
	f, _ := r.Quo(r, u.factor).Float64()
	return strconv.FormatFloat(f, 'g', -1, 64) + u.name
}

// trimNumber writes a float without an exponent and without trailing zeros.
func trimNumber(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
