package caution

import "github.com/ndc-dev/ndc/diag"

// The warnings of this package, each about something in the job that would
// waste a run without any error.
const (
	// RunOutlastsLimit: one submission is too short for the run, and nothing
	// submits another.
	RunOutlastsLimit diag.ID = "run-outlasts-limit"
	// ChainTooShort: all submissions of the chain together are shorter than the
	// run, or fewer than its failures end.
	ChainTooShort diag.ID = "chain-too-short"
	// ShortTimeLimit: the run needs several submissions, and each has minutes or
	// a few steps.
	ShortTimeLimit diag.ID = "short-time-limit"
	// NoTimeLimit: a long run without slurm.time ends by a limit that it does not
	// know.
	NoTimeLimit diag.ID = "no-time-limit"
	// LimitInDoubt: the run keeps a limit as it is predicted, and not as it is expected.
	LimitInDoubt diag.ID = "limit-in-doubt"
	// LongRun: the run takes longer than a year.
	LongRun diag.ID = "long-run"
	// HastyHangTimeout: slurm.hang_timeout is shorter than what lies between two reports.
	HastyHangTimeout diag.ID = "hasty-hang-timeout"
	// FailuresOutrun: failures keep the run from its end, or take most of its time.
	FailuresOutrun diag.ID = "failures-outrun"
	// LongMockRun: a long run trains on made-up tokens.
	LongMockRun diag.ID = "long-mock-run"
	// NothingSaved: a long run has no checkpoints.
	NothingSaved diag.ID = "nothing-saved"
	// SparseCheckpoints: the interval is longer than the run or than a submission.
	SparseCheckpoints diag.ID = "sparse-checkpoints"
	// FrequentCheckpoints: saving takes longer than the steps between.
	FrequentCheckpoints diag.ID = "frequent-checkpoints"
	// SingleCheckpoint: only the last checkpoint is kept.
	SingleCheckpoint diag.ID = "single-checkpoint"
	// PiledCheckpoints: all checkpoints are kept, and take more than a cluster's storage has
	// room for.
	PiledCheckpoints diag.ID = "piled-checkpoints"
	// LocalCheckpoints: several nodes or submissions save to a folder that each
	// node has of its own.
	LocalCheckpoints diag.ID = "local-checkpoints"
	// MemoryReachesGPU: the upper end of the memory's range is all of the GPU.
	MemoryReachesGPU diag.ID = "memory-reaches-gpu"
	// ExpertsOverflow: buffers of experts are smaller than what an uneven router sends.
	ExpertsOverflow diag.ID = "experts-overflow"
	// UnlikelyLearningRate: a peak learning rate far from every recipe.
	UnlikelyLearningRate diag.ID = "unlikely-learning-rate"
	// UnlikelyOptimizer: another figure of the optimizer that no recipe has.
	UnlikelyOptimizer diag.ID = "unlikely-optimizer"
	// LongWarmup: warm-up takes more than half of the run.
	LongWarmup diag.ID = "long-warmup"
	// NoWarmup: a long run from scratch starts at its peak learning rate.
	NoWarmup diag.ID = "no-warmup"
	// NeverReached: something is set for a step that the run does not have.
	NeverReached diag.ID = "never-reached"
	// CostlyValidation: validation makes the run a tenth longer, or more.
	CostlyValidation diag.ID = "costly-validation"
	// LessThanOneBatch: the tokens of the run do not fill one batch.
	LessThanOneBatch diag.ID = "less-than-one-batch"
	// UnlikelyBandwidth: a link of the cluster is faster than what it hangs on, or
	// slower than what hangs on it.
	UnlikelyBandwidth diag.ID = "unlikely-bandwidth"
	// UnknownGeneration: a GPU does not state its compute capability.
	UnknownGeneration diag.ID = "unknown-generation"
	// DebuggingEnvironment: a variable that slows every step down.
	DebuggingEnvironment diag.ID = "debugging-environment"
)

// summaries holds the one summary of each.
var summaries = map[diag.ID]string{
	RunOutlastsLimit:     "Run outlasts its time limit",
	ChainTooShort:        "Chain ends before the run",
	ShortTimeLimit:       "Time limit of minutes",
	NoTimeLimit:          "Long run without a time limit",
	LimitInDoubt:         "A limit that the run is expected to break",
	LongRun:              "Run of more than a year",
	HastyHangTimeout:     "Silence that is no hang",
	FailuresOutrun:       "Failures outrun the run",
	LongMockRun:          "Long run on made-up data",
	NothingSaved:         "Nothing is saved",
	SparseCheckpoints:    "Checkpoints too far apart",
	FrequentCheckpoints:  "Checkpoints too close together",
	SingleCheckpoint:     "Only one checkpoint is kept",
	PiledCheckpoints:     "Checkpoints fill the storage",
	LocalCheckpoints:     "Checkpoints on the nodes' own disks",
	MemoryReachesGPU:     "Memory may reach the GPU's limit",
	ExpertsOverflow:      "Steps may run twice",
	UnlikelyLearningRate: "Unlikely learning rate",
	UnlikelyOptimizer:    "Unlikely setting of the optimizer",
	LongWarmup:           "Warm-up takes most of the run",
	NoWarmup:             "No warm-up",
	NeverReached:         "Step beyond the run",
	CostlyValidation:     "Validation takes much of the run",
	LessThanOneBatch:     "Less than one batch of tokens",
	UnlikelyBandwidth:    "Unlikely bandwidth",
	UnknownGeneration:    "GPU of an unknown generation",
	DebuggingEnvironment: "Variable for debugging",
}
