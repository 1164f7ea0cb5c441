package functions

import (
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

func init() { table["templatestring"] = templateStringFunc(maps.Clone(table)) }

// templateStringFunc renders a template that is a value, with variables of its own and some
// functions, of which it is none itself.
func templateStringFunc(functions map[string]function.Function) function.Function {
	render := func(args []cty.Value) (cty.Value, error) {
		template, diags := hclsyntax.ParseTemplate([]byte(args[0].AsString()), "template", hcl.InitialPos)
		if diags.HasErrors() {
			return cty.DynamicVal, templateError(diags)
		}
		if t := args[1].Type(); !t.IsObjectType() && !t.IsMapType() {
			return cty.DynamicVal, function.NewArgErrorf(1, "must be a map of the template's variables")
		}
		variables := args[1].AsValueMap()
		for _, t := range template.Variables() {
			if _, known := variables[t.RootName()]; !known {
				return cty.DynamicVal, function.NewArgErrorf(1, "the template uses ${%s}, which is none of these", t.RootName())
			}
		}
		v, diags := template.Value(&hcl.EvalContext{Variables: variables, Functions: functions})
		if diags.HasErrors() {
			return cty.DynamicVal, templateError(diags)
		}
		return v, nil
	}
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "template", Type: cty.String}, anything("vars")},
		Type: func(args []cty.Value) (cty.Type, error) {
			if !args[0].IsKnown() || !args[1].IsKnown() {
				return cty.DynamicPseudoType, nil
			}
			v, err := render(args)
			return v.Type(), err
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return render(args) },
	})
}

// templateError tells the first error of a template, and where in it.
func templateError(diags hcl.Diagnostics) error {
	d := diags.Errs()[0].(*hcl.Diagnostic)
	at := ""
	if d.Subject != nil {
		at = fmt.Sprintf("line %d of the template: ", d.Subject.Start.Line)
	}
	return function.NewArgErrorf(0, "%s%s", at, strings.TrimSuffix(d.Detail, "."))
}
