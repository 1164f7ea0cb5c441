package uncertainty

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestNormal: probability and quantile are inverse, and the expectation is the
// integral that it stands for.
func TestNormal(t *testing.T) {
	for _, n := range []Normal{{0, 0.1}, {0.02, 0.03}, {-0.05, 0.04}, {0.3, 0.2}} {
		for _, p := range []float64{0.01, 0.3, 0.5, 0.95} {
			near(t, "probability of a quantile", n.Below(n.Quantile(p)), p, 1e-12)
		}
		var mean float64
		const steps = 20000
		for i := range steps {
			mean += n.Quantile((float64(i)+0.5)/steps) / steps
		}
		near(t, "expectation", n.Expected(), mean, 1e-4)
		r := n.Range(0.9)
		near(t, "probability of a range", n.Below(r[1])-n.Below(r[0]), 0.9, 1e-12)
	}
	certain := Normal{Mean: math.Log(1.1)}
	near(t, "below what is certain", certain.Below(1.2)-certain.Below(1.05), 1, 0)
}

// plain is a prior of two terms that matter.
func plain() *Prior {
	p := &Prior{Model: 0.05, Own: 0.02, Degrees: 0.1}
	p.Covariance[Linear][Linear], p.Covariance[Network][Network] = 0.1*0.1, 0.4*0.4
	return p
}

func steps() (compute, mixed Step) {
	compute.Terms[Linear] = 1
	mixed.Terms[Linear], mixed.Terms[Network] = 0.8, 0.2
	return compute, mixed
}

// TestDifference: what layouts share cancels, what they do not remains, and
// swapping them swaps the answer.
func TestDifference(t *testing.T) {
	p := plain()
	a, b := steps()
	near(t, "spread of a layout against itself", p.Difference(&a, &a).Spread, 0.02*math.Sqrt2, 1e-12)
	near(t, "mean of a layout against itself", p.Difference(&a, &a).Mean, 0, 0)
	near(t, "spread", p.Difference(&a, &b).Spread, math.Sqrt(0.02*0.02+0.08*0.08+2*0.02*0.02), 1e-12)
	x, y := p.Difference(&a, &b), p.Difference(&b, &a)
	near(t, "probabilities of either", x.Below(1)+y.Below(1), 1, 1e-12)
	near(t, "spread of a step", p.Ratio(&b).Spread, math.Sqrt(0.08*0.08+0.08*0.08+0.05*0.05+0.02*0.02), 1e-12)
	if apart := math.Hypot(p.Ratio(&a).Spread, p.Ratio(&b).Spread); x.Spread >= 0.6*apart {
		t.Errorf("the difference spreads by %v, both by %v: they share most of it", x.Spread, apart)
	}
	b.Beyond = 1
	if p.Difference(&a, &b).Spread <= x.Spread {
		t.Error("degrees beyond what was measured are no less certain")
	}
	b = a
	for k := range b.Terms {
		b.Terms[k] *= 2
	}
	near(t, "twice the time", p.Difference(&b, &a).Mean, math.Ln2, 1e-12)
}

// TestWorked holds the example of docs/uncertainty.md.
func TestWorked(t *testing.T) {
	p := &Prior{Own: 0.03}
	p.Covariance[Linear][Linear], p.Covariance[Network][Network] = 0.05*0.05, 0.35*0.35
	var a, b Step
	a.Terms[Linear], a.Terms[Network], b.Terms[Linear] = 8, 2, 10.2
	d := p.Difference(&a, &b)
	near(t, "mean", d.Mean, -0.020, 5e-4)
	near(t, "spread", d.Spread, 0.083, 6e-4)
	near(t, "probability", d.Below(1), 0.59, 5e-3)
	near(t, "B over A", p.Difference(&b, &a).Expected(), 1.0235, 1e-4)
	if worst, share := p.Cause(&a); worst != Network || share != 0.2 {
		t.Errorf("A is uncertain for its %s, %v of it", worst, share)
	}
	near(t, "spread of A", p.Ratio(&a).Spread, 0.09, 5e-3)
	near(t, "spread of B", p.Ratio(&b).Spread, 0.06, 5e-3)
}

