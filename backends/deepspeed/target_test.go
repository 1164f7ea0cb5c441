package deepspeed

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	_ "github.com/ndc-dev/ndc/tools/draws"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// TestVersions: all releases from the oldest to the newest are offered.
func TestVersions(t *testing.T) {
	v := Backend{}.Versions()
	if len(v) != 32 || v[0] != "0.16.4" || v[len(v)-1] != "0.19.8" {
		t.Errorf("%d versions from %s to %s; want the 32 releases from 0.16.4 to 0.19.8", len(v), v[0], v[len(v)-1])
	}
}

// What came and went, by release (DeepSpeed's tags).
func TestOptionTables(t *testing.T) {
	for _, c := range []struct {
		option       string
		first, since string // last release without, first with; "" for none
	}{
		{"tensor_parallel.autotp_size", "", "0.16.4"},
		{"zero_optimization.leaf_module.classes", "0.17.6", "0.18.0"},
		{"bf16.bf16_optimizer_states", "0.18.2", "0.18.3"},
		{"expert_parallel.autoep_size", "0.19.1", "0.19.2"},
		{"zero_optimization.compute_grad_norm", "0.19.6", "0.19.7"},
		{"disable_python_gc", "0.19.7", "0.19.8"},
	} {
		if c.first != "" && find(t, c.first).options.Has(c.option) {
			t.Errorf("%s has %s", c.first, c.option)
		}
		if !find(t, c.since).options.Has(c.option) {
			t.Errorf("%s lacks %s", c.since, c.option)
		}
	}
	for option, last := range map[string]string{
		"zero_optimization.mics_shard_size": "0.19.6", "nebula.enabled": "", "sparse_gradients": "0.19.7",
	} {
		if find(t, "0.19.8").options.Has(option) {
			t.Errorf("0.19.8 has %s", option)
		}
		if last != "" && !find(t, last).options.Has(option) {
			t.Errorf("%s lacks %s", last, option)
		}
	}
}

func find(t *testing.T, name string) version {
	t.Helper()
	for _, v := range versions {
		if v.String() == name {
			return v
		}
	}
	t.Fatalf("no release %s", name)
	return version{}
}

// TestNorms: transformers' RMSNorm is written in operators that keep the stream in fp32;
// the LayerNorm of GPT-2 and GPT-NeoX is torch's, one kernel that keeps its input.
func TestNorms(t *testing.T) {
	for norm, want := range map[string]bool{"rmsnorm": true, "layernorm": false} {
		j := tinyLlama(4)
		j.Model.Norm.Kind = norm
		if got := find(t, "0.19.8").runtime(j).Layers.FP32Norm; got != want {
			t.Errorf("%s: fp32 copies %v, want %v", norm, got, want)
		}
	}
}

// gemma2 makes a model of that family, as transformers has it.
func gemma2(m *job.Model) {
	m.Architecture, m.Activation.Kind, m.Norm.Post, m.Norm.ZeroCentered = "gemma2", "geglu", true, true
	m.EmbeddingScale = math.Sqrt(float64(m.HiddenSize))
}

// latent makes a model of DeepSeek-V3's kind, whose router is balanced by nothing.
func latent(j *job.Job) {
	m := &j.Model
	m.Architecture, m.Attention.MLA, m.Attention.KVHeads = "deepseek_v3", &job.MLA{QLoraRank: 16, KVLoraRank: 16, QKNopeHeadDim: 16, QKRopeHeadDim: 8, VHeadDim: 16}, m.Attention.Heads
	m.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 32, SharedExperts: 1, SharedExpertFFNHiddenSize: 32, LayerFrequency: 1, Router: job.Router{Score: "sigmoid", Balance: "none", Normalize: true, ScalingFactor: 1, DType: "fp32"}}
}

