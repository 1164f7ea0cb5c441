package main

import (
	"testing"

	"github.com/ndc-dev/ndc/diag"
)

// TestSnippetWindows: what ends a line on Windows is no character of it.
func TestSnippetWindows(t *testing.T) {
	source := []byte("a = 1\r\nbase = nothing\r\n")
	r := diag.Range{Filename: "job.hcl", Start: diag.Position{Line: 2, Column: 8, Byte: 14}, End: diag.Position{Line: 2, Column: 15, Byte: 21}}
	if got, want := (&terminal{width: 80}).snippet(r, source), "    2: base = nothing\n              ^^^^^^^\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
