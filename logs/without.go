package logs

import (
	"cmp"
	"slices"
)

// Without is a log without those of its launches that there is a reason to leave out,
// and what that leaves out of its reports. Tables and speeds stay: they tell of the
// machine, whatever ran on it.
func (l *Log) Without(reason func(*Launch) string) (*Log, []Refusal) {
	places := make([]int, len(l.Launches)) // in what is left; -1: none
	reasons := make([]string, len(l.Launches))
	left := *l
	left.Launches = nil
	for i := range l.Launches {
		places[i] = -1
		if reasons[i] = reason(&l.Launches[i]); reasons[i] == "" {
			places[i] = len(left.Launches)
			left.Launches = append(left.Launches, l.Launches[i])
		}
	}
	var refused Steady
	for i := range l.Steps {
		if s := &l.Steps[i]; s.Launch < len(reasons) && reasons[s.Launch] != "" {
			refused.refuse(reasons[s.Launch], s.Iteration)
		}
	}
	if len(left.Launches) == len(l.Launches) {
		return l, nil
	}
	left.Steps = of(l.Steps, places, func(s *Step) *int { return &s.Launch })
	left.Phases = of(l.Phases, places, func(p *Phase) *int { return &p.Launch })
	left.Failures = of(l.Failures, places, func(f *Failure) *int { return &f.Launch })
	left.Timers = slices.DeleteFunc(slices.Clone(l.Timers), func(t Timer) bool {
		i, _ := slices.BinarySearchFunc(l.Launches, t.Line+1, func(x Launch, line int) int { return cmp.Compare(x.Line, line) })
		return i == 0 || places[i-1] < 0 // the launch that began last before it
	})
	return &left, refused.Refused
}

// of are the records of the launches that have a place, which they are given.
func of[T any](list []T, places []int, launch func(*T) *int) (kept []T) {
	for _, record := range list {
		if at := launch(&record); *at < len(places) && places[*at] >= 0 {
			*at = places[*at]
			kept = append(kept, record)
		}
	}
	return kept
}
