package lang

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/schema"
)

// checkVersion reads the ndc blocks before anything else: a file for another
// version may hold words that this one does not know.
func (m *module) checkVersion() bool {
	spec, before := schema.File.Block("ndc"), len(m.diags)
	for _, body := range m.bodies {
		for _, b := range body.Blocks {
			if b.Type != spec.Name {
				continue
			}
			t := m.evaluate(b, spec, m.scope())
			if a := t.args["required_version"]; a != nil && !a.bad {
				m.checkConstraint(a.parsed.(string), t.argAt("required_version"))
			}
		}
	}
	return !slices.ContainsFunc(m.diags[before:], func(d diag.Diagnostic) bool { return d.ID == UnsupportedVersion })
}

func (l *loader) has(id diag.ID) bool {
	for _, d := range l.diags {
		if d.ID == id {
			return true
		}
	}
	return false
}

func (m *module) checkConstraint(text string, at diag.Range) {
	excluded, err := excludes(text, m.options.NDCVersion)
	if err != nil {
		m.fail(InvalidValue, at, "%s. Write comparisons such as \">= 0.1\" or \"~> 1.2\", separated by commas.", err)
		return
	}
	if excluded {
		otherwise := "change required_version"
		if m.caller != nil {
			otherwise = "call a version of the module that is for this one"
		}
		m.fail(UnsupportedVersion, at, "This file needs ndc %s, and this is ndc %s. Install one that fits, or %s.", text, m.options.NDCVersion, otherwise)
	}
}

// excludes reports whether a required_version excludes a version of ndc.
func excludes(text, ndc string) (bool, error) {
	constraint, err := parseConstraint(text)
	if err != nil || isDevelopment(ndc) {
		return false, err
	}
	v, err := parseVersion(ndc)
	return err == nil && !constraint.allows(v), nil // a version that the build did not set properly is no fault of the file
}

// Excluded returns a required_version of a file, or of the *.hcl files of a folder, that
// excludes a version of ndc; "" where none does, as far as it is written as text.
func Excluded(fsys fs.FS, name, ndc string) string {
	blocks, _ := blocksOf(fsys, name)
	for _, b := range blocks {
		if b.Type == "ndc" && b.Body.Attributes["required_version"] != nil {
			text := written(b, "required_version", &diag.Range{}, &diag.List{})
			if excluded, _ := excludes(text, ndc); excluded {
				return text
			}
		}
	}
	return ""
}

// isDevelopment reports whether a version is of a build between releases.
func isDevelopment(v string) bool {
	v = strings.TrimPrefix(v, "v")
	return v == "" || v == "devel" || v == "(devel)" || v == "unknown" || v == "dev" ||
		strings.HasPrefix(v, "0.0.0") || strings.Contains(v, "dev") || strings.Contains(v, "dirty")
}

// version is MAJOR.MINOR.PATCH with an optional pre-release.
type version struct {
	numbers    []int
	prerelease string
}

func parseVersion(s string) (version, error) {
	s, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(s), "v"), "+")
	core, prerelease, _ := strings.Cut(s, "-")
	v := version{prerelease: prerelease}
	for p := range strings.SplitSeq(core, ".") {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || len(p) > 9 {
			return v, fmt.Errorf("%q is not a version", s)
		}
		v.numbers = append(v.numbers, n)
	}
	if len(v.numbers) > 3 {
		return v, fmt.Errorf("%q is not a version", s)
	}
	return v, nil
}

func (v version) part(i int) int {
	if i < len(v.numbers) {
		return v.numbers[i]
	}
	return 0
}

// compare orders versions; a pre-release comes before its release.
func (v version) compare(w version) int {
	for i := range 3 {
		if d := v.part(i) - w.part(i); d != 0 {
			return d
		}
	}
	switch {
	case v.prerelease == w.prerelease:
		return 0
	case v.prerelease == "":
		return 1
	case w.prerelease == "":
		return -1
	}
	return strings.Compare(v.prerelease, w.prerelease)
}

// constraint is a conjunction of comparisons.
type constraint []comparison

type comparison struct {
	operator string
	version  version
}

var operators = []string{">=", "<=", "!=", "~>", "=", ">", "<"} // longer ones first

func parseConstraint(s string) (constraint, error) {
	var c constraint
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		operator := "="
		for _, o := range operators {
			if rest, ok := strings.CutPrefix(part, o); ok {
				operator, part = o, strings.TrimSpace(rest)
				break
			}
		}
		v, err := parseVersion(part)
		if err != nil {
			return nil, err
		}
		c = append(c, comparison{operator, v})
	}
	return c, nil
}

func (c constraint) allows(v version) bool {
	for _, x := range c {
		if !x.allows(v) {
			return false
		}
	}
	return true
}

func (c comparison) allows(v version) bool {
	d := v.compare(c.version)
	switch c.operator {
	case "=":
		return d == 0
	case "!=":
		return d != 0
	case ">":
		return d > 0
	case ">=":
		return d >= 0
	case "<":
		return d < 0
	case "<=":
		return d <= 0
	}
	return d >= 0 && c.sameSeries(v) // ~>
}

// sameSeries reports whether all but the last written number agree.
func (c comparison) sameSeries(v version) bool {
	for i := range len(c.version.numbers) - 1 {
		if v.part(i) != c.version.part(i) {
			return false
		}
	}
	return true
}
