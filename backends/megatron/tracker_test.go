package megatron

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestTracker: a tracker that a killed save left empty names the newest
// complete checkpoint again, and all nodes agree where the run starts from,
// whichever looks first.
func TestTracker(t *testing.T) {
	type folder struct{ tracker, load string }
	complete := []string{"iter_0000008/metadata.json", "iter_0000010/metadata.json", "iter_0000009/metadata.json", "iter_0000012/__0_0.distcp", "iter_$(touch pwned)/metadata.json", "iter_99.bak/metadata.json"}
	cases := map[string]struct {
		files   []string // oldest first
		tracker string   // "-": none
		want    folder
	}{
		"first launch":  {nil, "-", folder{"-", "start"}},
		"running":       {complete, "10", folder{"10", "save"}},
		"release":       {complete, "release", folder{"release", "save"}},
		"emptied":       {complete, "", folder{"9", "save"}}, // the run went back to 8
		"emptied first": {[]string{"iter_0000004/common.pt"}, "", folder{"-", "start"}},
	}
	for name, c := range cases {
		for _, order := range []string{"0 1", "1 0"} {
			t.Run(name+" "+order, func(t *testing.T) {
				root := t.TempDir()
				save := filepath.Join(root, "save")
				for i, f := range c.files {
					f = filepath.Join(save, f)
					must(t, os.MkdirAll(filepath.Dir(f), 0o755))
					must(t, os.WriteFile(f, nil, 0o644))
					at := time.Unix(int64(1000+i), 0)
					must(t, os.Chtimes(f, at, at))
				}
				tracker := filepath.Join(save, "latest_checkpointed_iteration.txt")
				if c.tracker != "-" {
					must(t, os.WriteFile(tracker, []byte(c.tracker), 0o644))
				}
				j := &job.Job{Training: job.Training{Steps: 1000, Checkpoint: job.Checkpoint{Path: save}, Start: job.Start{From: "checkpoint", Path: filepath.Join(root, "start")}}}
				lines := strings.Join(setup(&versions[0], j, &plan.Plan{})[2:], "\n")
				for _, rank := range strings.Fields(order) {
					cmd := exec.Command("bash", "-euo", "pipefail", "-c", "number() { [[ $1 =~ ^[0-9]+$ ]] && printf %s \"$((10#$1))\"; }\nnode_rank="+rank+" local_rank=0\n"+lines+"\nprintf %s \"${load##*/}\"")
					cmd.Dir = root
					out, err := cmd.CombinedOutput()
					if err != nil || string(out) != c.want.load {
						t.Errorf("node %s starts from %s, want %s: %v", rank, out, c.want.load, err)
					}
				}
				content, err := os.ReadFile(tracker)
				if os.IsNotExist(err) {
					content = []byte("-")
				}
				if string(content) != c.want.tracker {
					t.Errorf("tracker %q, want %q", content, c.want.tracker)
				}
				if _, err := os.Stat(filepath.Join(root, "pwned")); err == nil {
					t.Error("the name of a folder was run")
				}
			})
		}
	}
}

// TestDone: a run whose last step is saved ends with success before Megatron-LM
// starts, on all nodes, and no other does.
func TestDone(t *testing.T) {
	for name, c := range map[string]struct {
		tracker string // "-": none
		saved   string // complete checkpoint, if any
		done    bool
	}{
		"first launch": {"-", "", false},
		"on its way":   {"99", "iter_0000099", false},
		"last step":    {"100", "iter_0000100", true},
		"further":      {"250\n", "iter_0000250", true}, // the job says fewer steps now
		"release":      {"release", "", false},
		"hostile":      {"a[$(touch pwned)]", "", false},
		"emptied":      {"", "iter_0000100", true}, // by a save of the last step that was complete but for this file
		"emptied, new": {"", "", false},
	} {
		for _, order := range []string{"0 1", "1 0"} {
			t.Run(name+" "+order, func(t *testing.T) {
				save := filepath.Join(t.TempDir(), "save")
				must(t, os.MkdirAll(filepath.Join(save, c.saved), 0o755))
				if c.saved != "" {
					must(t, os.WriteFile(filepath.Join(save, c.saved, "metadata.json"), nil, 0o644))
				}
				if c.tracker != "-" {
					must(t, os.WriteFile(filepath.Join(save, "latest_checkpointed_iteration.txt"), []byte(c.tracker), 0o644))
				}
				j := &job.Job{Training: job.Training{Steps: 100, Checkpoint: job.Checkpoint{Path: save}}}
				lines := strings.Join(setup(&versions[0], j, &plan.Plan{})[2:], "\n")
				for _, rank := range strings.Fields(order) {
					cmd := exec.Command("bash", "-euo", "pipefail", "-c", "number() { [[ ${1:-} =~ ^[0-9]{1,18}$ ]] && printf '%s\n' \"$((10#$1))\"; }\nnode_rank="+rank+" local_rank=0\n"+lines+"\nprintf started")
					cmd.Dir = save
					out, err := cmd.CombinedOutput()
					want := "started"
					if c.done {
						want = "ndc: all 100 steps are trained\n"
					}
					if err != nil || string(out) != want {
						t.Errorf("node %s says %q, want %q: %v", rank, out, want, err)
					}
				}
				if _, err := os.Stat(filepath.Join(save, "pwned")); err == nil {
					t.Error("the word of the tracker was run")
				}
			})
		}
	}
}

