// Package torchtitan targets TorchTitan 0.2.2 and 0.3.0: which layouts a
// release accepts, how it resolves execution options, which models it can
// build, and the files that carry out a plan. 0.2.2 is configured by a TOML
// file and a Python module that registers the model; 0.3.0 by a Python module
// whose function returns a Trainer.Config. Each version is a file of its own
// (version_0_2_2.go, version_0_3_0.go); what they share is here. The package
// does not search and does not predict; package compiler/search asks the
// Target it provides, and the Slurm side of the scripts comes from the sibling
// package slurm. Every emitted option is checked against the option table of
// its release (package schema), because the framework itself accepts values
// of wrong types.
package torchtitan

import (
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// Backend emits for TorchTitan.
type Backend struct{}

var _ backends.Backend = Backend{}

// version is one release of TorchTitan.
type version struct {
	name    string
	torch   string // the torch release it runs on
	options *schema.Table

	families  []family                 // models it can build, most specific first
	schedules []scheduleName           // pipeline schedules and the names it gives them
	rules     []target.Rule            // beside the common ones
	conflicts map[string][]target.Rule // beside the common ones of an option of execution

	// How the release writes the options that it writes in its own way.
	asyncTensor, cudaGraphs, dispatcher written

	// attention are the kernels of attention beside the release's own.
	attention func(j *job.Job) []target.Offer

	optionalSequenceParallel bool   // sequence parallelism can be off under TP
	lossChunks               int    // recommended chunks of the loss
	routerDType              string // what the router multiplies in
	precisions               []precision
	requiresSafetensors      bool   // with which torch reads Hugging Face weights
	secondDeepEP             bool   // deepep stands for DeepEP v2
	ownMuon                  string // why what is emitted does not drive the release's own; "": it has none
	maskOfPositions          string // why document masks and positions that restart go together; "": either goes alone

	// own tells a runtime what this release computes and keeps in its own way.
	own func(r *runtime.Runtime, f *family, j *job.Job)
	// emit writes the framework's files, without those of Slurm.
	emit func(b *build) []backends.Artifact
	// launch says how torchrun starts them.
	launch func(b *build) launch
}

// scheduleName is a pipeline schedule under TorchTitan's name.
type scheduleName struct {
	schedule plan.Schedule
	name     string
}

var versions = []*version{version022(), version030()}

// Kind returns "torchtitan".
func (Backend) Kind() string { return "torchtitan" }

// Versions lists the supported releases, newest last.
func (Backend) Versions() []string {
	names := make([]string, len(versions))
	for i, v := range versions {
		names[i] = v.name
	}
	return names
}

// findVersion finds the job's release, or says which one was probably meant.
func findVersion(j *job.Job) (*version, diag.List) {
	for _, v := range versions {
		if v.name == strings.TrimPrefix(j.Backend.Version, "v") {
			return v, nil
		}
	}
	var diags diag.List
	names := Backend{}.Versions()
	detail := "ndc emits for TorchTitan " + strings.Join(names, " and ") + "; it knows no version \"" + j.Backend.Version + "\"."
	diags.Error(UnknownVersion, j.Sources.Range("backend.version"), "Unknown TorchTitan version", detail+backends.MeantVersion(j.Backend.Version, names))
	return nil, diags
}

// scheduleNamed returns the framework's name of a schedule, "" when it has none.
func (v *version) scheduleNamed(s plan.Schedule) string {
	for _, n := range v.schedules {
		if n.schedule == s {
			return n.name
		}
	}
	return ""
}
