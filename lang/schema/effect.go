package schema

import (
	"cmp"
	"slices"
	"strings"
)

// Effect is what another value of an argument touches, which decides who
// should look at a change. Where a value touches more than one, the first
// counts.
type Effect uint8

// The effects.
const (
	Convergence Effect = iota + 1 // what is learned: model, data, batch, numbers
	Execution                     // how it is computed: layout, kernels, time, memory
	Launch                        // how it is started, stored and told of
)

var effectNames = [...]string{"", "convergence", "execution", "launch"}

// String returns the effect's name.
func (e Effect) String() string { return effectNames[e] }

// ParseEffect finds an effect by its name.
func ParseEffect(name string) (Effect, bool) {
	i := slices.Index(effectNames[1:], name)
	return Effect(i + 1), i >= 0
}

// EffectNames lists the effects, the gravest first.
func EffectNames() []string { return effectNames[1:] }

// At finds what stands at a path of a job, such as
// "training.optimizer.learning_rate", "model.moe.top_k", "cluster.gpu.memory" or
// `training.data.source["code"].path`, or at "layout.tensor_parallel", which is
// what was chosen: the argument, and the blocks around it, the outermost first. The
// path of a block stands for its label, and has no argument. There are no blocks
// where the language does not have the path.
func At(path string) (*Argument, []*Block) {
	block, rest := root(path)
	blocks := []*Block{block}
	for rest != "" {
		var name string
		name, rest = element(rest)
		if b := block.Block(name); b != nil {
			block, blocks = b, append(blocks, b)
			continue
		}
		a := block.Argument(name)
		if a == nil || rest != "" {
			return nil, nil
		}
		return a, blocks
	}
	return nil, blocks
}

// EffectOf returns the effect of what stands at a path as [At] takes it; zero for a
// path that the language does not have.
func EffectOf(path string) (effect Effect) {
	a, blocks := At(path)
	for _, b := range blocks {
		effect = cmp.Or(b.Effect, effect)
	}
	if a != nil {
		effect = cmp.Or(a.Effect, effect)
	}
	return effect
}

// root finds the block that a path begins in, and the rest of the path. The
// names of a model and a cluster are arguments of the job.
func root(path string) (*Block, string) {
	for _, r := range []struct {
		path  string
		block *Block
	}{
		{"cluster.gpu.", &gpuBlock}, {"cluster.", &clusterBlock}, {"model.", &modelBlock}, {"backend.", &backendBlock},
	} {
		if rest, ok := strings.CutPrefix(path, r.path); ok {
			return r.block, rest
		}
	}
	switch {
	case path == "job":
		return &jobBlock, ""
	case strings.HasPrefix(path, "layout."):
		return &constraintsBlock, path
	case strings.HasPrefix(path, "templates."): // which a site alone says
		return &siteBlock, path
	}
	return &jobBlock, path
}

// element cuts the first name off a path, and the label behind it.
func element(path string) (name, rest string) {
	if i := strings.IndexAny(path, ".["); i < 0 || path[i] == '.' {
		name, rest, _ = strings.Cut(path, ".")
		return name, rest
	}
	name, rest, _ = strings.Cut(path, "[")
	_, rest, _ = strings.Cut(rest, `"]`)
	return name, strings.TrimPrefix(rest, ".")
}
