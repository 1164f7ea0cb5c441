package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/tools/golden"
	"github.com/ndc-dev/ndc/tune"
)

// trialRanks are the ranks of candidates: the second runs out of memory, the third
// is the fastest.
const trialRanks = `echo "$NDC_JOB_DIR" >>"$FAKE/order"
seconds=2.00
case $NDC_JOB_DIR in
  *candidate-2) echo "torch.OutOfMemoryError: CUDA out of memory."; exit 1 ;;
  *candidate-3) seconds=1.65 ;;
esac
for i in {1..12}; do
  echo "step $i/12 loss 2.500000 gradient norm 1.0 learning rate 1e-4 seconds ${seconds}0$((i % 3)) tokens/s/GPU 512.0"
done
`

// TestRound runs the script of a round without Slurm: every candidate in its order,
// one of which ends with an error, and collects what they logged.
func TestRound(t *testing.T) {
	s := newSite(t, "deepspeed", "[]")
	job := s.read("job.hcl")
	for from, to := range map[string]string{"steps             = 2000": "steps             = 200000000", "catalog.cluster.single_gpu": "cluster.one", "catalog.model.debug": "catalog.model.llama3_8b"} {
		if !strings.Contains(job, from) {
			t.Fatalf("the job has no %q", from)
		}
		job = strings.Replace(job, from, to, 1)
	}
	s.write(t, "job.hcl", "cluster \"one\" {\n  base  = catalog.cluster.dgx_h100\n  nodes = 1\n  reliability {\n    restart = \"1m\"\n  }\n}\n"+job)
	s.write(t, "ranks", trialRanks)
	s.write(t, "bin/squeue", "#!/bin/bash\nprintf '%s\\n' 100.batch 100.3\n")
	s.write(t, "bin/nvidia-smi", "#!/bin/bash\nseq -f 'GPU %g' 8\n")
	folder := filepath.Join(s.folder, "trial")
	said := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"tune"}, args...), &out, &out); got != code {
			t.Fatalf("ndc tune %v: exit code %d\n%s", args, got, out.String())
		}
		return out.String()
	}
	said(exitOK, s.job, "--backend", "deepspeed", "-o", folder, "--gpu-hours", "3")
	s.script = filepath.Join(folder, "round-1.sbatch")
	s.submit(t)
	if code, log := s.start(t, 100, nil); code != 0 {
		t.Fatalf("exit code %d:\n%s\n%s", code, log, s.read("trial/logs/round-1-100.log"))
	}
	var f tune.File
	if err := json.Unmarshal([]byte(s.read("trial/trial.json")), &f); err != nil || len(f.Candidates) < 3 {
		t.Fatalf("%v, %d candidates", err, len(f.Candidates))
	}
	if got, want := strings.ReplaceAll(s.read("order"), folder+"/", ""), strings.Join(f.Rounds[0].Runs, "\n")+"\n"; got != want {
		t.Errorf("run in the order\n%swant\n%s", got, want)
	}
	mustHold(t, "the log of the round", s.read("trial/logs/round-1-100.log"), " in job 100: candidate-2\n", "ndc: run 2 ended with status 1 after ")
	if got := s.read("cancelled"); got != "--signal=KILL\n" {
		t.Errorf("cancelled after the run that failed: %q", got)
	}
	mustHold(t, "what was collected", said(exitOK, "--collect", folder), "The fastest is candidate-3", "1 out of memory\n", "layout {\n")
	// What ran other files than the trial's tells nothing of it: files that were edited, though
	// the script was told to run them, or another build.
	kept := "trial/candidate-3/runs/100/run.json"
	was := s.read(kept)
	s.write(t, kept, was+"\n")
	mustHold(t, "what was collected of edited files", said(exitOK, "--collect", folder), "The fastest is candidate-1", "1 edited files\n",
		"the log is of a run whose run.json was edited after ndc had written it")
	s.write(t, kept, was)
	log := "trial/candidate-3/logs/" + filepath.Base(onlyLog(t, filepath.Join(folder, "candidate-3")))
	was = s.read(log)
	s.write(t, log, strings.Replace(was, "; configuration ", "; configuration 0", 1))
	mustHold(t, "what was collected of another build", said(exitOK, "--collect", folder), "The fastest is candidate-1", "1 another build\n")
	s.write(t, log, was)
	// A round is not written whose script would not find a candidate's.
	kept = "trial/candidate-3/" + f.Job + ".sbatch"
	was = s.read(kept)
	if err := os.Remove(filepath.Join(s.folder, kept)); err != nil {
		t.Fatal(err)
	}
	mustHold(t, "what is said of a script that is gone", strings.Join(strings.Fields(said(exitInput, "--next", folder)), " "), "The next round runs candidate-3, and there is no")
	if _, err := os.Lstat(filepath.Join(folder, "round-2.sbatch")); err == nil {
		t.Error("a round is written whose candidate has no script")
	}
	s.write(t, kept, was)
	mustHold(t, "the next round", said(exitOK, "--next", folder), "round 2 of a trial", "candidate-3  step", "joins by what the runs so far say", "Order      candidate-1, ")
	if err := json.Unmarshal([]byte(s.read("trial/trial.json")), &f); err != nil || len(f.Rounds) != 2 {
		t.Fatalf("%v, %d rounds", err, len(f.Rounds))
	}
	told := strings.Fields(said(exitOK, "--collect", folder))
	asked := slices.Concat(f.Rounds[0].Runs, f.Rounds[1].Runs)
	reserve := 0
	for i := range f.Candidates {
		switch name := f.Candidates[i].Name; {
		case slices.Contains(asked, name) != slices.Contains(told, name):
			t.Errorf("%s is told of: %v, and is in a round: %v", name, slices.Contains(told, name), slices.Contains(asked, name))
		case !slices.Contains(asked, name):
			reserve++
		}
	}
	if reserve == 0 {
		t.Errorf("none of %d candidates is in reserve", len(f.Candidates))
	}
}

