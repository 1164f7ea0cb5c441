package lang

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// block is a block after evaluation, as far as it was written. Blocks are
// never changed once they are evaluated; merging makes new ones.
type block struct {
	spec    *schema.Block
	label   string
	catalog string     // the entry of the catalogue that it is or descends from
	header  diag.Range // name and labels; zero in the catalogue
	at      diag.Range // the label where there is one, else the header
	origin  job.Origin
	args    map[string]*argument
	blocks  []*block // in the order of writing
	broken  bool     // something in it or below was reported
	meant   []string // what unknown words in it, which were reported, stand for
	partial bool     // its base or site was reported, so that what seems missing may not be

	path string      // of a tree that is decoded, in into
	into job.Sources // where what decoders read is recorded; nil: nowhere
}

// argument is one evaluated argument that is not null.
type argument struct {
	value  cty.Value // converted to the type of the schema
	parsed any       // the same for Go; nil when bad
	source job.Source
	parts  map[string]job.Source // elements of a list by index, of a map by key in quotes
	bad    bool                  // the value was reported
}

// child returns the nested block of a name that is written once, or an empty
// one, which has the defaults of the schema.
func (b *block) child(name string) *block {
	if c := b.find(name); c != nil {
		return c
	}
	spec := b.spec.Block(name)
	if spec == nil {
		panic("lang: no block " + name + " in " + b.spec.Name)
	}
	return &block{spec: spec, header: b.header, at: b.at, origin: job.FromDefault, path: join(b.path, name), into: b.into}
}

// find returns the first nested block of a name, or nil.
func (b *block) find(name string) *block {
	for _, c := range b.blocks {
		if c.spec.Name == name {
			return c
		}
	}
	return nil
}

// all returns the nested blocks of a name.
func (b *block) all(name string) []*block {
	var found []*block
	for _, c := range b.blocks {
		if c.spec.Name == name {
			found = append(found, c)
		}
	}
	return found
}

// has reports whether the argument was written.
func (b *block) has(name string) bool { return b.args[name] != nil }

// argAt is where an argument's value stands, or the block's header.
func (b *block) argAt(name string) diag.Range {
	if a := b.args[name]; a != nil {
		return a.source.Range
	}
	return b.at
}

// mergeRule says what becomes of what two blocks both have.
type mergeRule uint8

const (
	// replacing: what is written over replaces the argument or the list of
	// repeated blocks as a whole.
	replacing mergeRule = iota
	// adding: maps merge by key, lists that grow are appended to, and repeated
	// blocks of a closed set of labels merge by label.
	adding
)

// merge lays over on base: arguments one by one, nested blocks likewise, a
// block with another label instead of the base's.
func merge(base, over *block, rule mergeRule) *block {
	if base == nil {
		return over
	}
	if over == nil {
		return base
	}
	if base.spec.Label == schema.Choice && base.label != over.label {
		return over
	}
	m := *over
	m.spec = base.spec
	m.catalog = or(over.catalog, base.catalog)
	m.args = maps.Clone(base.args)
	if m.args == nil {
		m.args = map[string]*argument{}
	}
	for name, a := range over.args {
		if b := base.args[name]; b != nil && rule == adding {
			a = added(b, a, m.spec.Argument(name))
		}
		m.args[name] = a
	}
	m.blocks = mergeBlocks(base.blocks, over.blocks, rule)
	m.broken = base.broken || over.broken
	m.partial = base.partial || over.partial
	m.meant = slices.Concat(base.meant, over.meant)
	return &m
}

// added is an argument with what it adds to the base's.
func added(base, over *argument, spec *schema.Argument) *argument {
	keyed := isMap(spec)
	if base.bad || over.bad || !keyed && !spec.Appends {
		return over
	}
	both := *over
	both.parts = map[string]job.Source{}
	if keyed {
		both.addEntries(base, over)
	} else {
		both.addElements(base, over)
	}
	return &both
}

