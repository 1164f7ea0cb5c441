package estimate

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// Routed is a run that was published twice: with loads of experts forced to be
// equal, and with those that its routers gave them.
type Routed struct {
	Model    string  `json:"model"`
	Sequence int     `json:"sequence"` // tokens
	Experts  int     `json:"experts"`
	TopK     int     `json:"top_k"`
	Held     int     `json:"held"`          // experts of a rank
	Forced   float64 `json:"forced_tflops"` // of a GPU, with equal loads
	Routed   float64 `json:"routed_tflops"` // of a GPU, with the routers' loads
	// Busiest is how many times the mean the busiest rank's experts had to get for
	// a step that is predicted to become as much longer as the published one.
	Busiest float64 `json:"busiest"`
	Source  string  `json:"source"`
}

// RoutedRecords lists data/routed.json in its order.
func RoutedRecords() []Routed { return embedded[[]Routed]("routed") }

// uneven says of a mixture whose job does not state how unevenly its experts are
// loaded what its step would take if they were as unevenly loaded as in the
// published runs that tell. Loads even each other out where tokens are dropped,
// buffers of a fixed size have a warning of their own, and short runs waste nothing.
func (e *Evaluator) uneven(l *plan.Layout, x *plan.Execution, t units.Seconds) []plan.Warning {
	const path = "model.moe.load_imbalance"
	moe := e.model.MoE
	if moe == nil || moe.TokenDrop || l.ExpertParallel == 1 || x.StaticExperts() || e.job.Sources.IsSet(path) || t*units.Seconds(e.job.Training.Steps) <= short {
		return nil
	}
	records := RoutedRecords()
	least, most := &records[0], &records[0]
	for i := range records {
		if r := &records[i]; r.Busiest < least.Busiest {
			least = r
		} else if r.Busiest > most.Busiest {
			most = r
		}
	}
	longer := func(r *Routed) string {
		j, loaded := *e.job, *moe
		loaded.LoadImbalance, j.Model.MoE = r.Busiest, &loaded
		step := NewWith(&j, e.target, e.parameters).Step(l, x)
		return fmt.Sprintf("%s s (%+.1f %%) at %.3g times the mean, as of %s", units.Significant(float64(step), 3), 100*float64(step/t-1), r.Busiest, r.Model)
	}
	return []plan.Warning{{ID: string(IDUnevenExperts), Summary: "Experts are predicted as evenly loaded",
		Detail: fmt.Sprintf("A step waits for the expert rank with the most tokens. It is predicted for equal loads, which benchmarks force, and %s is not set. Where routers decided, two models were published: the step would take %s, and %s. The range does not count that. Set %s to what the run's routers reach, to 1 where loads are forced.",
			path, longer(least), longer(most), path)}}
}
