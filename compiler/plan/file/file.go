// Package file is the JSON form of plans: what `ndc plan --json` prints and
// what plan.json holds, part of ndc's contract (docs/plan.schema.json). Within a
// FormatVersion fields may be added, never renamed. The compiler's own types are
// in package plan and may change; Of and Plan.Decision convert, and a test holds
// that they lose nothing. Axes and options of execution are written by their
// rows in package option. It reads and writes no files, whatever its name.
package file

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// FormatVersion is the version of the plan JSON. It changes when a field is
// renamed, removed or changes its meaning.
const FormatVersion = "1.0"

// Document is what `ndc plan --json` prints for one job.
type Document struct {
	FormatVersion string  `json:"format_version"`
	NDCVersion    string  `json:"ndc_version"`
	Job           string  `json:"job"`
	Site          string  `json:"site,omitempty"`
	Plans         []Plan  `json:"plans"`
	Output        *Output `json:"output,omitempty"` // of `ndc build` alone
}

// Output says what a build did with the files of one job.
type Output struct {
	Folders   []OutputFolder `json:"folders"`
	Unclaimed []string       `json:"unclaimed"` // folders that ndc wrote and no job claims
}

// OutputFolder is one folder; the lists hold paths below it.
type OutputFolder struct {
	Path    string   `json:"path"`
	Written []string `json:"written"`
	Changed []string `json:"changed"`
	Kept    []string `json:"kept"`
	Removed []string `json:"removed"`
	Edited  []string `json:"edited"` // stale, but edited since ndc wrote them, and so left alone
}

// File is out/JOB/BACKEND/plan.json: one plan with the versions of format and
// program. Its last artifact is the file itself, hashed with that hash empty.
type File struct {
	FormatVersion string `json:"format_version"`
	NDCVersion    string `json:"ndc_version"`
	Job           string `json:"job"`
	Site          string `json:"site,omitempty"`
	Plan
}

// Plan is the decision for one backend.
type Plan struct {
	Backend        string          `json:"backend"`
	BackendVersion string          `json:"backend_version"`
	Feasible       bool            `json:"feasible"`
	Input          Input           `json:"input"`
	Layout         Layout          `json:"layout"`
	Execution      Execution       `json:"execution"`
	Mesh           Mesh            `json:"mesh"`
	Memory         Memory          `json:"memory"`
	Time           Time            `json:"time"`
	Communication  []Communication `json:"communication"`
	Throughput     Throughput      `json:"throughput"`
	Run            Run             `json:"run"`
	Search         Search          `json:"search"`
	Choice         *Choice         `json:"choice"`
	Alternatives   []Alternative   `json:"alternatives"`
	Locked         *Locked         `json:"locked"`
	Infeasible     *Infeasible     `json:"infeasible"`
	Learned        []Learned       `json:"learned,omitempty"` // absent where no axis changes what is learned
	Policies       []Policy        `json:"policies"`
	Overridden     []Override      `json:"overridden,omitempty"`  // absent without any
	Calibration    *Calibration    `json:"calibration,omitempty"` // absent without one
	Warnings       []Warning       `json:"warnings"`
	Artifacts      []Artifact      `json:"artifacts"`
}

// Learned is an axis of the layout whose value changes what is learned, and why.
type Learned struct {
	Axis string `json:"axis"`
	Why  string `json:"why"`
}

// Input repeats what the plan was made for.
type Input struct {
	SHA256           string      `json:"sha256"` // of the resolved job
	Files            []InputFile `json:"files"`
	Model            string      `json:"model"`
	ParametersTotal  int64       `json:"parameters_total"`
	ParametersActive int64       `json:"parameters_active"`
	SequenceLength   int         `json:"sequence_length"`
	GlobalBatchSize  int         `json:"global_batch_size"`
	Precision        string      `json:"precision"`
	GPU              string      `json:"gpu"`
	Nodes            int         `json:"nodes"`
	GPUs             int         `json:"gpus"`
	SpareNodes       int         `json:"spare_nodes,omitempty"` // that the allocation has beyond the nodes; absent without any
}

// InputFile is a file of the user that was read for a job.
type InputFile struct {
	Path   string `json:"path"` // relative to the folder of the job
	SHA256 string `json:"sha256"`
}

// Mesh says how ranks are laid out. Order runs from the innermost axis
// (neighbouring ranks) to the outermost.
type Mesh struct {
	Order      []plan.Axis `json:"order"`
	Groups     []Group     `json:"groups"`
	Benchmarks []Benchmark `json:"benchmarks"`
}

