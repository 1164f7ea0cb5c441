package functions

import (
	"strings"
	"testing"
)

// TestSignature: a function is shown with the names and types of its parameters.
func TestSignature(t *testing.T) {
	for name, want := range map[string]string{
		"join":   "join(separator string, lists list of string…)",
		"upper":  "upper(str string)",
		"max":    "max(numbers number…)",
		"absent": "",
	} {
		if got := Signature(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range Names() {
		if got := Signature(name); !strings.HasPrefix(got, name+"(") || strings.Contains(got, "dynamic") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
