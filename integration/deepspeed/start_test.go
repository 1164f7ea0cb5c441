//go:build conformance

package deepspeed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	frameworks "github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/lang/job"
)

// each runs a test with every release that is trained.
func each(t *testing.T, test func(t *testing.T, version, python string)) {
	for _, version := range frameworks.DeepSpeedReleases {
		t.Run(version, func(t *testing.T) { test(t, version, environment(t, version)) })
	}
}

// TestHuggingFace starts from the weights of a checkpoint, whole, sharded and
// cut, and finds the same model. Jobs of other models are refused by them.
func TestHuggingFace(t *testing.T) {
	each(t, func(t *testing.T, version, python string) {
		root := t.TempDir()
		cases, weights := filepath.Join(root, "cases"), filepath.Join(root, "weights")
		from := func(j *job.Job) { j.Training.Start = job.Start{From: "huggingface", Path: weights} }
		all := []trial{
			{name: "ref", ranks: 1, layout: zero(1), change: from},
			{name: "zero3", ranks: 2, layout: zero(3), change: from, same: "ref", tolerance: exact},
			{name: "autotp", ranks: 2, change: from, same: "ref", tolerance: exact,
				layout: func(l *plan.Layout) { l.TensorParallel, l.ZeroStage = 2, 1 }},
			{name: "mics", ranks: 4, change: from, same: "ref", tolerance: exact,
				layout: func(l *plan.Layout) { l.ZeroStage, l.DataParallelReplicate = 3, 2 }},
		}
		all = legal(t, version, all)
		others := []trial{
			{name: "deeper", ranks: 1, layout: zero(1), change: func(j *job.Job) { from(j); j.Model.Layers = 5 }},
			{name: "shallower", ranks: 2, layout: zero(3), change: func(j *job.Job) { from(j); j.Model.Layers = 3 }},
			{name: "tied", ranks: 2, layout: zero(3), change: func(j *job.Job) { from(j); j.Model.TiedEmbeddings = true }},
		}
		for _, c := range slices.Concat(all, others) {
			write(t, cases, version, c)
		}
		command(t, python, "-c", `
import sys, torch
from transformers import AutoConfig, AutoModelForCausalLM
torch.manual_seed(1)
AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(sys.argv[1])).save_pretrained(sys.argv[2])
`, filepath.Join(cases, "ref", "model"), weights)
		results := run(t, python, cases)
		judge(t, version, all, results)
		for _, c := range others {
			if r := results[c.name]; r.Code == 0 || !strings.Contains(r.Error, "are not of the job's model") {
				t.Errorf("%s: exit code %d: %s", c.name, r.Code, r.Error)
			}
		}
	})
}

// TestStartFromCheckpoint trains two steps, and lets other runs start from
// them with and without the optimizer, the schedule and the data.
func TestStartFromCheckpoint(t *testing.T) {
	each(t, func(t *testing.T, version, python string) {
		row(t, version).Count(t)
		root := t.TempDir()
		cases, saved := filepath.Join(root, "cases"), filepath.Join(root, "saved")
		start := func(s job.Start) func(*job.Job) {
			return func(j *job.Job) {
				s.From, s.Path = "checkpoint", saved
				j.Training.Start = s
			}
		}
		write(t, cases, version, trial{name: "first", ranks: 2, layout: zero(3), change: func(j *job.Job) {
			j.Training.Checkpoint = job.Checkpoint{Path: saved, IntervalSteps: 2, SaveOptimizer: true}
		}})
		whole := run(t, python, cases, "first")["first"]
		must(t, os.WriteFile(filepath.Join(saved, "latest"), []byte("step-2"), 0o644))
		for name, s := range map[string]job.Start{"on": {}, "anew": {ResetOptimizer: true, ResetSchedule: true, ResetData: true}} {
			write(t, cases, version, trial{name: name, ranks: 2, layout: zero(3), change: start(s)})
		}
		results := run(t, python, cases, "on", "anew")
		resumed(t, "on", whole, results["on"], 2)
		anew := results["anew"]
		if anew.Code != 0 || len(anew.Steps) != 4 || anew.Steps[0][3] != whole.Steps[0][3] || anew.Steps[0][1] == whole.Steps[0][1] {
			t.Errorf("starting anew from a checkpoint: %+v", anew)
		}
	})
}

// TestLaunch runs launch.sh itself, with torchrun, as on one node.
func TestLaunch(t *testing.T) {
	each(t, func(t *testing.T, version, python string) {
		row(t, version).Count(t)
		root := t.TempDir()
		write(t, root, version, trial{name: "launch", ranks: 2, layout: zero(3)})
		bin := filepath.Join(root, "bin")
		save(t, filepath.Join(bin, "torchrun"), []byte("#!/bin/bash\nexec "+python+" -m torch.distributed.run \"$@\"\n"))
		must(t, os.Chmod(filepath.Join(bin, "torchrun"), 0o755))
		cmd := exec.Command("bash", filepath.Join(root, "launch", "launch.sh"))
		cmd.Dir = root
		cmd.Env = append(append(os.Environ(), kernels(t, python)...), "PATH="+bin+":"+filepath.Dir(python)+":"+os.Getenv("PATH"), "DS_ACCELERATOR=cpu", "NDC_GPUS_PER_NODE=2", "TMPDIR="+root, fmt.Sprintf("MASTER_PORT=%d", frameworks.Port()))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "step 4/4 loss ") {
			t.Errorf("launch.sh: %v\n%s", err, out[max(0, len(out)-3000):])
		}
	})
}
