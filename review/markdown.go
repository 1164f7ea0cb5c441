package review

import (
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/view/markdown"
)

// Markdown tells a report as a comment on a change: what was changed in a
// table, what it does to each plan in another.
func (r *Report) Markdown() string {
	var b strings.Builder
	for i := range r.Jobs {
		j := &r.Jobs[i]
		fmt.Fprintf(&b, "### %s: %s\n\n", code(j.Name), escape(j.headline()))
		j.markdown(&b)
	}
	if len(r.Jobs) == 0 {
		b.WriteString("There are no jobs on either side.\n")
	}
	return b.String()
}

func (j *Job) markdown(b *strings.Builder) {
	if told := j.told(); len(told) > 0 {
		b.WriteString(markdown.Head([]string{"effect", "value", "before", "after", ""}))
		for _, c := range told {
			effect := c.Effect
			if effect == "convergence" {
				effect = "**convergence**"
			}
			b.WriteString(markdown.Row(effect, code(c.Path), code(spelled(c.Old)), code(spelled(c.New)), escape(strings.Join(j.remarks(c), "; "))))
		}
		b.WriteByte('\n')
	}
	for i := range j.Backends {
		k := &j.Backends[i]
		lines := k.lines()
		if len(lines) == 0 {
			continue
		}
		b.WriteString(markdown.Head([]string{code(k.Name), string(k.State)}))
		for _, line := range lines {
			b.WriteString(markdown.Row(line[0], escape(line[1])))
		}
		b.WriteByte('\n')
	}
}

// code sets text in type of one width.
func code(s string) string { return markdown.Code(oneLine(s)) }

// escape keeps words of a job from being read as Markdown, and from calling people on
// the page where the comment stands.
func escape(s string) string {
	return strings.ReplaceAll(markdown.Cell(oneLine(s)), "@", "&#64;")
}
