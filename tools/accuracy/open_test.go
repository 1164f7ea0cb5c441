package main

import (
	"testing"
)

// TestSettings: 256 sequences on 128 GPUs in eight stages of tensor 2 are 32 for a rank,
// and 56 layers have as many chunks as cut them and the micro-batches evenly.
func TestSettings(t *testing.T) {
	var r row
	r.Cluster.GPUs, r.Model.Layers = 128, 56
	r.Layout.TP, r.Layout.PP, r.Layout.GBS = 2, 8, 256
	r.Model.MoE = &expertSizes{}
	type setting struct{ mbs, vpp int }
	seen := map[setting]int{}
	for _, s := range r.settings() {
		seen[setting{s.Layout.MBS, s.Layout.VPP}]++
	}
	// 32, 16 and 8 micro-batches are rounds of eight stages, 4 are none.
	for _, s := range []setting{{1, 1}, {1, 7}, {2, 1}, {2, 7}, {4, 1}, {4, 7}, {8, 1}} {
		if seen[s] != len(openRecompute) {
			t.Errorf("%+v: %d times", s, seen[s])
		}
		delete(seen, s)
	}
	if len(seen) > 0 {
		t.Errorf("more: %v", seen)
	}
	// What is stated stays.
	r.Model.MoE, r.Layout.VPP, r.Layout.Recompute.Mode = nil, 7, "full"
	for _, s := range r.settings() {
		if l := &s.Layout; l.VPP != 7 || l.Recompute.Mode != "full" || l.MBS > 4 {
			t.Errorf("%d chunks, recompute %s, micro-batch %d", l.VPP, l.Recompute.Mode, l.MBS)
		}
	}
	if r.Layout.MBS = 2; r.isOpen() {
		t.Error("nothing is open")
	}
}

// TestStrategies: of the strategies that a paper compares the better one is predicted to
// be better, with what it does not state as it is predicted to be best; and what
// leaves nothing open is what it says.
func TestStrategies(t *testing.T) {
	cases, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	results, err := predicted()
	if err != nil {
		t.Fatal(err)
	}
	if o := strategyOrder(strategies(results)); o.pairs < 15 || o.right < o.pairs {
		t.Errorf("%d of %d pairs are in their order", o.right, o.pairs)
	}
	for i := range results {
		r := &results[i]
		if r.example.open && (r.Time == nil || !r.judge || r.example.row.Layout.MBS == 0 || cases[i].row.ID != r.ID) {
			t.Errorf("%s: %+v", r.ID, r)
		}
	}
}