// TestTargetDiagnostics: what no layout of a version can run is refused at its argument, with who
// can.
func TestTargetDiagnostics(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*job.Job)
		id     diag.ID
		says   string
	}{
		{"version", func(j *job.Job) { j.Backend.Version = "0.19.9" }, UnknownVersion, `Did you mean "0.19.`},
		{"fp8", func(j *job.Job) { j.Training.Precision = "fp8" }, UnsupportedPrecision, "Megatron-LM and TorchTitan"},
		{"muon", func(j *job.Job) { j.Training.Optimizer.Kind = "muon" }, UnsupportedOptimizer, "drives adamw, adam and sgd, not muon. Megatron-LM"},
		{"ramp", func(j *job.Job) { j.Training.BatchRamp = &job.BatchRamp{} }, UnsupportedTraining, "Megatron-LM has it"},
		{"pipeline", func(j *job.Job) {
			j.Constraints.Layout.PipelineParallel = job.IntChoice{Values: []int{2, 4}}
		}, UnsupportedLayout, "Megatron-LM and TorchTitan"},
		{"sequence parallel", func(j *job.Job) { j.Constraints.Layout.SequenceParallel = job.BoolChoice{Set: true, Value: true} }, UnsupportedLayout, "Ulysses"},
		{"mics gone", func(j *job.Job) {
			j.Constraints.Layout.DataParallelReplicate = job.IntChoice{Values: []int{2}}
			j.Constraints.Layout.DataParallelShard = job.IntChoice{Values: []int{2}}
		}, UnsupportedLayout, "DeepSpeed up to 0.19.6"},
		{"mics gone, by the stage", func(j *job.Job) {
			j.Constraints.Layout.DataParallelReplicate = job.IntChoice{Values: []int{2}}
			j.Constraints.Layout.ZeroStage = job.IntChoice{Values: []int{2, 3}}
		}, UnsupportedLayout, "DeepSpeed up to 0.19.6"},
		{"ulysses too old", func(j *job.Job) {
			j.Backend.Version = "0.18.1"
			j.Constraints.Layout.ContextParallel = job.IntChoice{Values: []int{2}}
		}, UnsupportedLayout, "from DeepSpeed 0.18.2 on"},
		{"gradients in bf16 of fp32", func(j *job.Job) {
			j.Training.Precision, j.Execution.GradientDType = "fp32", job.Some("bf16")
		}, UnsupportedExecution, "only when it trains in bf16"},
		{"ring", func(j *job.Job) { j.Execution.ContextParallelType = job.Some("ring") }, UnsupportedExecution, "ulysses"},
		{"overlap too old", func(j *job.Job) {
			j.Backend.Version, j.Execution.OverlapTensorParallel = "0.16.5", job.Some(true)
		}, UnsupportedExecution, "DeepSpeed from 0.16.6 on have it"},
		{"stale hpZ", func(j *job.Job) {
			j.Backend.Version, j.Execution.ZeroHPZPartition = "0.18.2", job.Some(2)
		}, UnsupportedExecution, "DeepSpeed has it from 0.18.3 on"},
		{"graphs", func(j *job.Job) { j.Execution.CUDAGraphs = job.Some("full") }, UnsupportedExecution, "Megatron-LM"},
		{"a hybrid", func(j *job.Job) { j.Model.Architecture, j.Model.LayerPattern = "nemotron_h", "M*" }, UnsupportedModel, "gemma2. Megatron-LM has layers of one block each"},
		{"activation", func(j *job.Job) { j.Model.Activation.Kind = "relu2" }, UnsupportedModel, "llama class"},
		{"scaled experts", func(j *job.Job) {
			*j = *tinyMoE(4)
			j.Training.Precision, j.Model.MoE.Router.ScalingFactor = "bf16", 2.5
		}, UnsupportedModel, "Megatron-LM, TorchTitan and"},
		{"groups of one expert", func(j *job.Job) {
			*j = *tinyMoE(4)
			m := &j.Model
			j.Training.Precision, m.Architecture = "bf16", "glm4_moe"
			m.MoE.Router = job.Router{Score: "sigmoid", Balance: "none", Groups: m.MoE.Experts, GroupTopK: m.MoE.TopK, Normalize: true}
		}, UnsupportedModel, "stops at groups of one"},
		{"norms of queries", func(j *job.Job) { j.Model.Attention.QKNorm = true }, UnsupportedModel, "Megatron-LM, TorchTitan and"},
		{"biases of queries of llama", func(j *job.Job) { j.Model.Attention.QKVBias = true }, UnsupportedModel, `(for architectures "qwen2" and "glm4_moe") have it`},
		{"biases of queries of mixtral", func(j *job.Job) { *j = *tinyMoE(4); j.Training.Precision, j.Model.Attention.QKVBias = "bf16", true }, UnsupportedModel, "biases on none"},
		{"qwen2 without biases", func(j *job.Job) { j.Model.Architecture = "qwen2" }, UnsupportedModel, "qkv_bias = true"},
		{"mistral with biases of attention alone", func(j *job.Job) {
			j.Model.Attention.SlidingWindow.Size, j.Model.Attention.Bias = 16, true
		}, UnsupportedModel, `biases on none. DeepSpeed has it for architectures "llama"`},
		{"a gate on latent attention", func(j *job.Job) {
			latent(j)
			j.Model.Attention.Gate = true
		}, UnsupportedModel, "No backend has a gate on the output of latent attention."},
		{"qwen3 with biases in the MLP", func(j *job.Job) {
			m := &j.Model
			m.Architecture, m.Attention.QKNorm, m.Attention.Bias, m.MLPBias = "qwen3", true, true, true
		}, UnsupportedModel, "has no biases. Megatron-LM"},
		{"gpt_neox without biases in the MLP", func(j *job.Job) {
			m := &j.Model
			m.Architecture, m.Attention.Bias, m.Attention.KVHeads = "gpt", true, m.Attention.Heads
			m.Activation.Kind, m.Norm.Kind = "gelu", "layernorm"
		}, UnsupportedModel, "biases, always: set mlp_bias = true"},
		{"qwen2 with an output bias", func(j *job.Job) { j.Model.Architecture, j.Model.Attention.Bias = "qwen2", true }, UnsupportedModel, "never on the output"},
		{"gemma2's own scale of embeddings", func(j *job.Job) { gemma2(&j.Model); j.Model.EmbeddingScale = 7 }, UnsupportedModel, "embedding_scale = pow("},
		{"a softmax scale that gemma2 rounds", func(j *job.Job) { gemma2(&j.Model); j.Model.Attention.Scale = 0.11 }, UnsupportedModel, "nearest to pow(83, -0.5)"},
		{"a part of each head", func(j *job.Job) { j.Model.PositionEmbedding.Partial = 0.5 }, UnsupportedModel, "rotates whole heads"},
		{"mtp", func(j *job.Job) { j.Model.MTP.Layers = 1 }, UnsupportedModel, "mtp_layers = 0"},
		{"dropout", func(j *job.Job) { j.Model.Dropout = 0.1 }, UnsupportedModel, "Megatron-LM"},
		{"first step", func(j *job.Job) { j.Training.Timeout.FirstStep = 3600 }, UnsupportedTraining, "set collective"},
		{"odd timeout", func(j *job.Job) { j.Training.Timeout.Collective = 90 }, UnsupportedTraining, `collective = "2m"`},
		{"text", func(j *job.Job) { j.Training.Data = job.Data{Format: "jsonl"} }, UnsupportedTraining, "tokenizer"},
		{"modules", func(j *job.Job) { j.Constraints.Layout.RecomputeModules = []string{"mlp"} }, UnsupportedLayout, "Megatron-LM"},
		{"schedule", func(j *job.Job) { j.Constraints.Layout.PipelineSchedule = job.StringChoice{"dualpipev"} }, UnsupportedLayout, "TorchTitan 0.3.0 has the pipeline schedule dualpipev"},
		{"schedules but one", func(j *job.Job) {
			j.Constraints.Layout.PipelineSchedule, j.Constraints.Layout.PipelineParallel = job.StringChoice{"1f1b", job.NoValue}, job.IntChoice{Values: []int{2}}
		}, UnsupportedLayout, "no pipeline parallelism"}, // and nothing of the schedule
		{"window", func(j *job.Job) {
			j.Model.Attention.SlidingWindow.Size, j.Training.Data.DocumentMask = 16, true
		}, UnsupportedTraining, "sliding window"},
		{"documents", func(j *job.Job) {
			j.Training.Data = job.Data{Format: "tokens", DocumentMask: true}
		}, UnsupportedTraining, "end_of_document_id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := tinyLlama(4)
			c.change(j)
			_, diags := Backend{}.Target(j)
			if len(diags) != 1 || diags[0].ID != c.id || !strings.Contains(diags[0].Detail, c.says) {
				t.Errorf("got %v, want one %s that says %q", diags, c.id, c.says)
			}
		})
	}
}

