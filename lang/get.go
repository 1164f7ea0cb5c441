package lang

import (
	"fmt"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/lang/units"
)

// lookup finds an argument that decoders ask for; asking for one that the
// schema lacks is a mistake in this package.
func (b *block) lookup(name string) (*argument, *schema.Argument) {
	spec := b.spec.Argument(name)
	if spec == nil {
		panic("lang: no argument " + name + " in " + b.spec.Name)
	}
	return b.args[name], spec
}

// get returns an argument's value, its default, or the zero T.
func get[T any](b *block, name string) T {
	v, _ := getSet[T](b, name)
	return v
}

// getSet is get, and reports whether the argument was written.
func getSet[T any](b *block, name string) (T, bool) {
	var zero T
	a, spec := b.lookup(name)
	written := a != nil
	switch {
	case written && a.bad:
		return zero, true
	case !written && spec.Default == "":
		return zero, false
	case !written:
		a = defaultOf(spec)
	}
	b.record(name, a.parsed)
	return a.parsed.(T), written
}

// getOr is get with a computed default.
func getOr[T any](b *block, name string, other T) T {
	v, written := getSet[T](b, name)
	if written {
		return v
	}
	b.record(name, other)
	return other
}

// optional returns an argument that has no default.
func optional[T any](b *block, name string) job.Optional[T] {
	v, set := getSet[T](b, name)
	return job.Optional[T]{Value: v, Set: set}
}

func (b *block) count(name string) int           { return int(get[int64](b, name)) }
func (b *block) number(name string) float64      { return get[float64](b, name) }
func (b *block) flag(name string) bool           { return get[bool](b, name) }
func (b *block) text(name string) string         { return get[string](b, name) }
func (b *block) list(name string) []string       { return get[[]string](b, name) }
func (b *block) vars(name string) []job.Variable { return get[[]job.Variable](b, name) }

func (b *block) seconds(name string) units.Seconds { return get[units.Seconds](b, name) }
func (b *block) rate(name string) units.FLOPsPerSecond {
	return get[units.FLOPsPerSecond](b, name)
}
func (b *block) bandwidth(name string) units.BytesPerSecond {
	return get[units.BytesPerSecond](b, name)
}

func (b *block) optionalCount(name string) job.Optional[int] {
	v, set := getSet[int64](b, name)
	return job.Optional[int]{Value: int(v), Set: set}
}

// several returns the values of an argument of which there are more than one;
// nil otherwise.
func (b *block) several(name string) []any {
	a, _ := b.lookup(name)
	if a == nil {
		return nil
	}
	list, ok := a.parsed.([]any)
	if !ok {
		return nil
	}
	b.record(name, list)
	return list
}

// fill puts an argument without a default into the place that a pointer leads
// to; one that was not written leaves it as it is.
func (b *block) fill(name string, place any) {
	switch p := place.(type) {
	case *job.IntChoice:
		*p = get[job.IntChoice](b, name)
	case *job.StringChoice:
		*p = get[job.StringChoice](b, name)
	case *[]int:
		*p = get[[]int](b, name)
	case *[]string:
		*p = b.list(name)
	case *job.Optional[string]:
		*p = optional[string](b, name)
	case *job.Optional[int]:
		*p = b.optionalCount(name)
	case *job.BoolChoice:
		*p = get[job.BoolChoice](b, name)
	case *job.Optional[bool]:
		*p = optional[bool](b, name)
	default:
		panic(fmt.Sprintf("lang: %s is kept in a %T, which no argument fills", name, place))
	}
}

// The same with a computed default.
func (b *block) countOr(name string, other int) int          { return int(getOr(b, name, int64(other))) }
func (b *block) numberOr(name string, other float64) float64 { return getOr(b, name, other) }
func (b *block) flagOr(name string, other bool) bool         { return getOr(b, name, other) }
func (b *block) textOr(name, other string) string            { return getOr(b, name, other) }

var defaults sync.Map // *schema.Argument to *argument

// defaultOf evaluates the default of the schema.
func defaultOf(spec *schema.Argument) *argument {
	if a, ok := defaults.Load(spec); ok {
		return a.(*argument)
	}
	expr, diags := hclsyntax.ParseExpression([]byte(spec.Default), "default", hcl.InitialPos)
	if diags.HasErrors() {
		panic("lang: default of " + spec.Name + ": " + diags.Error())
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		panic("lang: default of " + spec.Name + ": " + diags.Error())
	}
	c := converter{spec: spec, expr: expr}
	a := c.convert(v)
	if a == nil || a.bad {
		panic("lang: default of " + spec.Name + " is not a " + spec.Type.String())
	}
	defaults.Store(spec, a)
	return a
}
