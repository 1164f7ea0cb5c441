package main

import (
	"strings"
	"sync"
)

// cause is a suspected reason for an error, by what a run is. Empty conditions
// hold for every run; the first cause whose conditions all hold is named.
type cause struct {
	Framework     string `json:"framework"`
	Uncertain     bool   `json:"uncertain"`
	MoE           bool   `json:"moe"`
	Window        bool   `json:"window"`
	Hybrid        bool   `json:"hybrid"`
	TokenDrop     bool   `json:"token_drop"`
	LowPrecision  bool   `json:"low_precision"`
	ZeroStage     int    `json:"zero_stage"`
	GPUsAbove     int    `json:"gpus_above"`
	SequenceAbove int    `json:"sequence_above"`
	Cause         string `json:"cause"`
}

// causes reads them once.
var causes = sync.OnceValue(func() []cause { return embedded[cause]("causes.json") })

// suspected names the cause of a row's error.
func suspected(r *result) string {
	for _, c := range causes() {
		if c.holds(r) {
			return c.Cause
		}
	}
	return ""
}

func (c *cause) holds(r *result) bool {
	x := r.example
	m := &x.job.Model
	low := x.job.Training.Precision != "bf16" && x.job.Training.Precision != "fp16"
	return strings.HasPrefix(x.framework, c.Framework) && (!c.Uncertain || x.row.LayoutUncertain) && (!c.Hybrid || x.row.hybrid()) && (!c.MoE || m.MoE != nil) &&
		(!c.Window || m.Attention.SlidingWindow.Size > 0) && (!c.TokenDrop || m.MoE != nil && m.MoE.TokenDrop) && (!c.LowPrecision || low) &&
		(c.ZeroStage == 0 || x.layout.ZeroStage == c.ZeroStage) && x.layout.GPUs() > c.GPUsAbove && m.SequenceLength > c.SequenceAbove
}
