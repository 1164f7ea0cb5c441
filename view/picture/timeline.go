package picture

import (
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
)

// Bounds of a timeline. What is longer shows its beginning and its end: the middle
// of a schedule repeats itself.
const (
	mostPasses = 280 // of a rank
	mostRanks  = 16
	beginning  = 0.65 // of what is shown
)

// window is the part of a step that is shown: all, or two pieces of it.
type window struct {
	end   units.Seconds // of the pipeline
	cut   units.Seconds // end of the first piece
	again units.Seconds // begin of the second; cut where nothing is left out
	scale float64       // the share of the plot that it takes
}

// gap is the share of a window that stands for what is left out.
const gap = 0.02

// windowOf shows a share of a timeline, 1 or more for all of it.
func windowOf(t *plan.Timeline, share float64) window {
	end := t.End()
	w := window{end: end, cut: end, again: end, scale: 1}
	if share < 1 {
		w.cut = end * units.Seconds(share*beginning)
		w.again = end - units.Seconds(end*units.Seconds(share*(1-beginning)))
	}
	return w
}

// drawnShare is the share of a timeline whose passes are wide enough to be seen.
func drawnShare(t *plan.Timeline) float64 {
	slots := 0
	for _, r := range t.Ranks {
		slots = max(slots, len(r))
	}
	return mostPasses / float64(max(slots, 1))
}

func (w *window) whole() bool { return w.cut == w.end }

// place is where a moment lies on the plot, from 0 to 1.
func (w *window) place(t units.Seconds) float64 {
	if w.whole() {
		return float64(t/w.end) * w.scale
	}
	shown := w.cut + w.end - w.again
	if t <= w.cut {
		return float64(t/shown) * (1 - gap) * w.scale
	}
	return (gap + float64(float64((w.cut+max(t, w.again)-w.again)/shown)*(1-gap))) * w.scale
}

// pieces cuts what runs from one moment to another to what is shown.
func (w *window) pieces(start, end units.Seconds) (list [][2]float64) {
	for _, piece := range [][2]units.Seconds{{0, w.cut}, {w.again, w.end}} {
		from, to := max(start, piece[0]), min(end, piece[1])
		if from >= to {
			continue
		}
		left := w.place(from)
		if from == w.again && !w.whole() {
			left = w.place(w.cut) + float64(gap*w.scale)
		}
		list = append(list, [2]float64{left, w.place(to)})
	}
	return list
}

// note says what is left out.
func (w *window) note() string {
	if w.whole() {
		return ""
	}
	return fmt.Sprintf("; the first %s and the last %s of %s", view.Duration(w.cut), view.Duration(w.end-w.again), view.Duration(w.end))
}

// shownRanks are the pipeline ranks that a picture has room for; −1 stands for
// those between.
func shownRanks(ranks, most int) []int {
	var list []int
	for r := range ranks {
		switch {
		case ranks <= most || r < most/2 || r >= ranks-most/2:
			list = append(list, r)
		case r == most/2:
			list = append(list, -1)
		}
	}
	return list
}

func drawTimeline(s *Subject, c *canvas) {
	entitle(s, c)
	t := s.Timeline()
	w := windowOf(t, drawnShare(t))
	passes(s, c, t, &w)
}

// passes draws the schedule, forwards blue and backwards green, darker for later
// chunks of a rank.
func passes(s *Subject, c *canvas, t *plan.Timeline, w *window) {
	head := "Passes of one step: forward blue, backward green"
	if splits(t) {
		head += ", weight gradients orange"
	}
	if s.Plan.Layout.VirtualPipeline > 1 {
		head += ", later chunks of a rank darker"
	}
	c.head(head + w.note())
	ranksOf(c, t, w)
	timeAxis(c, w)
}

// ranksOf draws a row for every rank of a timeline.
func ranksOf(c *canvas, t *plan.Timeline, w *window) {
	p := len(t.Ranks)
	for _, r := range shownRanks(p, mostRanks) {
		if r < 0 {
			c.label(c.y+12, "…")
			c.y += rowHeight
			continue
		}
		c.label(c.y+14, fmt.Sprintf("rank %d", r))
		for _, piece := range w.pieces(0, w.end) {
			c.box(piece[0], piece[1]-piece[0], rowHeight-3, "idle", fmt.Sprintf("rank %d waits", r))
		}
		rankPasses(c, t.Ranks[r], p, w)
		c.y += rowHeight
	}
}