// TestRouterPrecision: mixtral's router multiplies as the run does, DeepSeek-V3's in fp32.
func TestRouterPrecision(t *testing.T) {
	for _, c := range []struct{ precision, dtype, says string }{
		{"bf16", "fp32", "in bf16, not in fp32"},
		{"fp16", "fp32", "in fp16, not in fp32"},
		{"fp32", "fp32", ""},
		{"bf16", "bf16", ""},
	} {
		j := tinyMoE(4)
		j.Training.Precision, j.Model.MoE.Router.DType = c.precision, c.dtype
		_, diags := Backend{}.Target(j)
		i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.ID == RouterPrecision })
		if (i >= 0) != (c.says != "") || i >= 0 && !strings.Contains(diags[i].Detail, c.says) {
			t.Errorf("%+v: %v", c, diags)
		}
	}
}

// TestAttentionKernel: torch's attention has no FlashAttention in fp32 or before compute
// capability 8.0, and what is timed is what runs.
func TestAttentionKernel(t *testing.T) {
	for _, c := range []struct {
		precision, capability string
		kernel                string
		grouped               string // what grouped queries without a mask run
	}{
		{"bf16", "8.0", "sdpa", "flash"},
		{"bf16", "9.0", "sdpa", "flash"},
		{"fp16", "", "sdpa", "flash"},
		{"fp16", "7.0", "memory_efficient", "unfused"},
		{"fp16", "7.5", "memory_efficient", "unfused"},
		{"fp32", "9.0", "memory_efficient_fp32", "unfused"},
		{"fp32", "7.0", "memory_efficient_fp32", "unfused"},
	} {
		for _, grouped := range []bool{true, false} {
			for _, masked := range []bool{true, false} {
				j := tinyLlama(4)
				j.Backend.Version, j.Cluster.GPU.ComputeCapability, j.Training.Precision = "0.19.8", c.capability, c.precision
				if j.Training.Data.DocumentMask = masked; masked {
					j.Training.Data.Tokenizer.EndOfDocumentID = job.Some(0)
				}
				if !grouped {
					j.Model.Attention.KVHeads = j.Model.Attention.Heads
				}
				tg, diags := Backend{}.Target(j)
				if diags.HasErrors() {
					t.Fatal(diags)
				}
				if got := tg.Runtime.Attention.Flash; got != c.kernel {
					t.Errorf("%s on compute capability %q: %s, want %s", c.precision, c.capability, got, c.kernel)
				}
				want := c.grouped
				if !grouped || masked {
					want = "flash"
				}
				var x plan.Execution
				tg.Resolve(j, &plan.Layout{ContextParallel: 1, ExpertParallel: 1}, &x)
				if got := x.Attention; got != want {
					t.Errorf("%s on compute capability %q, grouped %v, masked %v: %s, want %s", c.precision, c.capability, grouped, masked, got, want)
				}
			}
		}
	}
}

