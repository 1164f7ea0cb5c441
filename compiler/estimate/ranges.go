package estimate

import "github.com/ndc-dev/ndc/lang/units"

// span90 is the 90 % range of measured over predicted step time for a class of
// jobs. Empty fields match every job.
type span90 struct {
	GPU       string  `json:"gpu"`
	Precision string  `json:"precision"`
	MoE       bool    `json:"moe"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Source    string  `json:"source"`
}

// span is the 90 % range around a predicted step, by the class of the job in
// data/ranges.json.
func (e *Evaluator) span(t units.Seconds) [2]units.Seconds {
	c := e.class()
	return [2]units.Seconds{t * units.Seconds(c.Low), t * units.Seconds(c.High)}
}

// class is the most specific class of the job.
func (e *Evaluator) class() span90 {
	var classes []span90
	readJSON("data/ranges.json", &classes)
	best, score := span90{Low: 1, High: 1}, -1
	for _, c := range classes {
		if s := e.matches(&c); s > score {
			best, score = c, s
		}
	}
	return best
}

// matches counts how many fields of a class single out the job; -1 when it is
// of another class.
func (e *Evaluator) matches(c *span90) int {
	n := 0
	if c.MoE != (e.model.MoE != nil) {
		return -1
	}
	for _, f := range [][2]string{{c.GPU, e.job.Cluster.GPU.Catalog}, {c.Precision, e.job.Training.Precision}} {
		switch f[0] {
		case "":
		case f[1]:
			n++
		default:
			return -1
		}
	}
	return n
}