// Named is a timeline with a name.
type Named struct {
	Name string
	plan.Timeline
}

// Schedules draws timelines below one another, in one scale of time.
func Schedules(title string, list []Named) []byte {
	c := &canvas{y: margin}
	c.title(title)
	longest := units.Seconds(0)
	for i := range list {
		longest = max(longest, list[i].End())
	}
	for i := range list {
		t := &list[i].Timeline
		w := window{end: longest, cut: longest, again: longest, scale: 1}
		c.head(list[i].Name)
		ranksOf(c, t, &w)
		c.y += 8
	}
	return []byte(c.svg(title, true))
}

// splits reports whether some gradient of weights is made apart.
func splits(t *plan.Timeline) bool {
	for _, r := range t.Ranks {
		for i := range r {
			if r[i].Kind == "weight_gradient" {
				return true
			}
		}
	}
	return false
}

// rankPasses draws the passes of a rank, those of one kind and chunk as one shape.
func rankPasses(c *canvas, slots []plan.Slot, p int, w *window) {
	chunks := 1
	for i := range slots {
		chunks = max(chunks, slots[i].Chunk/p+1)
	}
	type look struct {
		kind  string
		chunk int
	}
	shapes, order := map[look]*strings.Builder{}, []look{}
	var numbers []func()
	for i := range slots {
		one := &slots[i]
		k := look{one.Kind, one.Chunk}
		for _, piece := range w.pieces(one.Start, one.End) {
			if shapes[k] == nil {
				shapes[k] = &strings.Builder{}
				order = append(order, k)
			}
			x, wide := at(piece[0]), max(float64((piece[1]-piece[0])*plotWidth)-0.5, 0.3)
			fmt.Fprintf(shapes[k], "M%s %dh%sv%dh-%sz", number(x), c.y, number(wide), rowHeight-3, number(wide))
			if wide > 13 {
				numbers = append(numbers, func() { c.anchored(x+wide/2, c.y+13, 10, `" fill="#fff`, "middle", fmt.Sprint(one.MicroBatch)) })
			}
		}
	}
	for _, k := range order {
		c.path(shapes[k].String(), slotColour(k.kind, float64(k.chunk/p)/float64(max(1, chunks-1))), fmt.Sprintf("%s, chunk %d", strings.ReplaceAll(k.kind, "_", " "), k.chunk))
	}
	for _, write := range numbers {
		write()
	}
}

// timeAxis writes seconds below a plot, as close as what is shown of them takes.
func timeAxis(c *canvas, w *window) {
	shown := w.end
	if !w.whole() {
		shown = w.cut + w.end - w.again
	}
	for _, t := range multiples(tick(float64(shown)), float64(w.end)) {
		if s := units.Seconds(t); s <= w.cut || s >= w.again {
			c.line(at(w.place(s)), c.y, at(w.place(s)), c.y+4, "rule", false)
			c.anchored(at(w.place(s)), c.y+16, 10, "soft", "middle", axisTime(s, w.end))
		}
	}
	c.y += 26
}

// axisTime writes a moment with no more digits than a tick has.
func axisTime(s, end units.Seconds) string {
	if end < 1 {
		return units.Significant(float64(s)*1e3, 4) + " ms"
	}
	return units.Significant(float64(s), 4) + " s"
}

// slotHues are the hues of passes, in degrees; a whole backward pass is green.
var slotHues = map[string]float64{"forward": 210, "backward": 140, "input_gradient": 140, "weight_gradient": 35}

// slotColour is the hue of the kind, lightest for the first chunk of a rank (0)
// and darkest for its last (1).
func slotColour(kind string, turn float64) string {
	return hex(slotHues[kind], 0.6, 0.55-float64(0.25*turn))
}

// textColumns is the width of the chart of letters.
const textColumns = 100

