package job

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/ndc-dev/ndc/tools/draws"
)

// stepByStep takes one step after the other, with the batch of Megatron-LM's
// RampupBatchsizeNumMicroBatchesCalculator.
func stepByStep(r *BatchRamp, global int, steps, sequences int64) (taken, read int64) {
	sizes := int64((global - r.Start) / r.Increment)
	for taken < steps && read < sequences {
		batch := int64(global)
		if read < r.Sequences {
			batch = int64(r.Start) + int64(r.Increment)*(read*sizes/r.Sequences)
		}
		taken, read = taken+1, read+batch
	}
	return taken, read
}

// TestRamp: counting by sizes gives what counting by steps gives.
func TestRamp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := BatchRamp{Start: rapid.IntRange(1, 50).Draw(t, "start"), Increment: rapid.IntRange(1, 50).Draw(t, "increment"), Sequences: rapid.Int64Range(1, 5000).Draw(t, "sequences")}
		global := r.Start + r.Increment*rapid.IntRange(1, 60).Draw(t, "sizes")
		steps, sequences := rapid.Int64Range(0, 500).Draw(t, "steps"), rapid.Int64Range(0, 20000).Draw(t, "read")
		for _, limit := range [][2]int64{{steps, math.MaxInt64 / 2}, {1 << 40, sequences}, {steps, sequences}} {
			taken, read := r.After(global, limit[0], limit[1])
			wantTaken, wantRead := stepByStep(&r, global, limit[0], limit[1])
			if taken != wantTaken || read != wantRead {
				t.Fatalf("%+v to %d: %d steps and %d sequences, want %d and %d", r, global, taken, read, wantTaken, wantRead)
			}
		}
	})
}

// TestStages: a step has the last size that has begun.
func TestStages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.IntRange(1, 60).Draw(t, "sizes")
		r := BatchRamp{Start: rapid.IntRange(1, 50).Draw(t, "start"), Increment: rapid.IntRange(1, 50).Draw(t, "increment"), Sequences: rapid.Int64Range(int64(sizes), 5000).Draw(t, "sequences")}
		global, read := r.Start+r.Increment*sizes, int64(0)
		stages := r.Stages(global)
		for steps := range rapid.Int64Range(0, 300).Draw(t, "steps") {
			batch := 0
			for _, s := range stages {
				if s.After <= read {
					batch = s.Batch
				}
			}
			read += int64(batch)
			if _, want := r.After(global, steps+1, math.MaxInt64); read != want {
				t.Fatalf("%+v to %d: %d sequences in %d steps, want %d", r, global, read, steps+1, want)
			}
		}
	})
}

// TestRampLong: steps cost nothing, and no product overflows.
func TestRampLong(t *testing.T) {
	r := BatchRamp{Start: 1, Increment: 1, Sequences: 1 << 60}
	taken, read := r.After(1<<16, 1e10, math.MaxInt64)
	if taken != 1e10 || read != 1e10 {
		t.Errorf("%d steps, %d sequences; the first size lasts longer", taken, read)
	}
}

// TestWholeSteps: a ramp 2, 4, 6 to 8 over 36 sequences reads 12 in each part, in 6, 3 and
// 2 steps; what follows is of the whole batch. As many tokens take as long, with a ramp or
// without.
func TestWholeSteps(t *testing.T) {
	ramp := &BatchRamp{Start: 2, Increment: 2, Sequences: 36}
	for steps, want := range map[int]float64{3: 6. / 8, 11: 36. / 8, 20: 36./8 + 9} {
		r := Training{Steps: steps, GlobalBatchSize: 8, BatchRamp: ramp}
		if got := r.WholeSteps(); got != want {
			t.Errorf("%d steps are %v whole ones, want %v", steps, got, want)
		}
	}
	if got := (&Training{Steps: 20, GlobalBatchSize: 8}).WholeSteps(); got != 20 {
		t.Errorf("without a ramp: %v", got)
	}
}

// TestSetBatch: of the length of a run, what was written stays and the other follows.
func TestSetBatch(t *testing.T) {
	for _, c := range []struct {
		written       string
		steps, tokens int64
	}{{"training.tokens", 500, 64 * 1000 * 1024}, {"training.steps", 1000, 128 * 1000 * 1024}} {
		j := Job{Model: Model{SequenceLength: 1024}, Training: Training{GlobalBatchSize: 64, Steps: 1000, Tokens: 64 * 1000 * 1024},
			Sources: Sources{c.written: {Origin: FromSpec}}}
		j.SetBatch(128)
		if got := j.Training; got.GlobalBatchSize != 128 || int64(got.Steps) != c.steps || got.Tokens != c.tokens {
			t.Errorf("%s was written: %d steps and %d tokens, want %d and %d", c.written, got.Steps, got.Tokens, c.steps, c.tokens)
		}
	}
}

// TestLastSteps: the run's last steps that read so many tokens are the fewest that do.
func TestLastSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length = 7
		run := Training{GlobalBatchSize: 8, Steps: rapid.IntRange(1, 60).Draw(t, "steps")}
		if rapid.Bool().Draw(t, "ramped") {
			run.BatchRamp = &BatchRamp{Start: 2, Increment: 3, Sequences: rapid.Int64Range(2, 200).Draw(t, "sequences")}
		}
		tokens := rapid.Int64Range(1, 4000).Draw(t, "tokens")
		last := run.LastStepsFor(tokens, length)
		read := func(last int64) int64 {
			earlier := int64(run.Steps) - last
			if earlier < 0 { // before the run there would be steps of the whole batch
				return run.TokensOf(int64(run.Steps), length) - earlier*8*length
			}
			return run.TokensOf(int64(run.Steps), length) - run.TokensOf(earlier, length)
		}
		if read(last) < tokens || read(last-1) >= tokens {
			t.Fatalf("%d of %d steps for %d tokens: they read %d, one less %d", last, run.Steps, tokens, read(last), read(last-1))
		}
	})
}
