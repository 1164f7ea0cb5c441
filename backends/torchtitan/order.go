package torchtitan

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
)

// orderFile is the file beside the configuration that lists the passes of a
// schedule of which torch has no class.
const orderFile = "pipeline_order.csv"

// isListed reports a schedule whose order is written to a file.
func isListed(s plan.Schedule) bool { return s == plan.ScheduleZBH1 || s == plan.ScheduleZBH2 }

// passWords are torch's names of what a pass computes.
var passWords = map[schedule.Work]string{
	schedule.Forward: "F", schedule.Backward: "B", schedule.InputGradient: "I", schedule.WeightGradient: "W",
}

// orderList is the schedule of a layout as torch.distributed.pipelining reads it:
// a line per rank with its passes as chunk, work and micro-batch.
func orderList(l *plan.Layout) []byte {
	shape := schedule.Shape{Schedule: l.PipelineSchedule, Pipeline: l.PipelineParallel, Virtual: l.VirtualPipeline, MicroBatches: l.MicroBatches}
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, passes := range schedule.NewOrder(shape).Ranks {
		row := make([]string, len(passes))
		for i, p := range passes {
			row[i] = fmt.Sprint(p.Chunk, passWords[p.Work], p.MicroBatch)
		}
		_ = w.Write(row) // to memory
	}
	w.Flush()
	return []byte(b.String())
}