// TestRules: each layout breaks the rule that it was made for.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name    string
		version string
		job     func(int) *job.Job
		layout  func(*plan.Layout, *plan.Execution)
		breaks  diag.ID
	}{
		{"heads", "0.19.8", tinyLlama, func(l *plan.Layout, _ *plan.Execution) { l.TensorParallel = 4 }, ReasonTensorDivides}, // 2 key-value heads
		{"both", "0.19.8", tinyLlama, func(l *plan.Layout, _ *plan.Execution) { l.TensorParallel, l.ContextParallel = 2, 2 }, ReasonTensorContext},
		{"tp zero3 old", "0.19.3", tinyLlama, func(l *plan.Layout, _ *plan.Execution) { l.TensorParallel, l.ZeroStage = 2, 3 }, ReasonTensorZero3},
		{"clipped by a part", "0.19.8", func(n int) *job.Job {
			j := tinyLlama(n)
			j.Training.Precision, j.Training.Optimizer.Kind, j.Training.Optimizer.GradientClipping = "bf16", "sgd", 1
			return j
		}, func(l *plan.Layout, x *plan.Execution) {
			l.TensorParallel, l.ZeroStage, x.GradientDType = 2, 0, "bf16"
		}, ReasonTensorClipping},
		{"tp moe", "0.19.8", tinyMoE, func(l *plan.Layout, _ *plan.Execution) { l.TensorParallel = 2 }, ReasonTensorModel},
		{"ep zero3 old", "0.19.2", tinyMoE, func(l *plan.Layout, _ *plan.Execution) { l.ExpertParallel, l.ZeroStage = 2, 3 }, ReasonExpertZero3},
		{"ep cp", "0.19.8", tinyMoE, func(l *plan.Layout, _ *plan.Execution) { l.ExpertParallel, l.ContextParallel = 2, 2 }, ReasonExpertCombination},
		{"cp masked", "0.19.8", func(n int) *job.Job {
			j := tinyLlama(n)
			j.Training.Data.DocumentMask = true
			return j
		}, func(l *plan.Layout, _ *plan.Execution) { l.ContextParallel = 2 }, ReasonUlyssesMask},
		{"cp of bf16's own optimizer", "0.19.8", func(n int) *job.Job {
			j := tinyLlama(n)
			j.Training.Precision = "bf16"
			return j
		}, func(l *plan.Layout, x *plan.Execution) {
			l.ContextParallel, l.ZeroStage, x.GradientDType = 2, 1, "fp32"
		}, ReasonUlyssesBF16},
		{"hpz stage 2", "0.19.8", tinyLlama, func(l *plan.Layout, x *plan.Execution) { l.ZeroStage, x.ZeroHPZPartition = 2, 2 }, ReasonHPZ},
		{"lost gradients", "0.18.2", tinyLlama, func(l *plan.Layout, _ *plan.Execution) { l.ZeroStage = 2 }, ReasonZero2Accumulation},
		{"bf16 as fp16", "0.18.2", func(n int) *job.Job {
			j := tinyLlama(n)
			j.Training.Precision = "bf16"
			return j
		}, func(l *plan.Layout, x *plan.Execution) { l.ZeroStage, x.GradientDType = 1, "fp32" }, ReasonBF16AsFP16},
		{"overlap without tp", "0.19.8", tinyLlama, func(_ *plan.Layout, x *plan.Execution) { x.OverlapTensorParallel = true }, ReasonOverlapTensor},
		{"offload stage 0", "0.19.8", tinyLlama, func(l *plan.Layout, x *plan.Execution) { l.ZeroStage, x.OffloadOptimizer = 0, true }, ReasonOffload},
		{"offload parameters", "0.19.8", tinyLlama, func(l *plan.Layout, x *plan.Execution) { l.ZeroStage, x.OffloadParameters = 2, true }, ReasonOffload},
		{"mics new", "0.19.7", tinyLlama, func(l *plan.Layout, _ *plan.Execution) { l.ZeroStage, l.DataParallelReplicate = 3, 2 }, ReasonReplicateShard},
		{"mics stage 2", "0.19.6", tinyLlama, func(l *plan.Layout, _ *plan.Execution) { l.ZeroStage, l.DataParallelReplicate = 2, 2 }, ReasonReplicateShard},
		{"fp32 reduces in bf16", "0.19.8", tinyLlama, func(_ *plan.Layout, x *plan.Execution) { x.GradientDType = "bf16" }, ReasonGradientDType},
		{"pipeline", "0.19.8", tinyLlama, func(l *plan.Layout, _ *plan.Execution) { l.PipelineParallel = 2 }, ReasonPipeline},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := c.job(4)
			j.Backend.Version = c.version
			p := planFor(t, j, func(*plan.Layout) {})
			c.layout(&p.Layout, &p.Execution)
			if l := &p.Layout; l.ZeroStage == 0 {
				l.DataParallelReplicate, l.DataParallelShard = 4, 1
			} else if l.DataParallelReplicate > 1 {
				l.DataParallelShard = 4 / l.DataParallelReplicate
			}
			if ids := broken(t, j, p); !slices.Contains(ids, c.breaks) {
				t.Errorf("breaks %v, want %s among them", ids, c.breaks)
			}
		})
	}
}

