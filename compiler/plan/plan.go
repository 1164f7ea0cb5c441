// Package plan is the decision the compiler makes for one job on one backend:
// the layout, the resolved execution options, the memory ledger, the time
// breakdown and the reasons. It holds no arithmetic: packages memory, compute,
// collective, schedule, estimate and search fill it in. Its JSON form is package
// plan/file.
package plan

import (
	"math"

	"github.com/ndc-dev/ndc/lang/units"
)

// Plan is the decision for one backend.
type Plan struct {
	Backend        string
	BackendVersion string
	Feasible       bool
	Input          Input
	Layout         Layout
	Execution      Execution
	Mesh           Mesh
	Memory         Memory
	Time           Time
	Communication  []Communication
	Throughput     Throughput
	Run            Run
	Search         Search
	Selection      *Selection // nil: nothing is feasible, or a lock decided
	Alternatives   []Alternative
	Locked         *Locked // nil: the choice is what the search found
	Infeasible     *Infeasible
	Learned        []Learned // axes whose value changes what is learned
	Policies       []Policy
	Overridden     []Override
	Calibration    *Calibration // nil: the cluster has none
	Warnings       []Warning
	Artifacts      []Artifact
}

// Learned is an axis of the layout whose value changes what is learned, and why.
type Learned struct{ Axis, Why string }

// HasLayout reports whether the plan describes a layout. One without a legal layout has
// none; what of it was settled before that is no choice, either.
func (p *Plan) HasLayout() bool { return p.Feasible || p.Layout.MicroBatches > 0 }

// Learns says why the value of an axis changes what is learned, "" where it does not.
func (p *Plan) Learns(axis string) string {
	for i := range p.Learned {
		if p.Learned[i].Axis == axis {
			return p.Learned[i].Why
		}
	}
	return ""
}

// Input repeats what the plan was made for.
type Input struct {
	SHA256           string      // of the resolved job
	Files            []InputFile // that say something of the job
	Model            string
	ParametersTotal  int64
	ParametersActive int64
	SequenceLength   int
	GlobalBatchSize  int
	Precision        string
	GPU              string
	Nodes            int
	GPUs             int
	SpareNodes       int // beyond those, of the allocation
}

// InputFile is a file of the user that was read for a job.
type InputFile struct {
	Path   string // with slashes, relative to the folder of the job
	SHA256 string // of its text with the ends of lines of Unix
}

// Axis is one dimension of a device mesh.
type Axis string

// The axes of the dense and the expert mesh.
const (
	TensorParallel        Axis = "tensor_parallel"
	ContextParallel       Axis = "context_parallel"
	PipelineParallel      Axis = "pipeline_parallel"
	DataParallelShard     Axis = "data_parallel_shard"
	DataParallelReplicate Axis = "data_parallel_replicate"
	ExpertParallel        Axis = "expert_parallel"
	ExpertTensorParallel  Axis = "expert_tensor_parallel"
	ExpertDataParallel    Axis = "expert_data_parallel"
)

// Mesh says how ranks are laid out. Order runs from the innermost axis
// (neighbouring ranks) to the outermost.
type Mesh struct {
	Order      []Axis
	Groups     []Group
	Benchmarks []Benchmark
}

// Benchmark is an all-reduce over all GPUs of some nodes with nothing beside it, as
// nccl-tests measures it.
type Benchmark struct {
	Nodes   int
	GPUs    int    // of all these nodes
	Link    string // the slowest between them
	Bytes   units.Bytes
	Seconds units.Seconds // without a calibration
}

// Group is one communicator kind: Size ranks, Stride apart, over Link.
type Group struct {
	Name   string
	Size   int
	Stride int
	Link   string // nvlink, pcie, network, or self for size 1
	Count  int    // how many such groups there are
}

// Memory is the prediction for every pipeline stage and the worst rank.
type Memory struct {
	GPUBytes    units.Bytes
	UsableBytes units.Bytes
	NeededBytes units.Bytes // what has to be usable for the limits on running out
	OOM         OOMProbability
	NearLimit   *NearLimit  // nil: there is memory to spare
	ExpertRows  *ExpertRows // nil: no buffers of experts can overflow
	Peak        Peak
	Stages      []StageMemory
	Host        HostMemory
}

