package goodput

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestCheckpoints: with the rate of Llama 3's run 16,384 GPUs are interrupted
// every 54·24 h / 419 = 3.09 h, so that a minute of saving is worth spending
// every sqrt(2 · 60 s · 11,135 s) = 1,156 s, 19 whole minutes; 256 GPUs could
// wait 2.6 hours, and wait one; a submission has at least four.
func TestCheckpoints(t *testing.T) {
	for _, c := range []struct {
		name       string
		nodes      int
		checkpoint job.Checkpoint
		limit      units.Seconds
		step       units.Seconds
		given      string
		seconds    units.Seconds
		steps      int
	}{
		{"by the interruptions", 2048, job.Checkpoint{Path: "/c"}, 24 * 3600, 6.84, "auto", 19 * 60, 167},
		{"an hour", 32, job.Checkpoint{Path: "/c"}, 24 * 3600, 30, "auto", 3600, 120},
		{"not written", 32, job.Checkpoint{Path: "/c"}, 0, 30, "auto", 3600, 120},
		{"a part of the submission", 32, job.Checkpoint{Path: "/c"}, 2 * 3600, 30, "auto", 27 * 60, 54},
		{"a minute", 32, job.Checkpoint{Path: "/c"}, 300, 90, "auto", 60, 1},
		{"time", 32, job.Checkpoint{Path: "/c", IntervalTime: 1800}, 0, 29, "time", 1800, 62},
		{"longer than the run", 32, job.Checkpoint{Path: "/c", IntervalTime: 1e9}, 0, 29, "time", 1e9, 100000},
		{"steps", 32, job.Checkpoint{Path: "/c", IntervalSteps: 250}, 0, 4, "steps", 1000, 250},
	} {
		j := &job.Job{Cluster: job.Cluster{Nodes: c.nodes, GPUsPerNode: 8}, Training: job.Training{Steps: 100000, Checkpoint: c.checkpoint}, Slurm: job.Slurm{Time: c.limit}}
		got := Checkpoints(j, c.step)
		if got.Given != c.given || got.IntervalSeconds != c.seconds || got.IntervalSteps != c.steps || (got.Why != "") != (c.given == "auto") {
			t.Errorf("%s: %+v, want %s, %v, %d steps", c.name, got, c.given, c.seconds, c.steps)
		}
	}
	if got := Checkpoints(&job.Job{}, 1); got != nil {
		t.Errorf("a run that saves nothing: %+v", got)
	}
}

// TestKept: a run of 1,000 steps saves 250, 500, 750 and 1,000, or with 300 between them
// 300, 600, 900 and the last, and keeps all, the last few, or those of a multiple and the last.
func TestKept(t *testing.T) {
	for _, c := range []struct{ interval, last, every, want int }{
		{250, 0, 0, 4}, {300, 0, 0, 4}, {250, 3, 0, 3}, {250, 8, 0, 4}, {250, 0, 500, 2}, {200, 0, 400, 3}, {1000, 0, 0, 1}, {2000, 0, 0, 1}, {100, 1, 0, 1}, {100, 0, 5000, 1},
	} {
		j := &job.Job{Training: job.Training{Steps: 1000, Checkpoint: job.Checkpoint{Path: "/c", KeepLast: c.last}}}
		if got := Kept(j, &plan.Checkpoints{IntervalSteps: c.interval}, c.every); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestCheckpointBytes: a checkpoint holds layers of multi-token prediction, too: a
// projection of 2h to h, three norms and an inner layer.
func TestCheckpointBytes(t *testing.T) {
	m := job.Model{Layers: 4, HiddenSize: 1024, FFNHiddenSize: 4096, Attention: job.Attention{Heads: 8, KVHeads: 8, HeadDim: 128}, VocabSize: 32000,
		SequenceLength: 2048, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"}, PositionEmbedding: job.PositionEmbedding{Kind: "rope"}}
	j := &job.Job{Model: m, Training: job.Training{Checkpoint: job.Checkpoint{SaveOptimizer: true}, Optimizer: job.Optimizer{Kind: "adamw"}}}
	without := checkpointBytes(j)
	j.Model.MTP.Layers = 1
	const layer = 4*1024*1024 + 3*1024*4096 + 2*1024
	if got, want := checkpointBytes(j)-without, 14.0*(layer+2*1024*1024+3*1024); got != want {
		t.Errorf("%v bytes more, want %v", got, want)
	}
}

// TestOftenest: a save behind training stops it for a moment, so that lost work would be
// worth a save every few steps; they are five minutes apart all the same, but where a
// submission is short.
func TestOftenest(t *testing.T) {
	j := &job.Job{Model: small, Cluster: job.Cluster{Nodes: 64, GPUsPerNode: 8, PCIe: job.Link{Bandwidth: 64e9}, Storage: job.Storage{Bandwidth: 40e9},
		Reliability: &job.Reliability{GPUHoursBetweenFailures: 20000, Restart: 600}},
		Training: job.Training{Steps: 100000, Checkpoint: job.Checkpoint{Path: "/c", Async: true, SaveOptimizer: true}}}
	for limit, want := range map[units.Seconds]units.Seconds{0: 300, 24 * 3600: 300, 900: 180} {
		j.Slurm.Time = limit
		if got := Checkpoints(j, 1); got.IntervalSeconds != want {
			t.Errorf("a limit of %v s: every %v s, %s, want %v", limit, got.IntervalSeconds, got.Why, want)
		}
	}
}

// TestWindow: the last save of a submission has the time that it takes where the storage
// is known, and saves do not take most of the rest.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		limit, save units.Seconds // save 0: not known
		path        string
		window      units.Seconds
		interval    units.Seconds
	}{
		{0, 1000, "/c", 0, 3960},
		{24 * 3600, 0, "/c", 24*3600 - 1200, 3600},
		{24 * 3600, 500, "/c", 24*3600 - 1200, 3600},
		{24 * 3600, 1000, "/c", 24*3600 - 1600, 3960},
		{3600, 100, "/c", 3600 - 360, 780},
		{3600, 990, "/c", 3600 - 180 - 990, 3960},
		{3600, 990, "", 3600 - 360, 0},
		{600, 990, "/c", 600 - 30 - 990, 3960},
	} {
		j := &job.Job{Model: small, Cluster: job.Cluster{Nodes: 2, GPUsPerNode: 8}, Training: job.Training{Steps: 100000, Checkpoint: job.Checkpoint{Path: c.path}}, Slurm: job.Slurm{Time: c.limit}}
		if c.save > 0 {
			j.Cluster.Storage.Bandwidth = units.BytesPerSecond(checkpointBytes(j) / float64(c.save))
		}
		if got := Window(j); got != c.window {
			t.Errorf("%+v: %v", c, got)
		}
		if got := Checkpoints(j, 1); got != nil && math.Abs(float64(got.IntervalSeconds-c.interval)) > 60 {
			t.Errorf("%+v: %v, %s", c, got.IntervalSeconds, got.Why)
		}
	}
}
