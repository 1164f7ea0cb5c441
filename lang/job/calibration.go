package job

import "github.com/ndc-dev/ndc/lang/units"

// Calibration is what was measured on a cluster, as ndc calibrate writes it. Its
// numbers move the estimate of every job on the cluster.
type Calibration struct {
	File   string // as the job names it
	SHA256 string

	// Terms are the errors of predicted steps, part by part: logarithms of measured
	// over predicted time. Covariance is that of these errors, in the order of
	// Terms.
	Terms      []TermError
	Covariance [][]float64

	// Trained reports that the errors are those of the job's model, and hold what all its
	// layouts share, too.
	Trained bool

	// Ran reports that runs of the job's model are among those that tell, as they may be in
	// an older file, which tells models not apart. It is in the file, and no input beside it.
	Ran bool `json:"-"`

	// NetworkTimes is how many times as long what is exposed of communication between
	// nodes took than the network of the jobs that ran allows; 0: as long. It is in
	// Terms.
	NetworkTimes float64 `json:",omitempty"`

	// Reserved is what the allocator holds over what was predicted; 0: not measured.
	Reserved float64

	// Runs are those that it was made of. They are no input of a prediction.
	Runs []MeasuredRun `json:"-"`
}

// MeasuredRun is a run whose steps were measured.
type MeasuredRun struct {
	Likeness    string // of its plan
	StepSeconds units.Seconds
}

// TermError is what is known of the error of one part of a step.
type TermError struct {
	Name   string
	Mean   float64 // of the logarithm of measured over predicted time
	Before float64 // variance before anything was measured
}
