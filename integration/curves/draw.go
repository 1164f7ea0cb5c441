package curves

import (
	"fmt"
	"html"
	"strings"
)

// Curve is what a framework logged: the loss of every step, from the first.
type Curve struct {
	Framework
	Losses []float64
}

// Table shows curves side by side, with the widest gap of every step.
func Table(curves []Curve) string {
	var b strings.Builder
	b.WriteString("| step |")
	for _, c := range curves {
		fmt.Fprintf(&b, " %s %s |", c.Name, strings.TrimPrefix(c.Version, "core_v"))
	}
	b.WriteString(" gap |\n|---|" + strings.Repeat("---|", len(curves)+1) + "\n")
	for step := range curves[0].Losses {
		fmt.Fprintf(&b, "| %d |", step+1)
		low, high := bounds(curves, step)
		for _, c := range curves {
			fmt.Fprintf(&b, " %.3f |", c.Losses[step])
		}
		fmt.Fprintf(&b, " %.3f |\n", high-low)
	}
	return b.String()
}

// bounds are the lowest and the highest loss of a step.
func bounds(curves []Curve, step int) (low, high float64) {
	low, high = curves[0].Losses[step], curves[0].Losses[step]
	for _, c := range curves {
		low, high = min(low, c.Losses[step]), max(high, c.Losses[step])
	}
	return low, high
}

// Sizes of the picture in pixels; colours are Paul Tol's, as in package view.
const (
	width, height = 720, 360
	left, below   = 50, 40
	legend        = width - 240 // where it begins
)

var colours = []string{"#4477aa", "#ee6677", "#228833"}

// Picture draws curves as SVG. Lines of the grid are one nat apart; the dashed
// one is the loss of a model that knows nothing.
func Picture(curves []Curve, ignorance float64) []byte {
	steps := len(curves[0].Losses)
	low, high := 4.0, 8.0
	x := func(step int) float64 { return left + float64(step)*(width-left-20)/float64(steps-1) }
	y := func(loss float64) float64 { return 20 + (high-loss)/(high-low)*(height-20-below) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	level := func(loss float64, style string) {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" %s/>`+"\n", left, width-20, y(loss), y(loss), style)
	}
	for loss := low; loss <= high; loss++ {
		level(loss, `stroke="#dddddd"`)
		fmt.Fprintf(&b, `<text x="20" y="%.1f">%g</text>`+"\n", y(loss)+4, loss)
	}
	level(ignorance, `stroke="black" stroke-dasharray="4"`)
	fmt.Fprintf(&b, `<text x="%d" y="%.1f">knows nothing: ln of the vocabulary</text>`+"\n", legend, y(ignorance)-6)
	for step := 0; step < steps; step += 5 {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d">%d</text>`+"\n", x(step), height-below+18, step+1)
	}
	for i, c := range curves {
		var points strings.Builder
		for step, loss := range c.Losses {
			fmt.Fprintf(&points, "%.1f,%.1f ", x(step), y(loss))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.TrimSpace(points.String()), colours[i])
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" fill="%s">%s %s</text>`+"\n", legend, y(ignorance)+24+16*float64(i), colours[i], html.EscapeString(c.Name), html.EscapeString(c.Version))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">step</text>`+"\n</svg>\n", width/2, height-6)
	return []byte(b.String())
}