func (a *argument) addEntries(base, over *argument) {
	entries, values := map[string]job.Variable{}, map[string]cty.Value{}
	for _, from := range []*argument{base, over} {
		for _, v := range from.parsed.([]job.Variable) {
			entries[v.Name], values[v.Name] = v, cty.StringVal(v.Value)
			a.parts[strconv.Quote(v.Name)] = from.part(strconv.Quote(v.Name))
		}
	}
	var list []job.Variable
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		list = append(list, entries[name])
	}
	a.parsed = list
	if len(values) > 0 {
		a.value = cty.MapVal(values)
	}
}

// addElements lists the mounts of both. What both mount at one place is over's, where
// the base's stood.
func (a *argument) addElements(base, over *argument) {
	own := over.parsed.([]string)
	var list []string
	var values []cty.Value
	add := func(from *argument, i int) {
		s := from.parsed.([]string)[i]
		if slices.Contains(list, s) {
			return
		}
		a.parts[strconv.Itoa(len(list))] = from.part(strconv.Itoa(i))
		list, values = append(list, s), append(values, cty.StringVal(s))
	}
	for i, s := range base.parsed.([]string) {
		if k := slices.IndexFunc(own, func(o string) bool { return mountPoint(o) == mountPoint(s) }); k >= 0 {
			add(over, k)
		} else {
			add(base, i)
		}
	}
	for i := range own {
		add(over, i)
	}
	a.parsed = list
	if len(values) > 0 {
		a.value = cty.ListVal(values)
	}
}

// mountPoint is DST of SRC:DST:OPTIONS.
func mountPoint(mount string) string {
	_, rest, _ := strings.Cut(mount, ":")
	at, _, _ := strings.Cut(rest, ":")
	return path.Clean(at)
}

// part is where an element was written, or all of them.
func (a *argument) part(key string) job.Source {
	if s, ok := a.parts[key]; ok {
		return s
	}
	return a.source
}

// mergeBlocks merges the blocks of two bodies. Of repeatable blocks the list
// that over writes is the list, unless the rule adds by label; one of the same
// label keeps what it does not override.
func mergeBlocks(base, over []*block, rule mergeRule) []*block {
	same := func(a, b *block) bool {
		return a.spec.Name == b.spec.Name && (!a.spec.Repeatable || a.label == b.label)
	}
	var merged []*block
	for _, b := range base {
		stays := rule == adding && b.spec.Repeatable && b.spec.Label == schema.Choice
		if !slices.ContainsFunc(over, func(o *block) bool { return o.spec.Name == b.spec.Name && (!stays || same(o, b)) }) {
			merged = append(merged, b)
		}
	}
	for _, o := range over {
		if i := slices.IndexFunc(base, func(b *block) bool { return same(b, o) }); i >= 0 {
			o = merge(base[i], o, rule)
		}
		merged = append(merged, o)
	}
	return merged
}

// adopt returns a copy in which everything that comes from the catalogue is
// placed where the user's file refers to it.
func (b *block) adopt(at diag.Range) *block {
	c := *b
	if c.header.IsZero() {
		c.header, c.at = at, at
	}
	c.args = make(map[string]*argument, len(b.args))
	for name, a := range b.args {
		if a.source.Range.IsZero() {
			placed := *a
			placed.source.Range = at
			a = &placed
		}
		c.args[name] = a
	}
	c.blocks = make([]*block, len(b.blocks))
	for i, n := range b.blocks {
		c.blocks[i] = n.adopt(at)
	}
	return &c
}

// copied returns a copy in which reports may be noted.
func (b *block) copied() *block {
	c := *b
	c.args = maps.Clone(b.args)
	c.blocks = make([]*block, len(b.blocks))
	for i, n := range b.blocks {
		c.blocks[i] = n.copied()
	}
	return &c
}

// sources adds the places of everything in the block, under a path prefix.
func (b *block) sources(prefix string, to job.Sources) {
	to[prefix] = job.Source{Origin: b.origin, Range: b.at}
	for name, a := range b.args {
		path := join(prefix, name)
		to[path] = a.source
		for key, at := range a.parts {
			to[path+"["+key+"]"] = at
		}
	}
	for _, c := range b.blocks {
		path := join(prefix, c.spec.Name)
		if c.spec.Repeatable {
			if _, ok := to[path]; !ok {
				to[path] = job.Source{Origin: c.origin, Range: c.at}
			}
			path += `["` + c.label + `"]`
		}
		c.sources(path, to)
	}
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}
