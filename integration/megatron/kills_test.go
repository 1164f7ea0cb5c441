//go:build conformance

package megatron

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// TestKills ends ranks of the real Megatron-LM by SIGKILL while they save, as
// ndc emits it: waiting, asynchronously, and where each save deletes the checkpoint
// before. Rank 0 also writes metadata and tracker. After each kill launch.sh picks the checkpoint to go on from, and no
// digit is lost. NDC_CONFORMANCE_CHEAP leaves a few kills of the newest release,
// NDC_KILLS_EVERY every so many.
func TestKills(t *testing.T) {
	h, err := New(".")
	if err != nil {
		t.Fatal(err)
	}
	program, every := filepath.Join(t.TempDir(), "ndc"), 1
	command(t, "go", "build", "-o", program, "../../cmd/ndc")
	releases := environment.MegatronWheels
	if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
		every, releases = 60, releases[len(releases)-1:]
	}
	if given := os.Getenv("NDC_KILLS_EVERY"); given != "" {
		if every, err = strconv.Atoi(given); err != nil {
			t.Fatal(err)
		}
	}
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			line := summary.Line{Framework: "megatron", Version: "core_v" + release, What: "checkpoints under kills at every change of a file"}
			line.AddAfter(t)
			python, _, err := h.Source(line.Version)
			if err != nil {
				line.Skipped = err.Error()
				t.Skip("skipped: ", err)
			}
			for _, mode := range []string{"waiting", "async", "deleting"} {
				t.Run(mode, func(t *testing.T) {
					line.Count(t)
					scratch := t.TempDir()
					command(t, python, "../torchtitan/make_data.py", filepath.Join(scratch, "data"), "64")
					r := run{name: "least/" + mode, gpus: 2, bf16: true, random: true, layout: "zero_stage = 1", saves: "checkpoints", every: 1, async: mode == "async", last: mode == "deleting"}
					got, err := h.Kill(r.build(t, program, line.Version, scratch), every, filepath.Join(scratch, "launch"))
					if err != nil || got.Error != "" {
						t.Fatal(err, got.Error)
					}
					t.Logf("Megatron-LM %s, saves %s: %v kills of the ranks lost nothing, before every %d. change", release, mode, got.Kills, every)
				})
			}
		})
	}
}
