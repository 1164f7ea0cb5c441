package review

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/ndc-dev/ndc/review/record"
)

// renamed are the names of before by those of after, of jobs that either side alone has
// under its name. One that runs on from another folder is the same job, above all at the
// site where it ran, since sites have file systems of their own. A change that
// renames several jobs is reviewed as one that renames one: those with the fewest values
// that differ are one job, unless less is the same. Of pairs as much alike, the first by
// the old name, then by the new one, counts.
//
// A sweep of a thousand jobs has a million pairs, so that no pair is compared value by
// value: jobs that run on and those without a difference are looked up, and what two
// others have in common is counted by the values that not all jobs have.
func renamed(before, after map[string]*Build) map[string]string {
	m := matching{was: map[string]string{}}
	given := numbers{seen: map[string][]numbered{}}
	for _, name := range without(before, after) {
		m.old = append(m.old, given.of(before[name]))
	}
	for _, name := range without(after, before) {
		m.new = append(m.new, given.of(after[name]))
	}
	m.lookUp(func(j *candidate) []string { return j.runsThere })
	m.lookUp(func(j *candidate) []string { return j.runs })
	m.lookUp(func(j *candidate) []string { return []string{fmt.Sprint(j.values)} })
	m.nearest()
	return m.was
}

// numbers gives a number to each value at its path, of one backend.
type numbers struct {
	seen map[string][]numbered // by text: values of two types may have the same
	next int
}

type numbered struct {
	value  any
	number int
}

// candidate is a job without a match on the other side.
type candidate struct {
	name      string
	values    []int    // the numbers of its values and of its site, in order
	runs      []string // its name with each folder that it saves to
	runsThere []string // the same with its site
	taken     bool     // it has a match
}

func (n *numbers) of(b *Build) *candidate {
	j := &candidate{name: b.Job}
	if b.Site != "" {
		j.values = append(j.values, n.number("", &record.Value{Path: "site", Value: b.Site}))
	}
	for _, backend := range slices.Sorted(maps.Keys(b.Values)) {
		list := b.Values[backend]
		for i := range list {
			j.values = append(j.values, n.number(backend, &list[i]))
		}
		if at := b.saves(byPath(list)); at != nil {
			run := fmt.Sprint(b.Name, "\x00", n.number(backend, &record.Value{Value: at}))
			j.runs, j.runsThere = append(j.runs, run), append(j.runsThere, run+"\x00"+b.Site)
		}
	}
	slices.Sort(j.values)
	return j
}

func (n *numbers) number(backend string, v *record.Value) int {
	key := fmt.Sprint(backend, "\x00", v.Path, "\x00", v.Value)
	for _, known := range n.seen[key] {
		if reflect.DeepEqual(known.value, v.Value) {
			return known.number
		}
	}
	n.next++
	n.seen[key] = append(n.seen[key], numbered{v.Value, n.next})
	return n.next
}

// matching finds which old job is which new one.
type matching struct {
	old, new []*candidate
	was      map[string]string
}

func (m *matching) match(old, new *candidate) {
	m.was[new.name] = old.name
	old.taken, new.taken = true, true
}

// lookUp matches each old job with the first new one that shares one of its keys.
func (m *matching) lookUp(keys func(*candidate) []string) {
	first := map[string][]int{} // new jobs by key, in order
	for i, j := range m.new {
		for _, key := range keys(j) {
			first[key] = append(first[key], i)
		}
	}
	for _, j := range m.old {
		if j.taken {
			continue
		}
		found := len(m.new)
		for _, key := range keys(j) {
			list := first[key]
			for len(list) > 0 && m.new[list[0]].taken {
				list = list[1:]
			}
			if first[key] = list; len(list) > 0 {
				found = min(found, list[0])
			}
		}
		if found < len(m.new) {
			m.match(j, m.new[found])
		}
	}
}

// nearest matches what is left, the pairs with the fewest differences first. Each old
// job waits with the best that was free when it was asked for; where that is taken by
// its turn, the next best is asked for.
func (m *matching) nearest() {
	free := func(list []*candidate) []*candidate {
		return slices.DeleteFunc(slices.Clone(list), func(j *candidate) bool { return j.taken })
	}
	old, new := free(m.old), free(m.new)
	of := map[int]int{} // how many jobs have a value
	for _, j := range slices.Concat(old, new) {
		for _, v := range j.values {
			of[v]++
		}
	}
	all, having := 0, map[int][]int{} // values that all jobs have; the new jobs with one of the others
	for _, n := range of {
		if n == len(old)+len(new) {
			all++
		}
	}
	for i, j := range new {
		for _, v := range j.values {
			if of[v] < len(old)+len(new) {
				having[v] = append(having[v], i)
			}
		}
	}
	shared := make([]int, len(new))
	best := func(i int) (p pair, ok bool) {
		clear(shared)
		for _, v := range old[i].values {
			for _, k := range having[v] {
				shared[k]++
			}
		}
		for k, j := range new {
			same := 2 * (all + shared[k])
			different := len(old[i].values) + len(j.values) - same
			if !j.taken && different <= same && (!ok || different < p.different) {
				p, ok = pair{i, k, different}, true
			}
		}
		return p, ok
	}
	var waiting pairs
	for i := range old {
		if p, ok := best(i); ok {
			waiting = append(waiting, p)
		}
	}
	for heap.Init(&waiting); len(waiting) > 0; {
		p := heap.Pop(&waiting).(pair)
		if !new[p.new].taken {
			m.match(old[p.old], new[p.new])
		} else if p, ok := best(p.old); ok {
			heap.Push(&waiting, p)
		}
	}
}

// pair is an old and a new job, with how many values differ.
type pair struct{ old, new, different int }

// pairs is a heap of them.
type pairs []pair

func (p pairs) Len() int { return len(p) }
func (p pairs) Less(i, j int) bool {
	a, b := p[i], p[j]
	return cmp.Or(cmp.Compare(a.different, b.different), cmp.Compare(a.old, b.old), cmp.Compare(a.new, b.new)) < 0
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Push implements heap.Interface.
func (p *pairs) Push(x any) { *p = append(*p, x.(pair)) }

// Pop implements heap.Interface.
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
