package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// Override sets one argument of every job that is loaded, above all that the files
// say: PATH=VALUE, such as constraints.layout.tensor_parallel=4,
// cluster.network.bandwidth=200Gb/s or slurm.environment.NCCL_DEBUG=INFO, with
// the paths of [job.Sources]. The value is an expression without references, or
// text without its quotes; null takes the argument, the block or the entry of a map
// away. What the files compute of the argument stays as it is.
type Override struct {
	Text string
	From string // what names it in diagnostics: the option that it comes from
}

// setting is an override on its way down the blocks of a job.
type setting struct {
	*loader
	file  string
	names []pathStep
	value string // as written
	at    int    // where that begins
}

// pathStep is one name of a path, with the label behind it, if any.
type pathStep struct {
	name, label string
	at          int // in the text
}

// override applies the overrides of a command line to the parts of a job that
// stand at some paths: "model", "cluster", "cluster.gpu", "backend" and "" for the
// rest. What belongs to another part is left alone.
func (l *loader) override(parts map[string]**block) {
	var set []string
	var written *block // the cluster as the files say it
	if part := parts["cluster"]; part != nil {
		written = *part
	}
	for i := range l.options.Overrides {
		o := &l.options.Overrides[i]
		s := &setting{loader: l, file: o.From + " " + o.Text}
		l.files[s.file] = []byte(o.Text)
		if !s.parse(o.Text) || !s.ofBackend() {
			continue
		}
		path := s.path()
		if slices.Contains(set, path) {
			s.fail(InvalidValue, s.place(0, s.at-1), "%s is set twice. Each change of a job sets an argument once; several changes are several options.", path)
			continue
		}
		set = append(set, path)
		root := ""
		for _, part := range []string{"model", "backend", "cluster", "cluster.gpu"} {
			if strings.HasPrefix(path, part+".") {
				root = part
			}
		}
		if root != "" {
			s.names = s.names[strings.Count(root, ".")+1:]
		}
		if part := parts[root]; part != nil && *part != nil {
			*part = s.set(*part, s.names)
			if path == "cluster.gpus_per_node" {
				*part = inNodes(written, *part)
			}
		}
	}
}

// parse cuts PATH=VALUE into its names.
func (s *setting) parse(text string) bool {
	if diags := checkText([]byte(text), s.file); diags.HasErrors() {
		s.report(diags)
		return false
	}
	path, value, ok := strings.Cut(text, "=")
	if !ok || strings.TrimSpace(path) == "" || strings.TrimSpace(value) == "" {
		s.fail(InvalidValue, s.place(0, len(text)), "%s is not PATH=VALUE, such as constraints.layout.tensor_parallel=4.", quoteShort(text))
		return false
	}
	s.value, s.at = value, len(path)+1
	at := 0
	for part := range strings.SplitSeq(path, ".") {
		one := pathStep{at: at + len(part) - len(strings.TrimLeft(part, " "))}
		at += len(part) + 1
		part = strings.TrimSpace(part)
		one.name, one.label, _ = strings.Cut(part, "[")
		one.label = strings.Trim(strings.TrimSuffix(one.label, "]"), `"`)
		s.names = append(s.names, one)
	}
	return true
}

// ofBackend brings a path below a block of the backend to that block of the job, over
// which it is merged by now. It reports a backend with a label: the paths are those of
// each backend that is planned.
func (s *setting) ofBackend() bool {
	first := s.names[0]
	if first.name != "backend" {
		return true
	}
	if first.label != "" {
		s.fail(InvalidValue, s.placeOf(first), "\"backend\" stands without its label: backend.version is that of each backend that is planned. --backend %s plans one.", first.label)
		return false
	}
	spec := schema.File.Block("job").Block("backend")
	if part := s.names[min(1, len(s.names)-1)].name; spec.Argument(part) == nil && (len(s.names) > 2 || spec.Block(part) != nil) {
		s.names = s.names[1:]
		if s.names[0].name == "container" {
			s.names = slices.Insert(s.names, 0, pathStep{name: "slurm", at: s.names[0].at})
		}
	}
	return true
}

