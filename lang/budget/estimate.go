package budget

import (
	"errors"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Of most functions neither result nor work is larger than a few times the
// arguments. The others are here.

// estimate is an upper bound, in units, of what a call makes, and of the work
// that it takes beyond reading its arguments.
func estimate(name string, args []cty.Value) (makes, work float64) {
	f := estimates[name]
	if f == nil {
		return 0, 0
	}
	return f(args)
}

var estimates = map[string]func(args []cty.Value) (makes, work float64){
	"format":     func(args []cty.Value) (float64, float64) { return formatted(args, 1), 0 },
	"formatlist": func(args []cty.Value) (float64, float64) { return formatted(args, rows(args)), 0 },
	"indent": func(args []cty.Value) (float64, float64) {
		return textUnits(number(args, 0) * float64(strings.Count(text(args, 1), "\n"))), 0
	},
	"join": func(args []cty.Value) (float64, float64) {
		return textUnits(float64(len(text(args, 0))) * total(args[1:])), 0
	},
	"replace":  replaced,
	"regex":    func(args []cty.Value) (float64, float64) { return matched(text(args, 0), text(args, 1), 1) },
	"regexall": func(args []cty.Value) (float64, float64) { return matched(text(args, 0), text(args, 1), math.MaxInt) },
	"split": func(args []cty.Value) (float64, float64) {
		return float64(strings.Count(text(args, 1), text(args, 0))), 0
	},
	"setproduct":   product,
	"coalesce":     func(args []cty.Value) (float64, float64) { return unified(typesOf(args)) },
	"coalescelist": func(args []cty.Value) (float64, float64) { return unified(typesOf(args)) },
	"concat":       func(args []cty.Value) (float64, float64) { return unified(typesOf(args)) },
	"tolist":       func(args []cty.Value) (float64, float64) { return unified(elementTypes(args[0])) },
	"tomap":        func(args []cty.Value) (float64, float64) { return unified(elementTypes(args[0])) },
	"toset": func(args []cty.Value) (float64, float64) {
		makes, work := hashed(args)
		_, types := unified(elementTypes(args[0]))
		return makes, work + types
	},
	"setunion":        hashed,
	"setintersection": hashed,
	"setsubtract":     hashed,
	"distinct":        func(args []cty.Value) (float64, float64) { return 0, length(args[0]) * length(args[0]) / 8 },
	"matchkeys":       func(args []cty.Value) (float64, float64) { return 0, length(args[1]) * length(args[2]) / 8 },
	"trim":            func(args []cty.Value) (float64, float64) { return 0, times(len(text(args, 0)), len(text(args, 1))) },
	"csvdecode":       func(args []cty.Value) (float64, float64) { return separators(text(args, 0), ",\n"), 0 },
	"jsondecode":      func(args []cty.Value) (float64, float64) { return separators(text(args, 0), ",:["), 0 },
	"yamldecode": func(args []cty.Value) (float64, float64) {
		// A merge copies all keys of what an alias stands for.
		s := text(args, 0)
		return separators(s, ",\n"), times(strings.Count(s, "*"), strings.Count(s, ":"))
	},
}

// text is a known argument's text, else "".
func text(args []cty.Value, i int) string {
	if i >= len(args) || !args[i].IsKnown() || args[i].IsNull() || args[i].Type() != cty.String {
		return ""
	}
	return args[i].AsString()
}

// number is a known argument's number, else 0.
func number(args []cty.Value, i int) float64 {
	if i >= len(args) || !args[i].IsKnown() || args[i].IsNull() || args[i].Type() != cty.Number {
		return 0
	}
	f, _ := args[i].AsBigFloat().Float64()
	return f
}

// length is the number of elements of a known collection, else 0.
func length(v cty.Value) float64 {
	if v, _ = v.Unmark(); !v.IsKnown() || !v.CanIterateElements() {
		return 0
	}
	return float64(v.LengthInt())
}

// total is the number of elements of several collections.
func total(args []cty.Value) float64 {
	n := 0.0
	for _, a := range args {
		n += length(a)
	}
	return n
}

// rows is how many results formatlist makes.
func rows(args []cty.Value) float64 {
	n := 1.0
	for _, a := range args {
		n = max(n, length(a))
	}
	return n
}

func textUnits(bytes float64) float64 { return bytes / bytesPerUnit }

// times is the work of comparing every byte with every other.
func times(a, b int) float64 { return float64(a) * float64(b) / 1024 }

func separators(s, any string) float64 {
	n := 0
	for i := range len(s) {
		if strings.IndexByte(any, s[i]) >= 0 {
			n++
		}
	}
	return float64(n)
}

// verb is one sequence of a format: flags, width, precision, index and letter.
var verb = regexp.MustCompile(`%[^a-zA-Z%]*[a-zA-Z%]`)

var digits = regexp.MustCompile(`[0-9]+`)

// numeric reports a verb that converts its argument to a number.
func numeric(verb string) bool { return strings.ContainsAny(verb[len(verb)-1:], "bdoxXeEfgG") }

// formatted bounds the text of a format: its own, and of each verb the width,
// the precision and the largest argument.
func formatted(args []cty.Value, rows float64) float64 {
	format, largest := text(args, 0), 0.0
	for _, a := range args[1:] {
		largest = max(largest, written(a))
	}
	n := float64(len(format))
	for _, v := range verb.FindAllString(format, -1) {
		n += largest
		for _, d := range digits.FindAllString(v, -1) {
			width, _ := strconv.ParseFloat(d, 64)
			n += width
		}
	}
	return textUnits(n * rows)
}

// written bounds the bytes of a value in a text.
func written(v cty.Value) float64 {
	if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
		return 6 * float64(len(v.AsString())) // each byte may need an escape
	}
	return float64(Size(v)) * 8 * bytesPerUnit // each bit of a number may be a byte
}

