package lang

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/lang/schema"
)

// What policies, tests and templates see of one plan: the plan as plan.json has
// it, the job by the words of the language, and the emitted files. Quantities
// are numbers in bytes, seconds, shares and their like, as in the plan.

// plannedJobType is the type of the planned job.
var plannedJobType = sync.OnceValue(func() cty.Type {
	spec := schema.File.Block("job")
	attributes := plannedAttributes(spec)
	attributes["name"], attributes["label"], attributes["site"] = cty.String, cty.String, cty.String
	attributes["backend"] = cty.Object(plannedArguments(spec.Block("backend"), map[string]cty.Type{labelAttribute: cty.String}))
	return cty.Object(attributes)
})

// hidden reports whether an argument is how a job was put together, not what
// became of it.
func hidden(a *schema.Argument) bool {
	return slices.Contains([]string{"base", "without", "for_each", "count", "site"}, a.Name)
}

func plannedAttributes(b *schema.Block) map[string]cty.Type {
	attributes := plannedArguments(b, map[string]cty.Type{})
	for i := range b.Blocks {
		n := &b.Blocks[i]
		t := cty.Object(plannedAttributes(n))
		if n.Repeatable {
			t = cty.Map(t)
		}
		attributes[n.Name] = t
	}
	switch {
	case b.Label == schema.Identifier:
		attributes["name"] = cty.String
	case b.Label == schema.Choice && !b.Repeatable:
		attributes[labelAttribute] = cty.String
	}
	return attributes
}

func plannedArguments(b *schema.Block, to map[string]cty.Type) map[string]cty.Type {
	for i := range b.Arguments {
		if a := &b.Arguments[i]; !hidden(a) {
			to[a.Name] = plannedType(a)
		}
	}
	return to
}

func plannedType(a *schema.Argument) cty.Type {
	switch a.Type {
	case schema.Bytes, schema.Bandwidth, schema.FLOPS, schema.Duration, schema.Share, schema.Power:
		return cty.Number
	case schema.ModelRef, schema.ClusterRef, schema.GPURef:
		return cty.Object(plannedAttributes(schema.File.Block(a.Type.String())))
	}
	return argumentType(a)
}

// planned is the job that the parts make, as an object of plannedJobType.
func (p *parts) planned() cty.Value {
	values := p.job.planned(p)
	values["name"], values["label"], values["site"] = cty.StringVal(p.name()), cty.StringVal(p.job.label), cty.NullVal(cty.String)
	if p.site != nil {
		values["site"] = cty.StringVal(p.site.tree.label)
	}
	backend := p.backend.plannedArguments(p)
	backend[labelAttribute] = cty.StringVal(p.backend.label)
	values["backend"] = cty.ObjectVal(backend)
	return cty.ObjectVal(values)
}

// sized is a job whose number of nodes is the one that was planned, which the files may
// leave open.
func sized(job cty.Value, p *file.Plan) cty.Value {
	values := job.AsValueMap()
	values["nodes"] = cty.NumberIntVal(int64(p.Input.Nodes))
	return cty.ObjectVal(values)
}

func (b *block) planned(p *parts) map[string]cty.Value {
	values := b.plannedArguments(p)
	for i := range b.spec.Blocks {
		spec := &b.spec.Blocks[i]
		t := cty.Object(plannedAttributes(spec))
		switch {
		case spec.Repeatable:
			entries := map[string]cty.Value{}
			for _, c := range b.all(spec.Name) {
				entries[c.label] = cty.ObjectVal(c.planned(p))
			}
			values[spec.Name] = cty.MapValEmpty(t)
			if len(entries) > 0 {
				values[spec.Name] = cty.MapVal(entries)
			}
		case b.find(spec.Name) == nil:
			values[spec.Name] = cty.NullVal(t)
		default:
			values[spec.Name] = cty.ObjectVal(b.find(spec.Name).planned(p))
		}
	}
	switch {
	case b.spec.Label == schema.Identifier:
		values["name"] = cty.StringVal(b.label)
	case b.spec.Label == schema.Choice && !b.spec.Repeatable:
		values[labelAttribute] = cty.StringVal(b.label)
	}
	return values
}

func (b *block) plannedArguments(p *parts) map[string]cty.Value {
	values := map[string]cty.Value{}
	for i := range b.spec.Arguments {
		if a := &b.spec.Arguments[i]; !hidden(a) {
			values[a.Name] = b.plannedArgument(a, p)
		}
	}
	return values
}

