// Package backends is what the emitters have in common: the Backend interface,
// the files they produce, and what they all take of torch. An emitter turns a Job and its Plan into
// Artifacts; it never searches, reads HCL or touches the disk. The frameworks
// live in the packages megatron, torchtitan and deepspeed, which never import
// one another; shared text generation is in render and slurm, shared option
// tables are read by schema.
package backends

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// Backend emits for one framework.
type Backend interface {
	// Kind is the label of the backend block: megatron, torchtitan, deepspeed.
	Kind() string
	// Versions lists the supported versions, newest last.
	Versions() []string
	// Target returns what the job's version can do for this job. Diagnostics
	// point at the arguments that the version cannot honour.
	Target(j *job.Job) (*target.Target, diag.List)
	// Emit writes the files for a feasible plan. Paths are relative to
	// out/JOB/BACKEND and use slashes. Diagnostics point at arguments that
	// cannot be emitted.
	Emit(j *job.Job, p *plan.Plan) ([]Artifact, diag.List)
}

// Artifact is one generated file.
type Artifact struct {
	Path       string
	Content    []byte
	Executable bool
}
