package job

import (
	"math"
	"math/bits"
)

// Sizes is the number of batch sizes before the global one.
func (r *BatchRamp) Sizes(global int) int { return (global - r.Start) / r.Increment }

// BatchStage is a batch size, and the sequences that have been read when it begins.
type BatchStage struct {
	After int64
	Batch int
}

// Stages lists the batch sizes of a run, the first and the global one included.
func (r *BatchRamp) Stages(global int) []BatchStage {
	sizes := r.Sizes(global)
	list := make([]BatchStage, sizes+1)
	for i := range list {
		list[i] = BatchStage{part(r.Sequences, int64(i), int64(max(sizes, 1))), r.Start + i*r.Increment}
	}
	return list
}

// After is what a ramped run has done when it has taken at most so many steps
// and read at least so many sequences, whichever is first. As in Megatron-LM,
// the batch rises by the increment each time another equal part of the ramp's
// sequences has been read. The work goes with the number of batch sizes, not
// with that of steps.
func (r *BatchRamp) After(global int, steps, sequences int64) (taken, read int64) {
	sizes := r.Sizes(global)
	for i := 0; i < sizes && taken < steps && read < sequences; i++ {
		batch := int64(r.Start + i*r.Increment)
		end := part(r.Sequences, int64(i+1), int64(sizes))
		n := min(ceilDiv(max(end-read, 0), batch), steps-taken, ceilDiv(sequences-read, batch))
		taken, read = taken+n, read+n*batch
	}
	n := min(steps-taken, ceilDiv(max(sequences-read, 0), int64(global)))
	return taken + n, read + n*int64(global)
}

// StepsFor is the number of optimizer steps that read at least so many tokens, in
// sequences of a length.
func (t *Training) StepsFor(tokens int64, length int) int64 {
	steps, _ := t.after(math.MaxInt64, ceilDiv(tokens, int64(length)))
	return steps
}

// LastStepsFor is the number of the run's last optimizer steps that read at least so many
// tokens, in sequences of a length. Where the run reads fewer, they are more than its steps,
// as if it had begun earlier with the whole batch.
func (t *Training) LastStepsFor(tokens int64, length int) int64 {
	steps := int64(t.Steps)
	before := t.TokensOf(steps, length) - tokens
	if before < 0 {
		return steps + ceilDiv(-before, int64(t.GlobalBatchSize)*int64(length))
	}
	return steps - (t.StepsFor(before+1, length) - 1)
}

// TokensOf is the number of tokens that so many optimizer steps read, in sequences of a
// length.
func (t *Training) TokensOf(steps int64, length int) int64 {
	_, sequences := t.after(steps, math.MaxInt64)
	return sequences * int64(length)
}

// after is what a run has done when it has taken at most so many steps and read at least so
// many sequences, whichever is first.
func (t *Training) after(steps, sequences int64) (taken, read int64) {
	if t.BatchRamp != nil {
		return t.BatchRamp.After(t.GlobalBatchSize, steps, sequences)
	}
	steps = min(steps, ceilDiv(sequences, int64(t.GlobalBatchSize)))
	return steps, steps * int64(t.GlobalBatchSize)
}

// SetBatch gives a job another batch. A run of so many tokens then takes another number of
// steps, and one of so many steps reads another number of tokens.
func (j *Job) SetBatch(sequences int) {
	t, length := &j.Training, j.Model.SequenceLength
	t.GlobalBatchSize = sequences
	if j.Sources.IsSet("training.tokens") {
		t.Steps = int(t.StepsFor(t.Tokens, length))
	} else {
		t.Tokens = t.TokensOf(int64(t.Steps), length)
	}
}

// WholeSteps is how many steps of the whole batch read what a training reads. Where the
// batch grows they are fewer than its steps; a step is taken to last as much less as its
// batch is smaller.
func (t *Training) WholeSteps() float64 {
	if t.BatchRamp == nil {
		return float64(t.Steps)
	}
	_, read := t.after(int64(t.Steps), math.MaxInt64)
	return float64(read) / float64(t.GlobalBatchSize)
}

// part is total × i / n, rounded up, without an overflow between.
func part(total, i, n int64) int64 {
	high, low := bits.Mul64(uint64(total), uint64(i))
	quotient, rest := bits.Div64(high, low, uint64(n))
	if rest > 0 {
		quotient++
	}
	return int64(quotient)
}

func ceilDiv(a, b int64) int64 { return a/b + min(a%b, 1) }
