//go:build conformance

package torchtitan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestExtraArguments reads extra_args of every type by the real command line, as launch.sh
// hands them over.
func TestExtraArguments(t *testing.T) {
	program, dir := ndc(t), t.TempDir()
	template, err := os.ReadFile("testdata/small.hcl")
	if err != nil {
		t.Fatal(err)
	}
	const words = `extra_args = ["--debug.deterministic=true", "--debug.deterministic_warn_only=false", "--metrics.save-for-all-ranks=true", "--training.gc_freq=7", "--checkpoint.exclude_from_loading=dataloader,lr_scheduler"]`
	job := filepath.Join(dir, "job.hcl")
	content := strings.NewReplacer("# LAYOUT", "data_parallel_shard = 1", "    version = var.version\n", "    version = var.version\n    "+words+"\n").Replace(string(template))
	if err := os.WriteFile(job, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			out := filepath.Join(dir, r.version)
			run(t, 5*time.Minute, nil, ".", program, "build", job, "--var", "data="+dir, "--var", "checkpoints="+dir, "--var", "gpus=1", "--var", "version="+r.version, "-o", out)
			files := filepath.Join(out, "small", "torchtitan")
			const handed = `NDC_DIR=. && . <(sed -n '/^arguments=(/,/^)/p' launch.sh) && exec "$0" -c 'import sys; from torchtitan.config import ConfigManager; print(ConfigManager().parse_args(sys.argv[1:]))' "${arguments[@]}"`
			printed := run(t, 5*time.Minute, environment(t, files), files, "bash", "-c", handed, r.python(t))
			for _, want := range []string{"deterministic=True", "deterministic_warn_only=False", "save_for_all_ranks=True", "gc_freq=7", "'dataloader'"} {
				if !strings.Contains(printed, want) {
					t.Errorf("not %s:\n%s", want, printed)
				}
			}
		})
	}
}
