package units

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// unit is one spelling of a unit with its exact factor to the base unit.
type unit struct {
	name   string
	factor *big.Rat
}

// quantity is one kind of quantity: its units, largest first, and an example
// for messages.
type quantity struct {
	noun    string
	units   []unit
	example string
}

func rat(num, den int64) *big.Rat { return big.NewRat(num, den) }

func pow(base, exponent int64) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil))
}

var (
	bytesQuantity = quantity{"an amount of memory", []unit{
		{"TiB", pow(1024, 4)}, {"GiB", pow(1024, 3)}, {"MiB", pow(1024, 2)}, {"KiB", pow(1024, 1)},
		{"TB", pow(10, 12)}, {"GB", pow(10, 9)}, {"MB", pow(10, 6)}, {"KB", pow(10, 3)}, {"B", pow(10, 0)},
	}, "80GiB"}
	bandwidthQuantity = quantity{"a bandwidth", []unit{
		{"TB/s", pow(10, 12)}, {"GB/s", pow(10, 9)}, {"MB/s", pow(10, 6)}, {"KB/s", pow(10, 3)}, {"B/s", pow(10, 0)},
		{"TiB/s", pow(1024, 4)}, {"GiB/s", pow(1024, 3)}, {"MiB/s", pow(1024, 2)}, {"KiB/s", pow(1024, 1)},
		{"Tb/s", rat(1e12, 8)}, {"Gb/s", rat(1e9, 8)}, {"Mb/s", rat(1e6, 8)}, {"Kb/s", rat(1e3, 8)}, {"b/s", rat(1, 8)},
	}, "400Gb/s"}
	flopsQuantity = quantity{"a compute rate", []unit{
		{"EFLOPS", pow(10, 18)}, {"PFLOPS", pow(10, 15)}, {"TFLOPS", pow(10, 12)},
		{"GFLOPS", pow(10, 9)}, {"MFLOPS", pow(10, 6)}, {"FLOPS", pow(10, 0)},
	}, "989TFLOPS"}
	secondsQuantity = quantity{"a duration", []unit{
		{"d", rat(86400, 1)}, {"h", rat(3600, 1)}, {"m", rat(60, 1)}, {"s", rat(1, 1)},
		{"ms", rat(1, 1e3)}, {"us", rat(1, 1e6)}, {"ns", rat(1, 1e9)},
	}, "30m"}
	wattsQuantity = quantity{"a power", []unit{{"kW", rat(1000, 1)}, {"W", rat(1, 1)}}, "700W"}
	shareQuantity = quantity{"a share", []unit{{"%", rat(1, 100)}}, "6%"}
)

// names lists the units for a message.
func (q quantity) names() string {
	names := make([]string, len(q.units))
	for i, u := range q.units {
		names[i] = u.name
	}
	return List(names, "or")
}

// hint tells the user how to write the quantity, with the user's own number
// where that is likely to be meant.
func (q quantity) hint(number string) string {
	example := q.example
	if n := len(number); n > 0 && n < 6 && !strings.ContainsAny(number, "eE") {
		example = number + strings.TrimLeft(q.example, "0123456789")
		if f, err := strconv.ParseFloat(number, 64); q.units[0].name == "%" && err == nil && f < 1 {
			example = trimNumber(math.Round(f*1e4)/100) + "%"
		}
	}
	also := ""
	if q.noun == "a duration" {
		also = ", or as HH:MM:SS or D-HH:MM:SS"
	}
	return fmt.Sprintf("Write %s as a string with its unit (%s), such as %q%s.", q.noun, q.names(), example, also)
}

// fail is an error of two sentences for the user: what is wrong, and how the
// quantity is written.
func (q quantity) fail(format string, args ...any) error {
	return errors.New(fmt.Sprintf(format, args...) + " " + q.hint(""))
}

// maxQuantity bounds the text: longer numbers are mistakes, and exact
// arithmetic on them would be slow.
const maxQuantity = 64

