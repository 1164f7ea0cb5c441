// Package learning holds a run against what is published about learning: tokens
// against the size of the model, the batch against the critical one, how long the
// rate rises and falls. It informs and judges nothing: what is surely a mistake
// package caution warns of.
package learning

import (
	_ "embed" // for data/laws.json
	"fmt"
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Note is something to know of a run.
type Note struct {
	Text string `json:"text"` // a sentence
	Law  string `json:"law"`  // where its figure comes from
}

//go:embed data/laws.json
var lawsJSON string

// laws are published figures, with their sources.
var laws = facts.One[struct {
	TokensPerParameter float64 `json:"tokens_per_parameter"`
	TokensSource       string  `json:"tokens_source"`
	Loss               struct {
		Irreducible     float64
		Parameters      float64
		ParametersPower float64 `json:"parameters_power"`
		Tokens          float64
		TokensPower     float64 `json:"tokens_power"`
	}
	LossSource          string  `json:"loss_source"`
	CriticalBatchTokens float64 `json:"critical_batch_tokens"` // at a loss of one
	CriticalBatchPower  float64 `json:"critical_batch_power"`
	CriticalBatchSource string  `json:"critical_batch_source"`
	DecayShare          float64 `json:"decay_share"`
	DecaySource         string  `json:"decay_source"`
}]("learning: data/laws.json", lawsJSON)

// Notes says what is known of a job from scratch, and of its plan where there is
// a feasible one; p may be nil.
func Notes(j *job.Job, p *plan.Plan) []Note {
	t := &j.Training
	if t.Start.From != "scratch" || t.Tokens == 0 || t.Data.Mock {
		return nil
	}
	parameters := float64(program.New(&j.Model).ParametersActive())
	notes := []Note{tokens(j, parameters), criticalBatch(j, parameters)}
	notes = append(notes, rate(t)...)
	if p != nil && p.Feasible && t.BatchRamp != nil {
		notes = append(notes, ramp(t, &p.Layout))
	}
	return notes
}

// tokens compares them with what makes the best of the compute.
func tokens(j *job.Job, parameters float64) Note {
	each := float64(j.Training.Tokens) / parameters
	what := "parameter"
	if j.Model.MoE != nil {
		what = "active parameter"
	}
	compared := units.Significant(each/laws.TokensPerParameter, 2) + " times"
	return Note{fmt.Sprintf("The run reads %s tokens for each %s, %s the %g that make the best of its compute; more make a smaller model better, fewer leave it untrained.",
		units.Significant(each, 3), what, compared, laws.TokensPerParameter), laws.TokensSource}
}

// criticalBatch compares the batch with the one at which half of the tokens buy
// fewer steps instead of progress, at the loss that the run is expected to end with.
func criticalBatch(j *job.Job, parameters float64) Note {
	l := &laws.Loss
	loss := l.Irreducible + l.Parameters/math.Pow(parameters, l.ParametersPower) + l.Tokens/math.Pow(float64(j.Training.Tokens), l.TokensPower)
	critical := laws.CriticalBatchTokens / math.Pow(loss, 1/laws.CriticalBatchPower)
	batch := float64(j.Training.GlobalBatchSize) * float64(j.Model.SequenceLength)
	return Note{fmt.Sprintf("A batch has %s tokens, the critical one about %s at the end, at a loss near %.2f (less before): of the tokens %.0f %% buy fewer steps instead of progress.",
		units.InWords(batch, 3), units.InWords(critical, 3), loss, 100*batch/(batch+critical)), laws.CriticalBatchSource + "; loss: " + laws.LossSource}
}

// rate says how long the learning rate rises and falls.
func rate(t *job.Training) []Note {
	s := &t.Schedule
	if t.Steps == 0 || s.Kind != "wsd" || s.DecaySteps == 0 {
		return nil
	}
	return []Note{{fmt.Sprintf("The rate rises over %s %% of the run and falls over %s %%; a fall over %.0f %% ends where a cosine does.",
		units.Significant(100*float64(s.WarmupSteps)/float64(t.Steps), 2), units.Significant(100*float64(s.DecaySteps)/float64(t.Steps), 2), 100*laws.DecayShare), laws.DecaySource}}
}

// ramp says what of a pipeline the first, small batches fill.
func ramp(t *job.Training, l *plan.Layout) Note {
	first := t.BatchRamp.Start / (l.DataParallel() * l.MicroBatchSize)
	idle := func(batches int) float64 {
		waits := float64(l.PipelineParallel-1) / float64(max(1, l.VirtualPipeline))
		return 100 * waits / (waits + float64(max(1, batches)))
	}
	return Note{fmt.Sprintf("The batch starts with %s for each replica and ends with %d; a pipeline of %s idles for %.0f %% of the first steps, and for %.0f %% of the last.",
		units.Count(first, "micro-batch"), l.MicroBatches, units.Count(l.PipelineParallel, "stage"), idle(first), idle(l.MicroBatches)),
		"Narayanan et al. 2021, arXiv:2104.04473, section 2.2"}
}
