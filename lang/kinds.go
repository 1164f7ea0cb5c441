package lang

import (
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/lang/schema"
)

// idAttribute is the attribute that tells which block an object is, such as
// "model.llama" or "catalog.gpu.h200".
const idAttribute = "id"

// labelAttribute holds the label of a nested block.
const labelAttribute = "kind"

// argumentType is the type that an argument has in expressions about a job.
func argumentType(a *schema.Argument) cty.Type {
	if a.Several {
		return cty.DynamicPseudoType
	}
	return valueType(a.Type)
}

// valueType is the type that an argument has in expressions. All objects of a
// kind have one type, so that conditionals between them work.
func valueType(t schema.Type) cty.Type {
	switch t {
	case schema.Count, schema.Number:
		return cty.Number
	case schema.Bool:
		return cty.Bool
	case schema.StringList:
		return cty.List(cty.String)
	case schema.StringMap, schema.Environment:
		return cty.Map(cty.String)
	case schema.GPURef:
		return kindTypes()["gpu"]
	case schema.String, schema.Bytes, schema.Bandwidth, schema.FLOPS, schema.Duration, schema.Timeout, schema.Share, schema.Power:
		return cty.String
	}
	return cty.DynamicPseudoType
}

// opaqueKinds are the kinds of blocks that can be named and not read: what is in
// them depends on the element of for_each and on the site.
var opaqueKinds = []string{"job", "site"}

// kinds lists all kinds of blocks that expressions name.
func kinds() []string { return slices.Concat(schema.Kinds(), opaqueKinds) }

// opaqueUse says what a block of an opaque kind is named for.
var opaqueUse = map[string]string{"job": "the base of other jobs, base = job.NAME", "site": "where jobs run, site = site.NAME, which read its values as here.NAME"}

// opaque is the object of a block of an opaque kind.
func opaque(kind, address string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{idAttribute: cty.StringVal(address), kind: cty.True})
}

// kindTypes maps each kind to the type of its objects.
func kindTypes() map[string]cty.Type {
	kindTypesOnce.Do(func() {
		table := map[string]cty.Type{}
		for _, kind := range opaqueKinds {
			table[kind] = cty.Object(map[string]cty.Type{idAttribute: cty.String, kind: cty.Bool})
		}
		for _, kind := range []string{"gpu", "model", "cluster"} { // a cluster has a gpu
			attributes := blockAttributes(schema.File.Block(kind), table["gpu"])
			attributes[idAttribute] = cty.String
			table[kind] = cty.Object(attributes)
		}
		kindTypeTable = table
	})
	return kindTypeTable
}

var (
	kindTypesOnce sync.Once
	kindTypeTable map[string]cty.Type // for kindTypes alone
)

// visible reports whether an argument of a kind is an attribute of its object.
func visible(a *schema.Argument) bool { return a.Name != "base" && a.Name != "without" }

// blockAttributes are the attributes of a block's object, where a gpu has its type.
func blockAttributes(b *schema.Block, gpu cty.Type) map[string]cty.Type {
	attributes := map[string]cty.Type{}
	for i := range b.Arguments {
		a := &b.Arguments[i]
		if !visible(a) {
			continue
		}
		t := gpu
		if a.Type != schema.GPURef {
			t = valueType(a.Type)
		}
		attributes[a.Name] = t
	}
	for i := range b.Blocks {
		attributes[b.Blocks[i].Name] = blockType(&b.Blocks[i], gpu)
	}
	if b.Label == schema.Choice && !b.Repeatable {
		attributes[labelAttribute] = cty.String
	}
	return attributes
}

func blockType(b *schema.Block, gpu cty.Type) cty.Type {
	t := cty.Object(blockAttributes(b, gpu))
	if b.Repeatable {
		return cty.Map(t)
	}
	return t
}

// isKind reports whether t is the type of a kind's objects.
func isKind(t cty.Type) bool { return kindOf(t) != "" }

// kindOf names the kind that has type t, or "".
func kindOf(t cty.Type) string {
	for _, kind := range kinds() {
		if t.Equals(kindTypes()[kind]) {
			return kind
		}
	}
	return ""
}

// object is the block as a value for expressions: what was not written is its
// default, or null.
func (b *block) object(id string) cty.Value {
	values := b.attributes()
	if id != "" {
		values[idAttribute] = cty.StringVal(id)
	}
	return cty.ObjectVal(values)
}

func (b *block) attributes() map[string]cty.Value {
	values := map[string]cty.Value{}
	for i := range b.spec.Arguments {
		if a := &b.spec.Arguments[i]; visible(a) {
			values[a.Name] = b.attribute(a)
		}
	}
	for i := range b.spec.Blocks {
		spec := &b.spec.Blocks[i]
		values[spec.Name] = b.nested(spec)
	}
	if b.spec.Label == schema.Choice && !b.spec.Repeatable {
		values[labelAttribute] = cty.StringVal(b.label)
	}
	return values
}

func (b *block) attribute(spec *schema.Argument) cty.Value {
	t := valueType(spec.Type)
	a := b.args[spec.Name]
	switch {
	case a != nil && a.bad:
		return cty.UnknownVal(t)
	case a != nil:
		return a.value
	case spec.Default == "":
		return cty.NullVal(t)
	}
	return defaultOf(spec).value
}

func (b *block) nested(spec *schema.Block) cty.Value {
	t := blockType(spec, kindTypes()["gpu"])
	if !spec.Repeatable {
		if c := b.find(spec.Name); c != nil {
			return c.object("")
		}
		return cty.NullVal(t)
	}
	entries := map[string]cty.Value{}
	for _, c := range b.all(spec.Name) {
		entries[c.label] = c.object("")
	}
	if len(entries) == 0 {
		return cty.MapValEmpty(t.ElementType())
	}
	return cty.MapVal(entries)
}
