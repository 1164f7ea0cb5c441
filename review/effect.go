package review

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

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
	return e.String(), ""
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

var variables = sync.OnceValue(func() []variable {
	var rows []variable
	for line := range strings.Lines(environment) {
		var r variable
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			panic("review: environment.jsonl: " + err.Error())
		}
		rows = append(rows, r)
	}
	return rows
})

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
