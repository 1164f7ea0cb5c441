package calibration

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/logs"
)

// Speed is what was measured of one kind of work, by the check of nodes before a start
// or by nccl-tests, in the measurement in the middle.
type Speed struct {
	What         string        `json:"what"` // gemm, node or network: see logs.SpeedKind
	Term         string        `json:"term"` // that it tells of
	Nodes        int           `json:"nodes"`
	Seconds      units.Seconds `json:"seconds"`
	Predicted    units.Seconds `json:"predicted_seconds"` // without a calibration
	Measurements int           `json:"measurements"`
	Why          string        `json:"why,omitempty"` // it moves nothing
}

// speeds are the measurements in the middle of each kind.
func speeds(runs []Input) []Speed {
	found := map[logs.SpeedKind][]Speed{}
	for i := range runs {
		groups := runs[i].Plan.Mesh.Groups
		for _, s := range sound(runs[i].Log.Speeds) {
			if term, ok := termOf(s.Kind, groups); ok {
				found[s.Kind] = append(found[s.Kind], Speed{What: string(s.Kind), Term: term.String(), Nodes: s.Nodes, Seconds: units.Seconds(s.Seconds), Predicted: units.Seconds(s.Predicted)})
			}
		}
		for k := range runs[i].Log.Tables {
			if s, ok := tabled(&runs[i].Log.Tables[k], runs[i].Plan.Mesh.Benchmarks); ok {
				found[logs.SpeedKind(s.What)] = append(found[logs.SpeedKind(s.What)], s)
			}
		}
	}
	out := []Speed{}
	for _, kind := range [...]logs.SpeedKind{logs.Products, logs.Inside, logs.Between} {
		list := found[kind]
		if len(list) == 0 {
			continue
		}
		slices.SortStableFunc(list, func(a, b Speed) int { return cmp.Compare(a.Seconds/a.Predicted, b.Seconds/b.Predicted) })
		s := list[(len(list)-1)/2]
		most := uncertainty.MostOff
		if kind == logs.Between { // of which a job may be mistaken: see [Network]
			most *= uncertainty.MostOff
		}
		if s.Measurements = len(list); uncertainty.Beyond(float64(s.Seconds/s.Predicted), most) {
			s.Why = fmt.Sprintf("it is off by more than a factor of %g, which is no error of a prediction", most)
		}
		out = append(out, s)
	}
	return out
}

// near is how many times as long as what was predicted, or as short, a message may be
// that is compared with it: latency decides of neither.
const near = 4.0

// tabled is what a table of nccl-tests says of an all-reduce that a plan has a
// prediction for; false where it has none.
func tabled(t *logs.Table, of []plan.Benchmark) (Speed, bool) {
	b := benchmarkOf(t, of)
	if b == nil {
		return Speed{}, false
	}
	var best *logs.TableRow
	off := func(r *logs.TableRow) float64 { return math.Abs(math.Log(r.Bytes / float64(b.Bytes))) }
	for i := range t.Rows {
		if r := &t.Rows[i]; !r.Wrong && r.Bytes > 0 && r.BusBandwidth > 0 && off(r) <= math.Log(near)+1e-9 && (best == nil || off(r) < off(best)) {
			best = r
		}
	}
	if best == nil {
		return Speed{}, false
	}
	s := Speed{What: string(logs.Between), Term: b.Link, Nodes: b.Nodes, Predicted: b.Seconds}
	if b.Nodes == 1 {
		s.What = string(logs.Inside)
	}
	s.Seconds = units.Rounded(units.Seconds(float64(b.Bytes) * busFactor(b.GPUs) / best.BusBandwidth))
	return s, true
}

// benchmarkOf is the prediction for a table over all GPUs of as many nodes, or of less
// than twice as many; nil without one. Bus bandwidth hardly differs between these, but
// for a node that is alone.
func benchmarkOf(t *logs.Table, of []plan.Benchmark) *plan.Benchmark {
	i := slices.IndexFunc(of, func(b plan.Benchmark) bool {
		_, known := uncertainty.Named(b.Link)
		return known && b.Seconds > 0 && t.Collective == "all_reduce" && b.Nodes <= t.Nodes && t.Nodes < 2*b.Nodes && t.Ranks*b.Nodes == b.GPUs*t.Nodes
	})
	if i < 0 {
		return nil
	}
	return &of[i]
}

// busFactor is nccl-tests' bus bandwidth of an all-reduce over bytes by seconds
// (nccl-tests, doc/PERFORMANCE.md).
func busFactor(ranks int) float64 { return 2 * float64(ranks-1) / float64(ranks) }

// sound leaves out an all-reduce between nodes where one was slow: such a check
// repeats it with halves of the nodes, and the slow ones take no part in the run.
func sound(list []logs.Speed) (out []logs.Speed) {
	for i := range list {
		between := func(k int) bool { return k >= 0 && k < len(list) && list[k].Kind == logs.Between }
		if between(i) && (between(i-1) || between(i+1)) {
			continue
		}
		out = append(out, list[i])
	}
	return out
}

// termOf is the term that a kind of work tells of, on a plan's links; false where
// the plan does not use the link.
func termOf(kind logs.SpeedKind, groups []plan.Group) (uncertainty.Term, bool) {
	over := func(link string) bool {
		return slices.ContainsFunc(groups, func(g plan.Group) bool { return g.Link == link })
	}
	switch {
	case kind == logs.Products:
		return uncertainty.Linear, true
	case kind == logs.Between:
		return uncertainty.Network, over("network")
	case over("pcie"):
		return uncertainty.PCIe, true
	}
	return uncertainty.NVLink, over("nvlink")
}

// benchmarks are the speeds as observations of their terms.
func benchmarks(list []Speed) (out []uncertainty.Observation) {
	for i := range list {
		s := &list[i]
		k, ok := uncertainty.Named(s.Term)
		spread := uncertainty.Embedded().Benchmark(k)
		if !ok || spread == 0 || s.Why != "" {
			continue
		}
		o := uncertainty.Observation{Ratio: float64(s.Seconds / s.Predicted), Benchmark: spread}
		o.Step.Terms[k] = 1
		out = append(out, o)
	}
	return out
}
