package lang

import (
	"fmt"

	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// recorded returns a copy of the tree that records what decoders read of it,
// beside where that was written.
func (b *block) recorded(path string, into job.Sources) *block {
	c := *b
	c.path, c.into = path, into
	c.blocks = make([]*block, len(b.blocks))
	for i, n := range b.blocks {
		below := join(path, n.spec.Name)
		if n.spec.Repeatable {
			below += `["` + n.label + `"]`
		}
		c.blocks[i] = n.recorded(below, into)
	}
	return &c
}

// labelOr is the label of a block, or another where the block was not written.
func (b *block) labelOr(other string) string {
	label := or(b.label, other)
	b.note(b.path, label)
	return label
}

// record notes the value of an argument. What only informs readers is no part
// of the job.
func (b *block) record(name string, v any) {
	if !b.spec.Argument(name).Informs {
		b.note(join(b.path, name), v)
	}
}

func (b *block) note(path string, v any) {
	if b.into == nil {
		return
	}
	s := b.into[path]
	s.Value = plain(v)
	b.into[path] = s
}

// plain is the value of an argument as JSON holds it.
func plain(v any) any {
	switch v := v.(type) {
	case string, bool, float64, int64, int:
		return v
	case units.Watts:
		return fmt.Sprintf("%gW", float64(v))
	case fmt.Stringer: // the quantities
		return v.String()
	case interval:
		return v.plain()
	case job.Silence:
		if v.Learned {
			return "auto"
		}
		return v.Time.String()
	case job.Chain:
		if v.UntilDone {
			return "until_done"
		}
		return v.Count
	case []any:
		return v
	case []string:
		return list(v)
	case []int:
		return list(v)
	case []job.Variable:
		m := make(map[string]any, len(v))
		for _, x := range v {
			m[x.Name] = x.Value
		}
		return m
	case job.StringChoice:
		return oneOf(list(v.Names()))
	case job.IntChoice:
		if v.Ranged {
			return rangeOfCounts(v)
		}
		return oneOf(list(v.Values))
	case job.BoolChoice:
		if v.Set {
			return v.Value
		}
		return []any{false, true}
	}
	panic(fmt.Sprintf("lang: a %T has no place in a record", v))
}

func (i interval) plain() any {
	switch {
	case i.steps > 0:
		return i.steps
	case i.time > 0:
		return i.time.String()
	}
	return "auto"
}

func list[T any](values []T) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}

// oneOf is a choice: what is pinned stands alone.
func oneOf(values []any) any {
	if len(values) == 1 {
		return values[0]
	}
	return values
}

func rangeOfCounts(c job.IntChoice) any {
	m := map[string]any{"min": c.Min}
	if c.Max > 0 {
		m["max"] = c.Max
	}
	if c.Step > 0 {
		m["step"] = c.Step
	}
	if len(c.Not) > 0 {
		m["not"] = list(c.Not)
	}
	return m
}
