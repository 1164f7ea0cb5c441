package job

import (
	"slices"

	"github.com/ndc-dev/ndc/lang/units"
)

// Constraints are the user's limits on the plan.
type Constraints struct {
	MemoryHeadroom          Optional[units.Share]
	MaxOOMProbability       OOMProbability `json:",omitzero"`
	Objective               string         // throughput, memory, time, gpu_hours, cost
	MaxTrainingTime         Optional[units.Seconds]
	MaxGPUHours             Optional[float64]     `json:",omitzero"` // of the whole run, by all GPUs
	MaxCost                 Optional[float64]     `json:",omitzero"` // of the whole run, in the currency of the cluster's price
	MaxExposedCommunication Optional[units.Share] // of the step
	MinMFU                  Optional[float64]
	NVLinkOnly              []string // axes that may not leave an NVLink domain
	Prefer, Avoid           []string // axes and options that ties go to, or away from, by their names
	Layout                  LayoutConstraints

	// Execution has the options of execution of which the job leaves several values
	// open, by their names, with those values as the language spells them; such an
	// option is not set in Job.Execution.
	Execution map[string][]string `json:",omitempty"`

	// Fastest is the step that the least memory is held against where another size of
	// the job has a faster layout; 0: that of the fastest layout.
	Fastest units.Seconds `json:",omitzero"`
}

// MayBe reports whether the job leaves it open that an option of execution has a
// value, as the language spells both.
func (c *Constraints) MayBe(option, value string) bool {
	return slices.Contains(c.Execution[option], value)
}

// UsableMemory is what of a GPU a plan may use: all of its memory less the
// headroom.
func (j *Job) UsableMemory() units.Bytes {
	free := float64(j.Constraints.MemoryHeadroom.Or(0))
	return units.Bytes(float64(j.Cluster.GPU.Memory) * (1 - free))
}

// OOMProbability is how probable running out of memory may be: up to the end of
// the first step, which costs minutes, and after it, which may cost a night.
type OOMProbability struct {
	Start Optional[float64]
	Run   Optional[float64]
}

// Limits are both, with what holds where nothing is said.
func (p OOMProbability) Limits() (start, run float64) { return p.Start.Or(0.05), p.Run.Or(0.001) }

// LayoutConstraints narrows the search, axis by axis, with the names of
// plan.Layout. An axis left alone is the zero Choice.
type LayoutConstraints struct {
	TensorParallel        IntChoice
	SequenceParallel      BoolChoice
	ContextParallel       IntChoice
	PipelineParallel      IntChoice
	VirtualPipeline       IntChoice
	PipelineSchedule      StringChoice
	StageLayers           []int // pinned; nil: free
	ExpertParallel        IntChoice
	ExpertTensorParallel  IntChoice
	DataParallelReplicate IntChoice
	DataParallelShard     IntChoice
	ZeroStage             IntChoice
	MicroBatchSize        IntChoice
	MicroBatches          IntChoice
	Recompute             StringChoice
	RecomputeModules      []string // pinned; nil: free
	RecomputeMethod       StringChoice
	RecomputeLayers       IntChoice
}

// IntChoice is a value, a list, or a range that may leave out some values. The
// zero IntChoice allows everything.
type IntChoice struct {
	Values []int // ascending; nil with Ranged set: a range
	Min    int
	Max    int // 0: no upper bound
	Ranged bool
	Step   int   `json:",omitempty"` // of a range: only Min and what is a multiple of Step above it; 0: everything
	Not    []int `json:",omitempty"` // of a range: what it leaves out, ascending
}

// Free reports whether nothing was said about the axis.
func (c IntChoice) Free() bool { return c.Values == nil && !c.Ranged }

// Pinned reports whether exactly one value is allowed.
func (c IntChoice) Pinned() bool { return len(c.Values) == 1 || c.Ranged && c.Min == c.Max }

// Allows reports whether v is allowed.
func (c IntChoice) Allows(v int) bool {
	if c.Ranged {
		return v >= c.Min && (c.Max == 0 || v <= c.Max) && (v-c.Min)%max(1, c.Step) == 0 && !slices.Contains(c.Not, v)
	}
	return c.Values == nil || slices.Contains(c.Values, v)
}

// Largest is the largest value that is named: of a list, or the end of a range; 0
// without one.
func (c IntChoice) Largest() int {
	if n := len(c.Values); n > 0 {
		return c.Values[n-1]
	}
	return c.Max
}

// StringChoice is a value or a list; nil allows everything. What is said as an
// exclusion is the values that it leaves, and NoValue.
type StringChoice []string

// NoValue stands in an exclusion for an axis that has no value, as the schedule
// of a layout without a pipeline has none, which no exclusion excludes.
const NoValue = ""

// Allows reports whether v is allowed.
func (c StringChoice) Allows(v string) bool {
	return c == nil || slices.Contains(c, v)
}

// Names lists the values that are allowed, by their names.
func (c StringChoice) Names() []string {
	return slices.DeleteFunc(slices.Clone([]string(c)), func(v string) bool { return v == NoValue })
}

// BoolChoice is a pinned truth value or free.
type BoolChoice struct {
	Value, Set bool
	OrNone     bool `json:",omitempty"` // an exclusion left the value, which a layout meets that has none, too
}

// Allows reports whether v is allowed.
func (c BoolChoice) Allows(v bool) bool { return !c.Set || c.Value == v }

// Execution is how the framework runs the job, as far as the user said so;
// what is left out is resolved by the compiler into plan.Execution.
type Execution struct {
	Attention              Optional[string]
	OverlapGradientReduce  Optional[bool]
	OverlapParameterGather Optional[bool]
	OverlapOptimizerGather Optional[bool]
	OverlapTensorParallel  Optional[bool]
	OverlapExpertParallel  Optional[bool]
	GradientDType          Optional[string]
	OptimizerStateDType    Optional[string]
	CrossEntropy           Optional[string]
	LossChunks             Optional[int]
	CUDAGraphs             Optional[string]
	Compile                Optional[bool]
	MoEDispatcher          Optional[string]
	ContextParallelType    Optional[string]
	ReshardAfterForward    Optional[bool]
	FullySharded           Optional[bool]
	ShardBuffers           Optional[string]
	SHARP                  Optional[string]
	ZeroHPZPartition       Optional[int]
	OffloadOptimizer       Optional[bool]
	OffloadParameters      Optional[bool]
	OffloadActivations     Optional[bool]
}
