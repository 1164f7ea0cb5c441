package memory

import (
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/lang/units"
)

// Occupancy replays every pass of a step, those included that repeat what others
// did, and says what is held at each. The most of a rank over all passes is what
// [Model.Memory] says of its stage.
func (m *Model) Occupancy(l *plan.Layout, x *plan.Execution) *plan.Occupancy {
	e := m.evaluate(l, x)
	ranks := make([]rankLedgers, l.PipelineParallel)
	var used [numLines]bool
	for number := range ranks {
		ranks[number] = m.follow(&e, number)
		ranks[number].note(&used)
	}
	out := &plan.Occupancy{}
	for i, name := range lineNames {
		if used[i] {
			out.Lines = append(out.Lines, plan.Holder{ID: name.id, Name: name.name})
		}
	}
	for i := range ranks {
		out.Ranks = append(out.Ranks, ranks[i].holds(&used))
	}
	return out
}

// rankLedgers is what a rank holds, pass after pass.
type rankLedgers struct {
	most, kept []ledger
	update     ledger
}

// follow replays all passes of a rank and weighs every instant of them.
func (m *Model) follow(e *evaluation, number int) (out rankLedgers) {
	rank := m.rank(number)
	var a account
	m.open(e, &rank, &a, true)
	order := schedule.NewRank(shapeOf(e.l, e.x), number)
	w := newReplayer(order, number, m.comings(), rank.class)
	var most ledger
	w.each = func(at *instant) {
		if !m.occurs(e, at, &a) {
			return
		}
		var now ledger
		m.write(e, at, &a, &now)
		if now.sum() > most.sum() {
			most = now
		}
	}
	for _, p := range order.Ranks[number] {
		most = ledger{}
		local := int(p.Chunk) / order.Pipeline
		w.pass(p.Work, local)
		most, kept := most, ledger{}
		rest := w.now[local]
		rest.phase = afterForward
		m.write(e, &rest, &a, &kept)
		switch {
		case most == (ledger{}): // it waits for the weights' pass, and what the last one kept stays
			kept = out.kept[len(out.kept)-1]
			most = kept
		case kept.sum() > most.sum(): // what the engine has in forward passes only
			kept = most
		}
		out.most, out.kept = append(out.most, most), append(out.kept, kept)
	}
	m.write(e, nil, &a, &out.update)
	return out
}

// note marks the lines that the rank has something of.
func (r *rankLedgers) note(used *[numLines]bool) {
	for _, l := range slices.Concat(r.most, r.kept, []ledger{r.update}) {
		for i, b := range l {
			used[i] = used[i] || b != 0
		}
	}
}

// holds lists the lines that are used.
func (r *rankLedgers) holds(used *[numLines]bool) (out plan.RankHolds) {
	list := func(l *ledger) []units.Bytes {
		l.settle()
		var lines []units.Bytes
		for i, b := range l {
			if used[i] {
				lines = append(lines, units.Bytes(b))
			}
		}
		return lines
	}
	for i := range r.most {
		out.Passes = append(out.Passes, plan.PassHolds{Most: list(&r.most[i]), Kept: list(&r.kept[i])})
	}
	out.Update = list(&r.update)
	return out
}

// settle lets no line be less than nothing: before a chunk's first gradients are
// whole, what they lack is in no buffer yet but counted with another line.
func (l *ledger) settle() {
	largest := 0
	for i, b := range l {
		if b > l[largest] {
			largest = i
		}
	}
	for i, b := range l {
		if b < 0 {
			l[i] = 0
			l[largest] += b
		}
	}
}
