// Package picture draws plans: what the ranks of a pipeline do in a step and hold
// meanwhile, where the step goes, how ranks lie on nodes, and how the layouts
// compare. A kind of picture is an SVG, lines of text for a terminal, and data for
// programs. It sees plans and the details that package compiler makes of them, and
// computes nothing that is not a place on paper. Package view tells plans in words.
//
// It draws by itself: a picture has to be the same on every processor, readable on
// light and dark paper, small, and with words for screen readers, and no chart
// library does that.
package picture

import (
	"fmt"
	"html"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/view"
)

// Details answers what a plan does not hold about itself (compiler.Detail).
type Details interface {
	Timeline() *plan.Timeline
	Occupancy() *plan.Occupancy
	Roofline() *plan.Roofline
}

// Subject is a feasible plan that is drawn.
type Subject struct {
	Job  string
	Plan *plan.Plan
	Details
	Layouts func() []plan.Assessed // all layouts of the job, for the kind pareto alone
	Sizes   func() []*plan.Plan    // the plans of the sizes of the run, the smallest first, for the kind sizing alone
}

// Kind is a kind of picture.
type Kind struct {
	Name string
	Doc  string // for the help, a few words

	draw func(*Subject, *canvas)
	text func(*Subject) string
	data func(*Subject) any
}

// Kinds lists the kinds of pictures; the first is drawn when nobody says which.
var Kinds = []Kind{
	{"overview", "the step, memory per stage and the timeline", drawOverview, textOverview, dataBreakdown},
	{"timeline", "the passes of every pipeline rank", drawTimeline, textTimeline, dataTimeline},
	{"memory", "what every stage holds in the course of a step", drawOccupancy, textOccupancy, dataOccupancy},
	{"step", "the timeline, and below it what every stage holds", drawStep, textStep, dataOccupancy},
	{"breakdown", "where the step's time goes", drawBreakdown, textBreakdown, dataBreakdown},
	{"mesh", "ranks on nodes, and the links of their groups", drawMesh, textMesh, dataMesh},
	{"pareto", "throughput over memory of all layouts", drawPareto, textPareto, dataPareto},
	{"roofline", "GEMMs and attention below the GPU's roof", drawRoofline, textRoofline, dataRoofline},
	{"sizing", "time of the run and its GPU-hours over the number of nodes", drawSizing, textSizing, dataSizing},
}

// Names are those of Kinds.
func Names() []string {
	var names []string
	for i := range Kinds {
		names = append(names, Kinds[i].Name)
	}
	return names
}

// Find is the kind of a name; nil: there is none.
func Find(name string) *Kind {
	for i := range Kinds {
		if Kinds[i].Name == name {
			return &Kinds[i]
		}
	}
	return nil
}

// SVG draws a picture as a file of its own.
func (k *Kind) SVG(s *Subject) []byte {
	return []byte(k.picture(s, false).svg(k.caption(s), true))
}

// Part draws a picture as a part of a page, which has to say Style and what the
// picture is of.
func (k *Kind) Part(s *Subject) string { return k.picture(s, true).svg(k.caption(s), false) }

// HTML is a page with nothing but the picture; it loads nothing.
func (k *Kind) HTML(s *Subject) []byte {
	return []byte(fmt.Sprintf(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>%s</title>
<style>:root{color-scheme:light dark}body{margin:0}div{overflow-x:auto}
%s</style></head>
<body class="paper"><div tabindex="0">
%s</div></body></html>
`, html.EscapeString(k.caption(s)), Style, k.picture(s, false).svg(k.caption(s), false)))
}

// Text draws a picture with letters, in lines of at most 110.
func (k *Kind) Text(s *Subject) string { return k.text(s) }

// Data is what a picture shows, to be written as JSON.
func (k *Kind) Data(s *Subject) any { return k.data(s) }

func (k *Kind) picture(s *Subject, part bool) *canvas {
	c := &canvas{y: margin, part: part}
	k.draw(s, c)
	return c
}

// caption is the name of a picture for those who do not see it.
func (k *Kind) caption(s *Subject) string { return fmt.Sprintf("%s: %s", heading(s), k.Doc) }

func heading(s *Subject) string {
	p := s.Plan
	return fmt.Sprintf("%s on %s %s", s.Job, p.Backend, p.BackendVersion)
}

// entitle writes what a picture is of.
func entitle(s *Subject, c *canvas) {
	if c.part {
		return
	}
	p := s.Plan
	c.title(fmt.Sprintf("%s: %d x %s, %s a step", heading(s), p.Input.GPUs, p.Input.GPU, view.Duration(p.Time.StepSeconds)))
	for line := range strings.SplitSeq(view.Layout(&p.Layout), "\n") {
		c.note(line)
	}
	c.y += 10
}

func drawOverview(s *Subject, c *canvas) {
	entitle(s, c)
	breakdown(s, c)
	stages(s, c)
	t := s.Timeline()
	w := windowOf(t, drawnShare(t))
	passes(s, c, t, &w)
}

func textOverview(s *Subject) string {
	return textBreakdown(s) + "\n" + textStages(s) + "\n" + textTimeline(s)
}

// textStages has a bar for every pipeline stage: its device memory of the GPU's.
func textStages(s *Subject) string {
	m := &s.Plan.Memory
	var b strings.Builder
	fmt.Fprintf(&b, "%s: memory per stage, of %s; usable are %s\n", heading(s), view.GiB(m.GPUBytes), view.GiB(m.UsableBytes))
	for _, i := range shownRanks(len(m.Stages), mostRanks) {
		if i < 0 {
			b.WriteString("          …\n")
			continue
		}
		at := &m.Stages[i]
		fmt.Fprintf(&b, "stage %-3d %s %9s\n", at.Stage, view.Bar(at.DeviceBytes, m.GPUBytes), view.GiB(at.DeviceBytes))
	}
	return b.String()
}
