package plan

import "github.com/ndc-dev/ndc/lang/units"

// What follows is too long for a plan. It is made when asked for (package
// compiler, Detail), drawn by package view/picture, and has the JSON form of the
// files that `ndc graph` writes.

// Timeline holds the passes of one step on every pipeline rank.
type Timeline struct {
	Ranks [][]Slot `json:"ranks"`
}

// End is when the last pass has ended.
func (t *Timeline) End() units.Seconds {
	end := units.Seconds(0)
	for _, slots := range t.Ranks {
		if n := len(slots); n > 0 {
			end = max(end, slots[n-1].End)
		}
	}
	return end
}

// Slot is one piece of work on a pipeline rank.
type Slot struct {
	Kind       string        `json:"kind"` // forward, backward, input_gradient, weight_gradient
	MicroBatch int           `json:"micro_batch"`
	Chunk      int           `json:"chunk"`
	Start      units.Seconds `json:"start_seconds"`
	End        units.Seconds `json:"end_seconds"`
}

// Occupancy is what every pipeline rank has allocated in the course of one step.
type Occupancy struct {
	Lines []Holder    `json:"lines"`
	Ranks []RankHolds `json:"ranks"`
}

// Holder is a line of the memory ledger that some rank has something of.
type Holder struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// RankHolds is what one pipeline rank has allocated during every pass of its
// timeline, in that order, and in the optimizer step.
type RankHolds struct {
	Passes []PassHolds   `json:"passes"`
	Update []units.Bytes `json:"update_bytes"` // by the lines of Occupancy
}

// PassHolds is what a rank has allocated when a pass needs the most, and what it
// keeps until its next pass, by the lines of Occupancy.
type PassHolds struct {
	Most []units.Bytes `json:"most_bytes"`
	Kept []units.Bytes `json:"kept_bytes"`
}

// Most is the largest sum of what a rank has allocated at once.
func (r *RankHolds) Most() units.Bytes {
	most := Sum(r.Update)
	for i := range r.Passes {
		most = max(most, Sum(r.Passes[i].Most))
	}
	return most
}

// Sum adds up what is held.
func Sum(lines []units.Bytes) (n units.Bytes) {
	for _, b := range lines {
		n += b
	}
	return n
}

// Term is one line of a ledger or a breakdown, taken apart.
type Term struct {
	Name    string
	Amount  float64    // bytes or seconds
	Formula string     // with its numbers put in; "" where the amount has no short one
	Section string     // of the documentation, which has the formula and its source
	Error   [2]float64 // 90 % range of measured over predicted; zeros where it is not known by itself
}

// Route is how one kind of collective of a plan travels.
type Route struct {
	Communication
	Size      int // ranks of a group
	Calls     int // in a step, of the busiest rank; zero where the framework cuts them into buckets
	Algorithm string
	Why       string
	Latency   units.Seconds        // of the shortest message
	Bandwidth units.BytesPerSecond // of the tensor, for long messages
	Messages  []Message            // what messages of some sizes would take
}

// Averaging is one way in which replicas of a layout may come to agree.
type Averaging struct {
	Name    string
	Every   int           // steps
	Bytes   units.Bytes   // that a rank sends or reduces, by step at the mean
	Seconds units.Seconds // that they take, nothing beside them
	Device  units.Bytes   // more on the GPU than without, at the peak
	Host    units.Bytes   // more on the host
	Agree   string        // how fast replicas come together
	Source  string        // where it comes from; "" the plan itself
}

// Message is what a collective takes on a message of some size.
type Message struct {
	Bytes      units.Bytes
	Estimated  units.Seconds // by what was measured, as the plan counts it; zero where it was not
	Algorithms []Algorithm   // by their formulas, first those that the library has as it is, the one that it takes in front
}

// Algorithm is one way to carry out a collective.
type Algorithm struct {
	Name, Formula string
	Needs         string // what it takes beside the library as it is; "" nothing
	Source        string
	Seconds       units.Seconds
}

// Neighbour is the plan that moving one axis makes of another one: the best that
// has the moved value and, else, the same layout.
type Neighbour struct {
	Axis            string
	From, To        string
	Layout          Layout
	Execution       Execution // with which step and memory are told
	Feasible        bool
	StepSeconds     units.Seconds // zero where nothing is known of it
	PeakDeviceBytes units.Bytes
	Why             string // what stops it: a rule, a limit, or that it is slower
}

// Sensitivity is how much a fact moves the step of a plan whose layout stays.
type Sensitivity struct {
	Path   string // of the fact in the job, such as cluster.network.bandwidth
	Change string // what was tried
	Step   units.Seconds
	Share  float64 // of the step: by how much it became longer
}

// Assessed is a layout that could be run, with what is predicted of it.
type Assessed struct {
	Layout          Layout        `json:"-"`
	StepSeconds     units.Seconds `json:"step_seconds"`
	PeakDeviceBytes units.Bytes   `json:"peak_device_bytes"`
	Fits            Fit           `json:"fits"`
}

// Fit says whether a layout meets the limits of its job.
type Fit string

// How a layout meets the limits.
const (
	Fits       Fit = "yes"
	FitsUnsure Fit = "unsure" // by its prediction, but not by the upper end of its range
	FitsNot    Fit = "no"
)

// Roofline is what a GPU could do at best, and what the kernels of a layer do.
type Roofline struct {
	MemoryBandwidth units.BytesPerSecond `json:"memory_bandwidth"`
	Kernels         []Kernel             `json:"kernels"`
}

// Kernel is a GEMM or an attention kernel of a forward pass, for one
// micro-batch on one rank.
type Kernel struct {
	Name    string               `json:"name"`
	Layers  int                  `json:"layers"`     // of the model that run it
	Peak    units.FLOPsPerSecond `json:"peak_flops"` // dense, of the type that it computes in
	FLOPs   float64              `json:"flops"`
	Bytes   units.Bytes          `json:"bytes"` // that have to be read and written at least
	Seconds units.Seconds        `json:"seconds"`
}

// Intensity is how many operations a kernel does for each byte.
func (k *Kernel) Intensity() float64 { return k.FLOPs / float64(max(k.Bytes, 1)) }

// Rate is how many operations a kernel does in a second.
func (k *Kernel) Rate() units.FLOPsPerSecond {
	return units.FLOPsPerSecond(k.FLOPs / float64(k.Seconds))
}
