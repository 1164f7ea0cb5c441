package slurm

import "github.com/ndc-dev/ndc/diag"

// The diagnostics of this package.
const (
	// IDChainWithoutCheckpoint: a chain of submissions cannot see its progress
	// when the run saves nothing.
	IDChainWithoutCheckpoint diag.ID = "chain-without-checkpoint"
	// IDSegmentDoesNotDivide: slurm.segment must divide the node count.
	IDSegmentDoesNotDivide diag.ID = "segment-does-not-divide"
	// IDVariableName: a name in an environment map is not a variable name.
	IDVariableName diag.ID = "variable-name"
	// IDReservedVariable: the scripts set this variable themselves.
	IDReservedVariable diag.ID = "reserved-variable"
	// IDReservedDirective: a directive that ndc derives from the plan.
	IDReservedDirective diag.ID = "reserved-directive"
	// IDDirectiveValue: a directive would break out of its comment line, or has a
	// value that sbatch refuses or passes over.
	IDDirectiveValue diag.ID = "directive-value"
	// IDTemplate: a template of the site is wrong, or makes what cannot stand in
	// its part of the scripts.
	IDTemplate diag.ID = "invalid-template"
	// IDSetup: the lines of slurm.setup are no complete script.
	IDSetup diag.ID = "invalid-setup"
	// IDContainerRuntime: an unknown container runtime.
	IDContainerRuntime diag.ID = "container-runtime"
	// IDCPUsNotAsked: a job that shares its nodes asks for no CPUs.
	IDCPUsNotAsked diag.ID = "cpus-not-asked"
	// IDHostMemoryShort: slurm.memory asks for less memory than a node needs.
	IDHostMemoryShort diag.ID = "host-memory-short"
	// IDHostCoresUnknown: the optimizer runs on cores that nobody counted.
	IDHostCoresUnknown diag.ID = "host-cores-unknown"
	// IDPathOutsideMounts: the container does not share this path with the host.
	IDPathOutsideMounts diag.ID = "path-outside-mounts"
	// IDPathReadOnly: the run writes to a path that is mounted read-only.
	IDPathReadOnly diag.ID = "path-read-only"
	// IDSignalNotHeard: slurm.signal warns nobody who would save.
	IDSignalNotHeard diag.ID = "signal-not-heard"
	// IDTimeLimitTooShort: the limit leaves no time to train.
	IDTimeLimitTooShort diag.ID = "time-limit-too-short"
)