// parse reads NUMBER UNIT, with optional blanks between them, exactly.
func (q quantity) parse(text string) (*big.Rat, error) {
	s := strings.TrimSpace(text)
	if len(s) > maxQuantity {
		return nil, q.fail("%q is too long to be %s.", text[:16]+"…", q.noun)
	}
	n := numberLength(s)
	number, name := s[:n], strings.TrimSpace(s[n:])
	switch {
	case strings.HasPrefix(s, "-"):
		return nil, q.fail("%q is negative.", text)
	case n == 0:
		return nil, q.fail("%q does not start with a number.", text)
	case name == "":
		return nil, errors.New("The number " + number + " has no unit. " + q.hint(number))
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return nil, q.fail("%q is not a number.", number)
	}
	for _, u := range q.units {
		if u.name == name {
			return value.Mul(value, u.factor), nil
		}
	}
	return nil, q.fail("%s", q.unknownUnit(name))
}

// usual maps other spellings of units to those of the language.
var usual = map[string]string{
	"µs": "us", "μs": "us", "usec": "us", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m",
	"minute": "m", "minutes": "m", "hr": "h", "hrs": "h", "hour": "h", "hours": "h", "day": "d", "days": "d",
	"percent": "%", "watt": "W", "watts": "W", "tf": "TFLOPS", "tflop/s": "TFLOPS", "flop/s": "FLOPS", "pflop/s": "PFLOPS",
	"g": "GiB", "gi": "GiB", "t": "TiB", "m": "MiB", "mbit/s": "Mb/s", "gbit/s": "Gb/s", "tbit/s": "Tb/s",
}

// unknownUnit explains a unit that is none, and catches usual spellings. Of those that
// differ by the case of a letter alone it names every one: GB/s is eight times Gb/s.
func (q quantity) unknownUnit(name string) string {
	low := strings.ToLower(name)
	meant := q.named(func(u string) bool {
		return u == usual[low] || u == name+"/s" || u == strings.TrimSuffix(name, "ps")+"/s"
	})
	if len(meant) == 0 {
		meant = q.named(func(u string) bool {
			u = strings.ToLower(u)
			return u == low || u == low+"/s" || u == strings.TrimSuffix(low, "ps")+"/s"
		})
	}
	if len(meant) == 0 {
		return fmt.Sprintf("%q is not a unit of %s.", name, strings.TrimPrefix(strings.TrimPrefix(q.noun, "an "), "a "))
	}
	return fmt.Sprintf("%q is not a unit here. Did you mean %s?", name, strings.Join(meant, " or "))
}

// named quotes the units whose names are meant.
func (q quantity) named(is func(name string) bool) []string {
	var list []string
	for _, u := range q.units {
		if is(u.name) {
			list = append(list, strconv.Quote(u.name))
		}
	}
	return list
}

