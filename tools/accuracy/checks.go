package main

import (
	"cmp"
	"fmt"
	"strings"
)

// missing says why a row cannot be predicted: what it is, what it lacks, what
// of it is odd, or which of its figures contradict each other.
func missing(r *row) string {
	for _, check := range [...]func(*row) string{(*row).kind, (*row).unstated, (*row).implausible, (*row).contradiction, (*row).beyond} {
		if reason := check(r); reason != "" {
			return reason
		}
	}
	return ""
}

// kind is what the row is, unless it is the training of all weights of a
// decoder-only transformer.
func (r *row) kind() string {
	m, task := &r.Model, strings.ToLower(r.Task)
	peft, _ := r.option("peft")
	switch {
	case r.odd != "":
		return "unreadable: " + r.odd
	case strings.Contains(task, "lora") || peft != "" && peft != "none":
		return "LoRA"
	case r.has("--perform-rl-step") || strings.Contains(task, "rl"):
		return "reinforcement learning"
	case task != "" && task != "pretrain" && task != "sft":
		return "a task that is no training: " + r.Task
	case r.hybrid() && (m.HybridPattern == "" || m.Mamba == nil):
		return "Mamba hybrid whose pattern or sizes are not stated"
	case m.EncoderDecoder || r.has("--encoder-num-layers"):
		return "encoder and decoder"
	case r.has("--vision-model-type") || r.has("--retro-encoder-layers") || r.has("--bert-no-binary-head"):
		return "no decoder-only transformer"
	case r.experimentalAttention():
		return "DeepSeek V4: its sparse attention is not described"
	}
	return ""
}

// hybrid reports whether layers of the model are single blocks.
func (r *row) hybrid() bool {
	m := &r.Model
	return m.HybridPattern != "" || present(m.Hybrid) || m.Mamba != nil || r.has("--is-hybrid-model") || r.has("--hybrid-layer-pattern")
}

// apart reports whether the row fits nothing and counts for no goal: its layout
// is a guess, its layers are not all alike, or its experts are not evenly loaded,
// which stands beside the same run with forced loads (package uncertainty).
func (r *row) apart() bool { return r.LayoutUncertain || r.hybrid() || r.routed() }

// routed reports whether the run's routers decided what its experts get.
func (r *row) routed() bool { return strings.HasPrefix(r.Layout.MoERouting, "as the router decides") }

// experimentalAttention finds options of compressed or indexed sparse
// attention.
func (r *row) experimentalAttention() bool {
	_, indexed := r.option("dsa_indexer_loss_coeff", "csa_compress_rotary_base", "apply_dsa_kernel_fusion")
	return indexed || r.argument("--experimental-attention-variant") != ""
}

func present(v any) bool { return v != nil && v != false && v != "" }

// unstated is what the row leaves open that a prediction needs.
func (r *row) unstated() string {
	l, m := &r.Layout, &r.Model
	switch {
	case m.Layers == 0 || m.Hidden == 0 || m.Heads == 0 || m.FFN == 0 && m.MoE == nil:
		return "architecture not stated"
	case m.MoE != nil && (m.MoE.Experts == 0 || m.MoE.TopK == 0 || m.MoE.FFN == 0):
		return "experts not fully stated"
	case m.MoE != nil && r.firstDense() > 0 && m.FFN == 0:
		return "width of the dense layers not stated"
	case m.MLA != nil && (m.MLA.KVLoraRank == 0 || m.MLA.NopeDim == 0 || m.MLA.VDim == 0):
		return "latent attention not fully stated"
	case m.MLA == nil && m.HeadDim == 0 && m.Hidden%m.Heads != 0:
		return "head dimension not stated"
	case m.Vocab == 0:
		return "vocabulary not stated"
	case m.SeqLen == 0:
		return "sequence length not stated"
	case r.Cluster.GPUs == 0 || r.Cluster.GPU == "":
		return "GPUs not stated"
	case l.TP == 0 || l.PP == 0 || l.MBS == 0 || l.GBS == 0:
		return "layout not stated"
	case l.PP > 1 && strings.HasPrefix(strings.ToLower(l.Schedule), "interleaved (count not stated") && r.virtual() == 0:
		return "virtual stages not stated"
	case l.Recompute.Mode == "" && !l.Recompute.stated():
		return "recompute not stated"
	case r.Quality.FullySpecified != nil && !*r.Quality.FullySpecified && !r.oom():
		return "not fully specified"
	}
	return ""
}