// path is the names as one writes them, without spaces.
func (s *setting) path() string {
	var b strings.Builder
	for i, n := range s.names {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(n.name)
		if n.label != "" {
			fmt.Fprintf(&b, "[%q]", n.label)
		}
	}
	return b.String()
}

// place is a range of the text.
func (s *setting) place(from, to int) diag.Range {
	at := func(i int) diag.Position { return diag.Position{Line: 1, Column: i + 1, Byte: i} }
	return diag.Range{Filename: s.file, Start: at(from), End: at(to)}
}

func (s *setting) placeOf(n pathStep) diag.Range { return s.place(n.at, n.at+len(n.name)) }

// set returns the block with the argument at a path below it changed.
func (s *setting) set(t *block, names []pathStep) *block {
	first := names[0]
	changed := *t
	changed.args = maps.Clone(t.args)
	if changed.args == nil {
		changed.args = map[string]*argument{}
	}
	if a := t.spec.Argument(first.name); isMap(a) {
		switch {
		case len(names) == 2:
			changed.broken = !s.setEntry(&changed, a, names[1].name) || t.broken
			return &changed
		case first.label != "":
			changed.broken = !s.setEntry(&changed, a, first.label) || t.broken
			return &changed
		}
	}
	spec := t.spec.Block(first.name)
	changeable := spec != nil && spec.Name != "backend" && spec.Name != "policy"
	switch {
	case len(names) == 1 && changeable && spec.Required && strings.TrimSpace(s.value) == "null":
		s.fail(MissingBlock, s.placeOf(first), "%s needs its block %q, so that it cannot be taken away.", blockName(t.spec), first.name)
		changed.broken = true
		return &changed
	case len(names) == 1 && changeable && strings.TrimSpace(s.value) == "null":
		changed.blocks = slices.DeleteFunc(slices.Clone(t.blocks), func(c *block) bool {
			return c.spec.Name == first.name && (first.label == "" || first.label == c.label)
		})
		return &changed
	case len(names) == 1 && changeable:
		s.fail(WrongType, s.placeOf(first), "%q is a block. null takes it away; anything else is set in it, such as %s.%s=….", first.name, first.name, slices.Concat(spec.ArgumentNames(), spec.BlockNames())[0])
		changed.broken = true
		return &changed
	case len(names) == 1:
		changed.broken = !s.assign(&changed, first) || t.broken
		return &changed
	case !changeable:
		changed.broken = true
		s.unknownBlockIn(t.spec, first)
		return &changed
	}
	child := s.childOf(t, spec, first)
	if child == nil {
		changed.broken = true
		return &changed
	}
	changed.blocks = slices.Clone(t.blocks)
	below := s.set(child, names[1:])
	if i := slices.Index(changed.blocks, child); i >= 0 {
		changed.blocks[i] = below
	} else {
		changed.blocks = append(changed.blocks, below)
	}
	changed.broken = t.broken || below.broken
	return &changed
}

// setEntry sets an entry of a map, or takes it away. Its value is text, with quotes or
// without.
func (s *setting) setEntry(t *block, spec *schema.Argument, key string) bool {
	old := t.args[spec.Name]
	text := strings.TrimSpace(s.value)
	if text == "null" {
		if old != nil && !old.bad {
			t.args[spec.Name] = old.dropEntries([]string{key})
		}
		return true
	}
	at := s.hclRange(s.at, s.at+len(s.value))
	value := cty.StringVal(text)
	if strings.HasPrefix(text, `"`) {
		_, value = s.expression()
	}
	c := converter{spec: spec, expr: &hclsyntax.LiteralValueExpr{Val: value, SrcRange: at}}
	a := c.convert(cty.MapVal(map[string]cty.Value{key: value}))
	if s.report(c.diags); a == nil {
		return true
	}
	a.source.Origin = job.FromSpec
	if old != nil {
		a = added(old, a, spec)
	}
	t.args[spec.Name] = a
	return !a.bad
}

// unknownBlockIn reports a name that is no block.
func (s *setting) unknownBlockIn(in *schema.Block, n pathStep) {
	hint := didYouMean(n.name, in.BlockNames())
	if hint == "" {
		hint = " It has " + listed(in.BlockNames()) + "."
	}
	if in.Name == "job" && hint != "" {
		hint += " A path begins with a block of the job, or with model, cluster, cluster.gpu or backend."
	}
	s.fail(UnknownBlock, s.placeOf(n), "%s has no block %q.%s", blockName(in), n.name, hint)
}

