package uncertainty

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/lang/units"
)

// TestOddStep: one odd step among others of its model moves Update far, and what is
// learned of the model less than half as far.
func TestOddStep(t *testing.T) {
	p := Embedded().At(&Embedded().Dense, Distance{})
	steps := func(odd float64) []Observation {
		var list []Observation
		for i := range 6 {
			o := Observation{Ratio: 1.05}
			o.Step.Terms[Linear], o.Step.Terms[Network] = 0.7, 0.3
			if i == 0 {
				o.Ratio = odd
			}
			list = append(list, o)
		}
		return list
	}
	even, odd := steps(1.05), steps(3)
	of := func(q *Prior) float64 { return q.Ratio(&odd[1].Step).Mean }
	trained := func(list []Observation) float64 { return of(p.Trained(list, 0)) }
	if moved, robust := of(p.Update(odd))-of(p.Update(even)), trained(odd)-trained(even); robust < 0 || robust > moved/2 {
		t.Errorf("an odd step moves the mean by %g, that of its model by %g", moved, robust)
	}
}

// TestTrained: what is learned of a model by its own step is what two normal variables
// say of its error, terms and what its layouts share together; of a model without
// steps among them it is what is learned of others.
func TestTrained(t *testing.T) {
	p := plain()
	p.Machine = 0.25
	compute, _ := steps()
	seen := []Observation{{Step: compute, Ratio: 1.1, Model: 1}}
	total := p.Covariance[Linear][Linear] + p.Model*p.Model
	one := p.Trained(seen, 1)
	want := math.Log(1.1) * total / (total + p.own(&compute))
	near(t, "mean", one.Ratio(&compute).Mean, want, 0.1*want) // tails
	if one.Model != 0 {
		t.Errorf("%g of the model is left beside its terms", one.Model)
	}
	if before, after := p.OfModel().Covariance[Linear][Linear], one.Covariance[Linear][Linear]; after > 0.5*before || after <= 0 {
		t.Errorf("a variance of %g is left of %g", after, before)
	}
	near(t, "nothing of it", p.Trained(seen, 2).Mean[Linear], p.Others(seen).Mean[Linear], 1e-12)
	many := append(seen, Observation{Step: compute, Ratio: 0.8, Model: 2}, Observation{Step: compute, Ratio: 0.8, Model: 2})
	if a, b := p.Trained(many, 1).Mean[Linear], p.Trained(many, 2).Mean[Linear]; a < 0.5*want || b > 0.5*math.Log(0.8) {
		t.Errorf("one model is off by %g, the other by %g", a, b)
	}
	p.Machine, p.Model = 1, 0
	near(t, "all shared", p.Trained(many, 1).Mean[Linear], p.Others(many).Mean[Linear], 1e-12)
}

// TestOddThroughout: of a model that takes longer by as much in every layout no term takes
// many times as long; all of them do, by about that. One layout that does so is odd.
func TestOddThroughout(t *testing.T) {
	p := Embedded().At(&Embedded().Dense, Distance{})
	for k, s := range map[Term]float64{Linear: 0.036, Attention: 0.143, Bandwidth: 0.095, Overlap: 0.35, Network: 0.361, Straggler: 0.544} {
		p.Covariance[k][k] = s * s // the test's own, so that no fit of the spreads moves what is allowed
	}
	p.Model, p.Own = 0.027, 0.023
	steps := func(ratio float64, n int) []Observation {
		var list []Observation
		for i := range n {
			o := Observation{Ratio: ratio}
			o.Step.Terms[Linear], o.Step.Terms[Attention], o.Step.Terms[Bandwidth] = 0.65, 0.15, 0.06
			o.Step.Terms[Overlap], o.Step.Terms[Network], o.Step.Terms[Straggler] = units.Seconds(0.05+0.01*float64(i%2)), units.Seconds(0.05-0.01*float64(i%2)), 0.04
			list = append(list, o)
		}
		return list
	}
	before := p.OfModel()
	for _, ratio := range []float64{0.5, 0.7, 1.1, 1.3, 2, 3.9} {
		post := p.Trained(steps(ratio, 5), 0)
		for k := range post.Mean {
			if d := math.Abs(post.Mean[k] - before.Mean[k] - math.Log(ratio)); ratio > 1.2 && d > 1.5*math.Sqrt(p.Covariance[k][k]) {
				t.Errorf("%g times as long: %s by %g", ratio, Term(k), math.Exp(post.Mean[k]))
			}
		}
		near(t, "the steps", post.Ratio(&steps(1, 1)[0].Step).Mean, math.Log(ratio), 0.03)
	}
	if got := p.Trained(steps(2, 1), 0).Mean[Linear]; got > 0.1 {
		t.Errorf("one odd layout moves dense GEMMs by %g", got)
	}
}

