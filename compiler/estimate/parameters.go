package estimate

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
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
	Source string  `json:"source"`
}

// Parameters are the values that an Evaluator works with.
type Parameters map[string]float64

// ParameterRecords lists data/parameters.json in its order.
func ParameterRecords() []Parameter {
	var records []Parameter
	readJSON("data/parameters.json", &records)
	return records
}

// DefaultParameters are the embedded values.
func DefaultParameters() Parameters {
	p := Parameters{}
	for _, r := range ParameterRecords() {
		if r.Value < r.Low || r.Value > r.High {
			panic(fmt.Sprintf("estimate: %s = %v is outside %v to %v", r.Name, r.Value, r.Low, r.High))
		}
		p[r.Name] = r.Value
	}
	return p
}

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

// ofGPU is a parameter of a family for a GPU: its own, or that of the longest
// catalogue name that it begins with, or the default.
func (p Parameters) ofGPU(family, gpu string) float64 {
	best, value := "", p.at(family+".default")
	for name, v := range p {
		of, ok := strings.CutPrefix(name, family+".")
		if ok && strings.HasPrefix(gpu, of) && len(of) > len(best) {
			best, value = of, v
		}
	}
	return value
}

// readJSON reads an embedded file.
func readJSON(name string, into any) {
	b, err := data.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		panic("estimate: " + name + ": " + err.Error())
	}
}
