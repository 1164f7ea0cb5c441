package estimate

import (
	"fmt"
	"sync"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Published is the best model-FLOPs utilisation that was published for a class
// of runs, in ndc's convention: causal attention counts half, recompute not at
// all. It warns, and never enters a time or an order.
type Published struct {
	GPU       string      `json:"gpu"`
	Precision string      `json:"precision"`
	Experts   bool        `json:"experts"`
	Long      bool        `json:"long"` // sequences of more than 8,192 tokens
	GPUs      int         `json:"gpus"`
	MFU       units.Share `json:"mfu"`
	Source    string      `json:"source"` // the row of testdata/measured
}

// published are data/published.json, which every described plan is held to.
var published = sync.OnceValue(func() []Published { return embedded[[]Published]("published") })

// longSequence is the longest sequence that is not called long.
const longSequence = 8192

// PublishedClass is the class of a run, without its utilisation.
func PublishedClass(j *job.Job, gpus int) Published {
	return Published{GPU: j.Cluster.GPU.Catalog, Precision: j.Training.Precision, Experts: j.Model.MoE != nil,
		Long: j.Model.SequenceLength > longSequence, GPUs: gpus}
}

// best is the best that was published for a class on at least half as many
// GPUs, or on any number where nobody used as many; nil: nothing was.
func best(published []Published, of Published) *Published {
	var large, any *Published
	for i := range published {
		p := &published[i]
		if p.GPU != of.GPU || p.Precision != of.Precision || p.Experts != of.Experts || p.Long != of.Long {
			continue
		}
		if any == nil || p.MFU > any.MFU {
			any = p
		}
		if p.near(of.GPUs) && (large == nil || p.MFU > large.MFU) {
			large = p
		}
	}
	if large != nil {
		return large
	}
	return any
}

// near reports whether a run used at least half as many GPUs.
func (p *Published) near(gpus int) bool { return 2*p.GPUs >= gpus }

// beyond is how far above the best published utilisation a prediction may lie
// before it is doubted, where as many GPUs were used; more GPUs than anybody's
// have no reason to do better.
const beyond = 1.05

// doubt warns where a layout is predicted to be faster than anybody published.
func (e *Evaluator) doubt(l *plan.Layout, t *plan.Throughput) []plan.Warning {
	p := best(published(), PublishedClass(e.job, l.GPUs()))
	if p == nil {
		return nil
	}
	most := p.MFU
	if p.near(l.GPUs()) {
		most *= beyond
	}
	if t.MFU <= most {
		return nil
	}
	kind := "dense models"
	if p.Experts {
		kind = "mixtures of experts"
	}
	if p.Long {
		kind += " with long sequences"
	}
	return []plan.Warning{{
		ID: string(IDBeyondPublished), Summary: "Faster than anything published",
		Detail: fmt.Sprintf("%.1f %% MFU are predicted. The best published for %s in %s on %s is %.1f %%, on %s (%s). A search finds the places where a prediction errs in its favour: expect less.",
			100*float64(t.MFU), kind, p.Precision, p.GPU, 100*float64(p.MFU), units.Count(p.GPUs, "GPU"), p.Source),
	}}
}