// OOMProbability is the probability that some rank has run out of the usable
// memory by the end of each phase of a run; Any is that of the whole run.
type OOMProbability struct {
	Start, FirstStep, Optimizer, Steady, Evaluation, Save, Any float64
}

// NearLimit says that steps may take several times as long because the GPU's
// memory is nearly full, as runs of one framework did. The step's time is told
// without; the choice counts with the expectation.
type NearLimit struct {
	Probability float64 // that the memory is so full
	Times       float64 // expectation of how many times as long a step takes
}

// ExpertRows says what buffers of experts that have a fixed size hold, and what is
// routed to the busiest rank of a step while its router is at its most uneven, both
// over the rows of balanced routing. A step that routes more than fits runs twice.
type ExpertRows struct {
	Buffer, Busiest float64
}

// Peak is the busiest rank.
type Peak struct {
	Rank             int
	Stage            int
	AllocatedBytes   units.Bytes
	ReservedBytes    units.Bytes
	DeviceBytes      units.Bytes
	DeviceRangeBytes [2]units.Bytes // 90 % range
}

// StageMemory is one pipeline rank. The ledger sums to AllocatedBytes.
type StageMemory struct {
	Stage          int
	Layers         []int // decoder layers of each chunk on this rank
	AllocatedBytes units.Bytes
	ReservedBytes  units.Bytes
	DeviceBytes    units.Bytes
	Ledger         []LedgerLine
}

// LedgerLine is one named amount of memory that lives at the peak.
type LedgerLine struct {
	ID    string
	Name  string
	Bytes units.Bytes
}

// HostMemory is what a node needs beside its GPUs: the most of any phase of the
// run, and what that consists of.
type HostMemory struct {
	BytesPerNode units.Bytes
	Ledger       []LedgerLine
	Phases       []HostPhase // those that the run has, in their order
}

// HostPhase is what a node needs in a phase of a run: start, until the model is
// on the GPUs; load, while a checkpoint is read; steady; and save, a step beside
// which a checkpoint is written. The ledger sums to BytesPerNode.
type HostPhase struct {
	Name         string
	BytesPerNode units.Bytes
	Ledger       []LedgerLine
}

// Time is the prediction of one optimizer step. The breakdown sums to
// StepSeconds.
type Time struct {
	StepSeconds      units.Seconds
	StepRangeSeconds [2]units.Seconds // 90 % range, of which ExpectedSeconds is the middle
	// ExpectedSeconds is what the step is expected to take. It is longer than what is
	// predicted of the layout where nothing was measured on its cluster, and where a
	// search chose it among others, partly for the errors of the prediction that speak for it.
	ExpectedSeconds units.Seconds
	// UnmeasuredShare is by what share of itself a step takes longer, on the average of
	// clusters on which nothing was measured; zero on one that was calibrated.
	UnmeasuredShare units.Share
	// ChosenAmong is the number of layouts that it was chosen among as the fastest, it
	// and those that come next; 1 without a choice, or by another objective.
	ChosenAmong int
	// FastestSeconds is the step of the fastest layout where the least memory was
	// looked for among those that are almost as fast; else zero.
	FastestSeconds            units.Seconds
	Breakdown                 []TimeLine
	BubbleShare               units.Share
	ExposedCommunicationShare units.Share
}

// TimeLine is one named part of the step on its critical path.
type TimeLine struct {
	ID      string
	Name    string
	Seconds units.Seconds
}

// Communication is one kind of collective over one group, summed over the
// step for the busiest rank.
type Communication struct {
	Group          string
	Collective     string
	Bytes          units.Bytes // payload per rank and step
	Link           string
	Seconds        units.Seconds
	ExposedSeconds units.Seconds // of Seconds; what the rank waits for others' collectives is in the breakdown only
}

// Throughput restates the step time. MFU halves causal attention, does not
// count recompute, and divides by the dense peak of the compute precision.
type Throughput struct {
	TokensPerSecondPerGPU float64
	ModelTFLOPSPerGPU     float64 // 10¹² model FLOPs per second
	MFU                   units.Share
	HFU                   units.Share
}

