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

func dataRoofline(s *Subject) any { return s.Roofline() }

// decades are the powers of ten around some positive numbers.
func decades(numbers []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, n := range numbers {
		low, high = min(low, math.Floor(math.Log10(n))), max(high, math.Ceil(math.Log10(n)))
	}
	return low, max(high, low+1)
}

// peaksOf are the peaks that kernels have, ascending.
func peaksOf(r *plan.Roofline) []float64 {
	var peaks []float64
	for i := range r.Kernels {
		peaks = append(peaks, float64(r.Kernels[i].Peak))
	}
	slices.Sort(peaks)
	return slices.Compact(peaks)
}

// drawRoofline draws rate over intensity, both by powers of ten, below the roof of
// memory bandwidth and peak.
func drawRoofline(s *Subject, c *canvas) {
	entitle(s, c)
	r := s.Roofline()
	c.head("Kernels of the forward pass below the roof of the GPU")
	bandwidth, peaks := float64(r.MemoryBandwidth), peaksOf(r)
	peak := peaks[len(peaks)-1]
	ridge := peak / bandwidth
	xs, ys := []float64{ridge / 3, ridge * 3}, []float64{peak, peak / 9}
	for i := range r.Kernels {
		xs, ys = append(xs, r.Kernels[i].Intensity()), append(ys, float64(r.Kernels[i].Rate()))
	}
	left, right := decades(xs)
	bottom, top := decades(ys)
	begin := c.y
	x := func(v float64) float64 { return at((math.Log10(v) - left) / (right - left)) }
	y := func(v float64) int { return begin + int(cloudHeight*(top-math.Log10(v))/(top-bottom)) }
	for d := left; d <= right; d++ {
		c.line(x(math.Pow(10, d)), begin, x(math.Pow(10, d)), begin+cloudHeight, "faint", false)
		anchor := "middle"
		switch d {
		case left:
			anchor = "start" // beside the lowest rate
		case right:
			anchor = "end"
		}
		c.anchored(x(math.Pow(10, d)), begin+cloudHeight+14, 10, "soft", anchor, fmt.Sprintf("%.0f FLOP/B", math.Pow(10, d)))
	}
	for d := bottom; d <= top; d++ {
		c.line(plotLeft, y(math.Pow(10, d)), plotLeft+plotWidth, y(math.Pow(10, d)), "faint", false)
		c.label(y(math.Pow(10, d))+4, fmt.Sprintf("%g TFLOPS", math.Round(math.Pow(10, d-10))/100))
	}
	from := max(math.Pow(10, left), math.Pow(10, bottom)/bandwidth)
	for _, peak := range peaks {
		roof := units.FLOPsPerSecond(peak)
		fmt.Fprintf(&c.body, `<path d="M%s %dL%s %dH%d" class="rule" stroke-width="2"><title>roof: %s, %.3g TB/s</title></path>`+"\n", number(x(from)), y(from*bandwidth), number(x(peak/bandwidth)), y(peak), plotLeft+plotWidth, rate(roof), bandwidth/1e12)
		c.anchored(plotLeft+plotWidth-4, y(peak)-6, 11, "soft", "end", rate(roof))
	}
	var names, fills []string
	for i := range r.Kernels {
		k := &r.Kernels[i]
		fmt.Fprintf(&c.body, `<circle cx="%s" cy="%d" r="6" fill="%s"><title>%s</title></circle>`+"\n", number(x(k.Intensity())), y(float64(k.Rate())), colour(i), kernelWords(r, k))
		names, fills = append(names, fmt.Sprintf("%s %s", k.Name, rate(k.Rate()))), append(fills, colour(i))
	}
	c.y = begin + cloudHeight + 22
	c.note("Intensity counts what a kernel has to read and write at least; one micro-batch on one rank.")
	c.legend(names, fills)
}

func rate(f units.FLOPsPerSecond) string { return fmt.Sprintf("%.0f TFLOPS", float64(f)/1e12) }

func kernelWords(r *plan.Roofline, k *plan.Kernel) string {
	return fmt.Sprintf("%s: %s, %.0f FLOP/B, %s of its roof", k.Name, rate(k.Rate()), k.Intensity(), view.Percent(units.Share(roofShare(r, k))))
}

func textRoofline(s *Subject) string {
	r := s.Roofline()
	var b strings.Builder
	fmt.Fprintf(&b, "%s: kernels of the forward pass; the GPU reads %.3g TB/s\n", heading(s), float64(r.MemoryBandwidth)/1e12)
	fmt.Fprintf(&b, "%-28s %6s %10s %12s %12s %12s %12s\n", "kernel", "layers", "time", "rate", "peak", "FLOP/B", "of its roof")
	for i := range r.Kernels {
		k := &r.Kernels[i]
		fmt.Fprintf(&b, "%-28s %6d %10s %12s %12s %12.0f %12s\n", cut(k.Name, 28), k.Layers, view.Duration(k.Seconds), rate(k.Rate()), rate(k.Peak), k.Intensity(), view.Percent(units.Share(roofShare(r, k))))
	}
	return b.String()
}

// roofShare is how much of what the GPU allows a kernel reaches.
func roofShare(r *plan.Roofline, k *plan.Kernel) float64 {
	return float64(k.Rate()) / min(float64(k.Peak), k.Intensity()*float64(r.MemoryBandwidth))
}
