package lang

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/schema"
)

// everyEntry calls visit with the block of each entry.
func everyEntry(t *testing.T, visit func(path string, b *hclsyntax.Block)) {
	for _, kind := range catalog.Kinds() {
		for _, name := range catalog.Names(kind) {
			file, diags := hclsyntax.ParseConfig(catalog.Source(kind, name), kind+" "+name, hcl.InitialPos)
			if diags.HasErrors() {
				t.Error(diags)
				continue
			}
			blocks := file.Body.(*hclsyntax.Body).Blocks
			if len(blocks) != 1 || blocks[0].Type != kind || blocks[0].Labels[0] != name {
				t.Errorf("%s %s: a file holds one block of its own name", kind, name)
				continue
			}
			visit(kind+" "+name, blocks[0])
		}
	}
}

// TestCatalogEntries builds a job with every entry of the catalogue, pasted
// as a user's own block: nothing may be reported.
func TestCatalogEntries(t *testing.T) {
	everyEntry(t, func(path string, b *hclsyntax.Block) {
		kind, name, _ := strings.Cut(path, " ")
		src := string(catalog.Source(kind, name)) + minimal("", "", "steps = 1\nprecision = \"fp16\"\n")
		switch kind {
		case "model":
			src = strings.Replace(src, "model   = catalog.model.debug\n", "model = model."+name+"\n", 1)
		case "cluster":
			src += "cluster \"sized\" {\n  base = cluster." + name + "\n"
			if name != "single_gpu" {
				src += "  nodes = 36\n"
			}
			src = strings.Replace(src+"}\n", "cluster = catalog.cluster.single_gpu\n", "cluster = cluster.sized\n", 1)
		case "gpu":
			src += "cluster \"other\" {\n  base = catalog.cluster.single_gpu\n  gpu = gpu." + name + "\n}\n"
			src = strings.Replace(src, "cluster = catalog.cluster.single_gpu\n", "cluster = cluster.other\n", 1)
		}
		w, diags := Load(files("job.hcl", src), "job.hcl", Options{})
		if len(diags) > 0 || len(w.Jobs) != 1 {
			t.Errorf("%s: %v", path, diags)
		}
	})
}

// TestCatalogSources demands a source for every number of every entry: under
// its own path, that of an enclosing block, or "*".
func TestCatalogSources(t *testing.T) {
	everyEntry(t, func(path string, b *hclsyntax.Block) {
		tree := entryTree(b)
		sources := map[string]string{}
		for _, s := range tree.vars("sources") {
			if strings.TrimSpace(s.Value) == "" {
				t.Errorf("%s: the source of %s is empty", path, s.Name)
			}
			sources[s.Name] = s.Value
			if s.Name != "*" && !reaches(tree.spec, strings.Split(s.Name, ".")) {
				t.Errorf("%s: a source for %s, which the language does not have", path, s.Name)
			}
		}
		if len(sources) == 0 {
			t.Errorf("%s has no sources", path)
		}
		if _, ok := sources["*"]; ok {
			return
		}
		for _, p := range argumentPaths(tree, "") {
			if !cited(sources, p) {
				t.Errorf("%s: no source for %s", path, p)
			}
		}
	})
}

// TestTrainingValuesHaveTheirOwnSource: a published configuration states
// numbers that matter to training alone as its library's class defaults them.
// An entry's come from a recipe or a report, which it names.
func TestTrainingValuesHaveTheirOwnSource(t *testing.T) {
	training := []string{"init_std", "mtp_loss_scale", "moe.router.aux_coefficient", "moe.router.z_loss_coefficient", "moe.router.bias_update_rate", "moe.router.dtype"}
	everyEntry(t, func(path string, b *hclsyntax.Block) {
		if b.Type != "model" || strings.HasPrefix(b.Labels[0], "debug") {
			return
		}
		tree := entryTree(b)
		sources := map[string]string{}
		for _, s := range tree.vars("sources") {
			sources[s.Name] = s.Value
		}
		for _, p := range argumentPaths(tree, "") {
			value, number := numberAt(tree, p)
			if !slices.Contains(training, p) || number && value == 0 {
				continue
			}
			if s := sources[p]; s == "" || s == "hub config.json" {
				t.Errorf("%s: %s has the source %q, which is no recipe and no report", path, p, s)
			}
		}
	})
}

