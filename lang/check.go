package lang

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/lang/units"
)

// checker holds a decoded job to what can be known before a layout is chosen.
// What depends on a framework is left to its backend.
type checker struct {
	*loader
	job    *job.Job
	whole  *block // the job with all its backends
	unsure bool   // something in training was reported, so what seems missing may not be
}

// when runs a check on a section of which nothing was reported yet.
func (c *checker) when(b *block, check func()) {
	if !b.broken {
		check()
	}
}

// at is where the argument at path was written, or the nearest block.
func (c *checker) at(path string) diag.Range { return c.job.Sources.Range(path) }

// atOwn is where the first of some arguments was written that the job's own files
// set: of figures that contradict one another, the user's is what stands out from
// the base's. Where they set all or none, it is the first.
func (c *checker) atOwn(paths ...string) diag.Range {
	for _, path := range paths {
		if c.wrote(path) {
			return c.at(path)
		}
	}
	return c.at(paths[0])
}

func (c *checker) model() {
	m := &c.job.Model
	if !c.pattern(m) {
		return
	}
	c.heads(m)
	c.widths(m)
	c.size(m)
	c.positions(m)
	c.biases(m)
	if m.MoE != nil {
		c.moe(m)
	}
	if m.PaddedVocabSize != 0 && m.PaddedVocabSize < m.VocabSize {
		c.fail(InconsistentModel, c.atOwn("model.padded_vocab_size", "model.vocab_size"),
			"padded_vocab_size is %d, fewer than the %s of vocab_size.", m.PaddedVocabSize, units.Count(m.VocabSize, "token"))
	}
	if m.Dropout == 1 {
		c.fail(OutOfRange, c.at("model.dropout"), "With a dropout of 1 nothing passes. It is a probability, such as 0.1.")
	}
	if w := m.Attention.SlidingWindow; w.Pattern > m.Layers {
		c.fail(InconsistentModel, c.atOwn("model.sliding_window.pattern", "model.layers"),
			"Every %d-th layer is to attend to everything, but the model has %s.", w.Pattern, units.Count(m.Layers, "layer"))
	}
	if m.Activation.Kind != "swiglu" {
		c.moot("model.activation_alpha", &m.Activation.Alpha, "It shapes swiglu, and the activation is "+m.Activation.Kind)
		c.moot("model.activation_clamp", &m.Activation.Clamp, "It shapes swiglu, and the activation is "+m.Activation.Kind)
		c.moot("model.activation_offset", &m.Activation.Offset, "It shapes swiglu, and the activation is "+m.Activation.Kind)
	}
}

// wrote reports whether the job's own files set the argument at path, rather
// than the catalogue or nobody.
func (c *checker) wrote(path string) bool { return c.job.Sources[path].Origin == job.FromSpec }

// moot clears a number that has no effect beside what else is set, and reports
// it when it was written in the job's own files: one that the catalogue wrote
// was overridden on purpose.
func (c *checker) moot(path string, value *float64, why string) {
	if *value != 0 && c.wrote(path) {
		name := path[strings.LastIndexByte(path, '.')+1:]
		c.fail(InapplicableArgument, c.at(path), "%q has no effect. %s. Remove it.", name, why)
	}
	*value = 0
}

// ineffective reports an argument that the job wrote although it does nothing
// beside the others.
func (c *checker) ineffective(path string, nothing bool, why string) {
	if nothing && c.wrote(path) {
		c.fail(InapplicableArgument, c.at(path), "%q has no effect. %s. Remove it.", path[strings.LastIndexByte(path, '.')+1:], why)
	}
}

