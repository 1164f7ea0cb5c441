package memory

import (
	"fmt"
	"math"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/lang/units"
)

// sections are where docs/memory.md has the formulas of the lines.
var sections = [numLines]string{
	lineParameters: "state", lineLowPrecision: "state", lineGradients: "state", lineMaster: "state", lineMoments: "state", lineGathered: "state", lineReduce: "state",
	lineAttention: "what-a-layer-keeps", lineMixer: "what-a-layer-keeps", lineMLP: "what-a-layer-keeps", lineExperts: "what-a-layer-keeps", lineNorms: "what-a-layer-keeps",
	lineInputs: "recompute", lineTransfer: "what-a-layer-keeps", lineReceive: "always-there", lineRecomputed: "recompute", lineBackward: "the-running-layer",
	lineHead: "logits-and-loss", lineWeightGradients: "always-there", lineStep: "state", lineWorkspaces: "always-there",
}

// Terms takes the ledger of a pipeline rank apart: state as bytes for each element
// of the rank's parameters, activations as what each micro-batch in flight keeps.
func (m *Model) Terms(l *plan.Layout, x *plan.Execution, stage int) []plan.Term {
	e := m.evaluate(l, x)
	rank := m.rank(stage)
	s := stageMemory{ledger: &ledger{}}
	m.stage(&e, &rank, &s)
	var a account
	m.open(&e, &rank, &a, true)
	at := m.fullest(&e, &rank, &a, s.sum)
	var list []plan.Term
	for i, bytes := range s.ledger {
		if bytes == 0 {
			continue
		}
		t := plan.Term{Name: lineNames[i].name, Amount: float64(bytes), Section: "docs/memory.md#" + sections[i]}
		switch ln := line(i); {
		case ln >= lineAttention && ln <= lineInputs:
			t.Formula = inFlight(at, &a.content, ln, bytes)
		case ln <= lineMoments:
			t.Formula = perElement(float64(bytes), a.content.elements, ln, &e)
		}
		list = append(list, t)
	}
	return list
}

// fullest is the instant at which a rank has its peak; nil: the optimizer step.
func (m *Model) fullest(e *evaluation, rank *stageRank, a *account, peak int64) *instant {
	for i := range rank.runs {
		at := m.heavier(e, &rank.runs[i], &a.content)
		if !m.occurs(e, at, a) {
			continue
		}
		var now ledger
		m.write(e, at, a, &now)
		if now.sum() == peak {
			return at
		}
	}
	return nil
}

// closeBy is how far the product of a formula may be from the amount: padding and
// what the ends of the pipeline have besides.
const closeBy = 0.01

// kept says of the lines of state what an engine may keep of them for an element,
// and from which zero_stage on they are shared out.
var kept = map[line]struct {
	widths []float64
	from   int
}{
	lineParameters: {[]float64{2, 4, 1}, 3}, lineLowPrecision: {[]float64{1, 2, 0.5}, 3}, lineGradients: {[]float64{4, 2}, 2},
	lineMaster: {[]float64{4, 2}, 1}, lineMoments: {[]float64{8, 4, 2}, 1},
}

// perElement spells an amount as bytes for each element, shared out or not; "" where
// it is no such product.
func perElement(amount float64, n program.Elements, ln line, e *evaluation) string {
	over := []shards{unsharded, e.shards}
	if e.l.ZeroStage >= kept[ln].from {
		over = []shards{e.shards, unsharded}
	}
	for _, s := range over {
		for _, w := range kept[ln].widths {
			if math.Abs(float64(s.of(w, n))-amount) > float64(closeBy*amount) {
				continue
			}
			part := func(elements, ranks int64) string {
				if ranks > 1 {
					return fmt.Sprintf("%g B · %s parameters / %d ranks", w, units.InWords(float64(elements), 4), ranks)
				}
				return fmt.Sprintf("%g B · %s parameters", w, units.InWords(float64(elements), 4))
			}
			switch {
			case n.Expert == 0:
				return part(n.Dense, s.dense)
			case n.Dense == 0:
				return part(n.Expert, s.expert)
			}
			return part(n.Dense, s.dense) + " + " + strings.Replace(part(n.Expert, s.expert), "parameters", "of experts", 1)
		}
	}
	return ""
}

// inFlight spells activations as the micro-batches in flight times what each keeps
// of a chunk.
func inFlight(at *instant, c *content, ln line, amount int64) string {
	if at == nil {
		return ""
	}
	var words []string
	sum := int64(0)
	for i := range at.held {
		alive, each := int64(at.held[i].alive), c.chunks[i].activations[ln]
		if alive > 0 && each > 0 {
			words = append(words, fmt.Sprintf("%d · %s", alive, inGiB(each)))
			sum += alive * each
		}
	}
	if len(words) == 0 {
		return ""
	}
	text := strings.Join(words, " + ") + " of passes in flight"
	if rest := amount - sum; math.Abs(float64(rest)) > float64(closeBy*float64(amount)) {
		sign := "+"
		if rest < 0 {
			sign, rest = "-", -rest
		}
		text += fmt.Sprintf(" %s %s of the running layer", sign, inGiB(rest))
	}
	return text
}

// inGiB writes an amount in the unit of the ledger, or in MiB, with digits enough to
// multiply it.
func inGiB(n int64) string {
	if n >= int64(units.GiB) {
		return units.Significant(float64(n)/float64(units.GiB), 4) + " GiB"
	}
	return units.Significant(float64(n)/float64(units.MiB), 4) + " MiB"
}
