package review

import (
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/review/record"
)

// effectOf is what a change at a path touches in these jobs, and why that is
// more than the argument says: a plan knows of its axes which change what is
// learned. What this version of ndc does not know may touch anything.
func effectOf(path string, sides ...map[string]*record.Value) (effect, why string) {
	e := schema.EffectOf(path)
	if e == 0 {
		return schema.Convergence.String(), "this version of ndc does not know the argument"
	}
	for _, values := range sides {
		if v := values[path]; v != nil && v.Learned != "" {
			return schema.Convergence.String(), v.Learned
		}
	}
	return e.String(), ""
}