// Benchmark is an all-reduce over all GPUs of some nodes with nothing beside it, as
// nccl-tests measures it.
type Benchmark struct {
	Nodes   int           `json:"nodes"`
	GPUs    int           `json:"gpus"` // of all these nodes
	Link    string        `json:"link"` // the slowest between them
	Bytes   units.Bytes   `json:"bytes"`
	Seconds units.Seconds `json:"seconds"` // without a calibration
}

// Group is one communicator kind: Size ranks, Stride apart, over Link.
type Group struct {
	Name   string `json:"name"`
	Size   int    `json:"size"`
	Stride int    `json:"stride"`
	Link   string `json:"link"`  // nvlink, pcie, network, or self for size 1
	Count  int    `json:"count"` // how many such groups there are
}

// Memory is the prediction for every pipeline stage and the worst rank.
type Memory struct {
	GPUBytes    units.Bytes    `json:"gpu_bytes"`
	UsableBytes units.Bytes    `json:"usable_bytes"`
	NeededBytes units.Bytes    `json:"needed_bytes"` // what has to be usable for constraints.max_oom_probability
	OOM         OOMProbability `json:"oom_probability"`
	NearLimit   *NearLimit     `json:"near_limit,omitempty"`  // absent: there is memory to spare
	ExpertRows  *ExpertRows    `json:"expert_rows,omitempty"` // absent: no buffers of experts can overflow
	Peak        Peak           `json:"peak"`
	Stages      []StageMemory  `json:"stages"`
	Host        HostMemory     `json:"host"`
}

// OOMProbability is the probability that some rank has run out of the usable
// memory by the end of each phase of a run.
type OOMProbability struct {
	Start      float64 `json:"start"`
	FirstStep  float64 `json:"first_step"`
	Optimizer  float64 `json:"optimizer"`
	Steady     float64 `json:"steady"`
	Evaluation float64 `json:"evaluation"`
	Save       float64 `json:"save"`
	Any        float64 `json:"any"`
}

// NearLimit says that steps may take several times as long because the GPU's
// memory is nearly full. Times in the plan are told without.
type NearLimit struct {
	Probability float64 `json:"probability"`
	Times       float64 `json:"expected_times"` // as long a step takes
}

// ExpertRows says what buffers of experts that have a fixed size hold, and what is
// routed to the busiest rank while its router is at its most uneven, both over the
// rows of balanced routing.
type ExpertRows struct {
	Buffer  float64 `json:"buffer"`
	Busiest float64 `json:"busiest"`
}

// Peak is the busiest rank.
type Peak struct {
	Rank             int            `json:"rank"`
	Stage            int            `json:"stage"`
	AllocatedBytes   units.Bytes    `json:"allocated_bytes"`
	ReservedBytes    units.Bytes    `json:"reserved_bytes"`
	DeviceBytes      units.Bytes    `json:"device_bytes"`
	DeviceRangeBytes [2]units.Bytes `json:"device_range_bytes"` // 90 % range
}

// StageMemory is one pipeline rank. The ledger sums to AllocatedBytes.
type StageMemory struct {
	Stage          int          `json:"stage"`
	Layers         []int        `json:"layers"` // decoder layers of each chunk on this rank
	AllocatedBytes units.Bytes  `json:"allocated_bytes"`
	ReservedBytes  units.Bytes  `json:"reserved_bytes"`
	DeviceBytes    units.Bytes  `json:"device_bytes"`
	Ledger         []LedgerLine `json:"ledger"`
}

// LedgerLine is one named amount of memory that lives at the peak.
type LedgerLine struct {
	ID    string      `json:"id"`
	Name  string      `json:"name"`
	Bytes units.Bytes `json:"bytes"`
}

// HostMemory is what a node needs beside its GPUs: the most of any phase of the
// run, and what that consists of.
type HostMemory struct {
	BytesPerNode units.Bytes  `json:"bytes_per_node"`
	Ledger       []LedgerLine `json:"ledger"`
	Phases       []HostPhase  `json:"phases"` // those that the run has, in their order
}

// HostPhase is what a node needs in a phase of the run.
type HostPhase struct {
	Name         string       `json:"name"` // start, load, steady or save
	BytesPerNode units.Bytes  `json:"bytes_per_node"`
	Ledger       []LedgerLine `json:"ledger"`
}

