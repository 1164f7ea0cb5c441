package picture

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
)

// stages is a bar per stage against the GPU, with a line at what is usable.
func stages(s *Subject, c *canvas) {
	m := &s.Plan.Memory
	c.head(fmt.Sprintf("Memory per stage, of %s; the line is what is usable, grey is outside the framework's tensors", view.GiB(m.GPUBytes)))
	lines := s.Occupancy().Lines
	top := c.y
	for _, r := range shownRanks(len(m.Stages), mostRanks) {
		if r < 0 {
			c.label(c.y+12, "…")
			c.y += rowHeight
			continue
		}
		stage := &m.Stages[r]
		c.label(c.y+14, fmt.Sprintf("stage %d", stage.Stage))
		from := 0.0
		for _, l := range stage.Ledger {
			k := slices.IndexFunc(lines, func(h plan.Holder) bool { return h.ID == l.ID })
			share := float64(l.Bytes) / float64(m.GPUBytes)
			c.box(from, share, rowHeight-2, colour(k), l.Name+": "+view.GiB(l.Bytes))
			from += share
		}
		c.box(from, float64(stage.DeviceBytes-stage.AllocatedBytes)/float64(m.GPUBytes), rowHeight-2, "idle", "allocator, context and communicators: "+view.GiB(stage.DeviceBytes-stage.AllocatedBytes))
		c.y += rowHeight
	}
	c.line(at(float64(m.UsableBytes)/float64(m.GPUBytes)), top, at(float64(m.UsableBytes)/float64(m.GPUBytes)), c.y, "limit", true)
	holders(c, lines)
}

// holders names the colours of the ledger's lines.
func holders(c *canvas, lines []plan.Holder) {
	var names, fills []string
	for i := range lines {
		names, fills = append(names, lines[i].Name), append(fills, colour(i))
	}
	c.legend(names, fills)
}

// Bounds of the picture of memory over a step.
const (
	mostStages  = 6
	bins        = 240 // columns, of each of which the moment that needs the most is shown
	stageHeight = 96
	passBins    = 230 // the rest is the optimizer step, whose time is not to scale
)

func dataOccupancy(s *Subject) any {
	return struct {
		Timeline  *plan.Timeline  `json:"timeline"`
		Occupancy *plan.Occupancy `json:"occupancy"`
	}{s.Timeline(), s.Occupancy()}
}

func drawOccupancy(s *Subject, c *canvas) {
	entitle(s, c)
	t := s.Timeline()
	w := windowOf(t, drawnShare(t))
	w.scale = passBins / float64(bins)
	held(s, c, t, &w)
}

// drawStep puts the passes over what is held in them.
func drawStep(s *Subject, c *canvas) {
	entitle(s, c)
	t := s.Timeline()
	w := windowOf(t, drawnShare(t))
	w.scale = passBins / float64(bins)
	passes(s, c, t, &w)
	c.y += 6
	held(s, c, t, &w)
}

func textStep(s *Subject) string { return textTimeline(s) + "\n" + textOccupancy(s) }

// held stacks what a stage has allocated over the time of a step.
func held(s *Subject, c *canvas, t *plan.Timeline, w *window) {
	over := s.Occupancy()
	c.head("What every stage has allocated in the course of a step" + w.note())
	m := &s.Plan.Memory
	top := float64(m.GPUBytes)
	for _, r := range shownRanks(len(t.Ranks), mostStages) {
		if r < 0 {
			c.note("…")
			continue
		}
		c.label(c.y+12, fmt.Sprintf("stage %d", r))
		c.label(c.y+26, view.GiB(over.Ranks[r].Most()))
		columns := columnsOf(t.Ranks[r], &over.Ranks[r], w)
		for line := len(over.Lines) - 1; line >= 0; line-- {
			area(c, columns, line, top, over.Lines[line].Name, colour(line))
		}
		y := c.y + stageHeight - int(float64(m.UsableBytes)/top*stageHeight)
		c.line(plotLeft, y, plotLeft+plotWidth, y, "limit", true)
		c.y += stageHeight
		c.line(plotLeft, c.y, plotLeft+plotWidth, c.y, "rule", false)
		c.y += 8
	}
	timeAxis(c, w)
	c.note(fmt.Sprintf("Each panel is one GPU of %s; the dashed line is what is usable. The last columns are the optimizer step, not to scale.", view.GiB(m.GPUBytes)))
	holders(c, over.Lines)
}