// Run is the whole training.
type Run struct {
	Steps    int
	Seconds  units.Seconds
	GPUHours float64
	Cost     float64 // in the currency of the cluster's price; 0 without one
	Jobs     int     // submissions of the Slurm time limit; 1 without one

	Checkpoints *Checkpoints // nil: nothing is saved

	// With failures, where the cluster says how often there are any and the run saves; else
	// zero, as where they keep the run from its end.
	ExpectedSeconds units.Seconds
	ExpectedRange   [2]units.Seconds // 90 % range
	Goodput         units.Share      // of the expected time: what the run takes without failures and saves
	Failures        float64          // expected
}

// Checkpoints says how often a run saves: in the steps or the time that was
// given, and what that is in the other by the predicted step.
type Checkpoints struct {
	Given           string // steps, time or auto
	IntervalSteps   int
	IntervalSeconds units.Seconds
	SaveSeconds     units.Seconds // until a checkpoint lies in the storage: by cluster.storage, or ndc's assumption
	Why             string        // of auto: what decided
	Bytes           units.Bytes   // that one takes in the storage
	Kept            int           // of them when the run ends
}

// AllBytes is what all that are kept take in the storage, at most half of what the type
// holds, which is beyond any storage.
func (c *Checkpoints) AllBytes() units.Bytes {
	return units.Bytes(min(float64(c.Kept)*float64(c.Bytes), math.MaxInt64/2))
}

// Search tells how the layout was found:
// Enumerated = Evaluated + Pruned + the sum of Rejected. Evaluated layouts met
// every constraint; those that failed one, also after an evaluation, stand
// under its reason. Pruned ones were skipped because a feasible layout that
// differs only in its recompute or micro-batch cannot be worse.
type Search struct {
	Enumerated int64
	Evaluated  int64
	Pruned     int64
	Rejected   []Rejection
}

// Rejection counts the layouts that fell to one rule.
type Rejection struct {
	ID     string
	Reason string
	Count  int64
}

// Alternative is a layout that came next.
type Alternative struct {
	Layout          Layout
	Execution       Execution
	StepSeconds     units.Seconds
	PeakDeviceBytes units.Bytes
}

// Infeasible says why nothing fits and what would.
type Infeasible struct {
	Reasons []Reason
	Nearest []Nearest
	Fixes   []Fix
}

// Reason is one violated constraint with its numbers, in the unit of the
// constraint (bytes, seconds or a share).
type Reason struct {
	ID        string
	Summary   string
	Stage     int
	Rank      int
	Needed    float64
	Available float64
}

// Nearest is a layout that fails by the least.
type Nearest struct {
	Layout           Layout
	StepSeconds      units.Seconds
	PeakDeviceBytes  units.Bytes
	MissingBytes     units.Bytes // of the GPU's memory
	MissingHostBytes units.Bytes // of a node's memory
	With             []string    // paths of what it offloads unasked, such as "execution.offload.optimizer"
}

// Fix is a change to the job that the compiler has verified to fit.
type Fix struct {
	Change          string
	StepSeconds     units.Seconds
	PeakDeviceBytes units.Bytes
}

// Calibration is what was measured on the plan's cluster, and how it moved the
// prediction.
type Calibration struct {
	File        string
	SHA256      string
	Trained     bool // runs of this model are among those that tell
	Terms       []CalibratedTerm
	Reserved    float64 // factor on what the allocator holds; 0: not measured
	StepSeconds units.Seconds
	DeviceBytes units.Bytes   // these two as they would be predicted without it
	Runs        int           // of plans like this one, among those that it was made of
	Measured    units.Seconds // their step, the mean; 0: there are none
}

// CalibratedTerm is a part of the step that the calibration moves.
type CalibratedTerm struct {
	Term   string
	Factor float64 // on its time
	Name   string  // in words; "" in plans of releases that had none
}

// Policy says whether the plan meets one of the policies that apply to it.
type Policy struct {
	Name     string
	OK       bool
	Severity string // error or warning
	Message  string // why it is not met; "" when it is
	// Condition is what it asks, with what that reads beside the plan; "" of a plan
	// that was made before conditions were recorded.
	Condition string
}

// Override is a part of the scripts that a template of the job's site says.
type Override struct {
	Part     string
	Template string // the file as the site writes it; "" for text that stands in the site
	SHA256   string // of the template
}

// Warning is something the user should know about the plan.
type Warning struct {
	ID      string
	Summary string
	Detail  string
}

// Artifact is a written file with its hash.
type Artifact struct {
	Path   string
	SHA256 string
}
