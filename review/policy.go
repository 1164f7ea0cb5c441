package review

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// Policy is one policy that says something else of a plan than before.
type Policy struct {
	Name   string   `json:"policy"`
	Before *Verdict `json:"before"` // nil: it did not apply
	After  *Verdict `json:"after"`  // nil: it applies no more
}

// Verdict is what a policy says of a plan.
type Verdict struct {
	OK       bool   `json:"ok"`
	Severity string `json:"severity"` // error or warning
	Message  string `json:"message"`  // why it is not met; "" when it is
	// Condition is what it asks; "" of a plan that does not say.
	Condition string `json:"condition"`
}

// policyKey tells policies of a plan apart: modules that are called several times
// have the same ones.
type policyKey struct {
	name string
	nth  int
}

func verdicts(p *plan.Plan) (keys []policyKey, by map[policyKey]*Verdict) {
	by = map[policyKey]*Verdict{}
	if p == nil {
		return nil, by
	}
	count := map[string]int{}
	for _, v := range p.Policies {
		k := policyKey{v.Name, count[v.Name]}
		count[v.Name]++
		keys, by[k] = append(keys, k), &Verdict{v.OK, v.Severity, v.Message, v.Condition}
	}
	return keys, by
}

// policies lists those that came, went, are met or not met otherwise, ask something
// else, or have another severity, in the order of the plans. Of a plan that is new, and of one
// that has no other side to compare with, those that are not met count; one that
// is not feasible was asked for none.
func policies(old, new *plan.Plan) []Policy {
	list := []Policy{}
	if new == nil || !new.Feasible {
		return list
	}
	were, before := verdicts(old)
	are, after := verdicts(new)
	compared := old != nil && old.Feasible
	for _, k := range are {
		a, b := before[k], after[k]
		if compared && (a == nil || a.OK != b.OK || a.Severity != b.Severity || asksElse(a, b)) || !compared && !b.OK {
			list = append(list, Policy{k.name, a, b})
		}
	}
	for _, k := range were {
		if compared && after[k] == nil {
			list = append(list, Policy{k.name, before[k], nil})
		}
	}
	return list
}

// asksElse reports whether a policy has another condition, where both plans say it.
func asksElse(a, b *Verdict) bool {
	return a.Condition != b.Condition && a.Condition != "" && b.Condition != ""
}

// told is the change in words.
func (p *Policy) told() string {
	told := fmt.Sprintf("%s %s -> %s", p.Name, p.Before.words(), p.After.words())
	if p.Before != nil && p.After != nil && asksElse(p.Before, p.After) {
		told += fmt.Sprintf(", which asked %s and asks %s", p.Before.Condition, p.After.Condition)
	}
	if p.After != nil && p.After.Message != "" {
		told += ": " + oneLine(p.After.Message)
	}
	return told
}

func (v *Verdict) words() string {
	switch {
	case v == nil:
		return "(none)"
	case v.OK:
		return "met (" + v.Severity + ")"
	}
	return "not met (" + v.Severity + ")"
}

// level is SARIF's word for the change.
func (p *Policy) level() string {
	if p.After != nil && !p.After.OK {
		return p.After.Severity
	}
	return levels["launch"]
}
