package collective

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/lang/units"
)

// dispatched is how fast a dispatcher moved tokens, as it was published: bytes that
// a rank has for distinct destinations, its own among them, per second. Destinations
// are ranks inside an NVLink domain and nodes beyond.
type dispatched struct {
	Dispatcher, Version, Cluster, Source string
	Ranks, Tokens, Hidden, SMs           int
	TopK                                 int `json:"top_k"`
	Dispatch, Combine                    float64
}

// logical is the same of the all-to-all that an exchange is priced as.
func (d *dispatched) logical() float64 {
	c := measuredOn[d.Cluster]
	c.Nodes = max(1, d.Ranks/c.GPUsPerNode)
	g := NewTopology(&c).Group(d.Ranks, 1)
	to := float64(d.Ranks)
	if g.Link() == LinkNetwork {
		to /= float64(c.GPUsPerNode)
	}
	bytes := float64(d.Tokens*d.Hidden*2) * to * (1 - math.Pow(1-1/to, float64(d.TopK)))
	return bytes / float64(g.AllToAll(units.Bytes(bytes))) / 1e9
}

// TestDispatchers holds the price of an exchange of experts to what was published of
// dispatchers, by domain. Inside a domain they depend on the multiprocessors that
// they are given, between nodes on their version. The bounds are what is reached
// today; they may only be lowered.
func TestDispatchers(t *testing.T) {
	f, err := os.Open("testdata/dispatchers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	errors := map[string][]float64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var d dispatched
		if err := json.Unmarshal(s.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		got := d.logical()
		both := 2 / (1/d.Dispatch + 1/d.Combine) // one of each
		e := both/got - 1                        // of the predicted time over the measured
		k := d.Dispatcher + d.Version + " " + d.Cluster
		errors[k] = append(errors[k], e)
		t.Logf("%-9s%-2s %-8s %2d ranks, %2d SMs: %3.0f and %3.0f GB/s, predicted %3.0f: %+.0f %%", d.Dispatcher, d.Version, d.Cluster, d.Ranks, d.SMs, d.Dispatch, d.Combine, got, 100*e)
	}
	for _, k := range slices.Sorted(mapKeys(errors)) {
		e := errors[k]
		slices.Sort(e)
		middle := e[len(e)/2]
		t.Logf("%-20s n=%2d median %+.0f %%", k, len(e), 100*middle)
		if bound := medians[k]; math.Abs(middle) > bound || bound == 0 {
			t.Errorf("%s: median %+.3f, bound %.2f", k, middle, bound)
		}
	}
}

// medians are the largest median errors by dispatcher, version and cluster.
var medians = map[string]float64{
	"hybridep gb200": 0.05, "hybridep b200_ib": 0.12, "hybridep h100_ib": 0.05,
	"deepep2 b200_ib": 0.17, "deepep2 h100_ib": 0.17,
	"deepep1 h100_ib": 0.12, "deepep1 gb200": 0.19, "deepep1 b200_ib": 0.25, // by the multiprocessors that they are given
}
