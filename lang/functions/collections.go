package functions

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// anything is a parameter of any type.
func anything(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.DynamicPseudoType}
}

// lengthFunc counts the elements of a collection, the attributes of an object
// or the characters of a string.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("value")},
	Type: func(args []cty.Value) (cty.Type, error) {
		t := args[0].Type()
		if t == cty.String || t == cty.DynamicPseudoType || t.IsObjectType() || t.IsTupleType() || t.IsCollectionType() {
			return cty.Number, nil
		}
		return cty.Number, function.NewArgErrorf(0, "must be a string, a list, a map or an object")
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch v := args[0]; {
		case v.Type() == cty.String:
			return stdlib.Strlen(v)
		case v.Type().IsObjectType():
			return cty.NumberIntVal(int64(len(v.Type().AttributeTypes()))), nil
		default:
			return v.Length(), nil
		}
	},
})

// coalesceFunc returns its first argument that is neither null nor "".
var coalesceFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "vals", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		types := make([]cty.Type, len(args))
		for i, a := range args {
			types[i] = a.Type()
		}
		t, _ := convert.UnifyUnsafe(types)
		if t == cty.NilType {
			return t, errors.New("all arguments must have the same type")
		}
		return t, nil
	},
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		for _, a := range args {
			v, err := convert.Convert(a, t)
			if err != nil {
				return cty.NilVal, err
			}
			if !v.IsKnown() {
				return cty.UnknownVal(t), nil
			}
			if !v.IsNull() && !v.RawEquals(cty.StringVal("")) {
				return v, nil
			}
		}
		return cty.NilVal, errors.New("no non-null, non-empty-string arguments")
	},
})

// truthFunc is alltrue (all) or anytrue.
func truthFunc(all bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			unknown := false
			for _, v := range args[0].AsValueSlice() {
				if !v.IsKnown() {
					unknown = true
				} else if truth := !v.IsNull() && v.True(); truth != all {
					return cty.BoolVal(!all), nil
				}
			}
			if unknown {
				return cty.UnknownVal(cty.Bool), nil
			}
			return cty.BoolVal(all), nil
		},
	})
}

// sumFunc adds the numbers of a list or set.
var sumFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("list")},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v := args[0]
		if !v.CanIterateElements() || v.Type().IsMapType() || v.Type().IsObjectType() {
			return cty.NilVal, function.NewArgErrorf(0, "argument must be list, set, or tuple")
		}
		if v.LengthInt() == 0 {
			return cty.NilVal, function.NewArgErrorf(0, "cannot sum an empty list")
		}
		total := cty.Zero
		for _, e := range v.AsValueSlice() {
			n, err := convert.Convert(e, cty.Number)
			if err != nil || n.IsNull() {
				return cty.NilVal, function.NewArgErrorf(0, "argument must be list, set, or tuple of number values")
			}
			total = total.Add(n)
		}
		return total, nil
	},
})

// oneFunc turns a list of none or one into null or its element.
var oneFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("list")},
	Type: func(args []cty.Value) (cty.Type, error) {
		switch t := args[0].Type(); {
		case t.IsListType() || t.IsSetType():
			return t.ElementType(), nil
		case t.IsTupleType() && len(t.TupleElementTypes()) == 1:
			return t.TupleElementType(0), nil
		case t.IsTupleType() && len(t.TupleElementTypes()) == 0:
			return cty.DynamicPseudoType, nil
		}
		return cty.NilType, function.NewArgErrorf(0, "must be a list, set, or tuple value with either zero or one elements")
	},
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		elements := args[0].AsValueSlice()
		switch len(elements) {
		case 0:
			return cty.NullVal(t), nil
		case 1:
			return elements[0], nil
		}
		return cty.NilVal, function.NewArgErrorf(0, "must be a list, set, or tuple value with either zero or one elements")
	},
})

// indexFunc finds the position of a value in a list.
var indexFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("list"), anything("value")},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if t := args[0].Type(); !t.IsListType() && !t.IsTupleType() {
			return cty.NilVal, function.NewArgErrorf(0, "argument must be a list or tuple")
		}
		for i, e := range args[0].AsValueSlice() {
			if eq, err := stdlib.Equal(e, args[1]); err == nil && eq.IsKnown() && eq.True() {
				return cty.NumberIntVal(int64(i)), nil
			}
		}
		return cty.NilVal, errors.New("item not found")
	},
})

// lookupFunc reads a key of a map or object, with a default.
var lookupFunc = function.New(&function.Spec{
	Params:   []function.Parameter{anything("inputMap"), {Name: "key", Type: cty.String}},
	VarParam: &function.Parameter{Name: "default", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		if len(args) > 3 {
			return cty.NilType, errors.New("lookup() takes two or three arguments")
		}
		switch t := args[0].Type(); {
		case t.IsMapType():
			return t.ElementType(), nil
		case t.IsObjectType():
			return cty.DynamicPseudoType, nil
		}
		return cty.NilType, function.NewArgErrorf(0, "lookup() requires a map as the first argument")
	},
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		key := args[1].AsString()
		if args[0].Type().IsObjectType() && args[0].Type().HasAttribute(key) {
			return args[0].GetAttr(key), nil
		}
		if args[0].Type().IsMapType() && args[0].HasIndex(args[1]).True() {
			return args[0].Index(args[1]), nil
		}
		if len(args) == 3 {
			return convert.Convert(args[2], t)
		}
		return cty.NilVal, errors.New("the given object has no attribute \"" + key + "\"")
	},
})

// matchKeysFunc keeps the values whose key is in the search set.
var matchKeysFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "values", Type: cty.List(cty.DynamicPseudoType)},
		{Name: "keys", Type: cty.List(cty.DynamicPseudoType)},
		{Name: "searchset", Type: cty.List(cty.DynamicPseudoType)},
	},
	Type: func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		values, keys := args[0].AsValueSlice(), args[1].AsValueSlice()
		if len(values) != len(keys) {
			return cty.NilVal, errors.New("length of keys and values should be equal")
		}
		var kept []cty.Value
		for i, key := range keys {
			for _, s := range args[2].AsValueSlice() {
				if eq, err := stdlib.Equal(key, s); err == nil && eq.IsKnown() && eq.True() {
					kept = append(kept, values[i])
					break
				}
			}
		}
		if kept == nil {
			return cty.ListValEmpty(t.ElementType()), nil
		}
		return cty.ListVal(kept), nil
	},
})

// transposeFunc swaps keys and values of a map of lists of strings.
var transposeFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "values", Type: cty.Map(cty.List(cty.String))}},
	Type:   function.StaticReturnType(cty.Map(cty.List(cty.String))),
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		lists := map[string][]cty.Value{}
		for it := args[0].ElementIterator(); it.Next(); { // in the order of the keys
			key, list := it.Element()
			for _, v := range list.AsValueSlice() {
				if v.IsNull() {
					return cty.NilVal, errors.New("input must not contain null values")
				}
				lists[v.AsString()] = append(lists[v.AsString()], key)
			}
		}
		if len(lists) == 0 {
			return cty.MapValEmpty(t.ElementType()), nil
		}
		result := make(map[string]cty.Value, len(lists))
		for k, l := range lists {
			result[k] = cty.ListVal(l)
		}
		return cty.MapVal(result), nil
	},
})

// convertFunc converts explicitly, as tostring and tolist do.
func convertFunc(want cty.Type) function.Function {
	return stdlib.MakeToFunc(want)
}
