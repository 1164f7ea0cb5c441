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

// without removes the arguments and blocks that errors point at, or the last
// pin of the layout where they point at none.
func without(src string, errors diag.List) (string, bool) {
	lines := strings.Split(src, "\n")
	remove := map[int]bool{}
	for _, d := range errors {
		first := d.Range.Start.Line - 1
		if first < 0 || first >= len(lines) || strings.HasPrefix(lines[first], "job") || strings.HasPrefix(lines[first], "model") {
			continue
		}
		for n := first; n <= end(lines, first); n++ {
			remove[n] = true
		}
	}
	if len(remove) == 0 { // an error of the layout as a whole
		at := slices.Index(lines, "    layout {")
		if at < 0 || lines[at+3] == "    }" {
			return src, false
		}
		remove[at+end(lines[at:], 0)-1] = true
	}
	var kept []string
	for n, l := range lines {
		if !remove[n] {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n"), true
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