func (c *checker) heads(m *job.Model) {
	if a := &m.Attention; a.MLA != nil && a.KVHeads != a.Heads {
		c.ineffective("model.kv_heads", true, fmt.Sprintf("With mla, every head has keys and values of its own, made of one latent, so that kv_heads can only be attention_heads, %d", a.Heads))
		a.KVHeads = a.Heads
	}
	if m.Attention.Heads%m.Attention.KVHeads != 0 && c.wrote("model.attention_heads") && !c.wrote("model.kv_heads") {
		c.fail(InconsistentModel, c.at("model.attention_heads"),
			"%d attention heads cannot share the base's %d key and value heads evenly; attention_heads must be a multiple of kv_heads. Set kv_heads, too.", m.Attention.Heads, m.Attention.KVHeads)
	} else if m.Attention.Heads%m.Attention.KVHeads != 0 {
		c.fail(InconsistentModel, c.at("model.kv_heads"),
			"%d attention heads cannot share %d key and value heads evenly; kv_heads must divide attention_heads%s.",
			m.Attention.Heads, m.Attention.KVHeads, divisors(m.Attention.Heads))
	}
	if !c.job.Sources.IsSet("model.head_dim") && m.Attention.MLA == nil && m.HiddenSize%m.Attention.Heads != 0 {
		c.fail(InconsistentModel, c.atOwn("model.attention_heads", "model.hidden_size"),
			"hidden_size %d does not divide by %d attention heads, so the width of a head is unclear. Set head_dim.", m.HiddenSize, m.Attention.Heads)
	}
	if a := m.Attention.MLA; a != nil && m.Attention.HeadDim != a.QKNopeHeadDim+a.QKRopeHeadDim {
		if c.wrote("model.head_dim") {
			c.fail(InconsistentModel, c.at("model.head_dim"),
				"With mla, head_dim is qk_nope_head_dim + qk_rope_head_dim = %d + %d = %d, not %d. Leave it out.",
				a.QKNopeHeadDim, a.QKRopeHeadDim, a.QKNopeHeadDim+a.QKRopeHeadDim, m.Attention.HeadDim)
		}
		m.Attention.HeadDim = a.QKNopeHeadDim + a.QKRopeHeadDim
	}
}

