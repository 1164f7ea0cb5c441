package plan

import "github.com/ndc-dev/ndc/lang/units"

// Choice is what a plan decides and a lock keeps: a layout and how the framework
// runs it. Open holds the names (those of package option) of axes and options of
// which nothing is known, because whoever wrote them down knew of none.
type Choice struct {
	Layout    Layout
	Execution Execution
	Open      []string
}

// Selection says how the plan was chosen among those that predictions cannot tell
// from the fastest.
type Selection struct {
	Rule  string      // what decided
	Among []Contender // fastest first; then what only a job that asks for it gets
	// GPUHoursRange is the 90 % range of what the whole run may take longer than
	// with the fastest; zero for the fastest. Negative: it saves.
	GPUHoursRange [2]float64
}

// Contender is a plan that another was preferred to.
type Contender struct {
	Layout    Layout
	Execution Execution
	// StepDifferenceRange is the 90 % range of what its step takes longer than the
	// plan's, as a share of that. Negative: it takes less.
	StepDifferenceRange [2]float64
	WhyNot              string
}

// Locked says that a lock decided a plan, against what would be chosen now.
type Locked struct {
	SinceVersion string     // of ndc, which made the choice
	WouldChoose  *Preferred // nil: nothing feasible

	// GainRange is the 90 % range of what the preferred one saves, as a share of
	// the locked plan's step time, or of its memory where that is the objective. Two
	// steps share most of their errors; those of two peaks of memory are taken as
	// independent, which makes the range wider than it is. Negative: it would lose.
	GainRange [2]float64
}

// Preferred is what a search chooses where a lock keeps something else.
type Preferred struct {
	Layout          Layout
	Execution       Execution
	StepSeconds     units.Seconds
	PeakDeviceBytes units.Bytes
}
