package lang

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// based lays a model, cluster or gpu over its base.
func (l *loader) based(b *block) *block {
	base := b.args["base"]
	if !l.checkWithout(b) {
		b.broken = true
	}
	if base == nil {
		return b
	}
	n := l.referent(base.value, b.spec.Name, base.source.Range)
	if n == nil {
		b.broken, b.partial = true, true
		return b
	}
	under := left(n.tree.adopt(base.source.Range), b)
	return inNodes(under, merge(under, b, replacing))
}

// inNodes counts anew what a cluster has from its base and what other nodes have another number
// of, unless the cluster says its own: NVLink that lies inside of the base's nodes lies inside of
// those with fewer GPUs, of which a single one has none; fewer GPUs use the adapters beside them;
// and a pod is of as many nodes as before.
func inNodes(base, merged *block) *block {
	gpus := merged.args["gpus_per_node"]
	if base.spec.Name != "cluster" || gpus == base.args["gpus_per_node"] {
		return merged
	}
	was, n := base.count("gpus_per_node"), merged.count("gpus_per_node")
	if was == 0 || n == 0 {
		return merged
	}
	switch domain := kept(base, merged, "nvlink", "domain"); {
	case domain > was && n < was && domain%was == 0: // a rack's nodes, with fewer GPUs each
		merged = merged.counting("nvlink", "domain", domain/was*n, gpus.source)
	case domain > was || domain <= n:
	case n == 1:
		merged = merged.drop([]string{"nvlink"})
	default:
		merged = merged.counting("nvlink", "domain", n, gpus.source)
	}
	if pod := kept(base, merged, "network", "gpus_per_pod"); pod > 0 && pod%was == 0 {
		merged = merged.counting("network", "gpus_per_pod", pod/was*n, gpus.source)
	}
	if adapters := kept(base, merged, "network", "nics_per_node"); adapters > 0 && n < was {
		fewer := (adapters*n + was - 1) / was
		if kept(base, merged, "network", "rails") > fewer {
			merged = merged.counting("network", "rails", fewer, gpus.source)
		}
		merged = merged.counting("network", "nics_per_node", fewer, gpus.source)
	}
	return merged
}

// kept is a count in a nested block that is the base's own; 0 where there is none.
func kept(base, merged *block, name, argument string) int {
	under, over := base.find(name), merged.find(name)
	if under == nil || over == nil || under.args[argument] != over.args[argument] {
		return 0
	}
	return under.count(argument)
}

// counting returns the block with another count in a nested one.
func (b *block) counting(name, of string, n int, from job.Source) *block {
	counted := *b
	counted.blocks = slices.Clone(b.blocks)
	for i, c := range counted.blocks {
		if c.spec.Name == name {
			inner := *c
			inner.args = maps.Clone(c.args)
			inner.args[of] = &argument{value: cty.NumberIntVal(int64(n)), parsed: int64(n), source: from}
			counted.blocks[i] = &inner
		}
	}
	return &counted
}

// left is what a block leaves of its base.
func left(base, b *block) *block {
	if w := b.args["without"]; w != nil && !w.bad {
		base = base.drop(dotted(w.parsed.([]string)))
	}
	return base.drop([]string{"base", "without"})
}

// checkWithout reports what a block leaves out of its base and no base can
// have.
func (l *loader) checkWithout(b *block) bool {
	w := b.args["without"]
	if w == nil {
		return true
	}
	if w.bad {
		return false
	}
	if b.args["base"] == nil {
		l.fail(InapplicableArgument, w.source.Range, "\"without\" drops blocks of a base, and there is no base. Remove it.")
		return false
	}
	ok := true
	for i, path := range dotted(w.parsed.([]string)) {
		in, name, known := unknownPart(b.spec, path)
		if in == nil {
			continue
		}
		at := w.source.Range
		if part, written := w.parts[fmt.Sprint(i)]; written {
			at = part.Range
		}
		l.fail(UnknownValue, at, "A %s has no block or argument %q to leave out.%s", in.Name, name, diag.DidYouMean(name, known))
		ok = false
	}
	return ok
}

// dotted are paths whose labels and keys may stand in brackets, as in job.json, with
// dots in their place.
func dotted(paths []string) []string {
	list := make([]string, len(paths))
	for i, path := range paths {
		list[i] = strings.NewReplacer(`["`, ".", `"]`, "").Replace(path)
	}
	return list
}

// isMap reports whether values of an argument are maps of text.
func isMap(a *schema.Argument) bool {
	return a != nil && (a.Type == schema.StringMap || a.Type == schema.Environment)
}

// unknownPart finds the first name of a path, such as "backend.deepspeed", that
// the language does not have, with the block that lacks it and what that has
// instead. The block is nil when all are known.
func unknownPart(spec *schema.Block, path string) (in *schema.Block, name string, known []string) {
	name, rest, more := strings.Cut(path, ".")
	inner := spec.Block(name)
	switch {
	case more && isMap(spec.Argument(name)):
		return nil, "", nil // the rest is a key
	case inner == nil && (more || spec.Argument(name) == nil):
		return spec, name, slices.Concat(spec.BlockNames(), spec.ArgumentNames())
	case !more:
		return nil, "", nil
	case !inner.Repeatable:
		return unknownPart(inner, rest)
	case inner.Label == schema.FreeName:
		return nil, "", nil // the rest is a label
	}
	label, rest, more := strings.Cut(rest, ".")
	if !slices.Contains(inner.Labels, label) {
		return inner, label, inner.Labels
	}
	if !more {
		return nil, "", nil
	}
	return unknownPart(inner, rest)
}

