package lang

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/lang/schema"
)

// published warns of numbers that are in a model's configuration for other
// reasons than training. Weights that come from elsewhere were trained already.
func (c *checker) published(model *block) {
	if c.job.Training.Start.From != "scratch" {
		return
	}
	for _, p := range c.job.Model.Published {
		stated, err := strconv.ParseFloat(p.Value, 64)
		if err != nil {
			c.fail(InvalidValue, c.at("model.published"), "published has %s for %q. It takes numbers.", quoteShort(p.Value), p.Name)
			continue
		}
		if value, ok := numberAt(model, p.Name); ok && value == stated {
			c.diags.Warn(UntrainedValue, c.at("model."+p.Name), summaries[UntrainedValue],
				fmt.Sprintf("%s = %s is in the published configuration, and no recipe is known to train with it.%s", p.Name, formatNumber(value), c.recipe(model, p.Name)))
		}
	}
	if e := c.job.Model.MoE; e != nil && e.Router.AuxCoefficient > largestAuxCoefficient {
		c.diags.Warn(UntrainedValue, c.at("model.moe.router.aux_coefficient"), summaries[UntrainedValue],
			fmt.Sprintf("aux_coefficient = %s: the loss is added for every layer with experts. Published recipes have 0.0001 to %s.",
				formatNumber(e.Router.AuxCoefficient), formatNumber(largestAuxCoefficient)))
	}
}

// largestAuxCoefficient is the largest weight of an auxiliary loss in a
// published recipe: Switch Transformer's (arXiv:2101.03961, section 2.2) and
// Mixtral's in NVIDIA/Megatron-LM examples/mixtral have 0.01, and
// Mixtral-8x7B's configuration states 0.02.
const largestAuxCoefficient = 0.02

// recipe says what the catalogue trains with, if the model comes from there.
func (c *checker) recipe(model *block, path string) string {
	for _, s := range model.vars("sources") {
		if s.Name == path && c.wrote("model."+path) {
			return " The catalogue's value is from " + s.Value + "."
		}
	}
	return ""
}

// numberAt is the number at a path of a block, such as
// moe.router.aux_coefficient, where the file or the catalogue has one.
func numberAt(b *block, path string) (float64, bool) {
	name, rest, nested := strings.Cut(path, ".")
	if nested {
		child := b.find(name)
		if child == nil {
			return 0, false
		}
		return numberAt(child, rest)
	}
	a := b.spec.Argument(name)
	if a == nil || a.Type != schema.Number || b.args[name] == nil {
		return 0, false
	}
	return getSet[float64](b, name)
}
