package picture

import (
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
)

// part is a line of a step's breakdown, as JSON.
type part struct {
	ID      string        `json:"id"`
	Name    string        `json:"name"`
	Seconds units.Seconds `json:"seconds"`
	Share   units.Share   `json:"share"`
}

func parts(t *plan.Time) []part {
	var list []part
	for _, l := range t.Breakdown {
		list = append(list, part{l.ID, l.Name, l.Seconds, units.Share(units.RoundedTo(float64(l.Seconds/t.StepSeconds), 1))})
	}
	return list
}

func dataBreakdown(s *Subject) any { return parts(&s.Plan.Time) }

// told is the least share of a step that is named beside its picture.
const told = 0.0005

// breakdown is one bar over the whole step.
func breakdown(s *Subject, c *canvas) {
	c.head("Step time")
	from := 0.0
	var names, fills []string
	for i, l := range parts(&s.Plan.Time) {
		c.box(from, float64(l.Share), rowHeight-2, colour(i), fmt.Sprintf("%s: %s (%s)", l.Name, view.Duration(l.Seconds), view.Percent(l.Share)))
		from += float64(l.Share)
		if l.Share >= told {
			names, fills = append(names, fmt.Sprintf("%s %s", l.Name, view.Percent(l.Share))), append(fills, colour(i))
		}
	}
	c.y += rowHeight
	c.legend(names, fills)
}

// drawBreakdown is a waterfall: every part begins where the one before ended.
func drawBreakdown(s *Subject, c *canvas) {
	entitle(s, c)
	c.head("The step, part by part")
	const names = 250 // pixels beside the bars
	place := func(share float64) float64 { return margin + names + float64(share*(width-2*margin-names-70)) }
	from := 0.0
	for i, l := range parts(&s.Plan.Time) {
		c.anchored(margin+names-8, c.y+14, 11, "ink", "end", l.Name)
		x, w := place(from), place(from+float64(l.Share))-place(from)
		fmt.Fprintf(&c.body, `<rect x="%s" y="%d" width="%s" height="%d" fill="%s"/>`+"\n", number(x), c.y+2, number(max(w, 0.5)), rowHeight-6, colour(i))
		c.text(x+w+4, c.y+14, 11, "soft", view.Duration(l.Seconds))
		from += float64(l.Share)
		c.y += rowHeight
		c.line(place(from), c.y-4, place(from), c.y+2, "faint", false)
	}
	t := &s.Plan.Time
	c.anchored(margin+names-8, c.y+14, 11, "ink", "end", "step")
	fmt.Fprintf(&c.body, `<rect x="%s" y="%d" width="%s" height="%d" class="soft"/>`+"\n", number(place(0)), c.y+2, number(place(1)-place(0)), rowHeight-6)
	c.text(place(1)+4, c.y+14, 11, "ink", view.Duration(t.StepSeconds))
	c.y += rowHeight
	c.note("90 % range of the step: " + view.StepRange(t))
}

func textBreakdown(s *Subject) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s a step\n", heading(s), view.Duration(s.Plan.Time.StepSeconds))
	const cells = 48
	from := 0.0
	for _, l := range parts(&s.Plan.Time) {
		first, last := int(from*cells), int((from+float64(l.Share))*cells)
		from += float64(l.Share)
		if l.Share < 0.001 {
			continue
		}
		bar := strings.Repeat("·", first) + strings.Repeat("█", last-first)
		if last == first {
			bar += "▏"
		}
		fmt.Fprintf(&b, "%10s %7s  %-*s %s\n", view.Duration(l.Seconds), view.Percent(l.Share), cells+1, bar, l.Name)
	}
	return b.String()
}
