// Package caution warns of what a job says and a framework would do, but that
// wastes the run: a limit that ends it, a checkpoint that is never written, a
// learning rate off by a factor of a billion. It knows a job and its plan and
// decides nothing; what is impossible is an error of package lang or of a
// backend, what is doubtful about a prediction is told by package estimate.
// Thresholds lie far from what recipes do, so that a warning means something.
package caution

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// Job warns of what can be seen before a layout is chosen.
func Job(j *job.Job) diag.List {
	w := warner{job: j}
	w.learningRate()
	w.optimizer()
	w.warmup()
	w.unreached()
	w.validation()
	w.batch()
	w.kept()
	w.environment()
	w.bandwidths()
	w.generation()
	return w.list
}

// Plan warns of what a plan adds: how long the run is and what it needs.
func Plan(j *job.Job, p *plan.Plan) diag.List {
	w := warner{job: j, plan: p}
	w.limit()
	w.broken()
	w.doubtfulLimits()
	w.length()
	w.hang()
	w.failures()
	w.unsaved()
	w.interval()
	w.piled()
	w.memory()
	w.experts()
	return w.list
}

// warner collects the warnings of one job.
type warner struct {
	job  *job.Job
	plan *plan.Plan
	list diag.List
}

// warn reports something at the argument at path.
func (w *warner) warn(id diag.ID, path, detail string, values ...any) {
	w.list.Warn(id, w.job.Sources.Range(path), summaries[id], fmt.Sprintf(detail, values...))
}
