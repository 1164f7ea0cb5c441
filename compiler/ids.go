package compiler

import "github.com/ndc-dev/ndc/diag"

// The diagnostics of this package.
const (
	// IDAxisUnsupported: a pinned axis that the target does not have.
	IDAxisUnsupported diag.ID = "layout-axis-unsupported"
	// IDDegreeIndivisible: a pinned degree does not divide heads, tokens, experts
	// or GPUs.
	IDDegreeIndivisible diag.ID = "layout-degree-indivisible"
	// IDDegreesDoNotFit: the pinned degrees cannot use all GPUs.
	IDDegreesDoNotFit diag.ID = "layout-degrees-do-not-fit"
	// IDBatchIndivisible: the global batch divides over no layout.
	IDBatchIndivisible diag.ID = "batch-indivisible"
	// IDLayersIndivisible: the layers have no pipeline or recompute as the constraints ask.
	IDLayersIndivisible diag.ID = "layers-indivisible"
	// IDStageLayers: stage_layers do not add up.
	IDStageLayers diag.ID = "stage-layers"
	// IDAwkwardNodes: the number of GPUs has a factor that the batch lacks, or the experts in racks of GPUs that share NVLink, or more of it than the batch.
	IDAwkwardNodes diag.ID = "awkward-nodes"
)