func (b *block) plannedArgument(spec *schema.Argument, p *parts) cty.Value {
	t := plannedType(spec)
	if kind := map[schema.Type]*block{schema.ModelRef: p.model, schema.ClusterRef: p.cluster, schema.GPURef: p.gpu}[spec.Type]; kind != nil {
		return cty.ObjectVal(kind.planned(p))
	}
	a := b.args[spec.Name]
	if a == nil && spec.Default != "" {
		a = defaultOf(spec)
	}
	switch {
	case a == nil:
		return cty.NullVal(t)
	case a.bad:
		return cty.UnknownVal(t)
	}
	if v := reflect.ValueOf(a.parsed); t == cty.Number && v.CanInt() {
		return cty.NumberIntVal(v.Int())
	} else if t == cty.Number {
		return cty.NumberFloatVal(v.Float())
	}
	return a.value
}

// planType is the type of a plan: the fields of plan.json.
var planType = sync.OnceValue(func() cty.Type { return typeOf(reflect.TypeFor[file.Plan]()) })

// typeOf is the type of what encoding/json writes for a Go type.
func typeOf(t reflect.Type) cty.Type {
	switch t {
	case reflect.TypeFor[file.Layout]():
		attributes := map[string]cty.Type{}
		for i := range option.Axes {
			attributes[option.Axes[i].JSON()] = rowType(&option.Axes[i].Row)
		}
		return cty.Object(attributes)
	case reflect.TypeFor[file.Execution]():
		attributes := map[string]cty.Type{}
		for i := range option.Options {
			attributes[option.Options[i].JSON()] = rowType(&option.Options[i].Row)
		}
		return cty.Object(attributes)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem())
	case reflect.Slice, reflect.Array:
		return cty.List(typeOf(t.Elem()))
	case reflect.Map:
		return cty.Map(typeOf(t.Elem()))
	case reflect.Struct:
		attributes := map[string]cty.Type{}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			attributes[name] = typeOf(t.Field(i).Type)
		}
		return cty.Object(attributes)
	}
	simple, err := gocty.ImpliedType(reflect.Zero(t).Interface())
	if err != nil {
		panic("lang: a plan with a " + t.String())
	}
	return simple
}

func rowType(r *option.Row) cty.Type {
	switch r.Kind {
	case option.Count:
		return cty.Number
	case option.Switch:
		return cty.Bool
	case option.Counts:
		return cty.List(cty.Number)
	case option.Names:
		return cty.List(cty.String)
	}
	return cty.String
}

// planValue is a plan as an object of planType, with its lists as tuples: in
// HCL [16] is a tuple, and nothing of another type equals it.
func planValue(p *file.Plan) cty.Value {
	text, err := json.Marshal(p)
	if err != nil {
		panic("lang: a plan that JSON cannot hold: " + err.Error())
	}
	v, err := ctyjson.Unmarshal(text, planType())
	if err != nil {
		panic("lang: a plan of another type: " + err.Error())
	}
	return tuples(v)
}

// tuples makes tuples of the lists of a value.
func tuples(v cty.Value) cty.Value {
	if v.IsNull() || !v.CanIterateElements() {
		return v
	}
	switch t := v.Type(); {
	case t.IsListType():
		var list []cty.Value
		for _, e := range v.Elements() {
			list = append(list, tuples(e))
		}
		return cty.TupleVal(list)
	case t.IsObjectType():
		attributes := map[string]cty.Value{}
		for name := range v.Elements() {
			attributes[name.AsString()] = tuples(v.GetAttr(name.AsString()))
		}
		return cty.ObjectVal(attributes)
	}
	return v
}

// artifactsType is the text of files by their paths.
var artifactsType = cty.Map(cty.String)

func artifactsValue(artifacts map[string]string) cty.Value {
	entries := map[string]cty.Value{}
	for path, text := range artifacts {
		entries[path] = cty.StringVal(text)
	}
	if len(entries) == 0 {
		return cty.MapValEmpty(cty.String)
	}
	return cty.MapVal(entries)
}

// anyPlan stands for every plan, where only types are known.
func anyPlan() map[string]cty.Value {
	return map[string]cty.Value{
		"plan": cty.UnknownVal(planType()), "job": cty.UnknownVal(plannedJobType()), "artifacts": cty.UnknownVal(artifactsType),
	}
}
