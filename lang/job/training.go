package job

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/lang/units"
)

// Training is everything that decides what is learned.
type Training struct {
	GlobalBatchSize int    // sequences per optimizer step
	Steps           int    // optimizer steps; derived from Tokens when those were given
	Tokens          int64  // tokens of the whole run; derived from Steps when those were given
	Precision       string // bf16, fp16, fp32, fp8, mxfp8, nvfp4
	FP8             FP8
	Seed            int
	BatchRamp       *BatchRamp
	Optimizer       Optimizer
	Schedule        Schedule
	Data            Data
	Start           Start
	Checkpoint      Checkpoint
	Logging         Logging
	Timeout         Timeout
	RerunMode       string // validate_results, disabled; "": the backend decides
}

// FP8 holds the recipe of 8-bit (and 4-bit) training.
type FP8 struct {
	Recipe          string // delayed, tensorwise, rowwise, blockwise; mxfp8 and nvfp4 precisions have their own
	ParameterGather bool
	BF16FirstLayers int
	BF16LastLayers  int
}

// BatchRamp grows the batch from Start by Increment over Sequences.
type BatchRamp struct {
	Start, Increment int   // sequences
	Sequences        int64 // consumed when the ramp ends
}

// ElementBytes is the size of a parameter and of an activation as the model computes with
// them: 4 for fp32, 2 for every other precision, those of fewer bits included, which
// quantise what is bf16.
func (t *Training) ElementBytes() int64 {
	if t.Precision == "fp32" {
		return 4
	}
	return 2
}

// Optimizer is the update rule.
type Optimizer struct {
	Kind             string  // adamw, adam, muon, sgd
	LearningRate     float64 // its peak
	WeightDecay      float64 // decoupled from the gradient, but for adam
	Beta1, Beta2     float64 // of Adam: what a step keeps of the moments
	Epsilon          float64 // of Adam: added to the root of the second moment
	GradientClipping float64 // 0: none
	Momentum         float64 // of SGD and Muon
}

// Moments is how many numbers the optimizer keeps of a parameter beside its value: two of
// Adam, one of SGD with momentum, none of SGD without, and of Muon one of a parameter of a
// matrix and Adam's two of any other.
func (o *Optimizer) Moments(matrix bool) int {
	switch {
	case o.Kind == "sgd" && o.Momentum == 0:
		return 0
	case o.Kind == "sgd" || o.Kind == "muon" && matrix:
		return 1
	}
	return 2
}

// Schedule is the learning rate over the run.
type Schedule struct {
	Kind                string // cosine, linear, wsd, constant
	WarmupSteps         int
	DecaySteps          int    // steps over which the rate falls; 0: to the end of the run
	DecayShape          string // of wsd: linear, cosine, exponential, minus_sqrt
	MinimumLearningRate float64
}

// Data is what is read.
type Data struct {
	Format           string       // megatron, tokens, jsonl
	Sources          []DataSource // in order of their label
	Validation       *Validation
	Split            string // see Shares
	Tokenizer        Tokenizer
	ResetPositionIDs bool
	DocumentMask     bool
	Workers          int
	CachePath        string
	Mock             bool
}

var splitShares = regexp.MustCompile(`^\s*\d+(\.\d+)?(\s*,\s*\d+(\.\d+)?){0,2}\s*$`)

// Shares are those of the sources that training, validation and test have by a split such as
// 949,50,1, as they are written; those left out are 0. False for another text.
func Shares(split string) (shares [3]float64, ok bool) {
	if !splitShares.MatchString(split) {
		return shares, false
	}
	for i, text := range strings.Split(split, ",") {
		share, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return shares, false // more than there are numbers
		}
		shares[i] = share
	}
	return shares, true
}

// DataSource is one corpus with its share of the blend.
type DataSource struct {
	Name   string
	Path   string
	Weight float64 // relative; lang normalises the sum to 1
}

// Validation is read every Interval steps, Steps batches at a time.
type Validation struct {
	Path     string
	Interval int
	Steps    int
}

// Tokenizer turns text into ids.
type Tokenizer struct {
	Kind            string // huggingface, sentencepiece, tiktoken, none
	Path            string
	EndOfDocumentID Optional[int]
}

// Start says what the weights are before the first step.
type Start struct {
	From                                     string // scratch, checkpoint, huggingface
	Path                                     string
	ResetOptimizer, ResetSchedule, ResetData bool
}

// Checkpoint says where and how often state is saved. At most one of
// IntervalSteps and IntervalTime is set; neither means "auto".
type Checkpoint struct {
	Path          string // with the backend's name appended; "" when nothing is saved
	IntervalSteps int
	IntervalTime  units.Seconds
	KeepLast      int // 0: all
	SaveOptimizer bool
	Async         bool
}

// Timeout is how long ranks wait for one another; 0: the backend decides.
type Timeout struct {
	Collective units.Seconds
	FirstStep  units.Seconds // up to the end of the first step
}

// Logging is what the run says about itself.
type Logging struct {
	Interval        int    // steps
	TensorBoardPath string // with the backend's name appended; "": none
	Timers          bool   // of the parts of a step
	Memory          bool   // of the allocator
	Norms           bool   // of parameters, and zeros among gradients
	Stragglers      bool   // the slowest and the fastest ranks
	OneLog          bool   // the lines of all ranks in the log of the job, none in files of their own
	WandB           *WandB
	Profile         *Profile
}

// WandB names a Weights & Biases project; its key never passes through ndc.
type WandB struct{ Project, Entity, Mode string }

// Profile records a trace over steps [StartStep, EndStep).
type Profile struct {
	StartStep, EndStep int
	Ranks              []int  // nil: the backend decides
	Tool               string // torch, nsys
}
