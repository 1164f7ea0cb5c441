// Package units gives quantities types, so that GiB and GB, bits and bytes,
// seconds and tokens are never mixed up. It parses the strings with units that
// users write and formats values for people. It knows nothing else; the job
// language around it lives in package lang.
package units

// Bytes is an amount of memory or traffic.
type Bytes int64

// Binary and decimal multiples of a byte.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
	KB  Bytes = 1e3
	MB  Bytes = 1e6
	GB  Bytes = 1e9
	TB  Bytes = 1e12
)

// BytesPerSecond is a bandwidth, one direction unless stated otherwise.
type BytesPerSecond float64

// FLOPs is a count of floating-point operations.
type FLOPs float64

// FLOPsPerSecond is a compute rate, dense.
type FLOPsPerSecond float64

// Seconds is a duration.
type Seconds float64

// Multiples of a second.
const (
	Minute Seconds = 60
	Hour           = 60 * Minute
	Day            = 24 * Hour
)

// Hours is the duration as a number of hours.
func (s Seconds) Hours() float64 { return float64(s / Hour) }

// Times is n such durations one after the other; n may be a fraction.
func (s Seconds) Times(n float64) Seconds { return Seconds(n) * s }

// At is how long what takes s takes at a rate, a ratio of the rate that s is for.
func (s Seconds) At(rate Ratio) Seconds { return s / Seconds(rate) }

// Ratio is one quantity over another of its kind: a rate over a measured one, a
// factor.
type Ratio float64

// Of is the ratio of a duration.
func (r Ratio) Of(s Seconds) Seconds { return Seconds(r) * s }

// Share is a part of a whole, 0 to 1.
type Share float64

// Watts is electric power.
type Watts float64
