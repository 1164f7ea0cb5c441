package main

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/view"
)

const picturePath = "docs/llama3-70b.svg"

// picture draws the plan that docs/memory.md and docs/time.md work out, as
// ndc graph does.
func picture(root fs.FS) ([]byte, error) {
	job, err := fs.Sub(root, "examples/llama3-70b")
	if err != nil {
		return nil, err
	}
	w, diags := lang.Load(job, "job.hcl", lang.Options{Backend: "megatron"})
	if diags.HasErrors() || len(w.Jobs) != 1 {
		return nil, fmt.Errorf("examples/llama3-70b: %v", diags)
	}
	j := &w.Jobs[0]
	t, diags := megatron.Backend{}.Target(j)
	if diags.HasErrors() {
		return nil, fmt.Errorf("examples/llama3-70b: %v", diags)
	}
	p, diags, err := compiler.Compile(context.Background(), j, t)
	if err != nil || diags.HasErrors() || !p.Feasible {
		return nil, fmt.Errorf("examples/llama3-70b has no plan: %v %w", diags, err)
	}
	return view.Picture(j.Name, p, compiler.NewDetail(j, t, p).Timeline()), nil
}
