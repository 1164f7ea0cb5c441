package learning

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// chinchilla is the run that the law is named after: 70 billion parameters, 1.4e12
// tokens, batches of 3 million tokens.
func chinchilla() *job.Job {
	j := &job.Job{Model: job.Model{Architecture: "llama", Layers: 80, HiddenSize: 8192, FFNHiddenSize: 28672, Attention: job.Attention{Heads: 64, KVHeads: 8, HeadDim: 128},
		VocabSize: 128256, SequenceLength: 2048, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"}, PositionEmbedding: job.PositionEmbedding{Kind: "rope"}}}
	j.Training = job.Training{Tokens: 1.4e12, GlobalBatchSize: 1536, Steps: 445e3, Start: job.Start{From: "scratch"},
		Schedule:  job.Schedule{Kind: "wsd", WarmupSteps: 4450, DecaySteps: 44500},
		BatchRamp: &job.BatchRamp{Start: 256, Increment: 256, Sequences: 1e6}}
	return j
}

// TestNotes: each law once, with its figures; by hand, the loss of 70e9 parameters
// and 1.4e12 tokens is 1.69 + 406.4/70e9^0.34 + 410.7/1.4e12^0.28 = 1.94, at which
// the critical batch is 2e8/1.94^(1/0.21) = 8.6 million tokens.
func TestNotes(t *testing.T) {
	j := chinchilla()
	p := &plan.Plan{Feasible: true, Layout: plan.Layout{TensorParallel: 8, ContextParallel: 1, PipelineParallel: 8, VirtualPipeline: 1, DataParallelReplicate: 1, DataParallelShard: 64, MicroBatchSize: 1, MicroBatches: 24}}
	notes := Notes(j, p)
	for i, want := range []string{
		"reads 19.8 tokens for each parameter, 0.99 times the 20",
		"has 3.15 million tokens, the critical one about 8.6 million at the end, at a loss near 1.94 (less before): of the tokens 27 %",
		"rises over 1 % of the run and falls over 10 %; a fall over 20 %",
		"starts with 4 micro-batches for each replica and ends with 24; a pipeline of 8 stages idles for 64 % of the first steps, and for 23 % of the last",
	} {
		if i >= len(notes) || !strings.Contains(notes[i].Text, want) || notes[i].Law == "" {
			t.Errorf("note %d of %d: %+v, want %q", i, len(notes), notes[min(i, len(notes)-1)], want)
		}
	}
	if got := Notes(j, nil); len(got) != 3 {
		t.Errorf("without a plan %d notes, want 3", len(got))
	}
	j.Model.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 28672, LayerFrequency: 1}
	if got := Notes(j, nil); !strings.Contains(got[0].Text, "each active parameter") {
		t.Errorf("of experts the active ones count: %v", got[0])
	}
	j.Training.Start.From = "checkpoint"
	if got := Notes(j, p); got != nil {
		t.Errorf("a run that goes on: %v", got)
	}
}