// TestTraced: torch's profiler counts the steps of a launch. One that goes on traces those
// of the run, and none where the profiler would be stopped while it records.
func TestTraced(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	must(t, os.MkdirAll(other, 0o755))
	must(t, os.WriteFile(filepath.Join(other, "latest_checkpointed_iteration.txt"), []byte("30"), 0o644))
	for name, c := range map[string]struct {
		tracker string // "-": none
		start   job.Start
		saves   bool
		later   string
	}{
		"first launch":                     {"-", job.Start{}, true, "0"},
		"before the steps":                 {"10", job.Start{}, true, "-10"},
		"stopped while it records":         {"4", job.Start{}, true, "100"},
		"at the first":                     {"20", job.Start{}, true, "100"},
		"behind them":                      {"60", job.Start{}, true, "100"},
		"begins with another's checkpoint": {"-", job.Start{From: "checkpoint", Path: other}, true, "100"},
		"goes on with its own":             {"10", job.Start{From: "checkpoint", Path: other}, true, "-10"},
		"saves nothing":                    {"-", job.Start{From: "checkpoint", Path: other}, false, "100"},
		"takes weights alone":              {"-", job.Start{From: "checkpoint", Path: other, ResetOptimizer: true}, true, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			save := filepath.Join(t.TempDir(), "save")
			must(t, os.MkdirAll(save, 0o755))
			if c.tracker != "-" {
				must(t, os.WriteFile(filepath.Join(save, "latest_checkpointed_iteration.txt"), []byte(c.tracker), 0o644))
			}
			j := &job.Job{Training: job.Training{Steps: 100, Start: c.start, Logging: job.Logging{Profile: &job.Profile{StartStep: 20, EndStep: 23, Tool: "torch"}}}}
			if c.saves {
				j.Training.Checkpoint.Path = save
			}
			lines := strings.Join(setup(&versions[0], j, &plan.Plan{})[2:], "\n")
			out, err := exec.Command("bash", "-euo", "pipefail", "-c", "number() { [[ ${1:-} =~ ^[0-9]{1,18}$ ]] && printf '%s\n' \"$((10#$1))\"; }\nnode_rank=0 local_rank=0\n"+lines+"\nprintf '%s' \"$later\"").CombinedOutput()
			if err != nil || string(out) != c.later {
				t.Errorf("later %q, want %s: %v", out, c.later, err)
			}
		})
	}
}

// TestTrackerOfOldFormat: where nothing tells that a checkpoint is complete,
// an empty tracker is left to people.
func TestTrackerOfOldFormat(t *testing.T) {
	for format, mended := range map[string]bool{"torch": false, "torch_dist": true, "torch_dcp": true} {
		j := &job.Job{Training: job.Training{Checkpoint: job.Checkpoint{Path: "/x"}}, Backend: job.Backend{ExtraArgs: []string{"--ckpt-format", format}}}
		if got := strings.Contains(strings.Join(setup(&versions[0], j, &plan.Plan{}), "\n"), "rm "); got != mended {
			t.Errorf("%s: mended %v", format, got)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
