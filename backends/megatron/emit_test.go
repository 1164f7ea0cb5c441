package megatron

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/golden"
)

// TestCasesAreLegal: the target offers and allows what the cases emit, so that
// goldens and conformance speak about launches that ndc would make.
func TestCasesAreLegal(t *testing.T) {
	for _, c := range launches() {
		target, diags := Backend{}.Target(c.job)
		if diags.HasErrors() {
			t.Errorf("%s: %v", c.name, diags)
			continue
		}
		if rule := broken(target, c.job, c.plan); rule != "" {
			t.Errorf("%s breaks %s", c.name, rule)
		}
	}
}

// TestEmit emits every case on every release that can run it: no diagnostics,
// scripts that parse, and the recorded files for the cases themselves.
func TestEmit(t *testing.T) {
	known := map[string]bool{}
	for _, c := range cases {
		known[c.name] = true
	}
	for _, c := range launches() {
		t.Run(c.name, func(t *testing.T) {
			artifacts, diags := Backend{}.Emit(c.job, c.plan)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			var archive txtar.Archive
			for _, f := range artifacts {
				if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(f.Content), f.Path); err != nil {
					t.Errorf("%s does not parse: %v", f.Path, err)
				}
				if !strings.HasSuffix(f.Path, ".sbatch") { // package slurm keeps goldens of it
					archive.Files = append(archive.Files, txtar.File{Name: f.Path, Data: f.Content})
				}
			}
			if known[c.name] {
				golden.Compare(t, filepath.Join("testdata", c.name+".txtar"), txtar.Format(&archive))
			}
		})
	}
	stale(t, known)
}

// stale fails on golden files without a case, and removes them under -update.
func stale(t *testing.T, known map[string]bool) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if known[strings.TrimSuffix(filepath.Base(f), ".txtar")] {
			continue
		}
		if !*golden.Update {
			t.Errorf("%s belongs to no case", f)
		} else if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTemperature: documents side by side are rotated without the fused kernel
// where YaRN has an attention temperature, which it would leave out.
func TestTemperature(t *testing.T) {
	for _, c := range []struct {
		mask    bool
		allDims float64
		want    bool
	}{{false, 0, false}, {true, 0, true}, {true, 1, false}} {
		j, l := baseJob("core_v0.19.2"), base()
		j.Model = gptOSS()
		j.Model.PositionEmbedding.Scaling.MScaleAllDim = c.allDims
		j.Training.Data.DocumentMask = c.mask
		artifacts, diags := Backend{}.Emit(j, finish(j, l))
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := strings.Contains(script(t, artifacts), "--no-rope-fusion "); got != c.want {
			t.Errorf("document_mask %t, mscale_all_dim %g: --no-rope-fusion %t, want %t", c.mask, c.allDims, got, c.want)
		}
	}
}

// TestWhichLayersHaveExperts: what decides it is told beside the pattern.
func TestWhichLayersHaveExperts(t *testing.T) {
	for _, c := range []struct {
		first, frequency int
		set, want        string
	}{
		{0, 1, "", "default: model.moe.first_dense_layers"},
		{2, 1, "model.moe.first_dense_layers", "spec: model.moe.first_dense_layers"},
		{0, 2, "model.moe.layer_frequency", "spec: model.moe.layer_frequency"},
	} {
		j := baseJob("core_v0.19.2")
		j.Model, j.Sources = mixtral(), job.Sources{c.set: {Origin: job.FromSpec}}
		j.Model.MoE.FirstDenseLayers, j.Model.MoE.LayerFrequency = c.first, c.frequency
		artifacts, diags := Backend{}.Emit(j, finish(j, base()))
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		_, line, _ := strings.Cut(script(t, artifacts), "--moe-layer-freq ")
		if line, _, _ = strings.Cut(line, "\n"); !strings.HasSuffix(line, "# "+c.want) {
			t.Errorf("%d dense, then every %d: %s, want %s", c.first, c.frequency, line, c.want)
		}
	}
}

// TestKernelsThatFail: a fused kernel that would end the first step is not asked for.
func TestKernelsThatFail(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(m *job.Model)
		word string
		want bool
	}{
		{"routers in fp32", func(m *job.Model) {}, "--moe-router-fusion", true},
		{"routers in fp64", func(m *job.Model) { m.MoE.Router.DType = "fp64" }, "--moe-router-fusion", false},
		{"latent heads of 128, 64 and 128", func(m *job.Model) {}, "--no-rope-fusion", false},
		{"keys of 192", func(m *job.Model) { m.Attention.MLA.QKNopeHeadDim = 192 }, "--no-rope-fusion", true},
		{"values of 192", func(m *job.Model) { m.Attention.MLA.VHeadDim = 192 }, "--no-rope-fusion", true},
		{"48 that rotate", func(m *job.Model) { m.Attention.MLA.QKRopeHeadDim = 48 }, "--no-rope-fusion", true},
	} {
		for i := range versions {
			j, l := baseJob(versions[i].name), base()
			j.Model = deepseek()
			c.edit(&j.Model)
			l.ExpertParallel = 8
			artifacts, diags := Backend{}.Emit(j, finish(j, l))
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if got := strings.Contains(script(t, artifacts), c.word+" "); got != c.want {
				t.Errorf("%s, %s: %s emitted: %t, want %t", versions[i].name, c.name, c.word, got, c.want)
			}
		}
	}
}
