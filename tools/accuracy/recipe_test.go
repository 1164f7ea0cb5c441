package main

import "testing"

// TestHelpers: options that a recipe sets through a helper count, with the
// arguments of its call, before those of its body.
func TestHelpers(t *testing.T) {
	var r row
	r.Layout.Overlaps = []byte(`{"cuda_graph_impl": "transformer_engine"}`)
	r.Layout.Recompute.Note = "from the recipe body; helper calls may set more: _enable_any_full_iteration_mxfp8(cfg, fp8_dot_product_attention=True)"
	for name, want := range map[string]string{
		"cuda_graph_impl": "full_iteration", "moe_flex_dispatcher_backend": "hybridep", "fp8_dot_product_attention": "true",
	} {
		if got, _ := r.option(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	r.Layout.Recompute.Note = ""
	if got, _ := r.option("cuda_graph_impl"); got != "transformer_engine" {
		t.Errorf("without a helper: %q", got)
	}
}

// TestRelease finds a version by the container that the source names.
func TestRelease(t *testing.T) {
	var f facts
	var r row
	f.Software.Releases = map[string]string{"26.02": "core_v0.16.0", "26.04": "core_v0.17.0"}
	r.Source.Where = "docs/performance-summary.md line 317, '26.04.01 NeMo Container'"
	if got := f.release(&r); got != "core_v0.17.0" {
		t.Errorf("26.04.01: %q", got)
	}
}
