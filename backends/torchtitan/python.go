package torchtitan

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
)

// field is one keyword argument or dict entry with the origin of its value.
type field struct {
	name  string
	value any
	why   string
}

// pythonDict writes a dict with one entry a line.
func pythonDict(fields []field) string {
	var s strings.Builder
	s.WriteString("{\n")
	for _, f := range fields {
		fmt.Fprintf(&s, "    %s: %s,%s\n", render.Python(f.name), render.Python(f.value), comment(f.why))
	}
	return s.String() + "}"
}

// pythonCall writes a call with one keyword argument a line, indented by n
// spaces.
func pythonCall(name string, fields []field, n int) string {
	if len(fields) == 0 {
		return name + "()"
	}
	indent := strings.Repeat(" ", n)
	var s strings.Builder
	s.WriteString(name + "(\n")
	for _, f := range fields {
		fmt.Fprintf(&s, "%s    %s=%s,%s\n", indent, f.name, render.Python(f.value), comment(f.why))
	}
	return s.String() + indent + ")"
}

func comment(why string) string {
	if why == "" {
		return ""
	}
	return "  # " + render.Comment(why)
}

var (
	importLine = regexp.MustCompile(`^from (\S+) import (.+)$`)
	identifier = regexp.MustCompile(`[A-Za-z_]\w*`)
)

// tidyImports drops names that a generated module does not use, and orders
// runs of "from" imports. Templates may then import whatever any job needs.
func tidyImports(module []byte) []byte {
	lines := strings.Split(string(module), "\n")
	used := map[string]bool{}
	for _, line := range lines {
		if importLine.MatchString(line) {
			continue
		}
		for _, name := range identifier.FindAllString(line, -1) {
			used[name] = true
		}
	}
	var out, run []string
	for _, line := range lines {
		if m := importLine.FindStringSubmatch(line); m != nil {
			run = append(run, keepUsed(m[1], strings.Split(m[2], ", "), used)...)
			continue
		}
		slices.Sort(run)
		out, run = append(append(out, run...), line), nil
	}
	return bytes.TrimLeft([]byte(strings.Join(out, "\n")), "\n")
}

// keepUsed is the import of the used names, if there are any.
func keepUsed(module string, names []string, used map[string]bool) []string {
	names = slices.DeleteFunc(names, func(name string) bool {
		_, alias, renamed := strings.Cut(name, " as ")
		if !renamed {
			alias = name
		}
		return !used[alias]
	})
	if len(names) == 0 {
		return nil
	}
	return []string{"from " + module + " import " + strings.Join(names, ", ")}
}
