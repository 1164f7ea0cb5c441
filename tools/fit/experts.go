package main

import (
	"cmp"
	"slices"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
)

// expertRow is one measured fused expert MLP: gather, gate and up projection,
// activation, down projection, scatter.
type expertRow struct {
	tokens, hidden, inter, topK, experts, tp, ep, seconds float64
}

func parseExpertRow(x row, err *error) expertRow {
	return expertRow{
		tokens: x.number("num_tokens", err), hidden: x.number("hidden_size", err), inter: x.number("inter_size", err),
		topK: x.number("topk", err), experts: x.number("num_experts", err), tp: x.number("moe_tp_size", err),
		ep: x.number("moe_ep_size", err), seconds: x.number("ms", err) / 1000,
	}
}

// rows that this rank's experts see, all together.
func (e *expertRow) rows() float64 { return e.tokens * e.topK / e.ep }

// multiplications are the two grouped kernels: gate and up together, then
// down.
func (e *expertRow) multiplications() [2]surface.Grouped {
	local, inter := e.experts/e.ep, e.inter/e.tp
	rows := e.rows() / local
	return [2]surface.Grouped{
		{Count: local, Shape: surface.Shape{M: rows, N: 2 * inter, K: e.hidden}},
		{Count: local, Shape: surface.Shape{M: rows, N: e.hidden, K: inter}},
	}
}

// sample splits the correction over the two kernels by their arithmetic.
func (e *expertRow) sample(roof surface.Roof, tile *surface.Tile) sample {
	m := e.multiplications()
	return sample{
		seconds:  e.seconds,
		roof:     roof.Grouped(m[0], tile) + roof.Grouped(m[1], tile),
		overhead: e.overhead(roof),
		places:   []place{{m[0].Point(), 2.0 / 3}, {m[1].Point(), 1.0 / 3}},
	}
}

// What a measured expert MLP does beside its multiplications: launches, and
// the sorting of every choice that the router made for any rank.
const (
	expertLaunch = 15e-6
	choice       = 0.5e-9 // seconds
)

// overhead is the part of a measured expert MLP beside its multiplications:
// launch and sorting, gather and scatter of every routed token, and the
// activation, at 70 % of the memory's bandwidth.
func (e *expertRow) overhead(r surface.Roof) float64 {
	bytes := 4*e.tokens*e.hidden + 4*e.rows()*e.hidden + 6*e.rows()*e.inter/e.tp
	return expertLaunch + choice*e.tokens*e.topK + bytes/(0.7*r.Bandwidth)
}

// relevant reports whether the row tells about training: enough rows per
// expert and enough width, and most of the time spent multiplying.
func (e *expertRow) relevant(s *sample) bool {
	return e.rows()/(e.experts/e.ep) >= 64 && e.inter/e.tp >= 256 && s.overhead < 0.45*s.seconds
}

// badKernel is how much longer per unit of work a row may take than the same
// layer spread over half or twice the ranks.
const badKernel = 1.6

// worseThanFiner is how much longer per unit of work a row may take than the
// same layer cut into narrower experts, which are never more efficient.
const worseThanFiner = 1.3

// dropBadKernels leaves out rows for which the library's tuner visibly picked
// a wrong kernel, by their neighbours in expert and in tensor parallelism. It
// returns how many.
func dropBadKernels(rows []expertRow) (kept []expertRow, dropped int) {
	kept, dropped = dropOutliers(rows)
	kept, more := dropWorseThanFiner(kept)
	return kept, dropped + more
}

// dropWorseThanFiner leaves out rows that the same layer, cut finer by tensor
// parallelism, shows to be slow.
func dropWorseThanFiner(rows []expertRow) (kept []expertRow, dropped int) {
	best := map[expertRow]float64{} // by the row without its cut: the least time per unit of work of finer cuts so far
	slices.SortStableFunc(rows, func(a, b expertRow) int { return -cmp.Compare(a.tp, b.tp) })
	for _, r := range rows {
		layer, work := r, r.seconds*r.tp
		layer.tp, layer.seconds = 0, 0
		if least, ok := best[layer]; ok && work > worseThanFiner*least {
			dropped++
			continue
		}
		if least, ok := best[layer]; !ok || work < least {
			best[layer] = work
		}
		kept = append(kept, r)
	}
	return kept, dropped
}

// dropOutliers leaves out rows of which both neighbours in expert parallelism,
// or the only one, do the same work per expert at least badKernel times faster.
func dropOutliers(rows []expertRow) (kept []expertRow, dropped int) {
	slices.SortStableFunc(rows, func(a, b expertRow) int {
		return cmp.Or(cmp.Compare(a.hidden, b.hidden), cmp.Compare(a.inter, b.inter), cmp.Compare(a.topK, b.topK),
			cmp.Compare(a.experts, b.experts), cmp.Compare(a.tp, b.tp), cmp.Compare(a.tokens, b.tokens), cmp.Compare(a.ep, b.ep))
	})
	for i := range rows {
		slow, neighbours := 0, 0
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(rows) || !sameLayer(rows[i], rows[j]) {
				continue
			}
			neighbours++
			if rows[i].seconds*rows[i].ep > badKernel*rows[j].seconds*rows[j].ep {
				slow++
			}
		}
		if slow > 0 && (slow == neighbours || slowerThanBefore(kept, rows[i])) {
			dropped++
			continue
		}
		kept = append(kept, rows[i])
	}
	return kept, dropped
}

// slowerThanBefore compares a row with the last kept one of its layer, for
// runs of several bad rows.
func slowerThanBefore(kept []expertRow, r expertRow) bool {
	if len(kept) == 0 || !sameLayer(kept[len(kept)-1], r) {
		return false
	}
	last := kept[len(kept)-1]
	return r.seconds*r.ep > badKernel*last.seconds*last.ep
}

// sameLayer reports whether two rows differ in expert parallelism alone.
func sameLayer(a, b expertRow) bool {
	a.ep, a.seconds = b.ep, b.seconds
	return a == b
}

// fitExperts fits columns gpu, dtype, num_tokens, hidden_size, inter_size,
// topk, num_experts, moe_tp_size, moe_ep_size, ms.
func fitExperts(rows []row, devices map[string]device) ([]*surface.Record, error) {
	groups, keys := group(rows, "dtype")
	var records []*surface.Record
	for _, k := range keys {
		r, err := newRecord(surface.ExpertMLP, k, devices)
		if err != nil {
			return nil, err
		}
		var all []expertRow
		for _, x := range groups[k] {
			all = append(all, parseExpertRow(x, &err))
		}
		if err != nil {
			return nil, err
		}
		kept, dropped := dropBadKernels(all)
		records = append(records, fitTiles(r, expertAxes, func(r *surface.Record) (samples []sample) {
			for i := range kept {
				if s := kept[i].sample(r.Roof, r.Tile); kept[i].relevant(&s) {
					samples = append(samples, s)
				}
			}
			return samples
		}))
		records[len(records)-1].Dropped = dropped
	}
	return records, nil
}
