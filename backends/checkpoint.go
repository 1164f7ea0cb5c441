package backends

import (
	"math"

	"github.com/ndc-dev/ndc/lang/units"
)

// interruptionsPerGPUHour is the rate of unexpected interruptions of a large
// run: 419 in 54 days on 16,384 H100 (The Llama 3 Herd of Models,
// arXiv:2407.21783, section 3.3.4).
const interruptionsPerGPUHour = 419.0 / (54 * 24 * 16384)

// saveSeconds is how long training stands still for a checkpoint: ndc's
// assumption, since storage is not described in a job.
const saveSeconds = 60

// AutoCheckpointInterval is the time between checkpoints when the job leaves
// it to ndc: sqrt(2·C·M) for the cost C of a save and the mean time M between
// interruptions, which falls with the number of GPUs (Young 1974; Daly 2006).
func AutoCheckpointInterval(gpus int) units.Seconds {
	between := 3600 / (interruptionsPerGPUHour * float64(max(1, gpus)))
	return units.Seconds(math.Sqrt(2 * saveSeconds * between))
}
