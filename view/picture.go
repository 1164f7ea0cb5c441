package view

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// Sizes of the picture, in pixels.
const (
	pictureWidth = 1200
	margin       = 24
	labelWidth   = 90
	rowHeight    = 22
	panelWidth   = pictureWidth - 2*margin - labelWidth
)

// palette colours ledger and breakdown lines in their order. It begins with
// Paul Tol's bright palette, readable with colour blindness, and goes on with
// colours that differ from all before them; no plan has more lines.
var palette = []string{"#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#7f7f7f", "#332288", "#ee7733", "#44bb99",
	"#8c564b", "#ffaabb", "#bbcc33", "#a5a5f0", "#005f5f", "#dd00aa", "#222222", "#e6d8ad"}

// Picture draws a plan as SVG: where the step time goes, what every stage
// keeps in memory, and the pipeline schedule; a timeline of nil is left out.
func Picture(job string, p *plan.Plan, t *plan.Timeline) []byte {
	d := &drawing{y: margin}
	d.title(fmt.Sprintf("%s on %s %s: %d x %s, %s a step", job, p.Backend, p.BackendVersion, p.Input.GPUs, p.Input.GPU, Duration(p.Time.StepSeconds)))
	for line := range strings.SplitSeq(Layout(&p.Layout), "\n") {
		d.subtitle(line)
		d.y += 4
	}
	d.y += 8
	d.breakdown(&p.Time)
	d.memory(&p.Memory)
	d.timeline(t)
	return []byte(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12">`+"\n"+
		`<rect width="100%%" height="100%%" fill="white"/>`+"\n%s</svg>\n", pictureWidth, d.y+margin, d.body.String()))
}

// drawing grows downwards from y.
type drawing struct {
	body strings.Builder
	y    int
}

func (d *drawing) text(x, y, size int, s string) {
	fmt.Fprintf(&d.body, `<text x="%d" y="%d" font-size="%d">%s</text>`+"\n", x, y, size, html.EscapeString(s))
}

func (d *drawing) title(s string) {
	d.text(margin, d.y+8, 18, s)
	d.y += 30
}

func (d *drawing) subtitle(s string) {
	d.text(margin, d.y+4, 12, s)
	d.y += 14
}

// box draws a rectangle with a tooltip. x and width are shares of the panel.
// Products are rounded before they are added, so that every processor draws
// the same.
func (d *drawing) box(x, width float64, colour, tip string) {
	fmt.Fprintf(&d.body, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" stroke="white" stroke-width="0.5"><title>%s</title></rect>`+"\n",
		margin+labelWidth+float64(x*panelWidth), d.y, max(width*panelWidth, 0.2), rowHeight-2, colour, html.EscapeString(tip))
}

// legend names colours in lines of three.
func (d *drawing) legend(names []string) {
	for i, n := range names {
		x := margin + labelWidth + i%3*(panelWidth/3)
		fmt.Fprintf(&d.body, `<rect x="%d" y="%d" width="10" height="10" fill="%s"/>`+"\n", x, d.y+4, palette[i%len(palette)])
		d.text(x+14, d.y+13, 11, n)
		if i%3 == 2 || i == len(names)-1 {
			d.y += 16
		}
	}
	d.y += 14
}

// breakdown is one bar over the whole step.
func (d *drawing) breakdown(t *plan.Time) {
	d.subtitle("Step time")
	at := 0.0
	var names []string
	for i, l := range t.Breakdown {
		share := float64(l.Seconds / t.StepSeconds)
		d.box(at, share, palette[i%len(palette)], fmt.Sprintf("%s: %s (%s)", l.Name, Duration(l.Seconds), percent(units.Share(share))))
		at += share
		names = append(names, fmt.Sprintf("%s %s", l.Name, percent(units.Share(share))))
	}
	d.y += rowHeight
	d.legend(names)
}