// textTimeline has a row of letters for every rank: digits are forward passes by
// their micro-batch, letters backward ones.
func textTimeline(s *Subject) string {
	t := s.Timeline()
	ranks := shownRanks(len(t.Ranks), mostRanks)
	shortest := t.End()
	for _, r := range t.Ranks {
		for i := range r {
			if length := r[i].End - r[i].Start; length > 0 {
				shortest = min(shortest, length)
			}
		}
	}
	w := windowOf(t, textColumns*float64(shortest/t.End())) // a letter for the shortest pass
	var b strings.Builder
	fmt.Fprintf(&b, "%s: passes of one step%s\n", heading(s), w.note())
	for _, r := range ranks {
		if r < 0 {
			b.WriteString("         …\n")
			continue
		}
		fmt.Fprintf(&b, "rank %-3d %s\n", r, textRow(t.Ranks[r], &w))
	}
	b.WriteString("digits: forward, by the last digit of the micro-batch; letters: backward, a is 0")
	if splits(t) {
		b.WriteString("; w: gradients of weights")
	}
	b.WriteString("; dots: waiting\n")
	return b.String()
}

func textRow(slots []plan.Slot, w *window) string {
	row := []rune(strings.Repeat("·", textColumns))
	if !w.whole() {
		row[int(w.place(w.cut)*textColumns)] = '…'
	}
	for i := range slots {
		one := &slots[i]
		letter := rune('0' + one.MicroBatch%10)
		switch one.Kind {
		case "backward", "input_gradient":
			letter = rune('a' + one.MicroBatch%10)
		case "weight_gradient":
			letter = 'w'
		}
		for _, piece := range w.pieces(one.Start, one.End) {
			for k := int(float64(piece[0]*textColumns) + 0.5); k < int(float64(piece[1]*textColumns)+0.5); k++ {
				row[k] = letter
			}
		}
	}
	return string(row)
}

// event is one event of Chrome's trace-event format, which Perfetto opens.
type event struct {
	Name      string         `json:"name"`
	Category  string         `json:"cat,omitempty"`
	Phase     string         `json:"ph"`            // X: complete; C: counter; M: metadata
	Timestamp float64        `json:"ts"`            // microseconds
	Duration  *float64       `json:"dur,omitempty"` // of X
	Process   int            `json:"pid"`
	Thread    int            `json:"tid"`
	Arguments map[string]any `json:"args,omitempty"`
}

// trace is a file of that format.
type trace struct {
	TraceEvents     []event           `json:"traceEvents"`
	DisplayTimeUnit string            `json:"displayTimeUnit"`
	OtherData       map[string]string `json:"otherData"`
}

// dataTimeline is the step as a trace: a thread for every pipeline rank, and a
// counter of what it has allocated.
func dataTimeline(s *Subject) any {
	t, held := s.Timeline(), s.Occupancy()
	micro := func(x units.Seconds) float64 {
		return units.RoundedTo(float64(x)*1e6, float64(s.Plan.Time.StepSeconds)*1e6)
	}
	out := trace{DisplayTimeUnit: "ms", OtherData: map[string]string{"job": s.Job, "backend": s.Plan.Backend, "backend_version": s.Plan.BackendVersion}}
	out.TraceEvents = append(out.TraceEvents, event{Name: "process_name", Phase: "M", Arguments: map[string]any{"name": heading(s)}})
	for r, slots := range t.Ranks {
		out.TraceEvents = append(out.TraceEvents, event{Name: "thread_name", Phase: "M", Thread: r, Arguments: map[string]any{"name": fmt.Sprintf("pipeline rank %d", r)}})
		for i := range slots {
			one := &slots[i]
			start := micro(one.Start)
			length := max(micro(one.End)-start, 0)
			out.TraceEvents = append(out.TraceEvents, event{Name: fmt.Sprintf("%s %d", strings.ReplaceAll(one.Kind, "_", " "), one.MicroBatch), Category: one.Kind,
				Phase: "X", Timestamp: start, Duration: &length, Thread: r, Arguments: map[string]any{"micro_batch": one.MicroBatch, "chunk": one.Chunk}})
			out.TraceEvents = append(out.TraceEvents, event{Name: fmt.Sprintf("allocated on rank %d", r), Phase: "C", Timestamp: start, Thread: r,
				Arguments: map[string]any{"bytes": plan.Sum(held.Ranks[r].Passes[i].Most)}})
		}
	}
	return out
}