// TestOthers: with two steps, each of its own model, what is learned of another
// model is what two normal variables say of the part that all share.
func TestOthers(t *testing.T) {
	p := plain()
	compute, _ := steps()
	seen := []Observation{{Step: compute, Ratio: 1.1, Model: 1}, {Step: compute, Ratio: 1.1, Model: 2}}
	p.Machine = 0.25
	total := p.Covariance[Linear][Linear]
	apart := 0.75*total + p.Model*p.Model + p.own(&compute) // of each step beside what they share
	want := math.Log(1.1) * 0.25 * total / (0.25*total + apart/2)
	near(t, "mean", p.Others(seen).Mean[Linear], want, 0.1*want) // tails of a layout's own error
	if left := p.Others(seen).Covariance[Linear][Linear]; left < 0.75*total || left > total {
		t.Errorf("a variance of %g of %g is left, of which each model has %g for itself", left, total, 0.75*total)
	}
	p.Machine = 0
	near(t, "nothing shared", p.Others(seen).Mean[Linear], 0, 0)
}

// TestOddModel: a model that is off by far more than models are moves what is
// expected of others less than half as far as one that is off by a tenth of that;
// steps that are all even say the same as without tails.
func TestOddModel(t *testing.T) {
	p := plain()
	p.Machine = 0.3
	compute, _ := steps()
	moved := func(ratio float64) float64 {
		return p.Others([]Observation{{Step: compute, Ratio: ratio}, {Step: compute, Ratio: ratio}, {Step: compute, Ratio: 1, Model: 1}, {Step: compute, Ratio: 1, Model: 1}}).Mean[Linear]
	}
	even, odd := moved(1.1), moved(3)
	if even <= 0 || odd > 0.5*even*math.Log(3)/math.Log(1.1) {
		t.Errorf("a model that is 10 %% slower moves others by %g, one that is 200 %% slower by %g", even, odd)
	}
	if math.Abs(even-0.3*0.01*math.Log(1.1)/(2*0.3*0.01+0.7*0.01+0.0025+0.0002)) > 0.1*even {
		t.Errorf("a model that is 10 %% slower moves others by %g", even)
	}
}

// TestBenchmark: GEMMs whose kernels alone take 10 %
// longer than predicted, on a machine that none of its models was trained on.
func TestBenchmark(t *testing.T) {
	p := plain()
	p.Machine = 0.3
	o := Observation{Ratio: 1.1, Benchmark: 0.06}
	o.Step.Terms[Linear] = 1
	shared := 0.3 * 0.01
	want := math.Log(1.1) * shared / (shared + 0.0036)
	near(t, "mean", p.Update([]Observation{o}).Mean[Linear], want, 1e-12)
	near(t, "variance", p.Update([]Observation{o}).Covariance[Linear][Linear], 0.01-shared*shared/(shared+0.0036), 1e-12)
	near(t, "mean of other models", p.Others([]Observation{o}).Mean[Linear], want, 0.1*want)
	near(t, "another term", p.Update([]Observation{o}).Mean[Network], 0, 0)
	compute, _ := steps()
	with := []Observation{{Step: compute, Ratio: 1.1}, o}
	if a, b := p.Trained(with, 0).Mean[Linear], p.Trained(with[:1], 0).Mean[Linear]; a <= b {
		t.Errorf("a step and a benchmark move GEMMs by %g, the step alone by %g", a, b)
	}
}
