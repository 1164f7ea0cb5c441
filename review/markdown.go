package review

import (
	"fmt"
	"strings"
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
		b.WriteString("| effect | value | before | after | |\n|---|---|---|---|---|\n")
		for _, c := range told {
			effect := c.Effect
			if effect == "convergence" {
				effect = "**convergence**"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", effect, code(c.Path), code(spelled(c.Old)), code(spelled(c.New)), escape(strings.Join(j.remarks(c), "; ")))
		}
		b.WriteByte('\n')
	}
	for i := range j.Backends {
		k := &j.Backends[i]
		lines := k.lines()
		if len(lines) == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s | %s |\n|---|---|\n", code(k.Name), k.State)
		for _, line := range lines {
			fmt.Fprintf(b, "| %s | %s |\n", line[0], escape(line[1]))
		}
		b.WriteByte('\n')
	}
}

// code sets text in type of one width. No text of a job ends it: a fence longer
// than any run of backquotes in it stands around.
func code(s string) string {
	fence, pad := "`", ""
	for strings.Contains(s, fence) {
		fence, pad = fence+"`", " "
	}
	return strings.ReplaceAll(fence+pad+oneLine(s)+pad+fence, "|", `\|`)
}

// escape keeps words of a job from being read as Markdown or HTML.
func escape(s string) string { return markup.Replace(oneLine(s)) }

var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "<", "&lt;", "&", "&amp;", "~", `\~`, "[", `\[`, "|", `\|`, "@", "&#64;")