// TestWorkedUpdate: what the page says of a step and of a benchmark follows from the
// spreads as they are now.
func TestWorkedUpdate(t *testing.T) {
	page, err := os.ReadFile("../../docs/uncertainty.md")
	if err != nil {
		t.Fatal(err)
	}
	r := Embedded()
	p := r.At(&r.Dense, Distance{})
	var products Step
	products.Terms[Linear] = 1
	percent := func(of *Prior) float64 { return 100 * of.Mean[Linear] }
	step, kernels := Observation{Step: products, Ratio: 1.1, Model: 1}, Observation{Step: products, Ratio: 1.1, Benchmark: r.Benchmark(Linear)}
	for _, says := range []string{
		fmt.Sprintf("| %.1f %% for dense models, %.1f %% for mixtures; 0 on a cluster that was calibrated |", 100*r.Dense.Mean, 100*r.Experts.Mean),
		fmt.Sprintf("share `c` = %.0f %% is the machine's", 100*p.Machine),
		fmt.Sprintf("(`σ` = %.1f %%, `model` = %.1f %%,\n`own` = %.1f %%)", 100*math.Sqrt(p.Covariance[Linear][Linear]), 100*p.Model, 100*p.Own),
		fmt.Sprintf("these are %.1f, %.1f and %.1f %%.", percent(p.Trained([]Observation{step}, 1)), percent(p.Others([]Observation{step})), percent(p.Others([]Observation{kernels}))),
	} {
		if !strings.Contains(string(page), says) {
			t.Errorf("docs/uncertainty.md does not say %q", says)
		}
	}
}

// TestUpdate: one step moves its term as far as the formula of two normal
// distributions says, leaves what it says nothing about, and many steps settle
// the terms but not what each model has for itself.
func TestUpdate(t *testing.T) {
	p := plain()
	compute, mixed := steps()
	seen := Observation{Step: compute, Ratio: 1.2}
	post := p.Update([]Observation{seen})
	near(t, "mean", post.Mean[Linear], math.Log(1.2)*0.01/(0.01+0.0025+0.0004), 1e-9)
	near(t, "variance", post.Covariance[Linear][Linear], 1/(1/0.01+1/(0.0025+0.0004)), 1e-9)
	near(t, "mean of another term", post.Mean[Network], 0, 0)
	near(t, "variance of another term", post.Covariance[Network][Network], 0.16, 0)
	if post.Ratio(&mixed).Spread >= p.Ratio(&mixed).Spread {
		t.Error("another layout is no more certain")
	}
	same := *p.Update(nil)
	if same != *p {
		t.Errorf("nothing was measured, and %+v became %+v", *p, same)
	}

	a, b := Observation{Step: compute, Ratio: 1.1, Model: 1}, Observation{Step: mixed, Ratio: 1.3, Model: 2}
	both, one := p.Update([]Observation{a, b}), p.Update([]Observation{a}).Update([]Observation{b})
	for k := range both.Mean {
		near(t, "one after the other: "+Term(k).String(), one.Mean[k], both.Mean[k], 5e-3)
	}

	// 20 models on a machine whose products take 10 % longer, its network 50 %
	var many []Observation
	for model := range 20 {
		for _, s := range []Step{compute, mixed} {
			truth := float64(s.Terms[Linear])*1.1 + float64(s.Terms[Network])*1.5
			many = append(many, Observation{Step: s, Ratio: truth / float64(s.Terms.Sum()), Model: model})
		}
	}
	post = p.Update(many)
	near(t, "learned products", post.Mean[Linear], math.Log(1.1), 0.005)
	near(t, "learned network", post.Mean[Network], math.Log(1.5), 0.03)
	near(t, "prediction then", post.Ratio(&mixed).Quantile(0.5), 0.8*1.1+0.2*1.5, 0.005)
	if spread := post.Ratio(&mixed).Spread; spread < p.Model || spread > 0.06 {
		t.Errorf("spread %v", spread)
	}
}