// numberLength is the length of the decimal number that s starts with: digits
// with an optional fraction and an optional exponent of at most three digits.
func numberLength(s string) int {
	n := digits(s)
	if n == 0 {
		return 0
	}
	if n < len(s) && s[n] == '.' {
		fraction := digits(s[n+1:])
		if fraction == 0 {
			return n
		}
		n += 1 + fraction
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		e := n + 1
		if e < len(s) && (s[e] == '+' || s[e] == '-') {
			e++
		}
		if exponent := digits(s[e:]); exponent >= 1 && exponent <= 3 {
			n = e + exponent
		}
	}
	return n
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// ParseBytes reads an amount of memory such as "80GiB", "79.6GiB" or "1TB".
// GB is 10⁹ bytes, GiB 2³⁰. A fraction of a byte is rounded to the nearest
// byte.
func ParseBytes(text string) (Bytes, error) {
	v, err := bytesQuantity.parse(text)
	if err != nil {
		return 0, err
	}
	rounded := new(big.Int).Div(
		new(big.Int).Add(new(big.Int).Lsh(v.Num(), 1), v.Denom()),
		new(big.Int).Lsh(v.Denom(), 1))
	if !rounded.IsInt64() {
		return 0, bytesQuantity.fail("%q is more than 8 EiB.", text)
	}
	return Bytes(rounded.Int64()), nil
}

// ParseBandwidth reads a bandwidth such as "400Gb/s" (bits) or "3.35TB/s"
// (bytes).
func ParseBandwidth(text string) (BytesPerSecond, error) {
	v, err := bandwidthQuantity.float(text)
	return BytesPerSecond(v), err
}

// ParseFLOPS reads a compute rate such as "989TFLOPS".
func ParseFLOPS(text string) (FLOPsPerSecond, error) {
	v, err := flopsQuantity.float(text)
	return FLOPsPerSecond(v), err
}

// ParseWatts reads a power such as "700W".
func ParseWatts(text string) (Watts, error) {
	v, err := wattsQuantity.float(text)
	return Watts(v), err
}

// ParseShare reads a share such as "6%" as 0.06. Shares above 100 % are an
// error.
func ParseShare(text string) (Share, error) {
	v, err := shareQuantity.float(text)
	if err == nil && v > 1 {
		return 0, shareQuantity.fail("%q is more than the whole.", text)
	}
	return Share(v), err
}

// float parses and rounds to the nearest float64.
func (q quantity) float(text string) (float64, error) {
	v, err := q.parse(text)
	if err != nil {
		return 0, err
	}
	f, _ := v.Float64()
	if !IsFinite(f) {
		return 0, q.fail("%q is too large.", text)
	}
	return f, nil
}

// ParseSeconds reads a duration: a number with a unit ("5us", "30m", "1.5h"),
// several of them from large to small ("1h30m"), HH:MM:SS ("24:00:00") or
// D-HH:MM:SS ("1-12:00:00").
func ParseSeconds(text string) (Seconds, error) {
	if strings.Contains(text, ":") {
		return parseClock(text)
	}
	rest := strings.TrimSpace(text)
	if len(rest) > maxQuantity || strings.HasPrefix(rest, "-") { // which fails whole, not by its first part
		_, err := secondsQuantity.parse(text)
		return 0, err
	}
	total := new(big.Rat)
	last := len(secondsQuantity.units) // forces the first unit to be accepted
	for first := true; first || rest != ""; first = false {
		part := rest[:partLength(rest)]
		v, err := secondsQuantity.parse(part)
		if err != nil {
			return 0, err
		}
		rank := secondsQuantity.rank(part)
		if !first && rank <= last {
			return 0, secondsQuantity.fail("%q does not go from large to small units.", text)
		}
		last = rank
		total.Add(total, v)
		rest = strings.TrimSpace(rest[len(part):])
	}
	f, _ := total.Float64()
	if !IsFinite(f) {
		return 0, secondsQuantity.fail("%q is too large.", text)
	}
	return Seconds(f), nil
}

// rank is the position of the unit that part ends with; 0 is the largest.
func (q quantity) rank(part string) int {
	name := strings.TrimSpace(strings.TrimSpace(part)[numberLength(strings.TrimSpace(part)):])
	for i, u := range q.units {
		if u.name == name {
			return i
		}
	}
	return -1
}

// partLength is the length of the first number with its unit.
func partLength(s string) int {
	n := numberLength(s)
	for n < len(s) && (s[n] < '0' || s[n] > '9') {
		n++
	}
	return n
}

// parseClock reads HH:MM:SS and D-HH:MM:SS.
func parseClock(text string) (Seconds, error) {
	days, clock, dashed := strings.Cut(strings.TrimSpace(text), "-")
	if !dashed {
		days, clock = "0", days
	}
	parts := strings.Split(clock, ":")
	if len(parts) != 3 {
		return 0, secondsQuantity.fail("%q is not HH:MM:SS or D-HH:MM:SS; all three of hours, minutes and seconds are needed.", text)
	}
	var n [4]int64
	for i, p := range append([]string{days}, parts...) {
		if len(p) == 0 || len(p) > 6 || digits(p) != len(p) {
			return 0, secondsQuantity.fail("%q is not HH:MM:SS or D-HH:MM:SS.", text)
		}
		fmt.Sscanf(p, "%d", &n[i])
	}
	if n[2] > 59 || n[3] > 59 || dashed && n[1] > 23 {
		return 0, secondsQuantity.fail("%q has minutes or seconds above 59, or hours above 23 beside days.", text)
	}
	return Seconds(n[0]*86400 + n[1]*3600 + n[2]*60 + n[3]), nil
}

// IsFinite reports whether f is a number that arithmetic can go on with.
func IsFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