// childOf finds the block that a step names, or makes it; nil after a report.
func (s *setting) childOf(t *block, spec *schema.Block, n pathStep) *block {
	for _, c := range t.all(n.name) {
		if n.label == "" && !spec.Repeatable || n.label != "" && n.label == c.label {
			return c
		}
	}
	if spec.Label != schema.NoLabel && n.label == "" || spec.Repeatable || t.find(n.name) != nil {
		s.fail(UnknownReference, s.placeOf(n), "%s has no such block %s. Its label stands in brackets: %s[\"LABEL\"].", blockName(t.spec), n.name, n.name)
		return nil
	}
	if spec.Labels != nil && !slices.Contains(spec.Labels, n.label) {
		s.fail(UnknownValue, s.placeOf(n), "There is no %s %s.%s%s", spec.Name, quoteShort(n.label), choices(spec), didYouMean(n.label, spec.Labels))
		return nil
	}
	return &block{spec: spec, label: n.label, header: t.header, at: s.placeOf(n), origin: job.FromSpec}
}

// assign sets an argument of a block, which is the caller's own.
func (s *setting) assign(t *block, n pathStep) bool {
	spec := t.spec.Argument(n.name)
	if spec == nil {
		s.unknownArgument(&hclsyntax.Attribute{Name: n.name, NameRange: s.hclRange(n.at, n.at+len(n.name))}, t.spec)
		return false
	}
	switch spec.Type {
	case schema.SiteRef:
		s.fail(InapplicableArgument, s.placeOf(n), "--site says at which site a job is planned. Run the command with it, and again without.")
		return false
	case schema.ModelRef, schema.ClusterRef, schema.GPURef, schema.TypeExpr:
		s.fail(InapplicableArgument, s.placeOf(n), "%q names a block, which is not changed here. Set an argument of it, such as model.sequence_length.", n.name)
		return false
	}
	if hidden(spec) || spec.Name == "without" || spec.Type == schema.JobRef {
		s.fail(InapplicableArgument, s.placeOf(n), "%q says how the job was put together, which is done by now. Set what comes of it.", n.name)
		return false
	}
	if spec.Labels != nil && t.label != "" && !slices.Contains(spec.Labels, t.label) {
		s.fail(InapplicableArgument, s.placeOf(n), "%q has no effect with %s %q; it belongs to %s.", n.name, t.spec.Name, t.label, diag.OneOf(spec.Labels))
		return false
	}
	c := converter{spec: spec}
	var v cty.Value
	c.expr, v = s.expression()
	a := c.convert(v)
	s.report(c.diags)
	if a == nil {
		delete(t.args, n.name)
		return true
	}
	a.source.Origin = job.FromSpec
	t.args[n.name] = a
	return !a.bad
}

func (s *setting) hclRange(from, to int) hcl.Range {
	at := func(i int) hcl.Pos { return hcl.Pos{Line: 1, Column: i + 1, Byte: i} }
	return hcl.Range{Filename: s.file, Start: at(from), End: at(to)}
}

// expression is the value as an expression. What is none, or refers to something,
// is text.
func (s *setting) expression() (hclsyntax.Expression, cty.Value) {
	at := s.hclRange(s.at, s.at+len(s.value))
	expr, diags := hclsyntax.ParseExpression([]byte(s.value), s.file, at.Start)
	if !diags.HasErrors() && len(expr.Variables()) == 0 {
		v, diags := s.budget.Value(expr, nil)
		if s.budget.Spent() {
			s.overspent(rangeOf(expr.Range()))
		}
		if !diags.HasErrors() {
			return expr, v
		}
	}
	v := cty.StringVal(strings.TrimSpace(s.value))
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at}, v
}

// ParseOverrides cuts the text of one option, which may hold several assignments
// with semicolons between them.
func ParseOverrides(from, text string) []Override {
	var list []Override
	for part := range strings.SplitSeq(text, ";") {
		list = append(list, Override{Text: strings.TrimSpace(part), From: from})
	}
	return list
}
