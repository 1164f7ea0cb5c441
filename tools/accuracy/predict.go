package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/memory"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
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
	Choice  *scoreResult   `json:"choice,omitempty"`

	apart       bool       // fits nothing and counts for no goal
	judge       bool       // fits nothing and counts for the goals of judges alone
	memoryRange [2]float64 // of measured over predicted memory
	predicted   float64    // seconds, of rows without a measured step, too
	expected    float64    // seconds, of rows that no fit sees, by what the other sources took longer in the mean; else 0
	example     *example
	known       *search.Known // what the choice looks at
	prior       *uncertainty.Prior
}

// orderOnly says whether the row is of a grid whose absolute times say nothing.
func (r *result) orderOnly() bool { return r.example.grid != nil && r.example.grid.OrderOnly != "" }

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
	Feasible bool `json:"feasible"` // with the margin that a search asks for
	Likely   bool `json:"likely"`   // more likely feasible than not

	Probability float64 `json:"oom_probability"` // that it runs out of memory by the end
	Share       float64 `json:"share_of_card"`   // predicted memory of the GPU's
}

// predictAll predicts every example.
func predictAll(examples []example, p estimate.Parameters) []result {
	out := make([]result, len(examples))
	for i := range examples {
		out[i] = predict(&examples[i], p)
	}
	rank(out)
	return out
}

// predict compares one example. What no check foresaw skips the row instead
// of ending the program.
func predict(x *example, p estimate.Parameters) (r result) {
	r = result{ID: x.row.ID, Source: x.source(), Status: "skipped", Reason: x.skip, apart: x.row.apart(), judge: x.judge, example: x}
	if x.skip != "" {
		return r
	}
	if x.settings != nil {
		return x.best(p)
	}
	skipped := r
	defer func() {
		if problem := recover(); problem != nil {
			r = skipped
			r.Reason = fmt.Sprintf("not described: %v", problem)
		}
	}()
	evaluator := estimate.NewWith(x.job, x.target, p)
	d := evaluator.Describe(&x.layout, &x.exec)
	if !plausible(float64(d.Time.StepSeconds)) || !plausible(float64(d.Memory.Peak.AllocatedBytes)) {
		r.Reason = "not described: the prediction is no number"
		return r
	}
	r.Status = "predicted"
	if t := stepSeconds(x.row); t > 0 && !x.memoryOnly {
		r.Time = &timeResult{t, float64(d.Time.StepSeconds)}
	}
	if x.state != nil {
		d.Memory = memory.New(x.job, x.state).Memory(&x.layout, &x.exec)
	}
	r.Memory = memoryOf(x.row, &d.Memory)
	if x.assumed {
		r.Reason = "cluster and framework assumed: nothing is known but the GPU"
	}
	if peak := &d.Memory.Peak; peak.DeviceBytes > 0 {
		for i, v := range peak.DeviceRangeBytes {
			r.memoryRange[i] = float64(v) / float64(peak.DeviceBytes)
		}
		if v, ok := x.row.optionText("cpu_offloading_num_layers"); ok && v != "0" {
			return r // whole layers went to the host, which no target offers: there is no verdict to give
		}
		card := x.job.Cluster.GPU.Memory
		r.Verdict = &verdictResult{Ran: !x.row.oom(), Feasible: d.Memory.NeededBytes <= card, Likely: peak.DeviceBytes <= card,
			Probability: d.Memory.OOM.Any, Share: float64(peak.DeviceBytes) / float64(card)}
	}
	r.predicted = float64(d.Time.StepSeconds)
	r.known = &search.Known{Candidate: search.Candidate{Layout: x.layout, Execution: x.exec, Result: estimate.Result{StepSeconds: d.Time.StepSeconds, PeakDeviceBytes: d.Memory.Peak.DeviceBytes}}}
	if n := d.Memory.NearLimit; n != nil {
		r.known.Result.Slower = n.Times - 1
	}
	evaluator.Uncertain(&x.layout, &x.exec, &r.known.Step)
	r.prior = evaluator.Prior()
	return r
}

