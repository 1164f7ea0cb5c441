package main

import (
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/memory"
	"github.com/ndc-dev/ndc/lang/units"
)

// result is one row compared.
type result struct {
	ID      string         `json:"id"`
	Source  string         `json:"source"`
	Status  string         `json:"status"` // predicted, skipped
	Reason  string         `json:"reason,omitempty"`
	Memory  *memoryResult  `json:"memory,omitempty"`
	Time    *timeResult    `json:"time,omitempty"`
	Verdict *verdictResult `json:"verdict,omitempty"`

	uncertain bool
	example   *example
}

type memoryResult struct {
	Definition     string  `json:"definition"`
	MeasuredBytes  float64 `json:"measured_bytes"`
	PredictedBytes float64 `json:"predicted_bytes"`
}

type timeResult struct {
	MeasuredSeconds  float64 `json:"measured_seconds"`
	PredictedSeconds float64 `json:"predicted_seconds"`
}

type verdictResult struct {
	Ran      bool `json:"ran"`
	Feasible bool `json:"feasible"`
}

// predictAll predicts every example.
func predictAll(examples []example, p estimate.Parameters) []result {
	out := make([]result, len(examples))
	for i := range examples {
		out[i] = predict(&examples[i], p)
	}
	return out
}

// predict compares one example.
func predict(x *example, p estimate.Parameters) result {
	r := result{ID: x.row.ID, Source: strings.TrimSuffix(x.row.file, ".jsonl"), Status: "skipped", Reason: x.skip, uncertain: x.row.LayoutUncertain, example: x}
	if x.skip != "" {
		return r
	}
	r.Status = "predicted"
	d := estimate.NewWith(x.job, x.target, p).Describe(&x.layout, &x.exec)
	if t := stepSeconds(x.row); t > 0 {
		r.Time = &timeResult{t, float64(d.Time.StepSeconds)}
	}
	if x.state != nil {
		d.Memory = memory.New(x.job, x.state).Memory(&x.layout, &x.exec)
	}
	peak := &d.Memory.Peak
	r.Memory = memoryOf(x.row, map[string]units.Bytes{"allocated": peak.AllocatedBytes, "reserved": peak.ReservedBytes, "device": peak.DeviceBytes})
	fits := peak.DeviceRangeBytes[1] <= x.job.Cluster.GPU.Memory
	if peak.DeviceBytes > 0 {
		r.Verdict = &verdictResult{Ran: !x.row.oom(), Feasible: fits}
	}
	return r
}

// oom reports whether the run ran out of memory.
func (r *row) oom() bool {
	b, ok := r.Measured.OOM.(bool)
	return r.Quality.OOM || ok && b
}

// memoryOf picks the prediction that the row's definition speaks of. GB as
// written are GiB in every source that has been checked (docs/accuracy.md).
func memoryOf(r *row, predicted map[string]units.Bytes) *memoryResult {
	if r.Measured.Peak == 0 {
		return nil
	}
	definition := "device"
	s := strings.ToLower(r.Measured.PeakDefinition)
	switch {
	case strings.Contains(s, "max_reserved"), strings.Contains(s, "reserved_bytes"):
		definition = "reserved"
	case strings.Contains(s, "allocated"):
		definition = "allocated"
	}
	return &memoryResult{definition, r.Measured.Peak * float64(units.GiB), float64(predicted[definition])}
}

// stepSeconds is the measured step time, from what the source states.
func stepSeconds(r *row) float64 {
	m, gpus := &r.Measured, float64(r.Cluster.GPUs)
	tokens := float64(r.Layout.GBS) * float64(r.Model.SeqLen)
	switch {
	case m.StepTime > 0:
		return m.StepTime
	case m.Tokens > 0:
		return tokens / m.Tokens / gpus
	case m.TFLOPS > 0:
		if f := flops(r, tokens); f > 0 {
			return f / m.TFLOPS / 1e12 / gpus
		}
	}
	return 0
}

// flops is the step's FLOPs by the formula that the source states: the 96…
// formula of Narayanan et al. 2021 with the recomputed forward, or
// 8·parameters·tokens.
func flops(r *row, tokens float64) float64 {
	s := r.Measured.MFUDefinition + r.Measured.TFLOPSDefinition
	h, layers := float64(r.Model.Hidden), float64(r.Model.Layers)
	switch {
	case strings.Contains(s, "96*B*s*l*h^2"):
		return 96 * tokens * layers * h * h * (1 + float64(r.Model.SeqLen)/(6*h) + float64(r.Model.Vocab)/(16*layers*h))
	case strings.Contains(s, "8*params*tokens"):
		return 8 * r.Model.ParamsB * 1e9 * tokens
	}
	return 0
}
