package option

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// TestParts: what parts make together is spelled in one order, as a list in the
// language and with a separator in plans.
func TestParts(t *testing.T) {
	o := FindOption("cuda_graphs")
	for text, want := range map[string]string{
		"attention+moe_router": `["attention","moe_router"]`, "mlp": `["mlp"]`, "layer": `"layer"`,
		"moe_router+attention": "", "attention+attention": "", "": "", "attention+layer": "", "mlps": "",
	} {
		s, err := o.Setting(text)
		if (err == nil) != (want != "") {
			t.Errorf("%q: %v", text, err)
		} else if err == nil {
			var x plan.Execution
			if s.Set(&x); !s.Is(&x) || s.Quoted() != want || o.Spelled(&x) != want || s.Placed() != (want[0] == '"') {
				t.Errorf("%q is spelled %s, %s", text, s.Quoted(), o.Spelled(&x))
			}
		}
	}
	if got := Join(o.Parts, []string{"moe_router", "attention", "moe_router"}); got != "attention+moe_router" {
		t.Error(got)
	}
}
