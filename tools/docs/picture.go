package main

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/view/picture"
)

// drawings are the pictures that pages show, of examples under Megatron-LM, as
// ndc graph draws them.
var drawings = []struct{ path, example, kind string }{
	{"docs/llama3-70b.svg", "llama3-70b", "overview"}, // docs/memory.md and docs/time.md
	{"docs/llama3-405b.svg", "llama3-405b", "step"},   // README.md
}

// draw draws a kind of picture of the plan of an example.
func draw(root fs.FS, example, kind string) ([]byte, error) {
	folder := "examples/" + example
	job, err := fs.Sub(root, folder)
	if err != nil {
		return nil, err
	}
	w, diags := lang.Load(job, "job.hcl", lang.Options{Backend: "megatron"})
	if diags.HasErrors() || len(w.Jobs) != 1 {
		return nil, fmt.Errorf("%s: %v", folder, diags)
	}
	j := &w.Jobs[0]
	t, diags := megatron.Backend{}.Target(j)
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s: %v", folder, diags)
	}
	p, diags, err := compiler.Compile(context.Background(), j, t)
	if err != nil || diags.HasErrors() || !p.Feasible {
		return nil, fmt.Errorf("%s has no plan: %v %w", folder, diags, err)
	}
	return picture.Find(kind).SVG(&picture.Subject{Job: j.Name, Plan: p, Details: compiler.NewDetail(j, t, p)}), nil
}
