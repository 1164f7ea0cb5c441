package estimate

import (
	"fmt"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
)

// weak says of machines that are weaker than the measured ones, or than their jobs
// say, what that does to a step and its range. A calibration has measured the machine
// itself, and short runs waste nothing.
func (e *Evaluator) weak(l *plan.Layout, x *plan.Execution, t units.Seconds) []plan.Warning {
	c := e.job.Cluster.Calibration
	if t*units.Seconds(e.job.Training.Steps) <= short || c != nil && c.NetworkTimes == 0 {
		return nil
	}
	var s uncertainty.Step
	e.Uncertain(l, x, &s)
	if c != nil {
		return e.mistakenNetwork(&s)
	}
	return append(e.withoutNVLink(&s), e.powerLimited(&s, t)...)
}

// mistakenNetwork tells that the runs of a calibration met another network than their
// jobs say.
func (e *Evaluator) mistakenNetwork(s *uncertainty.Step) []plan.Warning {
	c := e.job.Cluster.Calibration
	than := fmt.Sprintf("%.2g times slower than", c.NetworkTimes)
	if c.NetworkTimes < 1 {
		than = fmt.Sprintf("%.2g times as fast as", 1/c.NetworkTimes)
	}
	return []plan.Warning{{ID: string(IDMistakenNetwork), Summary: "The network is not what jobs said",
		Detail: fmt.Sprintf("By %s the network between nodes is %s the jobs said that ran. What is exposed of it counts so, %.1f %% of this step, and not what would no longer hide behind compute. Set network of the cluster to what nodes have, and calibrate anew.",
			c.File, than, 100*float64(s.Terms[uncertainty.Network]/s.Terms.Sum()))}}
}

// withoutNVLink compares the range with that of a step whose seconds on PCIe
// are as certain as seconds on NVLink.
func (e *Evaluator) withoutNVLink(s *uncertainty.Step) []plan.Warning {
	c := &e.job.Cluster
	if c.NVLink.Domain > 0 || c.GPUsPerNode == 1 {
		return nil
	}
	prior := e.Prior()
	spread := func(of uncertainty.Term) float64 { return 100 * math.Sqrt(prior.Covariance[of][of]) }
	detail := fmt.Sprintf("The GPUs of a node talk over PCIe, and no such node was measured. What goes over PCIe is predicted with a spread of %.0f %%, what goes over NVLink with one of %.0f %%.",
		spread(uncertainty.PCIe), spread(uncertainty.NVLink))
	if share := float64(s.Terms[uncertainty.PCIe] / s.Terms.Sum()); share < 0.0005 {
		detail += " Nothing of this step waits for PCIe, so its range is no wider for it."
	} else {
		certain := *s
		certain.Terms[uncertainty.NVLink] += certain.Terms[uncertainty.PCIe]
		certain.Terms[uncertainty.PCIe] = 0
		detail += fmt.Sprintf(" It is %.1f %% of this step. Nine in ten such steps lie between %s what is expected; they would lie between %s it if PCIe were as certain as NVLink.",
			100*share, sides(prior.Ratio(s)), sides(prior.Ratio(&certain)))
	}
	return []plan.Warning{{ID: string(IDNoNVLink), Summary: "Nodes without NVLink", Detail: detail}}
}

// sides writes the 90 % range of a ratio.
func sides(n uncertainty.Normal) string {
	r := n.Range(0.9)
	return fmt.Sprintf("%.1f %% below and %.1f %% above", 100*(1-r[0]), 100*(r[1]-1))
}

// powerLimited says what a power limit below that of the chip's usual board
// takes of a step, and what it takes at the bounds of the exponent, which the
// range does not count.
func (e *Evaluator) powerLimited(s *uncertainty.Step, t units.Seconds) []plan.Warning {
	gpu := &e.job.Cluster.GPU
	usual, share := siliconOf(gpu), powerOf(gpu)
	bits := int(8 * elementBytes(e.quantised))
	family := fmt.Sprintf("power%d", bits)
	exponent := e.parameters.nameOfSilicon(family, gpu)
	_, known := e.parameters[exponent] // 4-bit products at another limit were not measured
	board := uncertainty.Embedded().Of(e.job).Measured.Distance(e.job, e.runtime.Calibration.Time).GPU == 0
	if share >= 1 || !known || board && slices.Contains(usual.Held, gpu.Power) {
		return nil
	}
	kept := e.parameters.ofPower(family, gpu)
	var low, high float64 // what products keep at the bounds
	for _, r := range ParameterRecords() {
		if r.Name == exponent {
			low, high = math.Pow(share, r.High), math.Pow(share, r.Low)
		}
	}
	// at is the step if products kept another share of their rate; those of the head are
	// taken to be of the same width.
	at := func(other float64) string {
		return units.Significant(float64(t+s.Terms[uncertainty.Linear.In(e.job.Training.Precision)]*units.Seconds(kept/other-1)), 3)
	}
	return []plan.Warning{{ID: string(IDPowerLimited), Summary: "A power limit that was not measured",
		Detail: fmt.Sprintf("The GPU has %.0f W for %d multiprocessors, the boards whose rates are known %.0f W for %d. Its %d-bit products are predicted at %.0f %% of their rate there. Between %.0f and %.0f %% are possible, and the step would take %s to %s s instead of %s s; "+
			"the range does not count that. Where nothing is lost it takes %s s. Calibrate with a run on such a node.",
			float64(gpu.Power), gpu.SMs, usual.Watts, usual.SMs, bits, 100*kept, 100*low, 100*high, at(high), at(low), at(kept), at(1))}}
}