// TestPublishedValues: a run from scratch with a number that nobody trains with
// gets a warning, and only that.
func TestPublishedValues(t *testing.T) {
	for _, c := range []struct{ model, start, want string }{
		{"base = catalog.model.gpt_oss_20b", "", ""},
		{"base = catalog.model.deepseek_v3", "", ""},
		{"base = catalog.model.deepseek_v3\ninit_std = 0.02", "", "init_std = 0.02 is in the published configuration"},
		{"base = catalog.model.kimi_k2", "", ""}, // which keeps 0.02
		{"base = catalog.model.gpt_oss_20b\nmoe {\nrouter {\naux_coefficient = 0.9\n}\n}", "", "examples/gptoss/02_train.sh"},
		{"base = catalog.model.debug_moe\nmoe {\nrouter {\naux_coefficient = 0.9\n}\n}", "", "added for every layer"},
		{"base = catalog.model.deepseek_v3\ninit_std = 0.02", "start {\nfrom = \"huggingface\"\npath = \"/weights\"\n}\n", ""},
	} {
		src := "model \"m\" {\n" + c.model + "\n}\n" + minimal("", "", "steps = 1\nprecision = \"fp16\"\n"+c.start)
		src = strings.Replace(src, "model   = catalog.model.debug\n", "model = model.m\n", 1)
		_, diags := Load(files("job.hcl", src), "job.hcl", Options{})
		if c.want == "" && len(diags) > 0 {
			t.Errorf("%s: %v", c.model, diags)
		}
		if c.want != "" && !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
			return d.ID == UntrainedValue && d.Severity == diag.Warning && strings.Contains(d.Detail, c.want)
		}) {
			t.Errorf("%s: %v, want %q", c.model, diags, c.want)
		}
	}
}

// TestSharedExpertsFollow: entries whose published configuration has a number of shared
// experts and no width of their own leave the width to that number.
func TestSharedExpertsFollow(t *testing.T) {
	for _, name := range []string{"deepseek_v3", "glm_4_5", "glm_4_5_air", "kimi_k2"} {
		src := strings.Replace(minimal("", "", "steps = 1"), "catalog.model.debug\n", "catalog.model."+name+"\n", 1)
		w, diags := Load(files("job.hcl", src), "job.hcl", Options{Overrides: ParseOverrides("--compare", "model.moe.shared_experts=3; model.moe.expert_ffn_hidden_size=512")})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := w.Jobs[0].Model.MoE.SharedExpertFFNHiddenSize; got != 3*512 {
			t.Errorf("three shared experts of %s are %d wide, want 1536", name, got)
		}
	}
}

// entryTree is the tree of an entry, with its bases.
func entryTree(b *hclsyntax.Block) *block {
	l := newLoader(nil, Options{})
	n := l.catalogNode(b.Type, b.Labels[0])
	l.settle(n, nil)
	return n.tree
}

// reaches reports whether a path names an argument or block of the schema. An
// entry may say why it leaves one out.
func reaches(b *schema.Block, path []string) bool {
	if len(path) == 0 || len(path) == 1 && b.Argument(path[0]) != nil {
		return true
	}
	c := b.Block(path[0])
	return c != nil && reaches(c, path[1:])
}

func argumentPaths(b *block, prefix string) []string {
	var paths []string
	for name := range b.args {
		if !slices.Contains([]string{"sources", "published", "base", "without"}, name) {
			paths = append(paths, prefix+name)
		}
	}
	for _, c := range b.blocks {
		if c.spec.Name != "built_by" {
			paths = append(paths, argumentPaths(c, prefix+c.spec.Name+".")...)
		}
	}
	return paths
}

func cited(sources map[string]string, path string) bool {
	for path != "" {
		if _, ok := sources[path]; ok {
			return true
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return false
}

// TestCatalogBuilders: every model says which versions of each backend build it.
func TestCatalogBuilders(t *testing.T) {
	everyEntry(t, func(path string, b *hclsyntax.Block) {
		if b.Type != "model" {
			return
		}
		m := decodeModel(entryTree(b))
		var backends []string
		for _, by := range m.BuiltBy {
			backends = append(backends, by.Backend)
			if by.Versions == "" && by.Reason == "" {
				t.Errorf("%s: %s cannot build it, and no reason is given", path, by.Backend)
			}
		}
		if !slices.Equal(backends, schema.BackendKinds()) {
			t.Errorf("%s: built_by names %v", path, backends)
		}
	})
}

// TestCatalogText keeps unfinished work and private paths out of what users paste.
func TestCatalogText(t *testing.T) {
	private := regexp.MustCompile(`/work\b|/tmp\b|\bTODO\b`)
	for _, kind := range catalog.Kinds() {
		for _, name := range catalog.Names(kind) {
			if m := private.Find(catalog.Source(kind, name)); m != nil {
				t.Errorf("%s %s holds %q", kind, name, m)
			}
		}
	}
}
