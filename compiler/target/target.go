// Package target describes what one version of one framework can do: which
// layouts are legal, which execution options exist and which are recommended.
// How the version runs them is its [runtime.Runtime]. It holds data and predicates
// only; each backend package provides its targets, and the rest of the compiler
// obeys them without knowing a framework by name.
package target

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// Target is one framework version for one job.
type Target struct {
	Backend string // as the language names it
	Version string // as the framework spells it

	// DenseMesh and ExpertMesh give the rank order, innermost axis first.
	DenseMesh, ExpertMesh []plan.Axis

	// What the search may choose on each axis when the user left it free;
	// nil means that the axis does not exist here and stays at 1.
	Schedules            []plan.Schedule // apart from none
	ZeroStages           []int
	Recomputes           []RecomputeOption
	SequenceParallel     []bool // what tensor_parallel > 1 may go with
	ContextParallel      bool
	PipelineParallel     bool
	VirtualPipeline      bool // interleaving exists
	UnevenStages         bool // stage_layers may differ
	ExpertParallel       bool
	ExpertTensorParallel bool // etp other than 1 and tp
	Replicate            bool // data_parallel_replicate > 1 together with shard > 1 (HSDP)

	// Alternatives says, for values of an argument of the layout that this
	// version lacks, who has them, in full sentences. May be nil.
	Alternatives func(argument string, values []string) string

	// Rules decide legality beyond the axes above. They are asked in order,
	// in the hot loop: they must not allocate.
	Rules []Rule

	// Resolve fills the execution options that the user left out with what is
	// recommended for this version, GPU and layout. It must not allocate. Of a pipeline it
	// looks at the schedule and at whether a rank has several chunks, of recompute at
	// everything but the number of layers, as Applies of variants and offers do.
	Resolve func(j *job.Job, l *plan.Layout, x *plan.Execution)

	// For is what this version can do for another job, or the errors that say what it refuses
	// of that: what it offers depends on what is asked for. Nil: the same for every job.
	For func(j *job.Job) (*Target, diag.List)

	// Variants lists further execution options worth trying for fit, such as
	// offload, as changes to a resolved Execution; the search tries them alone
	// and together, where the user left their options free. None of them may need
	// more memory of the GPU. May be nil.
	Variants []Variant

	// Offers lists values of execution options that a search may choose for speed
	// where the job says nothing of the option, beside the recommended one. None of
	// them may need less memory of the GPU than that.
	Offers []Offer

	// Runtime is how this version runs the job: what memory and time depend on.
	Runtime runtime.Runtime

	// PaddedVocab is the vocabulary as this version builds it for a layout; nil: as the
	// model says it.
	PaddedVocab func(m *job.Model, tensorParallel int) int
}

// Vocabulary is the vocabulary as this version builds it for a layout.
func (t *Target) Vocabulary(m *job.Model, tensorParallel int) int {
	if t.PaddedVocab == nil {
		return m.Vocabulary()
	}
	return t.PaddedVocab(m, tensorParallel)
}

// Resolved is what Resolve fills in for a layout.
func (t *Target) Resolved(j *job.Job, l *plan.Layout) (x plan.Execution) {
	t.Resolve(j, l, &x)
	return x
}

// Again is what the version can do for another job.
func (t *Target) Again(j *job.Job) (*Target, diag.List) {
	if t.For == nil {
		return t, nil
	}
	return t.For(j)
}

// RecomputeOption is one recompute choice of a framework.
type RecomputeOption struct {
	Mode    plan.Recompute
	Modules plan.Modules // selective: what is recomputed
	Method  string       // full: uniform or block
	// Layers lists recompute_layers to try; for block they are shares of the
	// chunk expanded by the enumerator when nil.
	Layers []int
}

// Facts is what a rule may look at.
type Facts struct {
	Job    *job.Job
	Layout *plan.Layout
	Exec   *plan.Execution
	GPUs   int
	// Parameters is the number of parameters of the whole model; 0 when who
	// asks has not counted them.
	Parameters int64
}

// Rule is one legality rule of a framework version.
type Rule struct {
	ID     diag.ID
	Reason string // a constant sentence: why the framework refuses
	// Mesh marks a rule that looks only at the job and at the axes of the
	// meshes (every parallel degree, sequence_parallel and zero_stage). It is
	// then asked once for all layouts that share them, before any option of
	// execution has its value: one that reads those of the job is none of meshes,
	// because a search tries the values of their lists on each layout.
	Mesh   bool
	Breaks func(f *Facts) bool
}

// Offer is values of one option of execution.
type Offer struct {
	Option string   // as the language names it: the name of its row in package option
	Values []string // as the language spells them
	// Asked says why only a job that names such a value gets it, as the end of a
	// sentence; "" when a search may choose it unasked.
	Asked string
	// Applies looks at the job, at the axes of the meshes and at the micro-batches only,
	// which floors know, too; nil: everywhere.
	Applies func(f *Facts) bool
}

// Variant is a named change of execution options.
type Variant struct {
	Name    string
	Options []string // the execution arguments it changes, to respect the user's choice
	Applies func(f *Facts) bool
	Apply   func(x *plan.Execution)
}
