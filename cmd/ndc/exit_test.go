package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestDefect ends with the code that no result has, and says where it failed.
func TestDefect(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var stderr bytes.Buffer
		code := func() (code int) {
			defer newTerminal(&bytes.Buffer{}, &stderr, asJSON).recover(&code)
			var none *compiled
			return len(none.artifacts)
		}()
		if text := stderr.String(); code != exitDefect || !strings.Contains(text, "internal-defect") || !strings.Contains(text, "exit_test.go") {
			t.Errorf("exit code %d, %s", code, text)
		}
	}
}
