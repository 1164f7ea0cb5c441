// Package megatron targets Megatron-LM, core_v0.15.0 to core_v0.19.2: which
// layouts a release accepts, how it resolves execution options, and the
// launch script (torchrun pretrain_gpt.py with one argument per line) and
// sbatch that carry out a plan. It does not search and does not predict;
// package compiler/search asks the Target it provides, and the Slurm side of
// the scripts comes from the sibling package slurm. Every emitted option is
// checked against the option table of its release (package schema).
package megatron

import (
	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Backend emits for Megatron-LM.
type Backend struct{}

var _ backends.Backend = Backend{}

// Kind returns "megatron".
func (Backend) Kind() string { return "megatron" }

// Versions lists the supported releases, newest last.
func (Backend) Versions() []string {
	names := make([]string, len(versions))
	for i := range versions {
		names[i] = versions[i].name
	}
	return names
}

// release finds the job's release, or says which one was probably meant.
func release(j *job.Job) (*version, diag.List) {
	var diags diag.List
	v, ok := find(j.Backend.Version)
	if !ok {
		names := Backend{}.Versions()
		diags.Error(UnknownVersion, j.Sources.Range("backend.version"), "Unknown Megatron-LM version",
			"ndc emits for "+units.List(names, "and")+"; it knows no version "+quote(j.Backend.Version)+"."+
				backends.MeantVersion(j.Backend.Version, names))
	}
	return v, diags
}