// A model of 70B in bf16 is 140 GB: it does not fit half of 256 GB of host
// memory, and half of it does not fit a GPU of 64 GB.
func TestStartRules(t *testing.T) {
	j := tinyLlama(8)
	p := planFor(t, j, func(l *plan.Layout) { l.TensorParallel = 2 })
	j.Training.Precision, j.Cluster.HostMemory, j.Cluster.GPU.Memory = "bf16", 256e9, 64e9
	p.Layout.ZeroStage = 3
	var got []diag.ID
	for _, r := range startRules() {
		if r.Breaks(&target.Facts{Job: j, Layout: &p.Layout, Exec: &p.Execution, GPUs: 8, Parameters: 70e9}) {
			got = append(got, r.ID)
		}
	}
	if !slices.Equal(got, []diag.ID{ReasonHostStart, ReasonGPUStart}) {
		t.Errorf("breaks %v", got)
	}
}

// TestResolveDoesNotAllocate: a search resolves and judges millions of layouts, and none of them
// takes memory.
func TestResolveDoesNotAllocate(t *testing.T) {
	j := tinyLlama(4)
	p := planFor(t, j, func(*plan.Layout) {})
	tg, _ := Backend{}.Target(j)
	f := &target.Facts{Job: j, Layout: &p.Layout, Exec: &p.Execution, GPUs: 4}
	if n := testing.AllocsPerRun(100, func() {
		tg.Resolve(j, &p.Layout, &p.Execution)
		for i := range tg.Rules {
			tg.Rules[i].Breaks(f)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Every layout that the rules let through can be emitted at every release.
func TestLegalLayoutsEmit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		j := tinyLlama(8)
		if rapid.Bool().Draw(rt, "moe") {
			j = tinyMoE(8)
		}
		j.Backend.Version = rapid.SampledFrom(Backend{}.Versions()).Draw(rt, "version")
		j.Training.Precision = rapid.SampledFrom([]string{"bf16", "fp16", "fp32"}).Draw(rt, "precision")
		if find(t, j.Backend.Version).has(hpZ) { // before, Target refuses it
			j.Execution.ZeroHPZPartition = job.Some(rapid.SampledFrom([]int{1, 2, 4}).Draw(rt, "hpz"))
		}
		j.Execution.OffloadOptimizer = job.Some(rapid.Bool().Draw(rt, "offload"))
		degree := func(name string) int { return rapid.SampledFrom([]int{1, 2, 4}).Draw(rt, name) }
		p := planFor(t, j, func(l *plan.Layout) {
			l.TensorParallel, l.ContextParallel, l.ExpertParallel = degree("tp"), min(2, degree("cp")), degree("ep")
			l.ZeroStage = rapid.IntRange(0, 3).Draw(rt, "stage")
		})
		tg, _ := Backend{}.Target(j)
		absent := p.Layout.ContextParallel > 1 && !tg.ContextParallel || p.Layout.ExpertParallel > 1 && !tg.ExpertParallel
		if absent || len(broken(t, j, p)) > 0 {
			return
		}
		files, diags := Backend{}.Emit(j, p)
		if diags.HasErrors() || len(files) < 10 {
			rt.Fatalf("%d files, %v", len(files), diags)
		}
	})
}

// TestExtraArguments: extra arguments are held to the table of options and to what ndc sets itself.
func TestExtraArguments(t *testing.T) {
	for _, c := range []struct {
		argument string
		id       diag.ID
		says     string
	}{
		{"zero_optimization.round_robin_gradient=true", UnknownOption, `Did you mean "zero_optimization.round_robin_gradients"?`},
		{"zero_optimization.round_robin_gradients=yes", UnknownOption, "true or false"},
		{"zero_optimization.offload_optimizer.device=disk", UnknownOption, "none, cpu, nvme"},
		{"zero_optimization.stage=1", PlannedOption, "Set constraints.layout.zero_stage"},
		{"optimizer.type=OneBitAdam", PlannedOption, "Set training.optimizer"},
		{"optimizer.params.lr=1", PlannedOption, "Set training.optimizer.learning_rate"},
		{"zero_optimization.zenflow.topk_ratio=0.1", UnplannedOption, "ZenFlow updates the largest gradients"},
		{"zero_optimization.offload_optimizer.super_offload=true", UnplannedOption, "SuperOffload updates in other processes"},
		{"round_robin", UnknownOption, `no "="`},
	} {
		j := tinyLlama(2)
		j.Backend.ExtraArgs = []string{c.argument}
		_, diags := Backend{}.Target(j)
		if !diags.HasErrors() || diags[0].ID != c.id || !strings.Contains(diags[0].Detail, c.says) {
			t.Errorf("%s: %v", c.argument, diags)
		}
	}
	j := tinyLlama(2)
	j.Backend.ExtraArgs = []string{"zero_optimization.round_robin_gradients=true", "zero_optimization.reduce_bucket_size=1000000", "zero_optimization.max_live_parameters=5", "flops_profiler.enabled=true"}
	want := map[string][]string{
		"ds_config.json": {`"round_robin_gradients": true`, `"reduce_bucket_size": 1000000`, `"stage3_max_live_parameters": 5`},
		"launch.sh":      {"spec: backend.extra_args: zero_optimization.round_robin_gradients=true, in place of false\n", "spec: backend.extra_args: flops_profiler.enabled=true\n"},
	}
	for _, f := range emit(t, j, planFor(t, j, func(l *plan.Layout) { l.ZeroStage = 3 })) {
		for _, w := range want[f.Path] {
			if !strings.Contains(string(f.Content), w) {
				t.Errorf("%s lacks %s:\n%s", f.Path, w, f.Content)
			}
		}
	}
	_, diags := Backend{}.Target(j)
	if len(diags) != 3 || diags[0].ID != UncountedOption || diags[0].Severity != diag.Warning || !strings.Contains(diags[0].Detail, "these buckets") {
		t.Errorf("buckets and a profiler: %v", diags)
	}
	j.Backend.ExtraArgs = []string{"zero_optimization.zero_quantized_weights=true", "zero_optimization.zero_quantized_gradients=true"}
	if _, diags = (Backend{}).Target(j); len(diags) != 2 || diags[0].Severity != diag.Warning || !strings.Contains(diags[1].Detail, "qwZ and qgZ") {
		t.Errorf("quantised communication: %v", diags)
	}
}

// TestTimeout: the job's timeout is the run's.
func TestTimeout(t *testing.T) {
	j := tinyLlama(2)
	j.Training.Timeout.Collective = 45 * 60
	for _, f := range emit(t, j, planFor(t, j, func(*plan.Layout) {})) {
		if f.Path == "environment.sh" && !strings.Contains(string(f.Content), "DEEPSPEED_TIMEOUT=45 # spec: training.timeout.collective") {
			t.Errorf("%s", f.Content)
		}
	}
}

// TestEveryKeyHasAClass: the keys of a new release must be looked at before an
// extra argument may set them.
func TestEveryKeyHasAClass(t *testing.T) {
	known := map[string]bool{}
	for _, v := range versions {
		for _, name := range v.options.Names() {
			option, _ := v.options.Lookup(name)
			if _, ok := extra.Of(option); !ok && !known[name] {
				t.Errorf("%s: no class for %s in options.jsonl", v, name)
			}
			known[name] = true
		}
	}
}

// TestNoDeadEnds: every key that this package writes is set by an argument of
// the job, or may be given in extra_args.
func TestNoDeadEnds(t *testing.T) {
	var source []byte
	for _, file := range []string{"dsconfig.go", "execution.go"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, content...)
	}
	keys := regexp.MustCompile(`c\.(?:set|ifKnown)\("([a-z0-9_.]+)"`).FindAllSubmatch(source, -1)
	for _, m := range keys {
		class, ok := extra.Of(schema.Option{Names: []string{string(m[1])}})
		if !ok || class.Kind != schema.Job && class.Kind != schema.Fixed && !class.Replaces() {
			t.Errorf("%s is %q: neither an argument of the job nor extra_args can set it", m[1], class.Kind)
		}
	}
	if len(keys) < 70 {
		t.Errorf("found only %d keys", len(keys))
	}
}