// divisors lists the divisors of n, if they are few: " (1, 2, 4)".
func divisors(n int) string {
	var list []string
	for d := 1; d <= n && n <= 1024; d++ {
		if n%d == 0 {
			list = append(list, fmt.Sprint(d))
		}
	}
	if len(list) == 0 || len(list) > 12 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

func (c *checker) widths(m *job.Model) {
	if m.FFNHiddenSize == 0 && hasDenseLayers(m) {
		why := ""
		if m.MoE != nil {
			why = " Some layers are dense: moe.first_dense_layers or moe.layer_frequency says so."
		}
		c.fail(MissingArgument, c.at("model"), "The block model needs the argument \"ffn_hidden_size\", the width of the dense MLP's inner layer.%s", why)
	}
	if m.MTP.Layers > m.Layers {
		c.fail(InconsistentModel, c.atOwn("model.mtp_layers", "model.layers"), "%s on %s.", units.Count(m.MTP.Layers, "multi-token-prediction layer"), units.Count(m.Layers, "decoder layer"))
	}
}

// maxParameters is far above any model and keeps all arithmetic on sizes within
// 63 bits.
const maxParameters = 1e16

// size refuses models whose sizes are each possible and together absurd.
func (c *checker) size(m *job.Model) {
	h, ffn := float64(m.HiddenSize), float64(m.FFNHiddenSize)
	if e := m.MoE; e != nil {
		ffn = max(ffn, float64(e.Experts)*float64(e.ExpertFFNHiddenSize)+float64(e.SharedExpertFFNHiddenSize))
	}
	attention := float64(m.Attention.Heads+m.Attention.KVHeads) * float64(m.Attention.HeadDim)
	total := float64(m.Layers)*h*(2*attention+3*ffn) + 2*h*float64(m.VocabSize)
	if total > maxParameters {
		c.fail(InconsistentModel, c.at("model"), "These sizes make about %.0e parameters. One of layers, hidden_size, ffn_hidden_size or experts must be wrong.", total)
	}
}

// biases settles which projections of attention have biases.
func (c *checker) biases(m *job.Model) {
	c.ineffective("model.qkv_bias", m.Attention.Bias && m.Attention.QKVBias, "attention_bias puts biases on query, key, value and output")
	if m.Attention.Bias {
		m.Attention.QKVBias = false
	}
	path := "model.attention_bias"
	if m.Attention.QKVBias {
		path = "model.qkv_bias"
	}
	if m.Attention.MLA != nil && m.BiasesQKV() {
		c.fail(InconsistentModel, c.at(path), "Latent attention (mla) has low-rank projections in place of query, key and value, and ndc knows them without biases only. Set %s = false.", path[len("model."):])
	}
}

func (c *checker) positions(m *job.Model) {
	p := &m.PositionEmbedding
	if m.SequenceLength > m.MaxPositions {
		if p.Kind == "learned" {
			c.fail(InconsistentModel, c.atOwn("model.sequence_length", "model.max_positions"),
				"Sequences of %s need as many learned positions, and max_positions is %d. Raise max_positions too, or shorten the sequences.", units.Count(m.SequenceLength, "token"), m.MaxPositions)
		}
		m.MaxPositions = m.SequenceLength
	}
	if p.Kind == "rope" && m.Attention.MLA == nil && m.Attention.HeadDim%2 != 0 {
		c.fail(InconsistentModel, c.at("model.head_dim"), "Rotary positions turn pairs of dimensions, so head_dim must be even, not %d.", m.Attention.HeadDim)
	}
	if s := p.Scaling; s != nil && s.Type != "linear" && s.OriginalLength == 0 {
		c.fail(MissingArgument, c.at("model.position_embedding.scaling"), "Scaling of type %q needs \"original_length\", the positions that the model had before.", s.Type)
	}
	if s := p.Scaling; s != nil && s.Type == "llama3" && s.HighFrequencyFactor <= s.LowFrequencyFactor {
		c.fail(InconsistentModel, c.at("model.position_embedding.scaling.high_frequency_factor"),
			"high_frequency_factor, %s, must be greater than low_frequency_factor, %s.", formatNumber(s.HighFrequencyFactor), formatNumber(s.LowFrequencyFactor))
	}
}

func (c *checker) moe(m *job.Model) {
	e := m.MoE
	if e.TopK > e.Experts {
		c.fail(InconsistentModel, c.atOwn("model.moe.top_k", "model.moe.experts"), "A token cannot go to %d of %s; top_k is at most experts.", e.TopK, units.Count(e.Experts, "expert"))
	}
	if e.FirstDenseLayers >= m.Layers {
		c.fail(InconsistentModel, c.atOwn("model.moe.first_dense_layers", "model.layers"),
			"%s leave none of the model's %s to the experts. For a dense model, leave the moe block out, or drop the base's with without = [\"moe\"].", units.Count(e.FirstDenseLayers, "dense layer"), units.Count(m.Layers, "layer"))
	}
	if e.SharedExperts == 0 {
		width := float64(e.SharedExpertFFNHiddenSize)
		c.moot("model.moe.shared_expert_ffn_hidden_size", &width, "shared_experts is 0")
		e.SharedExpertFFNHiddenSize = 0
	}
	if !e.TokenDrop {
		c.moot("model.moe.capacity_factor", &e.CapacityFactor, "No token is dropped, so there is no capacity; token_drop = true would drop some")
		e.CapacityFactor = 1
	}
	c.router(e)
}

func (c *checker) router(e *job.MoE) {
	r := &e.Router
	if r.Groups > 1 {
		switch {
		case e.Experts%r.Groups != 0:
			c.fail(InconsistentModel, c.atOwn("model.moe.router.groups", "model.moe.experts"), "%s cannot form %d equal groups.", units.Count(e.Experts, "expert"), r.Groups)
		case r.GroupTopK < 1 || r.GroupTopK > r.Groups:
			c.fail(InconsistentModel, c.atOwn("model.moe.router.group_top_k", "model.moe.router.groups"), "With %s, group_top_k must be from 1 to %d, not %d.", units.Count(r.Groups, "group"), r.Groups, r.GroupTopK)
		case e.TopK > e.Experts/r.Groups*r.GroupTopK:
			c.fail(InconsistentModel, c.atOwn("model.moe.router.group_top_k", "model.moe.top_k", "model.moe.router.groups", "model.moe.experts"),
				"%s of %s: %d in all, fewer than the %d of top_k.", units.Count(r.GroupTopK, "group"), units.Count(e.Experts/r.Groups, "expert"), e.Experts/r.Groups*r.GroupTopK, e.TopK)
		}
	}
	c.ineffective("model.moe.router.group_top_k", r.GroupTopK > 1 && r.Groups <= 1, "Without groups of experts a token may use all")
	c.ineffective("model.moe.router.normalize", !r.Normalize && r.Score == "softmax" && !r.PreSoftmax,
		"A softmax over the chosen experts sums to one in any case; with pre_softmax = true it is over all of them")
	if r.Balance == "none" {
		c.moot("model.moe.router.aux_coefficient", &r.AuxCoefficient, "Nothing balances the experts: balance is \"none\"")
	}
	if r.Balance != "bias" {
		c.moot("model.moe.router.bias_update_rate", &r.BiasUpdateRate, "It belongs to balance = \"bias\", and balance is \""+r.Balance+"\"")
	}
}

func (c *checker) cluster() {
	k := &c.job.Cluster
	d, g := k.NVLink.Domain, k.GPUsPerNode
	if d > g && d%g != 0 || d > 0 && d <= g && g%d != 0 {
		c.fail(InconsistentCluster, c.atOwn("cluster.nvlink.domain", "cluster.gpus_per_node"),
			"NVLink domains of %s and nodes of %d do not fit: one must be a multiple of the other.", units.Count(d, "GPU"), g)
	}
	if k.Nodes > 1 && k.Network.Kind == "" && !(d >= k.GPUs()) {
		c.fail(MissingBlock, c.at("cluster"), "%d nodes need a network block: what connects them, with how many adapters of which bandwidth.", k.Nodes)
	}
	n := &k.Network
	if n.Oversubscription > 1 && n.GPUsPerPod == 0 {
		c.fail(InconsistentCluster, c.at("cluster.network.oversubscription"),
			"An oversubscription of %s needs gpus_per_pod, the number of GPUs that it begins beyond.", formatNumber(n.Oversubscription))
	}
	if n.Congestion >= 1 {
		c.fail(OutOfRange, c.at("cluster.network.congestion"), "A congestion of %s would leave nothing of the network to a group of four nodes.", formatNumber(100*float64(n.Congestion))+"%")
	}
	if n.GPUsPerPod > 0 && n.GPUsPerPod%g != 0 {
		c.fail(InconsistentCluster, c.atOwn("cluster.network.gpus_per_pod", "cluster.gpus_per_node"), "Pods of %s cannot be made of nodes of %d.", units.Count(n.GPUsPerPod, "GPU"), g)
	}
}

// nodes settles how many nodes of the cluster the run has, or may have.
func (c *checker) nodes(choice job.IntChoice) {
	k := &c.job.Cluster
	if choice.Free() || k.Nodes == 0 {
		return
	}
	var counts []int
	for n := 1; n <= k.Nodes; n++ {
		if choice.Allows(n) {
			counts = append(counts, n)
		}
	}
	switch {
	case len(counts) == 0:
		c.fail(OutOfRange, c.at("nodes"), "The cluster %s has %s, and no size of the run that is allowed here is that small. Raise the cluster's nodes, or allow fewer.", k.Name, units.Count(k.Nodes, "node"))
		return
	case len(counts) > mostCombinations:
		c.fail(OutOfRange, c.at("nodes"), "This leaves %d sizes of the run, and at most %d are tried. Give the range a step.", len(counts), mostCombinations)
		return
	case len(counts) > 1:
		c.job.NodeCounts = counts
	}
	if asked := choice.Largest(); asked > k.Nodes && asked < schema.MostNodes { // where a range ends that names no end
		c.diags.Warn(SizesBeyond, c.at("nodes"), summaries[SizesBeyond], fmt.Sprintf("The cluster %s has %s, and sizes up to %d are asked for: those beyond are left out. Raise the cluster's nodes to see them.",
			k.Name, units.Count(k.Nodes, "node"), asked))
	}
	c.job.MostNodes, k.Nodes = k.Nodes, counts[len(counts)-1]
}

var capability = regexp.MustCompile(`^[0-9]{1,2}\.[0-9]$`)

func (c *checker) gpu() {
	g := &c.job.Cluster.GPU
	if g.TorchMemory > g.Memory {
		c.fail(InconsistentCluster, c.atOwn("cluster.gpu.torch_memory", "cluster.gpu.memory"), "torch_memory = %s, what torch can use, is more than memory = %s. State both: torch_memory is about 1 GiB less.", g.TorchMemory.Human(), g.Memory.Human())
	}
	if v := g.ComputeCapability; v != "" && !capability.MatchString(v) {
		c.fail(InvalidValue, c.at("cluster.gpu.compute_capability"), "%s is not a compute capability, such as \"9.0\" for Hopper.", quoteShort(v))
	}
	if g.PeakFLOPS == (job.PeakFLOPS{}) {
		c.fail(MissingArgument, c.at("cluster.gpu.peak_flops"), "The block peak_flops states no rate, so nothing could run. Give at least bf16.")
	}
}

// nodeList checks that a list of nodes names no more than sbatch is asked for: Slurm adds
// to a shorter one, and refuses a longer one. Of several sizes, those that are too small
// for it are left out.
func (c *checker) nodeList() {
	named, err := job.Hosts(c.job.Slurm.NodeList)
	if err != nil || c.job.Cluster.Nodes == 0 {
		return
	}
	list, at := quoteShort(c.job.Slurm.NodeList), c.at("slurm.nodelist")
	if asked := c.job.AllocatedNodes(); named > asked {
		c.fail(InconsistentCluster, at, "%s names %s, and sbatch is asked for %s, so that it refuses the job. Name no more, or give the cluster as many.",
			list, units.Count(named, "node"), units.Count(asked, "node"))
		return
	}
	counts := c.job.NodeCounts
	enough := c.sizes(func(nodes int) bool { return c.job.Allocated(nodes) >= named })
	if len(counts) == 0 || len(enough) == len(counts) {
		return
	}
	c.diags.Warn(SizesBelow, at, summaries[SizesBelow], fmt.Sprintf("%s names %s, and sbatch refuses a job that asks for fewer: sizes below %d, which are allowed here, are left out.",
		list, units.Count(named, "node"), enough[0]))
	c.leave(enough)
}

// spares checks that a job which says how many of the cluster's nodes it takes finds its
// spare ones among them, too. Of several sizes, those that leave too few are left out.
func (c *checker) spares() {
	s, k := &c.job.Slurm, &c.job.Cluster
	if s.SpareNodes == 0 || c.job.MostNodes == 0 {
		return
	}
	enough := c.sizes(func(nodes int) bool { return c.job.Allocated(nodes) <= c.job.MostNodes })
	at := c.at("slurm.spare_nodes")
	switch {
	case len(enough) == 0:
		smallest := c.sizes(func(int) bool { return true })[0]
		c.fail(InconsistentCluster, at, "The cluster %s has %s, and sbatch is asked for %d: %d and %d to spare. Raise the cluster's nodes, or ask for fewer.",
			k.Name, units.Count(c.job.MostNodes, "node"), c.job.Allocated(smallest), smallest, c.job.Allocated(smallest)-smallest)
	case len(c.job.NodeCounts) > len(enough):
		c.diags.Warn(SizesBeyond, at, summaries[SizesBeyond], fmt.Sprintf("The cluster %s has %s, which the spare ones are part of: sizes beyond %d, which are allowed here, are left out. Raise the cluster's nodes to see them.",
			k.Name, units.Count(c.job.MostNodes, "node"), enough[len(enough)-1]))
		c.leave(enough)
	}
}

// segments leaves out those of several sizes that are no whole segments. What backends say of a
// single one is said there.
func (c *checker) segments() {
	segment, counts := c.job.Slurm.Segment, c.job.NodeCounts
	if segment == 0 || len(counts) == 0 || segment > counts[len(counts)-1] { // which is told of
		return
	}
	at := c.at("slurm.segment")
	switch whole := c.sizes(func(nodes int) bool { return nodes%segment == 0 }); {
	case len(whole) == 0:
		c.fail(InconsistentCluster, at, "Slurm places a job in whole segments, and no size of the run that is allowed here is a multiple of %d.", segment)
	case len(whole) < len(counts):
		c.diags.Warn(SizesUncut, at, summaries[SizesUncut], fmt.Sprintf("Slurm places a job in whole segments: sizes that are no multiple of %d, which are allowed here, are left out.", segment))
		c.leave(whole)
	}
}

// sizes lists those sizes of the run of which a condition holds, the smallest first.
func (c *checker) sizes(holds func(nodes int) bool) []int {
	counts := c.job.NodeCounts
	if len(counts) == 0 {
		counts = []int{c.job.Cluster.Nodes}
	}
	return slices.DeleteFunc(slices.Clone(counts), func(nodes int) bool { return !holds(nodes) })
}

// leave settles which sizes of the run are left.
func (c *checker) leave(sizes []int) {
	c.job.NodeCounts, c.job.Cluster.Nodes = sizes, sizes[len(sizes)-1]
	if len(sizes) == 1 {
		c.job.NodeCounts = nil
	}
}

func (c *checker) slurm() {
	s := &c.job.Slurm
	if nodes := c.job.Cluster.Nodes; s.Segment > nodes && nodes > 0 {
		c.fail(InconsistentCluster, c.at("slurm.segment"), "Segments of %s are larger than the job's %s.", units.Count(s.Segment, "node"), units.Count(nodes, "node"))
	}
	if k := &c.job.Cluster; s.Segment > 0 && s.SpareNodes > 0 && k.NVLink.Domain > k.GPUsPerNode && (s.Segment+s.SpareNodes)*k.GPUsPerNode > k.NVLink.Domain {
		c.fail(InconsistentCluster, c.at("slurm.spare_nodes"), "Spare nodes are counted for each segment: %s and %d to spare do not lie in one NVLink domain of %s, which is %s.",
			units.Count(s.Segment, "node"), s.SpareNodes, units.Count(k.NVLink.Domain, "GPU"), units.Count(k.NVLink.Domain/k.GPUsPerNode, "node"))
	}
	c.segments()
	c.nodeList()
	c.spares()
	if s.CheckSpeed.Or(false) && s.SpareNodes == 0 && !c.unsure {
		c.fail(MissingArgument, c.at("slurm.check_speed"), "A node that is slow can only be left out where there is another. Set spare_nodes, too.")
	}
	if s.Chain.IsSet() && !c.job.Sources.IsSet("training.checkpoint.path") && !c.unsure {
		c.fail(MissingBlock, c.at("slurm.chain"), "Each submission of a chain goes on from the last one's checkpoint, and nothing is saved. Add a checkpoint block to training.")
	}
	if p := c.job.Training.Checkpoint.Path; strings.Contains(p, "://") && (s.Chain.IsSet() || s.SpareNodes > 0) {
		c.fail(InvalidValue, c.at("training.checkpoint.path"), "%q is no folder of a file system. The script of a chain, or of a job with spare nodes, looks there for the newest step, finds none, and ends. Save to a folder that the nodes mount.", p)
	}
	for i, m := range s.Container.Mounts {
		if src, dst, ok := strings.Cut(m, ":"); !ok || src == "" || dst == "" {
			c.fail(InvalidValue, c.at(fmt.Sprintf("slurm.container.mounts[%d]", i)), "%q is not SRC:DST or SRC:DST:OPTIONS.", m)
		} else if strings.Contains(m, ",") {
			c.fail(InvalidValue, c.at(fmt.Sprintf("slurm.container.mounts[%d]", i)), "Containers read a list of mounts that is cut at its commas, so %q cannot be one. Mount a folder above it.", m)
		}
	}
	if s.Container.Image == "" {
		for _, name := range []string{"mounts", "workdir"} {
			if path := "slurm.container." + name; c.wrote(path) && !c.whole.setsImage() {
				c.fail(MissingArgument, c.at(path), "%q is for a container, and no image is set, here or in a backend's own container block.", name)
			}
		}
	}
}
