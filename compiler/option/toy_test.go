package option

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// Rows that exist in this test alone, registered before the packages that walk
// the rows are initialised. Layouts have no field for them, so they keep their
// values in one of another row, before which they are not.
const (
	toyAxis   = "toy_parallel"
	toyOption = "offload.toy"
)

func init() {
	Axes = append(Axes, Axis{
		Row:    Row{Name: toyAxis, Kind: Count, Min: 1, Max: 64, Doc: "Ranks per toy.", Words: "toy %d", Relief: 9},
		Mesh:   true,
		Cuts:   func(*job.Job) []Whole { return []Whole{{6, "toy"}} },
		Value:  func(l *plan.Layout) any { return &l.VirtualPipeline },
		Choice: func(c *job.LayoutConstraints) any { return &c.VirtualPipeline },
	})
	Options = append(Options, Option{
		Row:    Row{Name: toyOption, Kind: Switch, Doc: "Toys.", Words: "toys offloaded", Place: 9},
		Value:  func(x *plan.Execution) any { return &x.OffloadParameters },
		Choice: func(x *job.Execution) any { return &x.OffloadParameters },
	})
}
