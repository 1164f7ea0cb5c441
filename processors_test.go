package ndc

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// TestExactBytes: memory is counted in whole bytes, which nothing rounds later.
// So no product in compiler/memory may be fused with the addition that follows,
// as some processors do: each is converted, which rounds it (The Go Programming
// Language Specification, "Floating-point operators"), or feeds another product.
// Products with a power of two are exact either way.
func TestExactBytes(t *testing.T) {
	files := token.NewFileSet()
	paths, err := filepath.Glob("compiler/memory/*.go")
	if err != nil || len(paths) == 0 {
		t.Fatal("no files: ", err)
	}
	var parsed []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: importer.ForCompiler(files, "source", nil)}
	if _, err := config.Check("memory", files, parsed, info); err != nil {
		t.Fatal(err)
	}
	products := 0
	for _, f := range parsed {
		var outer []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				outer = outer[:len(outer)-1]
				return true
			}
			if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.MUL && isFloat(info, b) {
				products++
				if !powerOfTwo(info, b.X) && !powerOfTwo(info, b.Y) && !rounds(info, outer) {
					t.Errorf("%s: a product that could be fused with an addition: write float64(a * b)", files.Position(b.Pos()))
				}
			}
			outer = append(outer, n)
			return true
		})
	}
	if products == 0 {
		t.Error("no products were found")
	}
}

// isFloat reports whether an expression is computed in floating point.
func isFloat(info *types.Info, e ast.Expr) bool {
	v := info.Types[e]
	if v.Type == nil || v.Value != nil {
		return false
	}
	basic, ok := v.Type.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsFloat != 0
}

// powerOfTwo reports whether an expression is such a constant.
func powerOfTwo(info *types.Info, e ast.Expr) bool {
	v := info.Types[e].Value
	if v == nil {
		return false
	}
	f, _ := constant.Float64Val(constant.ToFloat(v))
	fraction, _ := math.Frexp(math.Abs(f))
	return fraction == 0.5
}

// rounds reports whether what surrounds a product keeps it from an addition: a
// conversion, another product or a quotient.
func rounds(info *types.Info, outer []ast.Node) bool {
	for i := len(outer) - 1; i >= 0; i-- {
		switch around := outer[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.CallExpr:
			return info.Types[around.Fun].IsType()
		case *ast.BinaryExpr:
			return around.Op == token.MUL || around.Op == token.QUO
		}
		return false
	}
	return false
}