// memory is a bar per stage against the GPU, with a line at what is usable.
func (d *drawing) memory(m *plan.Memory) {
	if m.GPUBytes <= 0 || len(m.Stages) == 0 {
		return
	}
	d.subtitle(fmt.Sprintf("Memory per stage, of %s; the line is what is usable, grey is outside the framework's tensors", GiB(m.GPUBytes)))
	colours := map[string]int{}
	var names []string
	top := d.y
	for i := range m.Stages {
		s := &m.Stages[i]
		d.text(margin, d.y+15, 12, fmt.Sprintf("stage %d", s.Stage))
		at := 0.0
		for _, l := range s.Ledger {
			c, ok := colours[l.ID]
			if !ok {
				c = len(names)
				colours[l.ID] = c
				names = append(names, l.Name)
			}
			share := float64(l.Bytes) / float64(m.GPUBytes)
			d.box(at, share, palette[c%len(palette)], l.Name+": "+GiB(l.Bytes))
			at += share
		}
		d.box(at, float64(s.DeviceBytes-s.AllocatedBytes)/float64(m.GPUBytes), "#dddddd", "allocator, context and communicators: "+GiB(s.DeviceBytes-s.AllocatedBytes))
		d.y += rowHeight
	}
	x := margin + labelWidth + float64(float64(m.UsableBytes)/float64(m.GPUBytes)*panelWidth)
	fmt.Fprintf(&d.body, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="black" stroke-dasharray="4"/>`+"\n", x, top, x, d.y)
	d.legend(names)
}

// mostSlots bounds the boxes of a timeline; a longer schedule repeats itself
// and is cut.
const mostSlots = 6000

// timeline draws the schedule, forwards blue and backwards green, darker for
// later chunks of a rank.
func (d *drawing) timeline(t *plan.Timeline) {
	if t == nil || len(t.Ranks) < 2 {
		return
	}
	end, slots, chunks := units.Seconds(0), 0, 1
	for _, r := range t.Ranks {
		slots += len(r)
		for _, s := range r {
			chunks = max(chunks, s.Chunk+1)
		}
		if n := len(r); n > 0 {
			end = max(end, r[n-1].End)
		}
	}
	head := "Pipeline schedule of one step; forward blue, backward green, separate weight gradients orange"
	if chunks > len(t.Ranks) {
		head += ", later chunks of a rank darker"
	}
	if slots > mostSlots {
		end *= units.Seconds(float64(mostSlots) / float64(slots))
		head += fmt.Sprintf("; the first %s", Duration(end))
	}
	d.subtitle(head)
	for i, r := range t.Ranks {
		d.text(margin, d.y+15, 12, fmt.Sprintf("rank %d", i))
		for _, s := range r {
			if s.Start < end {
				stop := min(s.End, end)
				d.box(float64(s.Start/end), float64((stop-s.Start)/end), slotColour(s.Kind, float64(s.Chunk/len(t.Ranks))/float64(max(1, chunks/len(t.Ranks)-1))),
					fmt.Sprintf("%s of micro-batch %d, chunk %d: %s", s.Kind, s.MicroBatch, s.Chunk, Duration(s.End-s.Start)))
			}
		}
		d.y += rowHeight
	}
}

// slotHues are the hues of passes, in degrees; a whole backward pass is green.
var slotHues = map[string]float64{"forward": 210, "backward": 140, "input_gradient": 140, "weight_gradient": 35}

// slotColour is the hue of the kind, lightest for the first chunk of a rank (0)
// and darkest for its last (1).
func slotColour(kind string, turn float64) string {
	return hex(slotHues[kind], 0.6, 0.65-float64(0.35*turn))
}

// hex writes hue, saturation and lightness in a way that every viewer reads
// (CSS Color Module Level 4, 7.1).
func hex(hue, saturation, lightness float64) string {
	channel := func(n float64) int {
		k := math.Mod(n+hue/30, 12)
		part := float64(saturation * min(lightness, 1-lightness) * max(-1, min(k-3, 9-k, 1)))
		return int(math.Round(255 * (lightness - part)))
	}
	return fmt.Sprintf("#%02x%02x%02x", channel(0), channel(8), channel(4))
}