// columnsOf is what a rank holds in each column of the plot: the most of the
// moments that fall into it, and the optimizer step in the last ones.
func columnsOf(slots []plan.Slot, held *plan.RankHolds, w *window) [][]units.Bytes {
	columns := make([][]units.Bytes, bins)
	put := func(from, to float64, what []units.Bytes) {
		for k := int(from * bins); k < min(passBins, int(to*bins)+1); k++ {
			if columns[k] == nil || plan.Sum(what) > plan.Sum(columns[k]) {
				columns[k] = what
			}
		}
	}
	for i := range slots {
		for _, piece := range w.pieces(slots[i].Start, slots[i].End) {
			put(piece[0], piece[1], held.Passes[i].Most)
		}
	}
	for i := range slots { // what is kept fills the columns in which nothing runs
		next := w.end
		if i+1 < len(slots) {
			next = slots[i+1].Start
		}
		for _, piece := range w.pieces(slots[i].End, next) {
			for k := int(piece[0] * bins); k < min(passBins, int(piece[1]*bins)+1); k++ {
				if columns[k] == nil {
					columns[k] = held.Passes[i].Kept
				}
			}
		}
	}
	for k := range columns {
		switch {
		case k >= passBins:
			columns[k] = held.Update
		case columns[k] == nil && k > 0 && columns[k-1] != nil:
			columns[k] = columns[k-1]
		case columns[k] == nil:
			columns[k] = baseline(held)
		}
	}
	return columns
}

// baseline is what a rank has before its first pass: the least of every line.
func baseline(held *plan.RankHolds) []units.Bytes {
	least := append([]units.Bytes{}, held.Update...)
	for i := range held.Passes {
		for k, b := range held.Passes[i].Kept {
			least[k] = min(least[k], b)
		}
	}
	return least
}

// area draws the lines of the ledger up to one, from the bottom; those that are
// drawn after it, which are fewer, cover all but what that one adds.
func area(c *canvas, columns [][]units.Bytes, line int, top float64, name, fill string) {
	bottom := c.y + stageHeight
	step := float64(plotWidth) / bins
	some, before := false, -1.0
	var d strings.Builder
	fmt.Fprintf(&d, "M%d %d", plotLeft, bottom)
	for k, held := range columns {
		some = some || held[line] > 0
		y := float64(bottom) - math.Round(2*stageHeight*float64(plan.Sum(held[:line+1]))/top)/2 // to half a pixel
		if y == before {
			continue
		}
		if k > 0 {
			fmt.Fprintf(&d, "H%s", number(plotLeft+float64(float64(k)*step)))
		}
		fmt.Fprintf(&d, "V%s", number(y))
		before = y
	}
	if some {
		c.path(fmt.Sprintf("%sH%dV%dz", d.String(), plotLeft+plotWidth, bottom), fill, name)
	}
}

// textOccupancy is a bar of what each stage holds at its peak, by groups.
func textOccupancy(s *Subject) string {
	t, held := s.Timeline(), s.Occupancy()
	m := &s.Plan.Memory
	var b strings.Builder
	w := windowOf(t, drawnShare(t))
	w.scale = passBins / float64(bins)
	fmt.Fprintf(&b, "%s: allocated over a step, of %s\n", heading(s), view.GiB(m.GPUBytes))
	if note := w.note(); note != "" {
		fmt.Fprintln(&b, strings.TrimPrefix(note, "; "))
	}
	const blocks = "▁▂▃▄▅▆▇█"
	for _, r := range shownRanks(len(t.Ranks), mostRanks) {
		if r < 0 {
			b.WriteString("          …\n")
			continue
		}
		columns := columnsOf(t.Ranks[r], &held.Ranks[r], &w)
		row := ""
		for k := 0; k < bins; k += 3 {
			most := units.Bytes(0)
			for _, column := range columns[k:min(k+3, bins)] {
				most = max(most, plan.Sum(column))
			}
			level := min(7, int(8*float64(most)/float64(m.GPUBytes)))
			row += string([]rune(blocks)[level])
		}
		fmt.Fprintf(&b, "stage %-3d %s %9s\n", r, row, view.GiB(held.Ranks[r].Most()))
	}
	b.WriteString("a full block is the whole GPU; the last columns are the optimizer step\n")
	return b.String()
}
