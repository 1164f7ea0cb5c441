package functions

import (
	"strings"

	"github.com/zclconf/go-cty/cty/function"
)

// Signature shows how a function is called, such as "join(separator, lists…)";
// "" for a name that the table does not have.
func Signature(name string) string {
	f, ok := table[name]
	if !ok {
		return ""
	}
	var parts []string
	for _, p := range f.Params() {
		parts = append(parts, parameter(&p))
	}
	if p := f.VarParam(); p != nil {
		parts = append(parts, parameter(p)+"…")
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}

// parameter is its name with its type, where it has one.
func parameter(p *function.Parameter) string {
	if t := p.Type.FriendlyNameForConstraint(); t != "any type" && t != "dynamic" {
		return p.Name + " " + t
	}
	return p.Name
}