// onlyLog is the one log of a candidate.
func onlyLog(t *testing.T, folder string) string {
	t.Helper()
	names := logsOf(folder)
	if len(names) != 1 {
		t.Fatalf("the logs of %s are %q", folder, names)
	}
	return names[0]
}

// TestTunePage runs the commands of docs/tune.md in a folder with what testdata/tune
// has, where sbatch copies the logs of made-up runs, and compares what they print.
func TestTunePage(t *testing.T) {
	page := filepath.Join(pageFolder, "tune.md")
	text := readText(t, page)
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../testdata/tune")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(folder, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Chdir(folder)
	got := fence.ReplaceAllStringFunc(text, func(block string) string {
		m := fence.FindStringSubmatch(block)
		return "```console\n" + rerun(t, m[2]) + "```"
	})
	if strings.Contains(got, "\nError: ") {
		t.Fatalf("a command of the page ends with an error: testdata/tune/logs are not those of the rounds:\n%s", got)
	}
	golden.Compare(t, page, []byte(got))
}

// TestTuneUnlike: of two candidates that differ in recompute or in the cut of layers
// alone, the one takes part that is predicted to be the faster.
func TestTuneUnlike(t *testing.T) {
	name := filepath.Join(t.TempDir(), "job.hcl")
	if err := os.WriteFile(name, []byte(unevenJob), 0o666); err != nil {
		t.Fatal(err)
	}
	w, diags := load(name, &inputFlags{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	c, diags := compile(&request{job: &w.Jobs[0]})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	rivals, _, err := compiler.Rivals(t.Context(), c.job, c.target, c.plan)
	if err != nil || len(rivals) < 5 || slices.Max(rivals[0].Choice.Layout.StageLayers) == slices.Min(rivals[0].Choice.Layout.StageLayers) {
		t.Fatalf("%d rivals of %+v: %v", len(rivals), c.plan.Layout, err)
	}
	seen := map[string]int{}
	for i := range rivals {
		l, x := rivals[i].Choice.Layout, rivals[i].Choice.Execution
		l.StageLayers, l.Recompute, l.RecomputeModules, l.RecomputeMethod, l.RecomputeLayers = nil, plan.RecomputeNone, 0, "", 0
		key := fmt.Sprintf("%+v %+v", l, x)
		if other, twice := seen[key]; twice {
			t.Errorf("rivals %d and %d are alike: %+v", other, i, rivals[i].Choice.Layout)
		}
		seen[key] = i
	}
}

const unevenJob = `
cluster "c" {
  base  = catalog.cluster.dgx_h100
  nodes = 2
}
job "j" {
  model   = catalog.model.llama3_8b
  cluster = cluster.c
  training {
    global_batch_size = 512
    steps             = 1000000
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "constant" {}
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
    path    = "/opt/megatron"
  }
}
`