// A job's text never becomes code: it stands in JSON and in quoted words only.
func TestHostileNames(t *testing.T) {
	j := tinyLlama(2)
	j.Training.Data = job.Data{Format: "tokens", Sources: []job.DataSource{{Name: "x", Path: "/data/$(touch pwned)`;\"'\n", Weight: 1}}, Tokenizer: job.Tokenizer{Kind: "none"}}
	for _, f := range emit(t, j, planFor(t, j, func(*plan.Layout) {})) {
		if strings.Contains(string(f.Content), "pwned") && f.Path != "run.json" {
			t.Errorf("%s holds the path", f.Path)
		}
	}
}

var _ backends.Backend = Backend{}

// TestInsert: a key with dots goes into the object that it names, in the place of an earlier value.
func TestInsert(t *testing.T) {
	var o render.Object
	o = insert(o, []string{"a", "b"}, 1)
	o = insert(o, []string{"c"}, 2)
	o = insert(o, []string{"a", "d"}, 3)
	o = insert(o, []string{"a", "b"}, 4)
	got, _ := render.JSON(o)
	if want := "{\n  \"a\": {\n    \"b\": 4,\n    \"d\": 3\n  },\n  \"c\": 2\n}\n"; string(got) != want {
		t.Errorf("got %s", got)
	}
	if l := leaves(o, ""); !slices.Equal(l, []string{"a.b", "a.d", "c"}) {
		t.Errorf("leaves %v", l)
	}
}

// TestEveryOptionHasARow: what a release has of an option, a row carries out.
func TestEveryOptionHasARow(t *testing.T) {
	for _, v := range versions {
		if silent := v.execution(familyOf(&tinyLlama(1).Model)).Silent(); silent != nil {
			t.Errorf("%s: no rows of %v", v, silent)
		}
	}
}

// TestAlternatives: what keeps a model from an axis is said by releases that have the axis.
func TestAlternatives(t *testing.T) {
	for _, c := range []struct{ version, axis, text string }{
		{"0.18.1", "context_parallel", "Ulysses does not go with"},
		{"0.19.1", "expert_parallel", "AutoEP does not know"},
	} {
		for version, want := range map[string]bool{c.version: false, "0.19.8": true} {
			j := tinyLlama(4)
			j.Backend.Version = version
			tg, diags := Backend{}.Target(j)
			if tg == nil {
				t.Fatal(diags)
			}
			if got := tg.Alternatives(c.axis, nil); strings.Contains(got, c.text) != want {
				t.Errorf("%s, %s: %s", version, c.axis, got)
			}
		}
	}
}