// implausible finds sizes that no run has had: more likely a slip.
func (r *row) implausible() string {
	l, m := &r.Layout, &r.Model
	for _, v := range []struct {
		name     string
		value, n int
	}{
		{"layers", m.Layers, 4096}, {"hidden", m.Hidden, 1 << 17}, {"ffn", m.FFN, 1 << 20}, {"heads", m.Heads, 1 << 12},
		{"kv_heads", m.KVHeads, 1 << 12}, {"head_dim", m.HeadDim, 1 << 12}, {"vocab", m.Vocab, 1 << 24}, {"seq_len", m.SeqLen, 1 << 24},
		{"mtp_layers", m.MTPLayers, 64}, {"nodes_or_gpus", r.Cluster.GPUs, 1 << 20}, {"gpus_per_node", r.Cluster.GPUsPerNode, 1 << 12},
		{"tp", l.TP, 1 << 10}, {"pp", l.PP, 1 << 10}, {"vpp", l.VPP, 1 << 10}, {"cp", l.CP, 1 << 12}, {"ep", l.EP, 1 << 12}, {"etp", l.ETP, 1 << 10},
		{"mbs", l.MBS, 1 << 16}, {"gbs", l.GBS, 1 << 22}, {"dp_shard", l.DPShard, 1 << 20}, {"dp_replicate", l.DPReplicate, 1 << 20},
	} {
		if v.value < 0 || v.value > v.n {
			return fmt.Sprintf("implausible: %s is %d", v.name, v.value)
		}
	}
	return ""
}

// contradiction finds degrees that cannot be true together.
func (r *row) contradiction() string {
	l, m := &r.Layout, &r.Model
	cp, ep, etp := max(1, l.CP), max(1, l.EP), max(1, l.ETP)
	ranks := l.TP * cp * l.PP
	dp := r.Cluster.GPUs / ranks
	switch {
	case dp*ranks != r.Cluster.GPUs:
		return fmt.Sprintf("contradiction: %d × %d × %d ranks do not divide the GPUs", l.TP, cp, l.PP)
	case l.DP > 0 && l.DP != float64(dp):
		return "contradiction: stated data parallelism is not GPUs over the other degrees"
	case l.GBS%(dp*l.MBS) != 0:
		return "contradiction: the global batch is no multiple of data parallelism times micro-batch"
	case m.HybridPattern != "" && len(m.HybridPattern) != m.Layers:
		return "contradiction: the pattern has another number of layers"
	case m.Heads%l.TP != 0:
		return "contradiction: tensor parallelism does not divide the heads"
	case m.KVHeads > 0 && m.Heads%m.KVHeads != 0:
		return "contradiction: heads of keys do not divide the heads"
	case m.SeqLen%cp != 0:
		return "contradiction: context parallelism does not divide the sequence"
	case m.MoE == nil && ep > 1:
		return "contradiction: expert parallelism without experts"
	case m.MoE != nil && m.MoE.Experts%ep != 0:
		return "contradiction: expert parallelism does not divide the experts"
	case m.MoE != nil && m.MoE.TopK > m.MoE.Experts:
		return "contradiction: more experts per token than experts"
	case m.MoE != nil && (r.Cluster.GPUs/l.PP)%(ep*etp) != 0:
		return "contradiction: expert degrees do not divide the GPUs of a stage"
	case l.DPReplicate > 0 && l.DPShard > 0 && l.DPReplicate*l.DPShard != dp && l.DPReplicate*l.DPShard != dp*cp:
		return "contradiction: replicas times shards is not data parallelism"
	}
	return ""
}

// beyond is what ndc does not predict.
func (r *row) beyond() string {
	schedule := strings.ToLower(r.Layout.Schedule)
	offload, _ := r.option("activation_cpu_offload")
	switch {
	case r.Layout.PP > 1 && schedule != "" && !strings.Contains(schedule, "1f1b") && !strings.Contains(schedule, "interleaved"):
		return "schedule not predicted: " + r.Layout.Schedule
	case offload == "true":
		return "FSDP with activations on the host is not predicted"
	case r.optimizer() == "":
		return fmt.Sprintf("optimizer not predicted: %v", r.Layout.Optimizer)
	}
	if name, _ := precision(strings.ToLower(r.Precision)); name == "" {
		return "precision not known: " + r.Precision
	}
	return ""
}

// optimizer is the kind of the row's optimizer; adamw where it is not stated,
// since every source that states one names a form of Adam. Lion keeps one
// state fewer and is named beside Adam only, by a source without memory.
func (r *row) optimizer() string {
	s := strings.ToLower(r.argument("--optimizer"))
	if s == "" && r.Layout.Optimizer != nil {
		s = strings.ToLower(toString(r.Layout.Optimizer))
	}
	switch {
	case s == "" || s == "null" || strings.Contains(s, "adam"):
		return "adamw"
	case strings.Contains(s, "muon"):
		return "muon"
	}
	return ""
}

// grade is how sure it is that memory ended a run without a report.
func (r *row) grade() string {
	grade, _, _ := strings.Cut(cmp.Or(r.Measured.OOMEvidence, r.Evidence), ":")
	return grade
}

// oom reports whether the run ran out of memory.
func (r *row) oom() bool {
	b, ok := r.Measured.OOM.(bool)
	return r.Quality.OOM || ok && b
}
