//go:build conformance

package deepspeed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestResume trains four steps, goes back to the checkpoint after two, and
// trains on: every printed digit must be the same. Then a STOP file ends two runs
// after one step each, and a third goes on from there.
func TestResume(t *testing.T) {
	each(t, func(t *testing.T, version, python string) {
		line := row(t, version)
		root := t.TempDir()
		text := writeText(t, root)
		var names []string
		for _, c := range legal(t, version, resumeTrials(version, root, text)) {
			write(t, filepath.Join(root, "cases"), version, c)
			names = append(names, c.name)
		}
		cases := filepath.Join(root, "cases")
		whole := run(t, python, cases, names...)
		for _, name := range names {
			must(t, os.WriteFile(filepath.Join(checkpoints(root, name), "latest"), []byte("step-2"), 0o644))
		}
		again := run(t, python, cases, names...)
		for _, name := range names {
			must(t, os.RemoveAll(checkpoints(root, name)))
			must(t, os.WriteFile(filepath.Join(cases, name, "STOP"), nil, 0o644))
		}
		first, second := run(t, python, cases, names...), run(t, python, cases, names...)
		for _, name := range names {
			for _, r := range []result{first[name], second[name]} {
				if r.Code != 0 || len(r.Steps) != 1 {
					t.Errorf("%s: a STOP file let %d steps pass (exit code %d: %s)", name, len(r.Steps), r.Code, r.Error)
				}
			}
			must(t, os.Remove(filepath.Join(cases, name, "STOP")))
		}
		rest := run(t, python, cases, names...)
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				line.Count(t)
				resumed(t, name, whole[name], again[name], 2)
				resumed(t, name, whole[name], rest[name], 2)
			})
		}
	})
}

func resumeTrials(version, root, text string) []trial {
	saving := func(name string, more func(*job.Job)) func(*job.Job) {
		return func(j *job.Job) {
			j.Training.Checkpoint = job.Checkpoint{Path: checkpoints(root, name), IntervalSteps: 2, KeepLast: 2, SaveOptimizer: true}
			if more != nil {
				more(j)
			}
		}
	}
	all := []trial{
		{name: "zero1", ranks: 2, layout: zero(1), change: saving("zero1", nil)},
		{name: "zero3-bf16", ranks: 2, layout: zero(3), change: saving("zero3-bf16", func(j *job.Job) { j.Training.Precision = "bf16" })},
		{name: "jsonl", ranks: 2, layout: zero(3), change: saving("jsonl", func(j *job.Job) { jsonl(j, text) })},
		{name: "autotp", ranks: 2, change: saving("autotp", nil), layout: func(l *plan.Layout) { l.TensorParallel, l.ZeroStage = 2, 1 }},
		{name: "ulysses", ranks: 2, change: saving("ulysses", nil), layout: func(l *plan.Layout) { l.ContextParallel, l.ZeroStage = 2, 3 }},
		{name: "mics", ranks: 4, change: saving("mics", func(j *job.Job) { j.Model.Layers = 1 }), // its collectives are slow over gloo
			layout: func(l *plan.Layout) { l.ZeroStage, l.DataParallelReplicate = 3, 2 }},
		{name: "gpt-dropout", ranks: 2, layout: zero(3), change: saving("gpt-dropout", func(j *job.Job) { gpt(j); j.Model.Dropout = 0.1 })},
	}
	if version == "0.19.8" {
		all = append(all, trial{name: "autoep", ranks: 2, change: saving("autoep", mixtral), layout: func(l *plan.Layout) { l.ExpertParallel, l.ZeroStage = 2, 2 }})
	}
	return all
}

func checkpoints(root, name string) string { return filepath.Join(root, "checkpoints", name) }

// resumed compares the steps after the checkpoint with the unbroken run.
func resumed(t *testing.T, name string, whole, rest result, at int) {
	t.Helper()
	if rest.Code != 0 || len(whole.Steps) < at {
		t.Errorf("%s: exit code %d then %d: %s; %s", name, whole.Code, rest.Code, whole.Error, rest.Error)
		return
	}
	if d := cmp.Diff(whole.Steps[at:], rest.Steps); d != "" {
		t.Errorf("%s, resumed after step %d (-unbroken +resumed):\n%s", name, at, d)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
