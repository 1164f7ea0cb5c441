package schedule

import "github.com/ndc-dev/ndc/compiler/plan"

// Predicted reports whether the simulator knows a schedule; the others are
// names of the language that frameworks offer and ndc does not choose yet.
func Predicted(s plan.Schedule) bool {
	switch s {
	case plan.ScheduleNone, plan.ScheduleGPipe, plan.Schedule1F1B, plan.ScheduleInterleaved1F1B:
		return true
	}
	return false
}
