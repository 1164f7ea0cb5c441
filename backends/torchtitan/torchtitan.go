// Package torchtitan targets TorchTitan 0.2.2 and 0.3.0: which layouts a
// release accepts, how it resolves execution options, which models it can
// build, and the files that carry out a plan. 0.2.2 is configured by a TOML
// file and a Python module that registers the model; 0.3.0 by a Python module
// whose function returns a Trainer.Config. Each dialect is a file of its own
// (dialect_0_2_2.go, dialect_0_3_0.go); what they share is here. The package
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

// dialect is one release of TorchTitan.
type dialect struct {
	version string
	torch   string // the torch release it runs on
	options *schema.Table

	families  []family       // models it can build, most specific first
	schedules []scheduleName // pipeline schedules and the names it gives them
	rules     []target.Rule  // beside the common ones

	optionalSequenceParallel bool // sequence parallelism can be off under TP
	optimizerStateBF16       bool // bf16 moments
	lossChunks               int  // recommended chunks of the loss; 1: it has none
	cudaGraphs               bool
	dispatchers              []string // values of execution.moe_dispatcher, recommended first
	routerDType              string   // what the router multiplies in
	precisions               []precision

	// own tells a runtime what this release computes and keeps in its own way.
	own func(r *runtime.Runtime, f *family)
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

var dialects = []*dialect{dialect022(), dialect030()}

// Kind returns "torchtitan".
func (Backend) Kind() string { return "torchtitan" }

// Versions lists the supported releases, newest last.
func (Backend) Versions() []string {
	names := make([]string, len(dialects))
	for i, d := range dialects {
		names[i] = d.version
	}
	return names
}

// findDialect finds the job's release, or says which one was probably meant.
func findDialect(j *job.Job) (*dialect, diag.List) {
	for _, d := range dialects {
		if d.version == strings.TrimPrefix(j.Backend.Version, "v") {
			return d, nil
		}
	}
	var diags diag.List
	names := Backend{}.Versions()
	detail := "ndc emits for TorchTitan " + strings.Join(names, " and ") + "; it knows no version \"" + j.Backend.Version + "\"."
	if near := schema.Nearest(j.Backend.Version, names); near != "" {
		detail += " Did you mean \"" + near + "\"?"
	}
	diags.Error(UnknownVersion, j.Sources.Range("backend.version"), "Unknown TorchTitan version", detail)
	return nil, diags
}

// scheduleNamed returns the framework's name of a schedule, "" when it has none.
func (d *dialect) scheduleNamed(s plan.Schedule) string {
	for _, n := range d.schedules {
		if n.schedule == s {
			return n.name
		}
	}
	return ""
}
