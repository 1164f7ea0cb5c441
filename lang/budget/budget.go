// Package budget evaluates expressions of the job language within limits: what
// one value may hold, and what all expressions of a workspace may cost
// together. It counts steps, elements and bytes and reads no clock, so that the
// same files always give the same answer. Package functions holds the functions
// themselves; package lang decides what an expression may refer to.
package budget

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/ndc-dev/ndc/lang/functions"
)

// Limits far above any job's. They are counted in units: one step of
// evaluation, one element of a value or bytesPerUnit bytes of text. A unit is
// below a microsecond and below 300 bytes.
const (
	// MaxValue is the most that one value may hold.
	MaxValue = 1 << 16
	// MaxTotal is the most that all expressions of a workspace may cost; a job
	// takes about a thousand.
	MaxTotal = 1 << 21

	// MaxElements is the most that one for_each or count may make.
	MaxElements = 1000
	// MaxModules is the most evaluations of module folders in a workspace, and
	// MaxDepth the most modules inside one another.
	MaxModules = 256
	MaxDepth   = 16

	bytesPerUnit = 16
)

// Budget is what the expressions of one workspace may still cost.
type Budget struct {
	left  int
	spent bool
	table map[string]function.Function
}

// New returns a full budget.
func New() *Budget { return newBudget(MaxTotal) }

func newBudget(units int) *Budget {
	b := &Budget{left: units, table: map[string]function.Function{}}
	for name, f := range functions.Table() {
		b.table[name] = b.limit(name, f)
	}
	return b
}

// Spent reports whether the budget is used up; nothing is evaluated any more.
func (b *Budget) Spent() bool { return b.spent }

// Pay takes units for work outside of expressions; false when they are not
// there, and nothing may be evaluated any more.
func (b *Budget) Pay(units int) bool {
	if b.spent || units > b.left {
		b.spent = true
		return false
	}
	b.left -= units
	return true
}

// exhausted is what ends an evaluation from deep inside of HCL.
type exhausted struct{}

// spend takes from the budget and ends the evaluation when it is used up.
func (b *Budget) spend(units float64) {
	if b.spent || units > float64(b.left) {
		b.spent = true
		panic(exhausted{})
	}
	b.left -= int(units)
}

// Value evaluates an expression. When the budget is used up, by this
// expression or earlier, the value is unknown, and Spent tells.
func (b *Budget) Value(expr hclsyntax.Expression, variables map[string]cty.Value) (v cty.Value, diags hcl.Diagnostics) {
	defer func() {
		if r := recover(); r != nil {
			if _, ours := r.(exhausted); !ours {
				panic(r)
			}
		}
		if b.spent { // perhaps can() or try() caught it
			v, diags = cty.DynamicVal, nil
		}
	}()
	b.inside(expr)
	return (&metered{Expression: expr, budget: b}).Value(&hcl.EvalContext{Variables: variables, Functions: b.table})
}
