package functions

import (
	"math"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// agreed rounds what a function of floating-point numbers returns to fifteen
// digits: processors differ in the sixteenth, and a job must mean the same on
// all of them. It also makes log(1000, 10) three. Whole numbers stay as they
// are.
func agreed(f function.Function) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		Type:        function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil || !v.IsKnown() || v.IsNull() {
				return v, err
			}
			x, _ := v.AsBigFloat().Float64()
			if x == math.Trunc(x) {
				return v, nil
			}
			x, err = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
			return cty.NumberFloatVal(x), err
		},
	})
}
