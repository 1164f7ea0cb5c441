package units

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/ndc-dev/ndc/tools/draws"
)

// TestParseBytes: GiB and GB are different units, and parts of a byte are rounded.
func TestParseBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want Bytes
	}{
		{"80GiB", 80 << 30},
		{"80 GB", 80e9},
		{"79.6GiB", 85469849190}, // 79.6 × 2³⁰ = 85469849190.4
		{"81559MiB", 85520809984},
		{"1TiB", 1 << 40},
		{"0B", 0},
		{"1.5KiB", 1536},
		{"2e3KB", 2e6},
		{"8EB", -1},
		{"8388607.99TiB", 9223372025859659530}, // 2⁶³ − 0.01 × 2⁴⁰ = 9223372025859659530.24
		{"8388608TiB", -1},                     // 2⁶³
		{"", -1}, {"GiB", -1}, {"-1GiB", -1}, {"80", -1}, {"80 giB", -1}, {"80GiBs", -1}, {"1,5GiB", -1}, {"0x10B", -1}, {"1e400B", -1}, {".5GiB", -1},
	} {
		got, err := ParseBytes(c.text)
		if (err != nil) != (c.want < 0) || err == nil && got != c.want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", c.text, got, err, c.want)
		}
	}
}

// TestParseOthers: bandwidths, rates, durations, shares and powers are read in each of their units.
func TestParseOthers(t *testing.T) {
	for _, c := range []struct {
		text  string
		parse func(string) (float64, error)
		want  float64
	}{
		{"400Gb/s", number(ParseBandwidth), 50e9},
		{"3.35TB/s", number(ParseBandwidth), 3.35e12},
		{"1GiB/s", number(ParseBandwidth), 1 << 30},
		{"1b/s", number(ParseBandwidth), 0.125},
		{"989TFLOPS", number(ParseFLOPS), 989e12},
		{"1.5PFLOPS", number(ParseFLOPS), 1.5e15},
		{"5us", number(ParseSeconds), 5e-6},
		{"30m", number(ParseSeconds), 1800},
		{"1h30m", number(ParseSeconds), 5400},
		{"1d 2h", number(ParseSeconds), 93600},
		{"24:00:00", number(ParseSeconds), 86400},
		{"1-12:00:00", number(ParseSeconds), 129600},
		{"100:00:01", number(ParseSeconds), 360001},
		{"6%", number(ParseShare), 0.06},
		{"100%", number(ParseShare), 1},
		{"700W", number(ParseWatts), 700},
		{"1.2kW", number(ParseWatts), 1200},
	} {
		if got, err := c.parse(c.text); err != nil || got != c.want {
			t.Errorf("parsing %q = %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

func number[T ~float64](parse func(string) (T, error)) func(string) (float64, error) {
	return func(s string) (float64, error) {
		v, err := parse(s)
		return float64(v), err
	}
}

// TestParseErrors: a text that is no quantity says why, and how it is written.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text  string
		parse func(string) (float64, error)
		says  string
	}{
		{"30", number(ParseSeconds), "has no unit"},
		{"30m1h", number(ParseSeconds), "large to small"},
		{"30m30m", number(ParseSeconds), "large to small"},
		{"12:30", number(ParseSeconds), "HH:MM:SS"},
		{"1-24:00:00", number(ParseSeconds), "hours above 23"},
		{"00:60:00", number(ParseSeconds), "above 59"},
		{"::", number(ParseSeconds), "HH:MM:SS"},
		{"-5s", number(ParseSeconds), `"-5s" is negative`},
		{"5µs", number(ParseSeconds), `Did you mean "us"?`},
		{"5 minutes", number(ParseSeconds), `Did you mean "m"?`},
		{"400Gbps", number(ParseBandwidth), `Did you mean "Gb/s"?`},
		{"400GB", number(ParseBandwidth), `Did you mean "GB/s"?`},
		{"400gb/s", number(ParseBandwidth), `Did you mean "GB/s" or "Gb/s"?`},
		{"400gbps", number(ParseBandwidth), `Did you mean "GB/s" or "Gb/s"?`},
		{"400gb", number(ParseBandwidth), `Did you mean "GB/s" or "Gb/s"?`},
		{"400Gbit/s", number(ParseBandwidth), `Did you mean "Gb/s"?`},
		{"989tflops", number(ParseFLOPS), `Did you mean "TFLOPS"?`},
		{"101%", number(ParseShare), "more than the whole"},
		{"0.06", number(ParseShare), `such as "6%"`},
		{"80", number(ParseFLOPS), `such as "80TFLOPS"`},
		{strings.Repeat("9", 100) + "s", number(ParseSeconds), "too long"},
	} {
		_, err := c.parse(c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("parsing %q: error %v, want one with %q", c.text, err, c.says)
		}
	}
}

// TestString: quantities are written with the fewest digits that give them again.
func TestString(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{(80 * GiB).String(), "80GiB"},
		{(80 * GB).String(), "80GB"},
		{Bytes(1536 * 1024).String(), "1.5MiB"},
		{Bytes(1).String(), "1B"},
		{Bytes(0).String(), "0B"},
		{Bytes(-1 << 30).String(), "-1GiB"},
		{Bytes(math.MinInt64).String(), "-9223372036854775808B"},
		{Bytes(85520809984).String(), "81559MiB"},
		{Bytes(85469849190).String(), "85469849190B"},
		{(80 * GiB).Human(), "80.0 GiB"},
		{Bytes(80103079903).Human(), "74.6 GiB"},
		{Bytes(-512).Human(), "-512 B"},
		{(1536 * GiB).HumanGiB(), "1536.0 GiB"},
		{(52 * MiB).HumanGiB(), "0.1 GiB"},
		{(51 * MiB).HumanGiB(), "51.0 MiB"},
		{Bytes(0).HumanGiB(), "0.0 GiB"},
		{(-80 * GiB).HumanGiB(), "-80.0 GiB"},
		{BytesPerSecond(50e9).String(), "50GB/s"},
		{BytesPerSecond(3.35e12).String(), "3.35TB/s"},
		{FLOPsPerSecond(989e12).String(), "989TFLOPS"},
		{Seconds(1800).String(), "30m"},
		{Seconds(5e-6).String(), "5us"},
		{Seconds(90).String(), "90s"},
		{Seconds(0).String(), "0s"},
		{Seconds(5400).String(), "90m"},
		{Share(0.06).String(), "6%"},
		{Share(0.0625).String(), "6.25%"},
		{Seconds(86399).Clock(), "23:59:59"},
		{Day.Clock(), "1-00:00:00"},
		{Seconds(129600).Clock(), "1-12:00:00"},
		{Seconds(1.2).Clock(), "00:00:02"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestRoundTrip: what is printed reads back to the same value.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.Int64Range(0, math.MaxInt64).Draw(t, "bytes"))
		if back, err := ParseBytes(b.String()); err != nil || back != b {
			t.Fatalf("%d prints as %s, which reads as %d, %v", b, b, back, err)
		}
		f := rapid.Float64Range(1e-12, 1e25).Draw(t, "number")
		roundTrip(t, BytesPerSecond(f), ParseBandwidth)
		roundTrip(t, FLOPsPerSecond(f), ParseFLOPS)
		roundTrip(t, Seconds(f), ParseSeconds)
		roundTrip(t, Share(rapid.Float64Range(0, 1).Draw(t, "share")), ParseShare)
	})
}