// source is the file of the row.
func (x *example) source() string { return strings.TrimSuffix(x.row.file, ".jsonl") }

// plausible reports whether a prediction is a positive number.
func plausible(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// memoryOf picks the prediction that the row's definition speaks of: what is
// counted, on which ranks, in which unit. GB as written are GiB in every
// source that has been checked, except where the definition says /1e9, or that
// they were read off nvidia-smi, which prints MiB: thousands of them.
func memoryOf(r *row, m *plan.Memory) *memoryResult {
	if r.Measured.Peak <= 0 || len(m.Stages) == 0 {
		return nil
	}
	s := strings.ToLower(r.Measured.PeakDefinition)
	unit := float64(units.GiB)
	switch {
	case strings.Contains(s, "/1e9"):
		unit = 1e9
	case strings.Contains(s, "nvidia-smi"):
		unit = 1000 * float64(units.MiB)
	}
	definition, of := "device", func(s *plan.StageMemory) units.Bytes { return s.DeviceBytes }
	switch {
	case strings.Contains(s, "max_reserved"), strings.Contains(s, "reserved_bytes"), strings.Contains(s, "believed reserved"), strings.Contains(s, "treat as reserved"):
		definition, of = "reserved", func(s *plan.StageMemory) units.Bytes { return s.ReservedBytes }
	case strings.Contains(s, "allocated"):
		definition, of = "allocated", func(s *plan.StageMemory) units.Bytes { return s.AllocatedBytes }
	}
	var predicted units.Bytes
	for _, stage := range stagesOf(s, m) {
		predicted = max(predicted, of(&stage))
	}
	return &memoryResult{definition, r.Measured.Peak * unit, float64(predicted)}
}

// stagesOf are the pipeline stages whose ranks a definition speaks of.
func stagesOf(definition string, m *plan.Memory) []plan.StageMemory {
	last := len(m.Stages) - 1
	switch {
	case strings.Contains(definition, "(last) rank"), strings.Contains(definition, "last rank"):
		return m.Stages[last:]
	case strings.Contains(definition, "rank-0"):
		return m.Stages[:1]
	case strings.Contains(definition, "first/last node"):
		return []plan.StageMemory{m.Stages[0], m.Stages[last]}
	}
	return m.Stages
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
// formula of Narayanan et al. 2021 with the recomputed forward,
// 8·parameters·tokens, or Megatron-LM's own count
// (num_floating_point_operations in megatron/training/training.py of
// core_v0.15.0): products of grouped attention, gated MLPs of the experts that a
// token takes and the head, with the half of attention that is causal.
func flops(r *row, tokens float64) float64 {
	s := r.Measured.MFUDefinition + r.Measured.TFLOPSDefinition
	h, layers := float64(r.Model.Hidden), float64(r.Model.Layers)
	switch {
	case strings.HasPrefix(s, "Megatron-LM's counter"):
		heads, width := float64(r.Model.Heads), float64(r.Model.HeadDim)
		groups, context := float64(r.Model.KVHeads), float64(r.Model.SeqLen)
		if strings.HasSuffix(s, "attention in full") { // before core_v0.12
			context *= 2
		}
		attention := h*width*(2*heads+2*groups) + heads*width*context
		mlp := 3 * h * float64(r.Model.FFN)
		if g := r.Model.Gated; g != nil && !*g {
			mlp = 2 * h * float64(r.Model.FFN)
		}
		if e := r.Model.MoE; e != nil {
			mlp = 3 * h * (float64(e.FFN)*float64(e.TopK) + float64(e.SharedFFN))
		}
		return 6 * tokens * (layers*(attention+mlp) + h*float64(r.Model.Vocab))
	case strings.Contains(s, "96*B*s*l*h^2"):
		return 96 * tokens * layers * h * h * (1 + float64(r.Model.SeqLen)/(6*h) + float64(r.Model.Vocab)/(16*layers*h))
	case strings.Contains(s, "8*params*tokens"):
		return 8 * r.Model.ParamsB * 1e9 * tokens
	}
	return 0
}
