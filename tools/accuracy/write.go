package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// writeJobs keeps every predicted row as a job.hcl in a folder of its own.
func writeJobs(folder string, examples []example) error {
	for i := range examples {
		x := &examples[i]
		if x.skip != "" {
			continue
		}
		at := filepath.Join(folder, folderName(x.row.ID))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(at, "job.hcl"), []byte(spelled(x.job, &x.layout)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// folderName is an id without what would lead out of a folder.
func folderName(id string) string {
	return strings.TrimLeft(strings.NewReplacer("/", "_", "\\", "_").Replace(id), ".")
}

// writer prints the language. Zero values are left out.
type writer struct {
	strings.Builder
	depth int
}

func (w *writer) line(format string, a ...any) {
	w.WriteString(strings.Repeat("  ", w.depth))
	fmt.Fprintf(w, format, a...)
	w.WriteByte('\n')
}

// block prints a block around what inside prints.
func (w *writer) block(head string, inside func()) {
	w.line("%s {", head)
	w.depth++
	inside()
	w.depth--
	w.line("}")
}

// arguments prints name and value in turn, values that say nothing left out.
func (w *writer) arguments(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case string:
			if v != "" {
				w.line("%s = %q", pairs[i], v)
			}
		case int:
			if v != 0 {
				w.line("%s = %d", pairs[i], v)
			}
		case float64:
			if v != 0 {
				w.line("%s = %v", pairs[i], v)
			}
		case bool:
			w.line("%s = %v", pairs[i], v)
		}
	}
}

// spelled is a job in the language, with its layout pinned.
func spelled(j *job.Job, l *plan.Layout) string {
	w := &writer{}
	w.model(&j.Model)
	w.cluster(&j.Cluster)
	w.block(`job "row"`, func() {
		w.line("model   = model.row")
		w.line("cluster = cluster.row")
		w.training(&j.Training)
		w.block("constraints", func() { w.block("layout", func() { w.layout(l) }) })
		w.block("execution", func() { w.execution(&j.Execution) })
		w.block(fmt.Sprintf("backend %q", j.Backend.Kind), func() {
			w.arguments("version", j.Backend.Version)
			for _, v := range j.Backend.Environment {
				w.line("environment = { %s = %q }", v.Name, v.Value)
			}
		})
	})
	return w.String()
}

func (w *writer) model(m *job.Model) {
	w.block(`model "row"`, func() {
		w.arguments("architecture", m.Architecture, "layers", m.Layers, "hidden_size", m.HiddenSize, "ffn_hidden_size", m.FFNHiddenSize,
			"attention_heads", m.Attention.Heads, "kv_heads", m.Attention.KVHeads, "head_dim", m.Attention.HeadDim, "vocab_size", m.VocabSize,
			"padded_vocab_size", m.PaddedVocabSize, "sequence_length", m.SequenceLength, "activation", m.Activation.Kind, "activation_clamp", m.Activation.Clamp,
			"normalization", m.Norm.Kind, "dropout", m.Dropout, "tied_embeddings", m.TiedEmbeddings,
			"attention_bias", m.Attention.Bias, "mlp_bias", m.MLPBias, "qk_norm", m.Attention.QKNorm, "mtp_layers", m.MTP.Layers)
		w.block(fmt.Sprintf("position_embedding %q", m.PositionEmbedding.Kind), func() {})
		if s := m.Attention.SlidingWindow; s.Size > 0 {
			w.block("sliding_window", func() { w.arguments("size", s.Size, "pattern", s.Pattern) })
		}
		if a := m.Attention.MLA; a != nil {
			w.block("mla", func() {
				w.arguments("q_lora_rank", a.QLoraRank, "kv_lora_rank", a.KVLoraRank, "qk_nope_head_dim", a.QKNopeHeadDim,
					"qk_rope_head_dim", a.QKRopeHeadDim, "v_head_dim", a.VHeadDim)
			})
		}
		if e := m.MoE; e != nil {
			w.block("moe", func() {
				w.arguments("experts", e.Experts, "top_k", e.TopK, "expert_ffn_hidden_size", e.ExpertFFNHiddenSize,
					"shared_experts", e.SharedExperts, "shared_expert_ffn_hidden_size", e.SharedExpertFFNHiddenSize,
					"first_dense_layers", e.FirstDenseLayers, "token_drop", e.TokenDrop, "capacity_factor", e.CapacityFactor)
				if m.MLPBias {
					w.block("router", func() { w.arguments("bias", true) })
				}
			})
		}
	})
}

func (w *writer) cluster(c *job.Cluster) {
	w.block(`cluster "row"`, func() {
		w.line("base = catalog.cluster.%s", c.Catalog)
		w.line("gpu = catalog.gpu.%s", c.GPU.Catalog)
		w.arguments("nodes", c.Nodes, "gpus_per_node", c.GPUsPerNode)
		w.block("network", func() {
			w.arguments("nics_per_node", c.Network.NICsPerNode, "bandwidth", gigabits(c.Network.Bandwidth))
		})
	})
}

// gigabits writes a bandwidth per NIC.
func gigabits(b units.BytesPerSecond) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%gGb/s", float64(b)*8/1e9)
}

func (w *writer) training(t *job.Training) {
	w.block("training", func() {
		w.arguments("global_batch_size", t.GlobalBatchSize, "steps", t.Steps, "precision", t.Precision)
		if t.FP8.Recipe != "" || t.FP8.ParameterGather {
			w.block("fp8", func() { w.arguments("recipe", t.FP8.Recipe, "parameter_gather", t.FP8.ParameterGather) })
		}
		w.block(fmt.Sprintf("optimizer %q", t.Optimizer.Kind), func() {
			w.arguments("learning_rate", 1e-4, "gradient_clipping", t.Optimizer.GradientClipping)
		})
		w.block(`schedule "constant"`, func() {})
		w.block("data", func() { w.arguments("mock", true) })
	})
}

func (w *writer) layout(l *plan.Layout) {
	for i := range option.Axes {
		a := &option.Axes[i]
		switch text := a.Text(l); {
		case text == `""` || text == "[]" || text == "null" || text == "0" && a.Min > 0:
		case a.Name == "pipeline_schedule" && l.PipelineSchedule == plan.ScheduleNone:
		default:
			w.line("%s = %s", a.Name, text)
		}
	}
}

func (w *writer) execution(x *job.Execution) {
	var offloads []string
	for i := range option.Options {
		o := &option.Options[i]
		own, ok := o.Chosen(x)
		switch block, name, inside := strings.Cut(o.Name, "."); {
		case !ok:
		case inside && block == option.Offload:
			offloads = append(offloads, name+" = "+own.Quoted())
		default:
			w.line("%s = %s", o.Name, own.Quoted())
		}
	}
	if offloads == nil {
		return
	}
	w.block(option.Offload, func() {
		for _, line := range offloads {
			w.line("%s", line)
		}
	})
}
