package ndc

import (
	"go/ast"
	"maps"
	"reflect"
	"testing"

	"github.com/ndc-dev/ndc/compiler/runtime"
)

// TestRuntimeValuesHaveABackend: what describes a runtime is something that a
// backend fills in. What engines of earlier years had, tools/accuracy says in these
// values.
func TestRuntimeValuesHaveABackend(t *testing.T) {
	all := packages(t)
	emitted := map[string]bool{}
	for _, backend := range []string{"megatron", "torchtitan", "deepspeed"} {
		maps.Copy(emitted, fieldsSet(all["backends/"+backend]))
	}
	for _, part := range reflect.VisibleFields(reflect.TypeFor[runtime.Runtime]()) {
		for _, value := range reflect.VisibleFields(part.Type) {
			if name := part.Type.Name() + "." + value.Name; !emitted[name] {
				t.Errorf("no backend sets %s", name)
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