// Time is the prediction of one optimizer step. The breakdown sums to
// StepSeconds.
type Time struct {
	StepSeconds               units.Seconds    `json:"step_seconds"`
	StepRangeSeconds          [2]units.Seconds `json:"step_range_seconds"`        // 90 % range
	ExpectedSeconds           units.Seconds    `json:"expected_seconds"`          // longer than predicted on a cluster where nothing was measured, and of a layout that was chosen among others
	UnmeasuredShare           units.Share      `json:"unmeasured_share"`          // of which the former, as a share of the step
	ChosenAmong               int              `json:"chosen_among"`              // layouts that it was the fastest of; 1 without a choice
	FastestSeconds            units.Seconds    `json:"fastest_seconds,omitempty"` // of the fastest layout, where the least memory of those almost as fast was looked for
	Breakdown                 []TimeLine       `json:"breakdown"`
	BubbleShare               units.Share      `json:"bubble_share"`
	ExposedCommunicationShare units.Share      `json:"exposed_communication_share"`
}

// TimeLine is one named part of the step on its critical path.
type TimeLine struct {
	ID      string        `json:"id"`
	Name    string        `json:"name"`
	Seconds units.Seconds `json:"seconds"`
}

// Communication is one kind of collective over one group, summed over the
// step for the busiest rank.
type Communication struct {
	Group          string        `json:"group"`
	Collective     string        `json:"collective"`
	Bytes          units.Bytes   `json:"bytes"` // payload per rank and step
	Link           string        `json:"link"`
	Seconds        units.Seconds `json:"seconds"`
	ExposedSeconds units.Seconds `json:"exposed_seconds"`
}

// Throughput restates the step time. MFU halves causal attention, does not
// count recompute, and divides by the dense peak of the compute precision.
type Throughput struct {
	TokensPerSecondPerGPU float64     `json:"tokens_per_second_per_gpu"`
	ModelTFLOPSPerGPU     float64     `json:"model_tflops_per_gpu"`
	MFU                   units.Share `json:"mfu"`
	HFU                   units.Share `json:"hfu"`
}

// Run is the whole training.
type Run struct {
	Steps    int           `json:"steps"`
	Seconds  units.Seconds `json:"seconds"`
	GPUHours float64       `json:"gpu_hours"`
	Cost     float64       `json:"cost,omitempty"` // in the currency of the cluster's price_per_gpu_hour; absent without one
	Jobs     int           `json:"jobs"`           // submissions of the Slurm time limit; 1 without one

	Checkpoints *Checkpoints `json:"checkpoints"` // nil: nothing is saved

	// With failures; absent where the cluster does not say how often there are any, where
	// nothing is saved, and where they keep the run from its end.
	ExpectedSeconds units.Seconds    `json:"expected_seconds,omitempty"`
	ExpectedRange   [2]units.Seconds `json:"expected_range,omitzero"` // 90 % range
	Goodput         units.Share      `json:"goodput,omitempty"`       // of the expected time: what the run takes without failures and saves
	Failures        float64          `json:"failures,omitempty"`      // expected
}

// Checkpoints says how often a run saves: in the steps or the time that was
// given, and what that is in the other by the predicted step.
type Checkpoints struct {
	Given           string        `json:"given"` // steps, time or auto
	IntervalSteps   int           `json:"interval_steps"`
	IntervalSeconds units.Seconds `json:"interval_seconds"`
	SaveSeconds     units.Seconds `json:"save_seconds"` // until a checkpoint lies in the storage: by cluster.storage, or ndc's assumption
	Why             string        `json:"why"`          // of auto: what decided
	Bytes           units.Bytes   `json:"bytes"`        // that one takes in the storage
	Kept            int           `json:"kept"`         // of them when the run ends
}

// Search tells how the layout was found:
// Enumerated = Evaluated + Pruned + the sum of Rejected. Evaluated layouts met
// every constraint; those that failed one, also after an evaluation, stand
// under its reason. Pruned ones were skipped because a feasible layout that
// differs only in its recompute or micro-batch cannot be worse.
type Search struct {
	Enumerated int64       `json:"enumerated"`
	Evaluated  int64       `json:"evaluated"`
	Pruned     int64       `json:"pruned"`
	Rejected   []Rejection `json:"rejected"`
}

// Rejection counts the layouts that fell to one rule.
type Rejection struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// Choice says how the plan was chosen among those that predictions cannot tell
// from the fastest.
type Choice struct {
	Rule          string      `json:"rule"`
	Among         []Contender `json:"among"`
	GPUHoursRange [2]float64  `json:"gpu_hours_range"` // 90 % range of what the run may take longer than with the fastest
}

