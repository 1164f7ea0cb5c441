package estimate

import (
	"embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/job"
)

//go:embed data/*.json
var data embed.FS

// Parameter is one number that kernels and links cannot tell: a sustained
// clock, an overhead, a contention. Low and High bound it physically.
type Parameter struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Unit   string  `json:"unit"`
	Fixed  bool    `json:"fixed,omitempty"` // a count, or too much like another to be told from it: no fit changes it
	Only   string  `json:"only,omitempty"`  // the one source whose published steps move it, "none" if none do; "" for several
	Source string  `json:"source"`
}

// Parameters are the values that an Evaluator works with.
type Parameters map[string]float64

// ParameterRecords lists data/parameters.json in its order.
func ParameterRecords() []Parameter { return slices.Clone(parameterRecords()) }

// DefaultParameters are the embedded values.
func DefaultParameters() Parameters { return maps.Clone(defaultParameters()) }

// Every worker of every search asks for the values, so that they are read once.
var (
	parameterRecords  = sync.OnceValue(func() []Parameter { return embedded[[]Parameter]("parameters") })
	defaultParameters = sync.OnceValue(func() Parameters {
		p := Parameters{}
		for _, r := range parameterRecords() {
			if r.Value < r.Low || r.Value > r.High {
				panic(fmt.Sprintf("estimate: %s = %v is outside %v to %v", r.Name, r.Value, r.Low, r.High))
			}
			p[r.Name] = r.Value
		}
		return p
	})
)

// With returns a copy with one value changed, for fitting.
func (p Parameters) With(name string, value float64) Parameters {
	q := maps.Clone(p)
	q[name] = value
	return q
}

// at returns a value that has to exist.
func (p Parameters) at(name string) float64 {
	v, ok := p[name]
	if !ok {
		panic("estimate: no parameter " + name)
	}
	return v
}

// silicon is a chip. What it does on every board is one parameter, so that the
// few rows of each board speak for all.
type silicon struct {
	Capability string // major number
	Name       string
	Watts      float64   // of the board that its parameters speak of
	SMs        int       // of that board
	Most       float64   // watts of the strongest board whose steps were measured
	Held       []float64 // watts below the board's, of boards whose steps were measured
	Source     string
}

// silicons are data/silicon.json: the chips, the share of multiprocessors below
// which a board of one was cut, and the GPUs whose host is a Grace CPU.
var silicons = embedded[struct {
	Cut struct {
		Value  float64
		Source string
	}
	Grace struct {
		GPUs   []string // catalogue names
		Source string
	}
	Chips []silicon
}]("silicon")

// siliconOf is the chip of a GPU; without a name where no rows speak of it.
func siliconOf(gpu *job.GPU) silicon {
	major, _, _ := strings.Cut(gpu.ComputeCapability, ".")
	for _, s := range silicons.Chips {
		if s.Capability == major {
			return s
		}
	}
	return silicon{}
}

// ofSilicon is a parameter of a family for a GPU.
func (p Parameters) ofSilicon(family string, gpu *job.GPU) float64 {
	return p.at(p.nameOfSilicon(family, gpu))
}

// nameOfSilicon is which parameter of a family holds for a GPU: that of its silicon, or
// the default.
func (p Parameters) nameOfSilicon(family string, gpu *job.GPU) string {
	name := family + "." + siliconOf(gpu).Name
	if _, ok := p[name]; ok {
		return name
	}
	return family + ".default"
}

// ofHost is how much longer a GPU's host takes to launch than those that the parameters
// of the host speak of.
func (p Parameters) ofHost(gpu *job.GPU) float64 {
	if slices.Contains(silicons.Grace.GPUs, gpu.Catalog) {
		return p.at("host_grace")
	}
	return 1
}

// ofPower is the rate of GEMMs at a board's power limit over that of the board that
// its silicon's parameters speak of, by the exponent of their data type.
func (p Parameters) ofPower(exponent string, gpu *job.GPU) float64 {
	return math.Pow(powerOf(gpu), p.ofSilicon(exponent, gpu))
}

// powerOf is a board's power limit over that of the board that its silicon's
// parameters speak of, for as many multiprocessors: those that were cut draw nothing.
// A board of more than any that was measured counts as the strongest of those: past it
// products near the measured kernels, which ran in bursts that no limit held back, and
// the power of the rate would pass them. 1 where either is not known.
func powerOf(gpu *job.GPU) float64 {
	s := siliconOf(gpu)
	if s.Watts == 0 || gpu.Power == 0 {
		return 1
	}
	limit := float64(gpu.Power) / s.Watts
	if left := float64(gpu.SMs) / float64(s.SMs); left > 0 && left < silicons.Cut.Value {
		limit /= left
	}
	return min(limit, s.Most/s.Watts)
}

// embedded reads a file of data.
func embedded[T any](name string) T {
	text, err := data.ReadFile("data/" + name + ".json")
	if err != nil {
		panic("estimate: " + err.Error())
	}
	return facts.One[T]("estimate: "+name+".json", string(text))
}