type quantityType interface {
	~float64
	String() string
}

func roundTrip[T quantityType](t *rapid.T, v T, parse func(string) (T, error)) {
	back, err := parse(v.String())
	if err != nil || math.Abs(float64(back-v)) > 1e-15*float64(v) {
		t.Fatalf("%g prints as %s, which reads as %g, %v", float64(v), v, float64(back), err)
	}
}

// FuzzUnits: no text panics, and what parses prints as text that parses to
// the same value.
func FuzzUnits(f *testing.F) {
	for _, s := range []string{"80GiB", "79.6GiB", "400Gb/s", "3.35TB/s", "989TFLOPS", "5us", "24:00:00", "1-12:00:00", "6%", "1h30m", "1e99s", "0.1B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if b, err := ParseBytes(s); err == nil {
			if back, err := ParseBytes(b.String()); err != nil || back != b {
				t.Errorf("%q is %d, prints as %s and reads as %d, %v", s, b, b, back, err)
			}
		}
		fuzzOne(t, s, ParseBandwidth)
		fuzzOne(t, s, ParseFLOPS)
		fuzzOne(t, s, ParseSeconds)
		fuzzOne(t, s, ParseShare)
	})
}

func fuzzOne[T quantityType](t *testing.T, s string, parse func(string) (T, error)) {
	v, err := parse(s)
	if err != nil {
		return
	}
	if v < 0 || !IsFinite(float64(v)) {
		t.Errorf("%q parses as %g", s, float64(v))
	}
	back, err := parse(v.String())
	if err != nil || math.Abs(float64(back-v)) > 1e-14*float64(v) {
		t.Errorf("%q is %g, prints as %s and reads as %g, %v", s, float64(v), v, float64(back), err)
	}
}

// TestCount: one thing is told in the singular, and any other number in the plural.
func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 nodes": Count(0, "node"), "1 node": Count(1, "node"), "2 more stages": Count(2, "more stage"),
		"1 micro-batch": Count(1, "micro-batch"), "3 micro-batches": Count(3, "micro-batch"), "2 processes": Count(int64(2), "process"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestList: a word stands before the last of several names, and nothing beside a single one.
func TestList(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"}} {
		if got := List(names, "and"); got != want {
			t.Errorf("%q are %q, want %q", names, got, want)
		}
	}
}
