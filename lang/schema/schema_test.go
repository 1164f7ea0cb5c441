package schema

import (
	"cmp"
	"regexp"
	"slices"
	"testing"
)

// words lists every word of the language: arguments, blocks, labels, values.
func words(b *Block) []string {
	list := append([]string{b.Name}, b.Labels...)
	for _, a := range b.Arguments {
		list = append(append(list, a.Name), a.Enum...)
	}
	for i := range b.Blocks {
		list = append(list, words(&b.Blocks[i])...)
	}
	return list
}

// TestAliases: every alias leads to a word of the language, and none is needed
// for a word that stands in the same place.
func TestAliases(t *testing.T) {
	known := words(&File)
	for word, names := range aliases {
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%q stands for %q, which is no word of the language", word, name)
			}
			if word == name {
				t.Errorf("%q stands for itself", word)
			}
		}
	}
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"tp", []string{"tensor_parallel", "context_parallel"}, "tensor_parallel"},
		{"TP", []string{"tensor_parallel"}, "tensor_parallel"},
		{"num-hidden-layers", []string{"layers"}, "layers"},
		{"tp", []string{"nodes"}, ""},
		{"nonsense", known, ""},
	} {
		if got := Meant(c.word, c.known); got != c.want {
			t.Errorf("Meant(%q) = %q, want %q", c.word, got, c.want)
		}
	}
}

// TestTables holds the tables to the style of the language.
func TestTables(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	var walk func(b *Block, path string)
	walk = func(b *Block, path string) {
		seen := map[string]bool{}
		for _, n := range slices.Concat(b.ArgumentNames(), b.BlockNames()) {
			if seen[n] || !name.MatchString(n) {
				t.Errorf("%s: %q is there twice or is no name", path, n)
			}
			seen[n] = true
		}
		for _, a := range b.Arguments {
			for _, l := range a.Labels {
				if !slices.Contains(b.Labels, l) {
					t.Errorf("%s.%s belongs to the label %q, which the block does not have", path, a.Name, l)
				}
			}
		}
		if (b.Label == Choice) != (b.Labels != nil) {
			t.Errorf("%s: a choice needs labels", path)
		}
		for i := range b.Blocks {
			walk(&b.Blocks[i], path+"."+b.Blocks[i].Name)
		}
	}
	walk(&File, "")
}

// TestLimits: limits admit what lies between them, and those that say nothing any number from 0 to
// far beyond what a job has.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		value  float64
		want   bool
	}{
		{Limits{}, 0, true}, {Limits{}, -1, false}, {Limits{}, 1e18, true}, {Limits{}, 1e300, false},
		{positive, 0, false}, {positive, 1e-300, true}, {atLeastOne, 0.5, false}, {fraction, 1, true}, {fraction, 1.1, false}, {upTo(10), 11, false},
	} {
		if got := c.limits.Allows(c.value); got != c.want {
			t.Errorf("%+v allows %g: %v, want %v", c.limits, c.value, got, c.want)
		}
	}
}

// TestEffects: every argument has an effect, by its own column or that of a
// block around it, and the effects of what people argue about are these.
func TestEffects(t *testing.T) {
	var walk func(b *Block, path string, around Effect)
	walk = func(b *Block, path string, around Effect) {
		around = cmp.Or(b.Effect, around)
		for i := range b.Arguments {
			if cmp.Or(b.Arguments[i].Effect, around) == 0 {
				t.Errorf("%s.%s has no effect", path, b.Arguments[i].Name)
			}
		}
		for i := range b.Blocks {
			walk(&b.Blocks[i], path+"."+b.Blocks[i].Name, around)
		}
	}
	walk(&File, "", 0)
	for path, want := range map[string]Effect{
		"training.optimizer.learning_rate": Convergence, "training.optimizer": Convergence, "training.seed": Convergence, "training.precision": Convergence,
		`training.data.source["a.]b"].path`: Convergence, "training.data.workers": Execution, "training.data.validation.interval": Execution,
		"training.checkpoint.interval": Launch, "training.checkpoint.save_optimizer": Convergence,
		"model": Launch, "model.layers": Convergence, "model.moe.router.balance": Convergence, "model.moe.load_imbalance": Execution, "model.sources": Launch,
		"cluster.nodes": Execution, "cluster.gpu": Execution, "cluster.gpu.peak_flops.bf16": Execution, "cluster.network.latency": Execution,
		"constraints.objective": Execution, "constraints.layout.tensor_parallel": Execution, "layout.tensor_parallel": Execution,
		"execution.gradient_dtype": Convergence, "execution.attention": Execution, "execution.offload.optimizer": Execution,
		"backend": Execution, "backend.version": Execution, "backend.extra_args": Convergence, "backend.path": Launch,
		"slurm.container.image": Execution, "slurm.container.mounts": Launch, "slurm.account": Launch,
		"templates.sbatch_header": Launch, "templates.before_launch": Launch,
		"training.optimiser": 0, "training.seed.x": 0, "models.layers": 0, "templates.x": 0,
	} {
		if got := EffectOf(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	for _, name := range EffectNames() {
		if e, ok := ParseEffect(name); !ok || e.String() != name {
			t.Errorf("%s is read as %v", name, e)
		}
	}
	if _, ok := ParseEffect(""); ok {
		t.Error("nothing is no effect")
	}
}

// TestAt: a path leads to an argument, to the label of a block, or nowhere.
func TestAt(t *testing.T) {
	for path, want := range map[string][]string{
		"model.moe.top_k": {"model", "moe", "top_k"}, "training.optimizer": {"job", "training", "optimizer"}, "job": {"job"},
		"cluster.gpu.memory": {"gpu", "memory"}, "training.seed.x": nil, "training.optimiser": nil,
	} {
		a, blocks := At(path)
		var got []string
		for _, b := range blocks {
			got = append(got, b.Name)
		}
		if a != nil {
			got = append(got, a.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
	}
}

// TestExtent: the quantities of every type with a unit of its own have one, and
// shares, which are parts of a whole, need none.
func TestExtent(t *testing.T) {
	for typ := Bytes; typ <= Power; typ++ {
		if least, most := typ.Extent(); (least == "" || most == "") != (typ == Share) {
			t.Errorf("%s: from %q to %q", typ, least, most)
		}
	}
}
