package budget

import (
	"errors"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// divisions are those of HCL, and in their place others that have no result for
// zero. HCL's is infinity, which later arithmetic can hide: min(1 / 0, 8) is 8;
// and what is left of a division by zero is all.
var divisions = map[*hclsyntax.Operation]*hclsyntax.Operation{
	hclsyntax.OpDivide: {Impl: notByZero(hclsyntax.OpDivide.Impl), Type: cty.Number},
	hclsyntax.OpModulo: {Impl: notByZero(hclsyntax.OpModulo.Impl), Type: cty.Number},
}

// notByZero is a division whose second number may not be zero.
func notByZero(f function.Function) function.Function {
	return function.New(&function.Spec{
		Description:  f.Description(),
		Params:       f.Params(),
		Type:         function.StaticReturnType(cty.Number),
		RefineResult: func(b *cty.RefinementBuilder) *cty.RefinementBuilder { return b.NotNull() },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[1].AsBigFloat().Sign() == 0 {
				return cty.NilVal, errors.New("division by zero")
			}
			return f.Call(args)
		},
	})
}