// drop returns the block without the arguments, entries of maps and nested blocks at the
// given paths, such as "moe", "training.checkpoint", "slurm.environment.NCCL_DEBUG" or
// "backend.deepspeed".
func (b *block) drop(paths []string) *block {
	d := *b
	d.args = make(map[string]*argument, len(b.args))
	for name, a := range b.args {
		if slices.Contains(paths, name) {
			continue
		}
		if keys := below(paths, name); keys != nil && isMap(b.spec.Argument(name)) && !a.bad {
			a = a.dropEntries(keys)
		}
		d.args[name] = a
	}
	d.blocks = nil
	for _, c := range b.blocks {
		name := c.spec.Name
		if slices.Contains(paths, name) {
			continue
		}
		if c.spec.Repeatable {
			if name += "." + c.label; slices.Contains(paths, name) {
				continue
			}
		}
		if inner := below(paths, name); inner != nil {
			c = c.drop(inner)
		}
		d.blocks = append(d.blocks, c)
	}
	return &d
}

// below is what paths name below a name.
func below(paths []string, name string) (rests []string) {
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, name+"."); ok {
			rests = append(rests, rest)
		}
	}
	return rests
}

// dropEntries is a map without some keys.
func (a *argument) dropEntries(keys []string) *argument {
	left := *a
	left.parts = maps.Clone(a.parts)
	var list []job.Variable
	values := map[string]cty.Value{}
	for _, v := range a.parsed.([]job.Variable) {
		if slices.Contains(keys, v.Name) {
			delete(left.parts, strconv.Quote(v.Name))
			continue
		}
		list, values[v.Name] = append(list, v), cty.StringVal(v.Value)
	}
	left.parsed, left.value = list, cty.MapValEmpty(cty.String)
	if len(values) > 0 {
		left.value = cty.MapVal(values)
	}
	return &left
}

// basis is a job as the base of others at a site.
type basis struct {
	job, site *node
}

// basisTree is a basis evaluated over its own base, how many jobs it consists of, and what was
// reported of them.
type basisTree struct {
	tree *block
	jobs int
	told []span
}

// span are the diagnostics from one place of their list to another.
type span struct {
	from, to int
}

// jobOverBase evaluates a job block over its base, in a scope that says which
// element and which site it is for. above are the jobs that have it as their
// base.
func (l *loader) jobOverBase(n *node, s scope, above []*node) basisTree {
	t := l.evaluate(withoutRepetition(n.block), schema.File.Block("job"), s)
	base := t.args["base"]
	if !l.checkWithout(t) {
		t.broken = true
	}
	if base == nil {
		return basisTree{tree: t, jobs: 1}
	}
	above = append(slices.Clone(above), n)
	under := basisTree{}
	b := l.baseJob(base, above)
	if b != nil {
		under = l.underJobs(b, s.site, above)
	}
	if b != nil && len(above)+under.jobs > maxChain {
		l.longChain(base)
		b = nil
	}
	if b == nil {
		t.broken, t.partial = true, true
		return basisTree{tree: t, jobs: 1, told: under.told}
	}
	return basisTree{merge(left(under.tree, t), t, adding), under.jobs + 1, under.told}
}

// underJobs is a job as the base of others. It is evaluated once for a site, and each of
// them has a copy, in which it may note what it reported, and what was reported of it.
func (l *loader) underJobs(n, site *node, above []*node) basisTree {
	at := basis{n, site}
	under, known := l.bases[at]
	if !known {
		s := n.scope
		s.site = site
		from := len(l.diags)
		under = l.jobOverBase(n, s, above)
		if to := len(l.diags); to > from {
			under.told = append(slices.Clone(under.told), span{from, to})
		}
		l.bases[at] = under
	}
	return basisTree{under.tree.copied(), under.jobs, under.told}
}

// baseJob finds the job that another has as its base; nil after a report.
func (l *loader) baseJob(base *argument, above []*node) *node {
	b := l.referent(base.value, "job", base.source.Range)
	if b == nil {
		return nil
	}
	if i := slices.Index(above, b); i >= 0 {
		l.baseCycle(above[i:], base.source.Range)
		return nil
	}
	if len(above) >= maxChain {
		l.longChain(base)
		return nil
	}
	for _, name := range []string{"for_each", "count"} {
		if b.block.Body.Attributes[name] != nil {
			l.fail(InapplicableArgument, base.source.Range, "%s has %s, so it is many jobs and the base of none. Write what they share as a job of its own.", b.address(), name)
			return nil
		}
	}
	return b
}

// longChain reports a base that stands behind too many jobs.
func (l *loader) longChain(base *argument) {
	l.fail(FileTooLarge, base.source.Range, "More than %d jobs are the bases of one another here, and no job needs that many.", maxChain)
}

// baseCycle reports jobs of which each has the next as its base, once.
func (l *loader) baseCycle(circle []*node, at diag.Range) {
	told := circle[0].circular
	var path []string
	for _, n := range circle {
		n.circular = true
		path = append(path, n.address())
	}
	if !told {
		l.fail(ReferenceCycle, at, "Each of these jobs has the next as its base: %s → %s. Break the circle at one of them.", strings.Join(path, " → "), path[0])
	}
}
