package lang

import (
	"strings"

	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// patternLetters are those of a layer pattern, with the argument that describes
// the block.
var patternLetters = []struct {
	letter rune
	name   string
	block  string // "": none
}{
	{job.MambaBlock, "a Mamba-2 mixer", "mamba"},
	{job.DeltaNetBlock, "a gated delta net", "delta_net"},
	{job.AttentionBlock, "attention", ""},
	{job.MLPBlock, "an MLP", ""},
	{job.ExpertsBlock, "a mixture of experts", "moe"},
}

// pattern holds the letters of hybrid models to the blocks beside them, and
// reports whether the rest of the model can be looked at.
func (c *checker) pattern(m *job.Model) bool {
	if m.LayerPattern == "" {
		return c.noPattern(m)
	}
	if !c.letters("model.layer_pattern", m.LayerPattern) || !c.letters("model.mtp_layer_pattern", m.MTP.LayerPattern) {
		return false
	}
	if n := len(m.LayerPattern); n != m.Layers {
		c.fail(InconsistentModel, c.atOwn("model.layer_pattern", "model.layers"), "layer_pattern has %s, and layers is %d. Each layer is one letter, or one word of a list.", units.Count(n, "letter"), m.Layers)
		return false
	}
	present := map[string]bool{"mamba": m.Mamba != nil, "delta_net": m.DeltaNet != nil, "moe": m.MoE != nil}
	whole := true
	for _, l := range patternLetters {
		used := strings.ContainsRune(m.LayerPattern+m.MTP.LayerPattern, l.letter)
		switch {
		case l.block == "" || used == present[l.block]:
		case used:
			c.fail(MissingBlock, c.at("model.layer_pattern"), "%q in layer_pattern is %s, which a block %s describes.", l.letter, l.name, l.block)
			whole = false
		default:
			c.fail(InconsistentModel, c.at("model."+l.block), "No layer is %s: layer_pattern has no %q. Leave the block out, or drop the base's with without = [%q].", l.name, l.letter, l.block)
			whole = false
		}
	}
	if !whole {
		return false
	}
	c.predicted(m)
	c.mixers(m)
	if m.MoE != nil {
		c.ineffective("model.moe.first_dense_layers", m.MoE.FirstDenseLayers > 0, "layer_pattern says which layers have experts")
		c.ineffective("model.moe.layer_frequency", m.MoE.LayerFrequency > 1, "layer_pattern says which layers have experts")
		m.MoE.FirstDenseLayers, m.MoE.LayerFrequency = 0, 1
	}
	return true
}

// noPattern refuses what belongs to a pattern in a model without one.
func (c *checker) noPattern(m *job.Model) bool {
	whole := true
	for _, p := range []struct {
		path string
		set  bool
	}{{"model.mamba", m.Mamba != nil}, {"model.delta_net", m.DeltaNet != nil}, {"model.mtp_layer_pattern", m.MTP.LayerPattern != ""}} {
		if p.set {
			c.fail(InconsistentModel, c.at(p.path), "Which layers are meant? Set layer_pattern, such as \"M-M*-\", with a letter for each layer.")
			whole = false
		}
	}
	return whole
}

// letters reports a letter that no block has.
func (c *checker) letters(path, pattern string) bool {
	for i, letter := range pattern {
		known := false
		for _, l := range patternLetters {
			known = known || l.letter == letter
		}
		if !known {
			c.fail(InvalidValue, c.at(path), "%q, letter %d, is no block. M is a Mamba-2 mixer, G a gated delta net, * attention, - an MLP and E a mixture of experts.", letter, i+1)
			return false
		}
	}
	return true
}

// predicted holds multi-token prediction to its pattern.
func (c *checker) predicted(m *job.Model) {
	switch {
	case m.MTP.Layers > 0 && m.MTP.LayerPattern == "":
		c.fail(MissingArgument, c.at("model.mtp_layers"), "Beside layer_pattern, multi-token prediction needs \"mtp_layer_pattern\", the blocks of one of its layers, such as \"*E\".")
	case m.MTP.Layers == 0:
		c.ineffective("model.mtp_layer_pattern", m.MTP.LayerPattern != "", "mtp_layers is 0")
		m.MTP.LayerPattern = ""
	}
}

// mixers holds the sizes of mixers to each other.
func (c *checker) mixers(m *job.Model) {
	if a := m.Mamba; a != nil && a.Heads%a.Groups != 0 {
		c.fail(InconsistentModel, c.atOwn("model.mamba.groups", "model.mamba.heads"), "%s cannot form %d equal groups%s.", units.Count(a.Heads, "Mamba head"), a.Groups, divisors(a.Heads))
	}
	if d := m.DeltaNet; d != nil && d.ValueHeads%d.KeyHeads != 0 {
		c.fail(InconsistentModel, c.atOwn("model.delta_net.value_heads", "model.delta_net.key_heads"), "%d value heads cannot share %d key heads evenly; key_heads must divide value_heads%s.", d.ValueHeads, d.KeyHeads, divisors(d.ValueHeads))
	}
}
