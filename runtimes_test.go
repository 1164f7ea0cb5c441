package ndc

import (
	"go/ast"
	"maps"
	"reflect"
	"testing"

	"github.com/ndc-dev/ndc/compiler/runtime"
)

// unemitted are the values of a runtime that no release that ndc emits for has,
// and why the compiler knows them: tools/accuracy describes runs with them.
var unemitted = map[string]string{
	"Pipeline.ScattersActivations": "runs of 2021",
	"Experts.FusedMLP":             "a kernel of newer libraries that some published runs asked for",
	"LowPrecision.Attention":       "an option that some published runs asked for",
}

// TestRuntimeValuesHaveABackend: what describes a runtime is something that a
// backend fills in, or is listed with those that published runs alone had, which
// tools/accuracy fills in.
func TestRuntimeValuesHaveABackend(t *testing.T) {
	all := packages(t)
	emitted := map[string]bool{}
	for _, backend := range []string{"megatron", "torchtitan", "deepspeed"} {
		maps.Copy(emitted, fieldsSet(all["backends/"+backend]))
	}
	others := fieldsSet(all["tools/accuracy"])
	for _, part := range reflect.VisibleFields(reflect.TypeFor[runtime.Runtime]()) {
		for _, value := range reflect.VisibleFields(part.Type) {
			name := part.Type.Name() + "." + value.Name
			why := unemitted[name]
			switch {
			case emitted[name] && why != "":
				t.Errorf("a backend sets %s: take it off the list", name)
			case !emitted[name] && why == "":
				t.Errorf("no backend sets %s", name)
			case why != "" && !others[name]:
				t.Errorf("nothing sets %s", name)
			}
		}
	}
}

// fieldsSet lists the values, as Part.Value, that literals of package runtime or
// assignments fill in.
func fieldsSet(files []*ast.File) map[string]bool {
	set := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				part, _ := n.Type.(*ast.SelectorExpr)
				for _, element := range n.Elts {
					if pair, ok := element.(*ast.KeyValueExpr); ok && part != nil {
						if key, ok := pair.Key.(*ast.Ident); ok {
							set[part.Sel.Name+"."+key.Name] = true
						}
					}
				}
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					value, _ := left.(*ast.SelectorExpr)
					if value == nil {
						continue
					}
					if part, ok := value.X.(*ast.SelectorExpr); ok {
						set[part.Sel.Name+"."+value.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	return set
}
