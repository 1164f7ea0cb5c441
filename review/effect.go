package review

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/review/record"
)

// effectOf is what a change at a path touches in these jobs, and why that is
// more than the argument says: a plan knows of its axes which change what is
// learned, and some variables of the environment change how a job is computed. What
// this version of ndc does not know may touch anything.
func effectOf(path string, before, after map[string]*record.Value) (effect, why string) {
	e := schema.EffectOf(path)
	if e == 0 {
		return schema.Convergence.String(), "this version of ndc does not know the argument"
	}
	for _, values := range []map[string]*record.Value{before, after} {
		if v := values[path]; v != nil && v.Learned != "" {
			return schema.Convergence.String(), v.Learned
		}
	}
	if whole, one, _ := strings.Cut(path, "["); strings.HasSuffix(whole, ".environment") {
		names := []string{strings.Trim(one, `"]`)}
		if one == "" {
			names = differingEntries(entries(before[path]), entries(after[path]))
		}
		return ofVariables(e, names)
	}
	if slices.Contains(shell, path) {
		return ofVariables(e, differingVariables(lines(before[path]), lines(after[path])))
	}
	return e.String(), ""
}

// shell are the arguments of lines that run before the ranks start, and set variables for
// them.
var shell = []string{"slurm.setup", "templates.before_launch"}

// setting finds the variables that a line of the shell sets or takes away.
var setting = regexp.MustCompile(`\b([A-Za-z_][A-Za-z0-9_]*)=|\bunset\s+(?:-v\s+)?([A-Za-z_][A-Za-z0-9_]*)`)

// differingVariables are those of lines that the other side does not have, in order.
func differingVariables(old, new []string) []string {
	var names []string
	only := func(list, other []string) {
		for _, line := range list {
			if slices.Contains(other, line) {
				continue
			}
			for _, found := range setting.FindAllStringSubmatch(line, -1) {
				names = append(names, cmp.Or(found[1], found[2]))
			}
		}
	}
	only(old, new)
	only(new, old)
	slices.Sort(names)
	return slices.Compact(names)
}

// lines are those of a text or of a list of texts; none where there is no value.
func lines(v *record.Value) (all []string) {
	if v == nil {
		return nil
	}
	list, ok := v.Value.([]any)
	if !ok {
		list = []any{v.Value}
	}
	for _, text := range list {
		if s, ok := text.(string); ok {
			all = append(all, strings.Split(s, "\n")...)
		}
	}
	return all
}

// variable is what a variable of the environment touches, by its name or the beginning
// of it.
type variable struct {
	Name   string `json:"name"` // "NCCL_*": those that begin so; the first row that fits counts
	Effect string `json:"effect"`
	Why    string `json:"why"`    // what the variable decides
	Source string `json:"source"` // where that is said
}

//go:embed environment.jsonl
var environment string

var variables = sync.OnceValue(func() []variable { return facts.Lines[variable]("review: environment.jsonl", environment) })

// ofVariables is the gravest effect of some variables, and which of them makes it
// graver than the argument is.
func ofVariables(argument schema.Effect, names []string) (effect, why string) {
	e := argument
	for _, name := range names {
		i := slices.IndexFunc(variables(), func(r variable) bool {
			beginning, many := strings.CutSuffix(r.Name, "*")
			return name == r.Name || many && strings.HasPrefix(name, beginning)
		})
		if i < 0 {
			continue
		}
		if r := &variables()[i]; gravity(r.Effect) < e {
			e, why = gravity(r.Effect), name+" decides "+r.Why
		}
	}
	return e.String(), why
}

// differingEntries are the names of two maps that have not the same value in both, in
// order.
func differingEntries(old, new map[string]any) []string {
	var names []string
	for name := range old {
		if v, ok := new[name]; !ok || v != old[name] {
			names = append(names, name)
		}
	}
	for name := range new {
		if _, ok := old[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// entries is the value of a map of texts; none where there is no value.
func entries(v *record.Value) map[string]any {
	if v == nil {
		return nil
	}
	m, _ := v.Value.(map[string]any)
	return m
}
