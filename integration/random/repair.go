package random

import (
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/integration/artifacts"
)

// repairs is how often a job may be changed before it is given up.
const repairs = 8

// Legal builds a drawn job, leaving out what ndc refuses: the lines that its
// errors point at. It returns the launches, and the errors of every attempt;
// no launches where the job cannot be made legal.
func Legal(src string) (launches []*artifacts.Launch, refused diag.List) {
	for range repairs {
		built, diags := artifacts.Build([]byte(src))
		for _, b := range built {
			if b.Launch != nil {
				launches = append(launches, b.Launch)
			}
			diags = append(diags, b.Refused...)
		}
		errors := slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
		refused = append(refused, errors...)
		tooLarge := slices.ContainsFunc(errors, func(d diag.Diagnostic) bool { return d.ID == artifacts.Infeasible })
		if len(launches) > 0 || len(errors) == 0 || tooLarge {
			return launches, refused
		}
		shorter, changed := without(src, errors)
		if !changed {
			return nil, refused
		}
		src = shorter
	}
	return nil, refused
}

// without removes the arguments and blocks that errors point at; of a block
// that a job must have, the last part.
func without(src string, errors diag.List) (string, bool) {
	lines := strings.Split(src, "\n")
	remove := map[int]bool{}
	for _, d := range errors {
		first := d.Range.Start.Line - 1
		if first < 0 || first >= len(lines) {
			continue
		}
		at, text := first, strings.TrimSpace(lines[first])
		indent := lines[first][:len(lines[first])-len(text)]
		switch {
		case strings.HasPrefix(text, `optimizer "`) && !strings.Contains(text, "adamw"):
			lines[first] = indent + `optimizer "adamw" {`
			remove[0] = false // what changes a line changes the job
			continue
		case strings.HasPrefix(text, "format = "):
			lines[first] = indent + `format = "megatron"`
			remove[0] = false
			continue
		case text == "}" || strings.HasPrefix(text, "job ") || strings.HasPrefix(text, "global_batch_size"):
			continue
		case text == "model = model.m":
			at = last(lines, slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "model ") }))
		case required(text):
			at = last(lines, first)
		}
		for n := at; at > 0 && n <= end(lines, at); n++ {
			remove[n] = true
		}
	}
	if at := last(lines, slices.Index(lines, "    layout {")); len(remove) == 0 && at > 0 { // an error of the layout as a whole
		remove[at] = true
	}
	var kept []string
	for n, l := range lines {
		if !remove[n] {
			kept = append(kept, l)
		}
	}
	shorter := strings.Join(kept, "\n")
	return shorter, shorter != src
}

// required reports the first line of a block that every job needs.
func required(line string) bool {
	for _, block := range []string{"model", "training", "data", "optimizer", "constraints", "layout"} {
		if rest, found := strings.CutPrefix(line, block+" "); found && strings.HasSuffix(rest, "{") {
			return true
		}
	}
	return false
}

// last is where the last argument or block inside a block begins; 0 where
// nothing may be left out.
func last(lines []string, first int) int {
	if first < 0 {
		return 0
	}
	inside := strings.Repeat(" ", len(lines[first])-len(strings.TrimLeft(lines[first], " "))) + "  "
	for n := end(lines, first) - 1; n > first; n-- {
		part := strings.TrimPrefix(lines[n], inside)
		if part == lines[n] || strings.HasPrefix(part, " ") || part == "}" {
			continue // no part of this block, or inside one, or its end
		}
		if required(part) || strings.HasPrefix(part, "virtual_pipeline") || strings.HasPrefix(part, "learning_rate") || strings.HasPrefix(part, "format") {
			return 0
		}
		return n
	}
	return 0
}

// end is the last line of the argument or block that begins on a line; the
// drawn text is indented by its depth.
func end(lines []string, first int) int {
	if !strings.HasSuffix(lines[first], "{") {
		return first
	}
	closing := lines[first][:len(lines[first])-len(strings.TrimLeft(lines[first], " "))] + "}"
	return first + max(0, slices.Index(lines[first:], closing))
}