// pattern returns a regular expression between slashes.
func pattern(s string) (string, bool) {
	if len(s) > 1 && s[0] == '/' && s[len(s)-1] == '/' {
		return s[1 : len(s)-1], true
	}
	return "", false
}

func replaced(args []cty.Value) (makes, work float64) {
	s, old, by := text(args, 0), text(args, 1), text(args, 2)
	p, isPattern := pattern(old)
	if !isPattern {
		return textUnits(float64(strings.Count(s, old))*float64(len(by)) + float64(len(s))), 0
	}
	count, work := matches(p, s, math.MaxInt)
	// Every reference in the replacement is at most all of what matched.
	return textUnits(count*float64(len(by)) + float64(len(s))*float64(1+strings.Count(by, "$"))), work
}

// matched bounds the groups of all matches, or of the first.
func matched(p, s string, most int) (makes, work float64) {
	count, work := matches(p, s, most)
	return count * float64(1+strings.Count(p, "(")), work
}

// hashed is the work of making a set, and what tells that it is too large.
func hashed(args []cty.Value) (makes, work float64) {
	n := total(args)
	if n > maxWidth {
		return MaxValue + 1, 0
	}
	return n, 16 * n
}

// unified is the work of finding one type for values, of which the library compares each
// with each, those that are alike too, and keeps what it finds of every pair; and what
// tells that they are too many.
func unified(types []cty.Type) (makes, work float64) {
	size := 0.0
	for _, t := range types {
		size += float64(shapeSize(t))
	}
	if len(types) > maxWidth {
		return MaxValue + 1, 0
	}
	return 0, float64(len(types)) * size / 64
}

func typesOf(values []cty.Value) []cty.Type {
	types := make([]cty.Type, len(values))
	for i := range values {
		types[i] = values[i].Type()
	}
	return types
}

// elementTypes are the types of what a tuple or an object holds; none of any other value.
func elementTypes(v cty.Value) []cty.Type {
	switch t := v.Type(); {
	case t.IsTupleType():
		return t.TupleElementTypes()
	case t.IsObjectType():
		return slices.Collect(maps.Values(t.AttributeTypes()))
	}
	return nil
}

// product is every choice of one element of each set.
func product(args []cty.Value) (makes, work float64) {
	makes = float64(len(args))
	for _, a := range args {
		makes *= length(a)
		_, types := unified(elementTypes(a))
		work += types
	}
	return makes, work
}

// maxSpaces is the widest indentation.
const maxSpaces = 1 << 16

// maxBrackets bounds the nesting of what is decoded, since decoders are recursive.
const maxBrackets = 100

// unfit says why a function cannot work with its arguments, where the library
// would panic or take for ever.
func unfit(name string, args []cty.Value) error {
	switch name {
	case "format", "formatlist":
		return unfitFormat(args)
	case "log":
		if x, base := number(args, 0), number(args, 1); known(args) && (!(x > 0) || !(base > 0) || base == 1) {
			return errors.New("a logarithm needs a number above 0 and a base above 0 that is not 1")
		}
	case "pow":
		if known(args) && number(args, 0) < 0 && !args[1].AsBigFloat().IsInt() {
			return errors.New("a negative number has no power with a fraction")
		}
		if known(args) && math.IsInf(math.Pow(number(args, 0), number(args, 1)), 0) {
			return errors.New("the power is larger than any number of a job")
		}
	case "regex", "regexall", "replace":
		p, at := text(args, 0), 0
		if name == "replace" {
			p, _ = pattern(text(args, 1))
			at = 1
		}
		if len(p) > maxPattern {
			return function.NewArgErrorf(at, "a pattern has at most %d bytes", maxPattern)
		}
	case "indent":
		if n := number(args, 0); n < 0 || n > maxSpaces {
			return function.NewArgErrorf(0, "must be from 0 to %d spaces", maxSpaces)
		}
	case "parseint", "tonumber", "sum":
		return unfitNumbers(args)
	case "jsondecode", "yamldecode":
		return unfitDocument(text(args, 0))
	}
	return nil
}

// known reports whether every argument is a known value.
func known(args []cty.Value) bool {
	for _, a := range args {
		if !a.IsWhollyKnown() || a.IsNull() {
			return false
		}
	}
	return true
}

// unfitFormat finds text for a numeric verb that is beyond numbers.
func unfitFormat(args []cty.Value) error {
	for _, v := range verb.FindAllString(text(args, 0), -1) {
		if numeric(v) {
			return unfitNumbers(args[1:])
		}
	}
	return nil
}

// unfitNumbers finds text that is beyond numbers, in arguments or their elements.
func unfitNumbers(args []cty.Value) error {
	for _, a := range args {
		if beyondNumbers(a) {
			return errors.New("this text is a number beyond everything that can be counted")
		}
		if t := a.Type(); !t.IsListType() && !t.IsSetType() && !t.IsTupleType() || !a.IsKnown() || a.IsNull() {
			continue
		}
		if err := unfitNumbers(a.AsValueSlice()); err != nil {
			return err
		}
	}
	return nil
}

// unfitDocument finds nesting and numbers that decoders choke on.
func unfitDocument(s string) error {
	depth, run := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth = max(depth-1, 0)
		}
		if s[i] >= '0' && s[i] <= '9' {
			run++
		} else {
			run = 0
		}
		if depth > maxBrackets || run > maxDigits {
			return errors.New("its brackets are too deep in one another, or its numbers too long")
		}
	}
	for line := range strings.Lines(s) {
		if strings.Count(line, "- ") > maxBrackets && strings.HasPrefix(strings.TrimSpace(line), "- - ") {
			return errors.New("its lists are too deep in one another")
		}
	}
	return nil
}
