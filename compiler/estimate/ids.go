package estimate

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/units"
)

// The warnings that a description can carry.
const (
	// IDKernelsExtrapolated: no kernel was measured on the GPU; efficiencies are
	// those of its nearest relative.
	IDKernelsExtrapolated diag.ID = "kernels-extrapolated"
	// IDWideRange: the 90 % range of the step time is wider than 25 % to a side.
	IDWideRange diag.ID = "wide-time-range"
	// IDBeyondPublished: the predicted utilisation is more than 5 % above the best
	// that was published for such runs.
	IDBeyondPublished diag.ID = "beyond-published"
	// IDMistakenNetwork: the runs of a calibration met another network than their jobs
	// say.
	IDMistakenNetwork diag.ID = "mistaken-network"
	// IDNoNVLink: the GPUs of a node talk over PCIe; what that does to the range.
	IDNoNVLink diag.ID = "no-nvlink"
	// IDPowerLimited: the GPU has less power than the boards whose rates are known;
	// what that does to the step and its range.
	IDPowerLimited diag.ID = "power-limited"
	// IDUnevenExperts: experts are predicted as evenly loaded, and the job does not
	// say that they are; what the step would take as unevenly loaded as published runs.
	IDUnevenExperts diag.ID = "uneven-experts"
	// IDUnplacedBlocks: the step is predicted as if blocks of nodes shared NVLink, and
	// slurm.segment does not ask for them; what it would take where they do not.
	IDUnplacedBlocks diag.ID = "unplaced-blocks"
)

// wide is what a range goes to a side beyond what is usual; short runs waste
// nothing, however long they take.
const (
	wide  = 0.25
	short = units.Hour
)

// warnings says what about a prediction and its range is doubtful, and why.
func (e *Evaluator) warnings(attention compute.AttentionKernel, of *plan.Time, why string) []plan.Warning {
	var out []plan.Warning
	if e.device.Extrapolated() {
		detail := fmt.Sprintf("No kernel was measured on %s: times are those of %s, scaled by the peaks of both.", e.job.Cluster.GPU.Name, e.device.Relative())
		if attention == compute.MemoryEfficient {
			detail += fmt.Sprintf(" What is called flash attention is a memory-efficient kernel here, since FlashAttention begins with compute capability 8.0: it keeps no scores either, and takes %.2g times as long as FlashAttention 2 would.",
				e.device.Over(attention, compute.FlashAttention2))
		}
		out = append(out, plan.Warning{ID: string(IDKernelsExtrapolated), Summary: "Kernel times are extrapolated", Detail: detail})
	}
	t := of.StepSeconds * units.Seconds(1+of.UnmeasuredShare)
	low, high := units.Rounded(1-float64(of.StepRangeSeconds[0]/t)), units.Rounded(float64(of.StepRangeSeconds[1]/t)-1)
	if max(low, high) > wide && t*units.Seconds(e.job.Training.Steps) > short {
		out = append(out, plan.Warning{
			ID: string(IDWideRange), Summary: "The range of the step time is wide",
			Detail: fmt.Sprintf("Nine in ten such steps lie between %.0f %% below and %.0f %% above what is expected. %s", 100*low, 100*high, why),
		})
	}
	return out
}
