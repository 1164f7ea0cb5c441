package main

import (
	"fmt"
	"math"
	"os"
	"strings"
)

// The drawing: measured step time along, predicted over measured upwards, both
// logarithmic, so that errors can be seen.
const (
	drawingWidth, drawingHeight = 760, 420
	marginLeft, marginBottom    = 60, 40
	worstRatio                  = 2.0 // what is further off is drawn at the edge
)

// writeScatter draws predicted over measured step times as SVG: one mark per
// row, by dense models, mixtures of experts, and uncertain layouts.
func writeScatter(path string, results []result) error {
	low, high := math.Inf(1), 0.0
	for i := range results {
		if t := results[i].Time; t != nil && !results[i].judge {
			low, high = min(low, t.MeasuredSeconds), max(high, t.MeasuredSeconds)
		}
	}
	x := func(seconds float64) float64 {
		return marginLeft + (drawingWidth-marginLeft-20)*math.Log(seconds/low)/math.Log(max(high/low, 1.01))
	}
	y := func(ratio float64) float64 {
		r := min(max(math.Log(ratio)/math.Log(worstRatio), -1), 1)
		return (drawingHeight - marginBottom) / 2 * (1 - 0.95*r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", drawingWidth, drawingHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", drawingWidth, drawingHeight)
	for _, r := range []float64{0.5, 0.7, 0.85, 1, 1.15, 1.4, 2} {
		colour := "#ddd"
		if r == 1 {
			colour = "#888"
		}
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="%s"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n", marginLeft, y(r), drawingWidth-20, colour, marginLeft-6, y(r)+4, r)
	}
	for s := math.Pow(10, math.Ceil(math.Log10(low))); s <= high; s *= 10 {
		fmt.Fprintf(&b, `<path d="M%.1f 0V%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%g s</text>`+"\n", x(s), drawingHeight-marginBottom, x(s), drawingHeight-marginBottom+16, s)
	}
	for i := range results {
		if t := results[i].Time; t != nil && !results[i].judge {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s" fill-opacity="0.6"/>`+"\n", x(t.MeasuredSeconds), y(t.PredictedSeconds/t.MeasuredSeconds), colourOf(&results[i]))
		}
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">predicted over measured step time, by measured step time; <tspan fill="%s">dense</tspan>, <tspan fill="%s">mixture of experts</tspan>, <tspan fill="%s">hybrid or layout uncertain</tspan></text>`+"\n</svg>\n",
		marginLeft, drawingHeight-6, denseColour, expertColour, uncertainColour)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

const denseColour, expertColour, uncertainColour = "#1f77b4", "#d62728", "#999999"

func colourOf(r *result) string {
	switch {
	case r.apart:
		return uncertainColour
	case dense(r):
		return denseColour
	}
	return expertColour
}
