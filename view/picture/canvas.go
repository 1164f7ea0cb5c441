package picture

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Sizes, in pixels.
const (
	width      = 960
	margin     = 20
	labelWidth = 76
	plotLeft   = margin + labelWidth
	plotWidth  = width - plotLeft - margin
	rowHeight  = 22
)

// Style colours pictures, so that one file is read on light and on dark paper. A
// page that holds several says it once.
const Style = `.ink{fill:#1c2024}.soft{fill:#60646c}.rule{stroke:#60646c;fill:none}.faint{stroke:#d9d9e0;fill:none}.paper{fill:#fff}.edge{stroke:#fff}.limit{stroke:#c62a2f;fill:none}.idle{fill:#e8e8ec}.hole{stroke:#fff}.mark{stroke:#1c2024;fill:none}
@media (prefers-color-scheme:dark){.ink{fill:#edeef0}.soft{fill:#b0b4ba}.rule{stroke:#b0b4ba}.faint{stroke:#363a3f}.paper{fill:#18191b}.edge{stroke:#18191b}.limit{stroke:#ff9592}.idle{fill:#2e3135}.hole{stroke:#18191b}.mark{stroke:#edeef0}}
`

// palette colours ledger and breakdown lines in their order. It begins with
// Paul Tol's bright palette, readable with colour blindness, and goes on with
// colours that differ from all before them; no plan has more lines.
var palette = []string{"#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#8f8f8f", "#5544aa", "#ee7733", "#44bb99",
	"#8c564b", "#ffaabb", "#bbcc33", "#a5a5f0", "#008080", "#dd00aa", "#6b6b6b", "#e6d8ad", "#c08040", "#80a040", "#a04060", "#406080"}

func colour(i int) string { return palette[i%len(palette)] }

// canvas grows downwards from y.
type canvas struct {
	body strings.Builder
	y    int
	part bool // of a page, which says what the picture is of
}

// number writes a coordinate with one digit at most.
func number(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(math.Round(x*10)/10, 'f', 1, 64), ".0")
}

// text writes a line; class is ink or soft.
func (c *canvas) text(x float64, y, size int, class, s string) {
	c.anchored(x, y, size, class, "start", s)
}

// anchored is text that begins, has its middle or ends at x.
func (c *canvas) anchored(x float64, y, size int, class, anchor, s string) {
	if anchor != "start" {
		class += `" text-anchor="` + anchor
	}
	fmt.Fprintf(&c.body, `<text x="%s" y="%d" font-size="%d" class="%s">%s</text>`+"\n", number(x), y, size, class, html.EscapeString(s))
}

// title is the first line of a picture, in the largest letters.
func (c *canvas) title(s string) {
	c.text(margin, c.y+14, 16, "ink", s)
	c.y += 26
}

// note is a line of small letters.
func (c *canvas) note(s string) {
	c.text(margin, c.y+10, 11, "soft", s)
	c.y += 16
}

// head begins a part of a picture.
func (c *canvas) head(s string) {
	c.text(margin, c.y+12, 13, "ink", s)
	c.y += 20
}

// label names a row at its left.
func (c *canvas) label(y int, s string) { c.anchored(plotLeft-8, y, 11, "soft", "end", s) }

// at is the place of a share of the plot. Products are rounded before they are
// added, so that every processor draws the same.
func at(share float64) float64 { return plotLeft + float64(share*plotWidth) }

// box draws a rectangle over a share of the plot at y, with a tooltip.
func (c *canvas) box(from, share float64, height int, fill, tip string) {
	fmt.Fprintf(&c.body, `<rect x="%s" y="%d" width="%s" height="%d" %s><title>%s</title></rect>`+"\n",
		number(at(from)), c.y, number(max(share*plotWidth, 0.3)), height, painted(fill), html.EscapeString(tip))
}

// painted is the attribute of a colour, or of a class.
func painted(fill string) string {
	if strings.HasPrefix(fill, "#") {
		return `fill="` + fill + `"`
	}
	return `class="` + fill + `"`
}

// path draws one shape with a tooltip.
func (c *canvas) path(data, fill, tip string) {
	fmt.Fprintf(&c.body, `<path %s d="%s"><title>%s</title></path>`+"\n", painted(fill), data, html.EscapeString(tip))
}

// line draws a line of a class, dashed or not.
func (c *canvas) line(x1 float64, y1 int, x2 float64, y2 int, class string, dashed bool) {
	if dashed {
		class += `" stroke-dasharray="4`
	}
	fmt.Fprintf(&c.body, `<line x1="%s" y1="%d" x2="%s" y2="%d" class="%s"/>`+"\n", number(x1), y1, number(x2), y2, class)
}

// legend names colours in lines of three.
func (c *canvas) legend(names, fills []string) {
	for i, n := range names {
		x := plotLeft + float64(i%3)*plotWidth/3
		fmt.Fprintf(&c.body, `<rect x="%s" y="%d" width="10" height="10" %s/>`+"\n", number(x), c.y+4, painted(fills[i]))
		c.text(x+14, c.y+13, 10, "ink", n)
		if i%3 == 2 || i == len(names)-1 {
			c.y += 16
		}
	}
	c.y += 12
}

// svg is the picture, as a file of its own or, without its style, as a part of a page.
func (c *canvas) svg(name string, alone bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="system-ui,sans-serif" role="img" aria-label="%s">`+"\n", width, c.y+8, html.EscapeString(name))
	if alone {
		b.WriteString("<style>" + Style + "</style>\n" + `<rect width="100%" height="100%" class="paper"/>` + "\n")
	}
	b.WriteString(c.body.String() + "</svg>\n")
	return b.String()
}

// ticks are round numbers from zero to most, five or so.
func ticks(most float64) []float64 {
	if most <= 0 {
		return []float64{0}
	}
	return multiples(tick(most), most)
}

// tick is a round distance, of which there are four to eight in an amount.
func tick(most float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, times := range []float64{5, 2.5, 2} {
		if most/(step*times) >= 3.5 {
			return step * times
		}
	}
	return step
}

// multiples are those of a step up to an end.
func multiples(step, end float64) (list []float64) {
	for i := 0; float64(i)*step <= end*1.0001; i++ {
		list = append(list, float64(i)*step)
	}
	return list
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
