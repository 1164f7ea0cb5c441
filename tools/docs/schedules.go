package main

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view/picture"
)

const schedulesPath = "docs/schedules.svg"

// schedules draws every schedule on four ranks with eight micro-batches: a rank's
// forward pass of a micro-batch takes one, as do the gradients of inputs and those of
// weights, and transfers nothing.
func schedules() []byte {
	const ranks, microBatches = 4, 8
	var list []picture.Named
	for s := plan.ScheduleGPipe; s <= plan.ScheduleDualPipeV; s++ {
		shape := schedule.Shape{Schedule: s, Pipeline: ranks, Virtual: 1, MicroBatches: microBatches}
		switch s {
		case plan.ScheduleInterleaved1F1B, plan.ScheduleZBV, plan.ScheduleDualPipeV:
			shape.Virtual = 2
		}
		order := schedule.NewOrder(shape)
		d := schedule.Durations{}
		part := units.Seconds(1) / units.Seconds(shape.Virtual)
		for range order.Chunks {
			d.Forward, d.InputGradient = append(d.Forward, part), append(d.InputGradient, part)
			d.WeightGradient = append(d.WeightGradient, part)
		}
		r := order.Simulate(&d)
		most := 0
		for rank := range ranks {
			most = max(most, r.InFlight[rank])
		}
		list = append(list, picture.Named{
			Name:     fmt.Sprintf("%s: %.3g, bubble %.0f %%, %.3g micro-batches in flight at most", s, float64(r.Seconds), 100*float64(r.BubbleShare), float64(most)/float64(shape.Virtual)),
			Timeline: plan.Timeline{Ranks: r.Ranks},
		})
	}
	return picture.Schedules(fmt.Sprintf("Schedules of %d micro-batches on %d ranks: forward blue, backward green, weight gradients orange", microBatches, ranks), list)
}