// TestNoAllocation: the hot path of a choice.
func TestNoAllocation(t *testing.T) {
	p := plain()
	a, b := steps()
	if n := testing.AllocsPerRun(10, func() { p.Difference(&a, &b).Expected() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// llama is a job in the middle of what was measured.
func llama() *job.Job {
	j := &job.Job{}
	j.Cluster.GPU.Catalog, j.Training.Precision, j.Model.SequenceLength = "h100_sxm", "bf16", 4096
	j.Cluster.Nodes, j.Cluster.GPUsPerNode, j.Cluster.NVLink.Domain = 8, 8, 8
	j.Cluster.Network.NICsPerNode, j.Cluster.Network.Bandwidth = 8, 50e9
	return j
}

// TestData: the embedded prior names every term once, with a source, and every
// distance makes a step less certain.
func TestData(t *testing.T) {
	r := Embedded()
	seen := map[string]int{}
	for _, s := range r.Terms {
		seen[s.Term]++
		if s.Source == "" || s.Spread <= 0 || s.Spread > 1 {
			t.Errorf("%+v", s)
		}
	}
	for k := range Count {
		if seen[k.String()] != 1 || k.Words() == "" {
			t.Errorf("%d spreads of %s", seen[k.String()], k)
		}
	}
	for _, g := range r.Growth {
		if g.Source == "" || g.Spread <= 0 {
			t.Errorf("%+v", g)
		}
	}
	engine := r.Experts.Measured.Engines[0]
	var s Step
	for k := range s.Terms {
		s.Terms[k] = 0.1
	}
	known := For(llama(), engine).Ratio(&s).Spread
	for name, change := range map[string]func(*job.Job){
		"100,000 GPUs":       func(j *job.Job) { j.Cluster.Nodes = 12500 },
		"one NIC":            func(j *job.Job) { j.Cluster.Network.NICsPerNode, j.Cluster.Network.Bandwidth = 1, 12.5e9 },
		"PCIe":               func(j *job.Job) { j.Cluster.NVLink.Domain = 0 },
		"an unknown GPU":     func(j *job.Job) { j.Cluster.GPU.Catalog = "x100" },
		"a longer sequence":  func(j *job.Job) { j.Model.SequenceLength = 1 << 20 },
		"layers of patterns": func(j *job.Job) { j.Model.LayerPattern = "M*" },
		"64 experts":         func(j *job.Job) { j.Model.MoE = &job.MoE{Experts: 64} },
	} {
		j := llama()
		change(j)
		if spread := For(j, engine).Ratio(&s).Spread; spread <= known {
			t.Errorf("%s: spread %v, of what was measured %v", name, spread, known)
		}
	}
	j := llama()
	j.Model.MoE = &job.MoE{Experts: 64}
	few := For(j, engine).Ratio(&s).Spread
	j.Model.MoE.Experts = 384
	if spread := For(j, engine).Ratio(&s).Spread; spread <= few {
		t.Errorf("384 experts: spread %v, 64 %v", spread, few)
	}
}

// TestWidths: GEMMs of a job in 8 bits are terms of their own, of which steps in 16
// bits say nothing.
func TestWidths(t *testing.T) {
	var s Step
	s.Terms[Linear], s.Terms[Grouped], s.Terms[Attention] = 3, 2, 1
	if of := s.Terms.In("bf16"); of != s.Terms {
		t.Errorf("in bf16 %v, want %v", of, s.Terms)
	}
	narrow := Step{Terms: s.Terms.In("mxfp8")}
	if want := (Terms{Linear8: 3, Grouped8: 2, Attention: 1}); narrow.Terms != want {
		t.Errorf("in mxfp8 %v, want %v", narrow.Terms, want)
	}
	p := Embedded().At(&Embedded().Dense, Distance{})
	post := p.Others([]Observation{{Step: s, Ratio: 1.2}, {Step: s, Ratio: 1.2, Model: 1}})
	if post.Mean[Linear] <= 0 || post.Mean[Linear8] != 0 || post.Mean[Grouped8] != 0 {
		t.Errorf("steps in 16 bits move GEMMs by %g, those in 8 bits by %g and %g", post.Mean[Linear], post.Mean[Linear8], post.Mean[Grouped8])
	}
}

// TestUnmeasured: on a machine that nothing is known of steps take longer in the mean,
// none before another; once something was measured there, nothing of it is left.
func TestUnmeasured(t *testing.T) {
	p := plain()
	a, b := steps()
	before, difference := p.Ratio(&a), p.Difference(&a, &b)
	p.Unmeasured = 0.03
	near(t, "mean", p.Ratio(&a).Mean, before.Mean+0.03, 1e-12)
	near(t, "spread", p.Ratio(&a).Spread, before.Spread, 0)
	if p.Difference(&a, &b) != difference {
		t.Errorf("two steps differ by %v, before by %v", p.Difference(&a, &b), difference)
	}
	if post := p.Others([]Observation{{Step: b, Ratio: 1}}); post.Unmeasured != 0 {
		t.Errorf("%v is left of it", post.Unmeasured)
	}
	j := llama()
	engine := Embedded().Dense.Measured.Engines[0]
	if got := For(j, engine).Unmeasured; got != Embedded().Dense.Mean || got <= 0 {
		t.Errorf("a cluster of which nothing is known: %v", got)
	}
	j.Cluster.Calibration = &job.Calibration{Terms: []job.TermError{{Name: "linear"}}, Covariance: [][]float64{{0.001}}}
	if got := For(j, engine).Unmeasured; got != 0 {
		t.Errorf("one that was calibrated: %v", got)
	}
}
