package lang

import (
	"fmt"
	"slices"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// constraints checks what layout constraints say about the model and one
// another, whatever the framework.
func (c *checker) constraints() {
	l := &c.job.Constraints.Layout
	c.stageLayers(l)
	if p := l.PipelineParallel; p.Pinned() && pin(p) == 1 && !l.VirtualPipeline.Allows(1) {
		c.fail(InconsistentLayout, c.at("constraints.layout.virtual_pipeline"), "\"virtual_pipeline\" asks for several chunks per pipeline rank, and pipeline_parallel = 1 leaves no pipeline. Remove one of them.")
	}
	c.sharding(l)
	c.recompute(l)
	c.recomputed(l)
	if m := &c.job.Model; m.Architecture != "" && m.MoE == nil {
		for name, choice := range map[string]job.IntChoice{"expert_parallel": l.ExpertParallel, "expert_tensor_parallel": l.ExpertTensorParallel} {
			if !choice.Allows(1) {
				c.fail(InconsistentLayout, c.at("constraints.layout."+name), "%q asks for more than one rank, but the model has no experts (no moe block). Remove it.", name)
			}
		}
	}
	if h := c.job.Constraints.MemoryHeadroom; h.Set && h.Value >= 1 {
		c.fail(OutOfRange, c.at("constraints.memory_headroom"), "A headroom of 100%% leaves no memory for the job.")
	}
	for _, name := range c.job.Constraints.Avoid {
		if slices.Contains(c.job.Constraints.Prefer, name) {
			c.fail(InapplicableArgument, c.at("constraints.avoid"), "%q is in prefer, too, so that neither has an effect. Remove it from one of them.", name)
		}
	}
	c.price()
}

// price checks that what is said of cost has a price.
func (c *checker) price() {
	k := &c.job.Constraints
	if c.job.Cluster.GPUsPerNode == 0 || c.job.Cluster.PricePerGPUHour > 0 {
		return
	}
	at := "constraints.max_cost"
	if k.Objective == "cost" {
		at = "constraints.objective"
	} else if !k.MaxCost.Set {
		return
	}
	c.fail(MissingArgument, c.at(at), "A cost needs a price, and the cluster %s has none. Set its price_per_gpu_hour.", c.job.Cluster.Name)
}

// mostCombinations is how many combinations of nodes and values of execution may
// be left: for each number of nodes there is a search, and it tries all values.
const mostCombinations = 64

// execution checks that options for experts have some, and that what is sent to
// the host has a link whose time can be told.
func (c *checker) execution() {
	combinations := max(1, len(c.job.NodeCounts))
	for _, values := range c.job.Constraints.Execution {
		combinations *= len(values)
	}
	if combinations > mostCombinations {
		c.fail(OutOfRange, c.at("execution"), "Nodes and the lists in execution leave %d combinations, and at most %d are tried. Pin some of the options.", combinations, mostCombinations)
	}
	if c.job.OverlapConfig != "" && !c.job.Execution.OverlapTensorParallel.Or(false) {
		c.fail(InapplicableArgument, c.at("execution.tensor_parallel_overlap_config"), "Nothing reads \"tensor_parallel_overlap_config\" unless tensor-parallel communication overlaps. Set overlap_tensor_parallel = true beside it, or remove it.")
	}
	for i := range option.Options {
		if o := &option.Options[i]; c.asksFor(o) {
			c.possible(o)
		}
	}
}

// asksFor reports whether the job says of an option to use it, or names that
// among the values to choose from.
func (c *checker) asksFor(o *option.Option) bool {
	if values := c.job.Constraints.Execution[o.Name]; values != nil {
		return o.Kind != option.Switch || slices.Contains(values, "true")
	}
	x := &c.job.Execution
	on, is := o.Choice(x).(*job.Optional[bool])
	return o.IsSet(x) && (!is || on.Value)
}

// possible checks an option that the job asks for.
func (c *checker) possible(o *option.Option) {
	at, k, m := c.at("execution."+o.Name), &c.job.Cluster, &c.job.Model
	switch {
	case o.IsOffload() && k.GPUsPerNode > 0 && k.PCIe.Bandwidth == 0:
		c.fail(MissingBlock, at, "Offloading takes as long as the link to the host does, and the cluster has no pcie block. Add pcie { bandwidth } to it.")
	case (o.Name == "moe_dispatcher" || o.Name == "overlap_expert_parallel") && m.Architecture != "" && m.MoE == nil:
		c.fail(InapplicableArgument, at, "%q has no effect: the model has no experts (no moe block). Remove it.", o.Name)
	}
}

func (c *checker) stageLayers(l *job.LayoutConstraints) {
	if l.StageLayers == nil {
		return
	}
	total := 0
	for _, n := range l.StageLayers {
		total += n
	}
	at := c.at("constraints.layout.stage_layers")
	if layers := c.job.Model.Layers; layers > 0 && total != layers {
		c.fail(InconsistentLayout, at, "The %s of stage_layers hold %s, and the model has %d.", units.Count(len(l.StageLayers), "chunk"), units.Count(total, "layer"), layers)
	}
	p, v := l.PipelineParallel, l.VirtualPipeline
	if !p.Pinned() || !v.Pinned() && !v.Free() {
		return
	}
	stages, chunks := pin(p), 1
	if !v.Free() {
		chunks = pin(v)
	} else if len(l.StageLayers)%stages == 0 {
		return // the length says how many chunks there are
	}
	if stages*chunks != len(l.StageLayers) {
		c.fail(InconsistentLayout, at, "stage_layers has %s, and needs %d for %s.", units.Count(len(l.StageLayers), "chunk"), stages*chunks, pipelineText(stages, chunks))
	}
}

func pipelineText(stages, chunks int) string {
	if chunks == 1 {
		return units.Count(stages, "pipeline rank")
	}
	return fmt.Sprintf("%s with %s each", units.Count(stages, "pipeline rank"), units.Count(chunks, "chunk"))
}

// sharding checks that the stage of ZeRO and the ranks that shard can go together.
func (c *checker) sharding(l *job.LayoutConstraints) {
	at := c.at("constraints.layout.zero_stage")
	shards := l.ZeroStage.Allows(1) || l.ZeroStage.Allows(2) || l.ZeroStage.Allows(3)
	alone := l.DataParallelShard.Pinned() && pin(l.DataParallelShard) == 1
	switch {
	case !shards && !l.DataParallelShard.Allows(1):
		c.fail(InconsistentLayout, at, "With zero_stage = 0 nothing is sharded, and \"data_parallel_shard\" asks for ranks that shard. Count them in data_parallel_replicate, or take another stage.")
	case !l.ZeroStage.Allows(0) && alone && !l.DataParallelReplicate.Allows(1):
		c.fail(InconsistentLayout, at, "A stage above 0 shards over data_parallel_shard, which is 1 beside \"data_parallel_replicate\". Take zero_stage = 0, or let data_parallel_shard be more.")
	}
}

// pin is the one value of a pinned choice.
func pin(c job.IntChoice) int {
	if c.Ranged {
		return c.Min
	}
	return c.Values[0]
}

// recompute checks that details go with a mode that has them.
func (c *checker) recompute(l *job.LayoutConstraints) {
	for _, d := range []struct {
		name, mode string
		set        bool
	}{
		{"recompute_modules", "selective", l.RecomputeModules != nil},
		{"recompute_method", "full", l.RecomputeMethod != nil},
		{"recompute_layers", "full", !l.RecomputeLayers.Free()},
	} {
		if d.set && !l.Recompute.Allows(d.mode) {
			path, advice := "constraints.layout."+d.name, fmt.Sprintf("Remove it, or allow %q.", d.mode)
			if c.over("constraints.layout", "recompute") && !c.over("constraints.layout", d.name) {
				advice = "Write it into the block of the backend, or of the job, that it is for."
			}
			c.fail(InapplicableArgument, c.at(path), "%q belongs to recompute = %q, which recompute here does not allow. %s", d.name, d.mode, advice)
		}
	}
}

// over reports whether an argument stands in the block that was laid over all others, such
// as that of a backend over the job's, or behind it.
func (c *checker) over(block, name string) bool {
	at, header := c.at(block+"."+name), c.at(block)
	return at.Filename == header.Filename && at.Start.Byte > header.Start.Byte
}

// recomputed checks that the model has what is to be recomputed.
func (c *checker) recomputed(l *job.LayoutConstraints) {
	m := &c.job.Model
	if m.Architecture == "" {
		return
	}
	has := m.Layers == 0 // another error
	for n := 1; n <= m.Layers && !has; n++ {
		has = l.RecomputeLayers.Allows(n)
	}
	if !has {
		c.fail(InconsistentLayout, c.at("constraints.layout.recompute_layers"), "The model has %s, and \"recompute_layers\" asks for more of each chunk. Write at most %d.", units.Count(m.Layers, "layer"), m.Layers)
	}
	for _, name := range l.RecomputeModules {
		missing := ""
		switch {
		case name == "mla_up_proj" && m.Attention.MLA == nil:
			missing = "latent attention (no mla block)"
		case (name == "moe" || name == "moe_act" || name == "shared_experts") && m.MoE == nil:
			missing = "experts (no moe block)"
		case name == "shared_experts" && m.MoE.SharedExpertFFNHiddenSize == 0:
			missing = "shared experts"
		default:
			continue
		}
		c.fail(InapplicableArgument, c.at("constraints.layout.recompute_modules"), "%q in recompute_modules has no effect: the model has no %s. Remove it.", name, missing)
	}
}
