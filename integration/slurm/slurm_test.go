//go:build slurm

package slurm

import (
	"testing"
)

// TestSlurm brings Slurm up once. Scenarios with a stand-in for the framework
// run beside those that train, one of which runs at a time: three at once take
// two busy cores longer than anybody waits.
func TestSlurm(t *testing.T) {
	if here.Skip != "" {
		record(t, "everything", 0, 0, here.Skip)
		t.Skip("skipped: ", here.Skip)
	}
	c := start(t)
	folders := emitted(t)
	t.Run("Jobs", func(t *testing.T) {
		t.Run("ScriptsAreAccepted", func(t *testing.T) { t.Parallel(); scriptsAreAccepted(t, c, folders) })
		t.Run("ScriptsAreClean", func(t *testing.T) { t.Parallel(); scriptsAreClean(t, folders) })
		// Alone: the second run has to find nodes before Slurm kills what is left of the first.
		t.Run("SubmittedAfterACancel", func(t *testing.T) { submittedAfterACancel(t, c) })
		for _, s := range chains {
			t.Run(s.name, func(t *testing.T) { t.Parallel(); s.run(t, c) })
		}
		t.Run("Training", func(t *testing.T) {
			t.Parallel()
			t.Run("DeepSpeed", func(t *testing.T) { deepSpeedTrainer(t).survives(t, c) })
			t.Run("Megatron", func(t *testing.T) { megatronTrainer(t).survives(t, c) })
			t.Run("TorchTitan", func(t *testing.T) { torchTitanTrainer(t).survives(t, c) })
			t.Run("StartMegatron", func(t *testing.T) { startsQuietly(t, c, megatronTrainer(t)) })
			t.Run("StartTorchTitan", func(t *testing.T) { startsQuietly(t, c, torchTitanTrainer(t)) })
			t.Run("Tune", func(t *testing.T) { tuned(t, c, torchTitanTrainer(t)) })
		})
	})
	tally.record(t)
}
