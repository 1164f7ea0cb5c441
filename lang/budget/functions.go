package budget

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// closures are the functions that evaluate their arguments themselves, again
// and again; the expressions in those pay for that.
var closures = map[string]bool{"can": true, "try": true}

// limit returns a function that pays for its arguments, that says before it
// makes a result how large that will be, and that fails where the one inside
// panics.
func (b *Budget) limit(name string, f function.Function) function.Function {
	if closures[name] {
		return f
	}
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: func(args []cty.Value) (t cty.Type, err error) {
			defer failed(&err)
			if err := b.admit(name, args); err != nil {
				return cty.NilType, err
			}
			t, err = f.ReturnTypeForValues(args)
			if err == nil && shapeSize(t) > MaxValue {
				return cty.NilType, fmt.Errorf("the result is too large: %s", tooLarge)
			}
			return t, plain(err)
		},
		Impl: func(args []cty.Value, _ cty.Type) (v cty.Value, err error) {
			defer failed(&err)
			v, err = f.Call(args)
			return v, plain(err)
		},
	})
}

// admit pays for a call and refuses one that makes too much.
func (b *Budget) admit(name string, args []cty.Value) error {
	for i, a := range args {
		size, units := cost(a)
		b.spend(units)
		if size > MaxValue {
			return function.NewArgErrorf(i, "the value is too large: %s", tooLarge)
		}
	}
	if problem := unfit(name, args); problem != nil {
		return problem
	}
	makes, work := estimate(name, args)
	b.spend(work)
	if makes > MaxValue {
		return fmt.Errorf("the result is too large: %s", tooLarge)
	}
	return nil
}

// failed turns a panic of a function into an error.
func failed(err *error) {
	switch r := recover().(type) {
	case nil:
	case exhausted:
		panic(r)
	default:
		*err = errNoResult
	}
}

// errNoResult stands for a panic in the library of functions.
var errNoResult = fmt.Errorf("it has no result for these arguments")

// plain replaces the error that the library made of a panic, which shows a
// stack of Go.
func plain(err error) error {
	if _, panicked := err.(function.PanicError); panicked {
		return errNoResult
	}
	return err
}

func parameterType(f function.Function, i int) cty.Type {
	if params := f.Params(); i < len(params) {
		return params[i].Type
	}
	if v := f.VarParam(); v != nil {
		return v.Type
	}
	return cty.DynamicPseudoType
}