// Contender is a plan that another was preferred to.
type Contender struct {
	Layout              Layout     `json:"layout"`
	Execution           Execution  `json:"execution"`
	StepDifferenceRange [2]float64 `json:"step_difference_range"` // 90 % range, as a share of the plan's step
	WhyNot              string     `json:"why_not"`
}

// Alternative is a layout that came next.
type Alternative struct {
	Layout          Layout        `json:"layout"`
	Execution       Execution     `json:"execution"`
	StepSeconds     units.Seconds `json:"step_seconds"`
	PeakDeviceBytes units.Bytes   `json:"peak_device_bytes"`
}

// Locked says that ndc.lock.hcl decided the plan, against what would be chosen
// now.
type Locked struct {
	SinceVersion string     `json:"since_version"`
	WouldChoose  *Preferred `json:"would_choose"`
	GainRange    [2]float64 `json:"gain_range"` // of the step time, or of the memory where that is the objective
}

// Preferred is what a search chooses where a lock keeps something else.
type Preferred struct {
	Layout          Layout        `json:"layout"`
	Execution       Execution     `json:"execution"`
	StepSeconds     units.Seconds `json:"step_seconds"`
	PeakDeviceBytes units.Bytes   `json:"peak_device_bytes"`
}

// Infeasible says why nothing fits and what would.
type Infeasible struct {
	Reasons []Reason  `json:"reasons"`
	Nearest []Nearest `json:"nearest"`
	Fixes   []Fix     `json:"fixes"`
}

// Reason is one violated constraint with its numbers, in the unit of the
// constraint (bytes, seconds or a share).
type Reason struct {
	ID        string  `json:"id"`
	Summary   string  `json:"summary"`
	Stage     int     `json:"stage"`
	Rank      int     `json:"rank"`
	Needed    float64 `json:"needed"`
	Available float64 `json:"available"`
}

// Nearest is a layout that fails by the least.
type Nearest struct {
	Layout           Layout        `json:"layout"`
	StepSeconds      units.Seconds `json:"step_seconds"`
	PeakDeviceBytes  units.Bytes   `json:"peak_device_bytes"`
	MissingBytes     units.Bytes   `json:"missing_bytes"`      // of the GPU's memory
	MissingHostBytes units.Bytes   `json:"missing_host_bytes"` // of a node's memory
	With             []string      `json:"with,omitempty"`     // paths of what it offloads unasked
}

// Fix is a change to the job that the compiler has verified to fit.
type Fix struct {
	Change          string        `json:"change"`
	StepSeconds     units.Seconds `json:"step_seconds"`
	PeakDeviceBytes units.Bytes   `json:"peak_device_bytes"`
}

// Calibration is what was measured on the plan's cluster, and how it moved the
// prediction.
type Calibration struct {
	File        string           `json:"file"`
	SHA256      string           `json:"sha256"`
	Trained     bool             `json:"trained"` // runs of this model are among those that it was made of
	Terms       []CalibratedTerm `json:"terms"`
	Reserved    float64          `json:"reserved_factor"`                 // on what the allocator holds; 0: not measured
	StepSeconds units.Seconds    `json:"step_seconds_without"`            // as it would be predicted without the calibration
	DeviceBytes units.Bytes      `json:"device_bytes_without"`            // the same of the peak
	Runs        int              `json:"runs,omitempty"`                  // of plans like this one, among those that it was made of
	Measured    units.Seconds    `json:"measured_step_seconds,omitempty"` // their step, the mean
}

// CalibratedTerm is a part of the step that the calibration moves.
type CalibratedTerm struct {
	Term   string  `json:"term"`
	Factor float64 `json:"factor"`
	Name   string  `json:"name,omitempty"` // in words
}

// Policy says whether the plan meets one of the policies that apply to it.
type Policy struct {
	Name      string `json:"name"`
	OK        bool   `json:"ok"`
	Severity  string `json:"severity"`  // error or warning
	Message   string `json:"message"`   // why it is not met; empty when it is
	Condition string `json:"condition"` // as written, with the values that it reads beside the plan
}

// Override is a part of the scripts that a template of the job's site says.
type Override struct {
	Part     string `json:"part"`     // sbatch_header, before_launch or after_launch
	Template string `json:"template"` // the file as the site writes it; empty for text that stands in the site
	SHA256   string `json:"sha256"`   // of the template
}

// Warning is something the user should know about the plan.
type Warning struct {
	ID      string `json:"id"`
	Summary string `json:"summary"`
	Detail  string `json:"detail"`
}

// Artifact is a written file with its hash.
type Artifact struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}
