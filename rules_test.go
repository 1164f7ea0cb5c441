package ndc

import (
	"go/ast"
	"testing"
)

// TestMeshRulesReadNoExecution: rules of meshes are asked before a layout has
// options of execution. One that reads them would find those of the layout that
// the same worker of a search looked at before.
func TestMeshRulesReadNoExecution(t *testing.T) {
	all := packages(t)
	rules := 0
	for _, backend := range []string{"megatron", "torchtitan", "deepspeed"} {
		for _, f := range all["backends/"+backend] {
			ast.Inspect(f, func(n ast.Node) bool {
				rule, ok := n.(*ast.CompositeLit)
				if !ok {
					return true
				}
				if mesh, _ := element(rule, "Mesh").(*ast.Ident); mesh == nil || mesh.Name != "true" {
					return true
				}
				rules++
				ast.Inspect(element(rule, "Breaks"), func(n ast.Node) bool {
					if read, ok := n.(*ast.SelectorExpr); ok && (read.Sel.Name == "Execution" || read.Sel.Name == "Exec") {
						id, _ := element(rule, "ID").(*ast.Ident)
						t.Errorf("%s: the rule %s is one of meshes and reads %s", backend, id.Name, read.Sel.Name)
					}
					return true
				})
				return false
			})
		}
	}
	if rules < 40 {
		t.Errorf("%d rules of meshes", rules)
	}
}

// TestRowsReachTheirTarget: what the rows of a backend's options offer to a search is in its target.
func TestRowsReachTheirTarget(t *testing.T) {
	all := packages(t)
	for _, backend := range []string{"megatron", "torchtitan", "deepspeed"} {
		rows, targets := map[string]bool{}, map[string]bool{}
		for _, f := range all["backends/"+backend] {
			ast.Inspect(f, func(n ast.Node) bool {
				literal, ok := n.(*ast.CompositeLit)
				if !ok {
					return true
				}
				for _, field := range []string{"Offers", "Variants"} {
					switch has := element(literal, field) != nil; {
					case has && element(literal, "Resolve") != nil:
						targets[field] = true
					case has && element(literal, "Option") != nil:
						rows[field] = true
					}
				}
				return true
			})
		}
		for field := range rows {
			if !targets[field] {
				t.Errorf("%s: its target has no %s, and rows of its options do", backend, field)
			}
		}
		if len(rows) != 2 {
			t.Errorf("%s: rows have %v", backend, rows)
		}
	}
}

// element is the value of a field in a literal, nil where it has none.
func element(literal *ast.CompositeLit, field string) ast.Expr {
	for _, e := range literal.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == field {
				return pair.Value
			}
		}
	}
	return nil
}
