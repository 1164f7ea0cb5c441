package review

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
)

// Text tells a report to people at a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	for i := range r.Jobs {
		if i > 0 {
			b.WriteByte('\n')
		}
		r.Jobs[i].text(&b)
	}
	if len(r.Jobs) == 0 {
		b.WriteString("There are no jobs on either side.\n")
	}
	return b.String()
}

func (j *Job) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s\n", j.Name, j.headline())
	if told := j.told(); len(told) > 0 {
		b.WriteByte('\n')
		var table strings.Builder
		w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
		for _, c := range told {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Effect, c.Path, c.values(), strings.Join(j.remarks(c), "; "))
		}
		w.Flush()
		for line := range strings.Lines(table.String()) {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
	}
	for i := range j.Backends {
		k := &j.Backends[i]
		if j.State == Same {
			break
		}
		fmt.Fprintf(b, "\n%s: %s\n", k.Name, k.State)
		for _, line := range k.lines() {
			fmt.Fprintf(b, "  %-12s %s\n", line[0], line[1])
		}
	}
}

// headline counts the changes of each effect.
func (j *Job) headline() string {
	if j.State != Changed {
		return map[State]string{Same: "nothing changed", Added: "a new job", Removed: "the job is gone"}[j.State]
	}
	var parts []string
	if j.Was != "" {
		parts = append(parts, "was "+j.Was)
	}
	for _, effect := range schema.EffectNames() {
		n := 0
		for _, c := range j.Changes {
			if c.Effect == effect {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s", n, effect))
		}
	}
	same := !slices.ContainsFunc(j.Backends, func(b Backend) bool { return b.State != Same })
	switch {
	case len(j.Changes) == 0 && same: // it has another name
		parts = append(parts, "nothing else changed")
	case len(j.Changes) == 0:
		parts = append(parts, "no value changed, but "+j.moved()+" did")
	}
	return strings.Join(parts, ", ")
}

// moved says what changed of a job of which no value did.
func (j *Job) moved() string {
	var list []string
	for _, part := range []struct {
		name    string
		changed func(*Backend) bool
	}{
		{"backends", func(b *Backend) bool { return b.State == Added || b.State == Removed }},
		{"predictions", func(b *Backend) bool { return b.Before != nil && b.After != nil && *b.Before != *b.After }},
		{"policies", func(b *Backend) bool { return b.State == Changed && len(b.Policies) > 0 }},
		{"checkpoints", func(b *Backend) bool { return b.Checkpoints != nil && b.Checkpoints.Answer != Keeps }},
	} {
		if slices.ContainsFunc(j.Backends, func(b Backend) bool { return part.changed(&b) }) {
			list = append(list, part.name)
		}
	}
	return "its " + cmp.Or(strings.Join(list, " and "), "plans")
}

// told are the changes that have lines of their own: what the plan settled is
// told of in words, unless it touches what is learned.
func (j *Job) told() []Change {
	return slices.DeleteFunc(slices.Clone(j.Changes), func(c Change) bool {
		chosen := strings.HasPrefix(c.Path, "layout.") || strings.HasPrefix(c.NewOrigin, "plan:") && strings.HasPrefix(c.OldOrigin, "plan:")
		return chosen && c.Effect != schema.Convergence.String()
	})
}

// values are the old and the new value in words.
func (c *Change) values() string { return spelled(c.Old) + " -> " + spelled(c.New) }

// spelled writes a value as the language does.
func spelled(v any) string {
	if v == nil {
		return "(none)"
	}
	text := plainText(v)
	if n, ok := v.(float64); ok && n == float64(int64(n)) {
		return fmt.Sprint(int64(n))
	}
	return printable(text)
}

// printable spells characters that a terminal would not show, or obey.
func printable(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if unprintable(c) {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func unprintable(c rune) bool { return !unicode.IsPrint(c) }

// remarks say who made the change, about which backends, and why it is grave.
func (j *Job) remarks(c Change) []string {
	var list []string
	if origin := c.origin(); origin != "" {
		list = append(list, origin)
	}
	if both := j.compared(); len(c.Backends) < both {
		list = append(list, strings.Join(c.Backends, " and ")+" alone")
	}
	if c.Why != "" {
		list = append(list, c.Why)
	}
	return list
}

// compared counts the backends that both sides have.
func (j *Job) compared() (n int) {
	for _, b := range j.Backends {
		if b.Before != nil && b.After != nil {
			n++
		}
	}
	return n
}

// origin tells where to look: the place in the files, or who else chose.
func (c *Change) origin() string {
	old, new := originWords(c.OldOrigin), originWords(c.NewOrigin)
	switch {
	case c.New == nil && old != "":
		return "was " + old
	case c.Old == nil || kindOf(c.OldOrigin) == kindOf(c.NewOrigin):
		return new
	}
	return old + " -> " + new
}

// kindOf is who chose: the part of an origin before its first colon.
func kindOf(origin string) string {
	kind, _, _ := strings.Cut(origin, ":")
	return kind
}

func originWords(origin string) string {
	switch kind, rest, _ := strings.Cut(origin, ":"); kind {
	case "spec":
		return rest
	case "default":
		return "default"
	case "plan":
		return map[string]string{"search": "chosen by the search", "recommended": "recommended by the backend"}[rest]
	default:
		return strings.TrimSuffix(kind+" "+rest, " ")
	}
}

// lines tell what becomes of the plan of one backend: a heading and words each.
func (b *Backend) lines() [][2]string {
	if b.State == Same {
		return nil
	}
	lines := b.numbers()
	if len(b.Because) > 0 {
		lines = append(lines, [2]string{"because", strings.Join(b.Because, ", ")})
	}
	if why := b.misses(); why != "" {
		lines = append(lines, [2]string{"infeasible", why})
	}
	if b.Before != nil && b.After != nil && b.Before.Feasible && b.After.Feasible {
		for _, settled := range [][2]string{{"layout", axes(b.old, b.new)}, {"execution", options(b.old, b.new)}} {
			if settled[1] != "" {
				lines = append(lines, settled)
			}
		}
	}
	if f := b.Checkpoints; f != nil {
		lines = append(lines, [2]string{"checkpoints", f.told()})
	}
	for i := range b.Policies {
		lines = append(lines, [2]string{"policy", b.Policies[i].told()})
	}
	return lines
}

// misses says why the new plan is not feasible; "" when it is.
func (b *Backend) misses() string {
	if b.new == nil || b.new.Feasible {
		return ""
	}
	return view.FirstReason(b.new)
}

func (f *Fate) told() string {
	if f.Why == "" {
		return f.Answer.Words()
	}
	return f.Answer.Words() + ": " + f.Why
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "; ") }

// axes are the axes that differ, in words.
func axes(old, new *plan.Plan) string {
	var parts []string
	for i := range option.Axes {
		a := &option.Axes[i]
		parts = appendChange(parts, a.Name, a.Text(&old.Layout), a.Text(&new.Layout))
	}
	return strings.Join(parts, ", ")
}

// options are the options of execution that differ, in words.
func options(old, new *plan.Plan) string {
	var parts []string
	for i := range option.Options {
		o := &option.Options[i]
		parts = appendChange(parts, o.Name, plainText(o.Value(&old.Execution)), plainText(o.Value(&new.Execution)))
	}
	return strings.Join(parts, ", ")
}

func appendChange(parts []string, name, old, new string) []string {
	if old == new {
		return parts
	}
	return append(parts, name+" "+old+" -> "+new)
}

// numbers are the predictions before and after. What most plans do not have is left
// out where neither side has it; so is what is predicted where no side is feasible.
func (b *Backend) numbers() [][2]string {
	var lines [][2]string
	if b.Before.misses() || b.After.misses() {
		lines = append(lines, [2]string{"feasible", b.sides(func(p *Prediction) string { return map[bool]string{true: "yes", false: "no"}[p.Feasible] })})
	}
	for _, m := range []struct {
		name  string
		value func(*Prediction) float64
		write func(...float64) []string
		least float64 // what is told of on one side at least; 0: always
		said  bool    // by the job, whether or not it is feasible
	}{
		{"step", func(p *Prediction) float64 { return float64(p.StepSeconds) }, durations, 0, false},
		{"memory", func(p *Prediction) float64 { return float64(p.DeviceBytes) }, each(func(n float64) string { return view.GiB(units.Bytes(n)) }), 0, false},
		{"risk", func(p *Prediction) float64 { return p.Risk }, each(view.Chance), 1e-4, false},
		{"MFU", func(p *Prediction) float64 { return float64(p.MFU) }, each(func(n float64) string { return fmt.Sprintf("%.1f %%", 100*n) }), 0, false},
		{"GPUs", func(p *Prediction) float64 { return float64(p.GPUs) }, each(whole), 0, true},
		{"steps", func(p *Prediction) float64 { return float64(p.Steps) }, each(whole), 0, true},
		{"run", func(p *Prediction) float64 { return float64(p.Seconds) }, durations, 0, false},
		{"expected", func(p *Prediction) float64 { return float64(p.ExpectedSeconds) }, orNone(durations), math.SmallestNonzeroFloat64, false},
		{"GPU-hours", func(p *Prediction) float64 { return p.GPUHours }, each(view.GPUHours), 0, false},
		{"cost", func(p *Prediction) float64 { return p.Cost }, orNone(each(func(n float64) string { return units.Significant(n, 4) })), math.SmallestNonzeroFloat64, false},
	} {
		tells := func(p *Prediction) bool { return p != nil && (p.Feasible || m.said && m.value(p) > 0) }
		has := func(p *Prediction) bool { return tells(p) && m.value(p) >= m.least }
		switch {
		case !has(b.Before) && !has(b.After):
		case tells(b.Before) && tells(b.After):
			lines = append(lines, [2]string{m.name, both(m.write, m.value(b.Before), m.value(b.After))})
		default:
			lines = append(lines, [2]string{m.name, b.sides(func(p *Prediction) string {
				if !tells(p) {
					return "(none)"
				}
				return m.write(m.value(p))[0]
			})})
		}
	}
	return lines
}

// misses reports whether a backend is there and has no feasible plan.
func (p *Prediction) misses() bool { return p != nil && !p.Feasible }

// durations writes times in one unit.
func durations(seconds ...float64) []string {
	list := make([]units.Seconds, len(seconds))
	for i, s := range seconds {
		list[i] = units.Seconds(s)
	}
	return view.Durations(list...)
}

func each(write func(float64) string) func(...float64) []string {
	return func(numbers ...float64) []string {
		list := make([]string, len(numbers))
		for i, n := range numbers {
			list[i] = write(n)
		}
		return list
	}
}

// orNone writes numbers of which zero stands for none.
func orNone(write func(...float64) []string) func(...float64) []string {
	return func(numbers ...float64) []string {
		texts := write(numbers...)
		for i, n := range numbers {
			if n == 0 {
				texts[i] = "(none)"
			}
		}
		return texts
	}
}

func whole(n float64) string { return fmt.Sprintf("%.0f", n) }

// both is one number before and after, written alike.
func both(write func(...float64) []string, old, new float64) string {
	texts := write(old, new)
	if texts[0] == texts[1] {
		return texts[0]
	}
	return texts[0] + " -> " + texts[1] + change(old, new)
}

// sides tells something of the plan before and after; of a backend that came or went,
// of the one there is.
func (b *Backend) sides(tell func(*Prediction) string) string {
	var sides []string
	for _, p := range []*Prediction{b.Before, b.After} {
		if p != nil {
			sides = append(sides, tell(p))
		}
	}
	return strings.Join(slices.Compact(sides), " -> ")
}

// change is the difference in percent, in brackets.
func change(old, new float64) string {
	if old == 0 {
		return ""
	}
	return fmt.Sprintf(" (%+.1f %%)", 100*(new-old)/old)
}
