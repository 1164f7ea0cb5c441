package pairs

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/integration/refusals"
)

//go:embed stricter.jsonl
var reviewed string

// Reason is why ndc refuses what the configuration classes of a framework take.
type Reason struct {
	Rule diag.ID `json:"rule"`
	// With narrows it to pairs of such values, each an option or option=choice.
	With []string `json:"with,omitempty"`
	Why  string   `json:"why"`
}

// Reasons are those of a framework: the reviewed ones, and what package refusals
// shows. Megatron-LM has most of its checks in its configuration classes, so
// that what it takes there is looked at pair by pair; TorchTitan and DeepSpeed
// check when they build and train, of which package refusals tells.
func Reasons(framework string) []Reason {
	list := own()
	for _, c := range refusals.Cases[framework].Cases {
		switch {
		case c.Says == "":
			list = append(list, Reason{Rule: c.Rule, Why: c.Why})
		case framework != "megatron":
			list = append(list, Reason{Rule: c.Rule, Why: fmt.Sprintf("refused later: “%s”", c.Says)})
		}
	}
	return list
}

// own are the reviewed reasons.
func own() []Reason { return facts.Lines[Reason]("stricter.jsonl", reviewed) }

// covers reports whether a reason holds for a broken rule of a case.
func (r *Reason) covers(rule diag.ID, c *Case) bool {
	return r.Rule == rule && !slices.ContainsFunc(r.With, func(w string) bool { return !c.A.is(w) && !c.B.is(w) })
}

// is reports whether the value is the option, or the option and choice, of a name.
func (v *Value) is(name string) bool {
	option, choice, exact := strings.Cut(name, "=")
	return v.Option == option && (!exact || v.Choice == choice)
}
