package search

import "github.com/ndc-dev/ndc/diag"

// The constraints that a layout can fail, beside the target's own rules.
const (
	// IDMemory: the busiest rank needs more memory than is usable.
	IDMemory diag.ID = "memory"
	// IDHostMemory: a node needs more memory beside its GPUs than it has.
	IDHostMemory diag.ID = "host-memory"
	// IDTrainingTime: the run would take longer than max_training_time.
	IDTrainingTime diag.ID = "training-time"
	// IDGPUHours: the run would take more GPU-hours than max_gpu_hours.
	IDGPUHours diag.ID = "gpu-hours"
	// IDCost: the run would cost more than max_cost.
	IDCost diag.ID = "cost"
	// IDSlower: the least memory is sought, and the layout is much slower than the fastest.
	IDSlower diag.ID = "slower"
	// IDMFU: the model FLOPs utilisation falls short of min_mfu.
	IDMFU diag.ID = "mfu"
	// IDExposed: more communication is exposed than max_exposed_communication.
	IDExposed diag.ID = "exposed-communication"
	// IDLeavesNVLink: an axis of nvlink_only leaves its NVLink domain.
	IDLeavesNVLink diag.ID = "leaves-nvlink-domain"
	// IDBatchNotDivisible: the global batch cannot be cut evenly.
	IDBatchNotDivisible diag.ID = "batch-not-divisible"
	// IDLayersNotDivisible: the model's layers have no pipeline or recompute as asked.
	IDLayersNotDivisible diag.ID = "layers-not-divisible"
)

// Reasons says in a sentence why a layout fell to each constraint.
var Reasons = map[diag.ID]string{
	IDMemory:             "the busiest rank needs more memory than is usable",
	IDHostMemory:         "a node needs more memory beside its GPUs than host_memory",
	IDTrainingTime:       "the run takes longer than max_training_time",
	IDGPUHours:           "the run takes more GPU-hours than max_gpu_hours",
	IDCost:               "the run costs more than max_cost",
	IDSlower:             "the step takes more than 5 % longer than the fastest",
	IDMFU:                "the model FLOPs utilisation is below min_mfu",
	IDExposed:            "more communication is exposed than max_exposed_communication allows",
	IDLeavesNVLink:       "an axis of nvlink_only leaves its NVLink domain",
	IDBatchNotDivisible:  "global_batch_size cannot be cut into equal micro-batches over the replicas",
	IDLayersNotDivisible: "the layers of the model cannot be cut into chunks, or recomputed, as constraints.layout asks",
}
