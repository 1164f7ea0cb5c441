package megatron

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	_ "github.com/ndc-dev/ndc/tools/draws"
)

// TestRules: each edit of a legal launch breaks exactly the rule named.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule    diag.ID
		version string
		edit    func(j *job.Job, l *plan.Layout)
	}{
		{RuleHeads, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Model.Attention.Heads, j.Model.Attention.KVHeads = 36, 36
			l.TensorParallel = 8
		}},
		{RuleKVHeads, "core_v0.15.3", func(j *job.Job, l *plan.Layout) { j.Model.Attention.KVHeads = 4; l.TensorParallel = 8 }},
		{RuleKVHeads, "core_v0.16.0", func(j *job.Job, l *plan.Layout) {
			j.Model.Attention.KVHeads, j.Model.Attention.Heads = 12, 48
			l.TensorParallel = 8
		}},
		{RuleFFN, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Model.FFNHiddenSize = 14337; l.TensorParallel = 2 }},
		{RuleVocab, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Model.PaddedVocabSize = 128257; l.TensorParallel = 2 }},
		{RuleSequenceParallelAlone, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { l.SequenceParallel = true }},
		{RuleSequenceParallelLength, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Model.SequenceLength = 8190
			l.TensorParallel, l.SequenceParallel = 4, true
		}},
		{RuleContextLength, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Model.SequenceLength = 8188; l.ContextParallel = 4 }},
		{RuleContextHeads, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.ContextParallelType = job.Some("ulysses")
			l.TensorParallel, l.ContextParallel = 2, 8
		}},
		{RuleHierarchicalContext, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.ContextParallelType = job.Some("hierarchical")
			l.ContextParallel = 4
		}},
		{RuleContextMask, "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Training.Data.DocumentMask, l.ContextParallel = true, 2 }},
		{RuleContextKernel, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model = gptOSS()
			j.Execution.ContextParallelType = job.Some("ring")
			l.ContextParallel = 2
		}},
		{RuleNoExperts, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { l.ExpertParallel = 2 }},
		{RuleExperts, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Model = mixtral(); l.ExpertParallel = 16 }},
		{RuleExpertMesh, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Model, j.Cluster.Nodes = mixtral(), 1
			l.PipelineParallel, l.ExpertParallel = 2, 8
		}},
		{RuleExpertsNeedSequenceParallel, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Model = mixtral(); l.TensorParallel = 2 }},
		{RuleExpertGradients, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Model = mixtral()
			l.TensorParallel, l.SequenceParallel = 2, true
		}},
		{RuleExpertBias, "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Model = gptOSS(); l.ExpertTensorParallel = 2 }},
		{RuleFlexDispatcher, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Model = mixtral()
			j.Execution.MoEDispatcher = job.Some("deepep")
		}},
		{RuleDeepEP, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Model, j.Cluster.Nodes, j.Cluster.GPUsPerNode = mixtral(), 16, 4
			j.Execution.MoEDispatcher, l.ExpertParallel = job.Some("deepep"), 8
		}},
		{RuleZeroStage, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { l.ZeroStage = 3; j.Execution.FullySharded = job.Some(false) }},
		{RuleReplicate, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Model = mixtral()
			l.ExpertParallel, l.DataParallelReplicate = 8, 16
		}},
		{RuleFullyShardedPipeline, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { l.ZeroStage, l.PipelineParallel = 3, 2 }},
		{RuleFullyShardedStart, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Model, l.ZeroStage = gpt(), 3 }},
		{RuleFullyShardedStart, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model, l.ZeroStage, l.ExpertParallel = deepseek(), 3, 8
			j.Model.MoE.SharedExpertGate = true
		}},
		{RuleFullyShardedAsync, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			l.ZeroStage, j.Training.Checkpoint = 3, job.Checkpoint{Path: "/checkpoints", SaveOptimizer: true, Async: true}
		}},
		{RuleFullyShardedScale, "core_v0.19.2", func(j *job.Job, l *plan.Layout) { l.ZeroStage, j.Training.Precision = 2, "fp16" }},
		{RuleFullyShardedOptimizer, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { l.ZeroStage, j.Training.Optimizer.Kind = 3, "muon" }},
		{RuleParameterGather, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "tensorwise", ParameterGather: true}
			l.ZeroStage = 0
		}},
		{RuleBatchRamp, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Training.BatchRamp = &job.BatchRamp{Start: 32, Increment: 32, Sequences: 8192}
		}},
		{RuleVirtualPipeline, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { l.VirtualPipeline = 2 }},
		{RuleMicroBatchGroup, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Training.GlobalBatchSize = 96
			l.PipelineParallel, l.VirtualPipeline = 4, 2
		}},
		{RuleRecomputeFull, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { l.Recompute = plan.RecomputeFull }},
		{RuleRecomputeMTP, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model.MTP.Layers = 1
			l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "uniform", 2
		}},
		{RuleRecomputeBias, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model.MLPBias, j.Model.Attention.Bias = true, true
			l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleMLP
		}},
		{RuleTiedMTP, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model.MTP.Layers, j.Model.TiedEmbeddings = 1, true
			l.PipelineParallel = 2
		}},
		{RuleRecomputeMTPRelease, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Model.MTP.Layers = 1
			l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "uniform", 1
		}},
		{RuleBF16Layers, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "tensorwise", BF16LastLayers: 5}
			l.PipelineParallel, l.PipelineSchedule = 8, plan.Schedule1F1B
		}},
		{RuleRecomputeModule, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleLatentUp
		}},
		{RuleRecomputeDelayedScaling, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "delayed"}
			l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleNorm
		}},
		{RuleLowPrecisionAlignment, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Training.Precision, j.Training.FP8, j.Model.FFNHiddenSize = "fp8", job.FP8{Recipe: "tensorwise"}, 14344
		}},
		{RuleLowPrecisionAlignment, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { // 512 + 40 columns
			blackwell(j)
			j.Model, j.Training.Precision, l.ExpertParallel = deepseek(), "mxfp8", 8
			j.Model.Attention.MLA.QKRopeHeadDim = 40
		}},
		{RuleLowPrecisionGather, "core_v0.16.1", func(j *job.Job, l *plan.Layout) { // 64 tokens on a rank
			j.Training.Precision, j.Training.FP8, j.Model.SequenceLength = "fp8", job.FP8{Recipe: "blockwise"}, 512
			l.TensorParallel, l.SequenceParallel = 8, true
		}},
		{RuleLowPrecisionGather, "core_v0.19.2", func(j *job.Job, l *plan.Layout) { // 4 tokens
			j.Training.Precision, j.Training.FP8, j.Model.SequenceLength = "fp8", job.FP8{Recipe: "tensorwise"}, 32
			l.TensorParallel, l.SequenceParallel = 8, true
		}},
		{RuleAttention, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Training.Precision, j.Execution.Attention = "fp32", job.Some("flash")
		}},
		{RuleAttention, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Cluster.GPU.ComputeCapability, j.Execution.Attention = "7.0", job.Some("flash")
		}},
		{RuleAttention, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { // a window with dropout
			j.Model.Attention.SlidingWindow.Size, j.Model.Dropout, j.Execution.Attention = 4096, 0.1, job.Some("fused")
		}},
		{RuleAttention, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { // heads of 256 on Blackwell
			blackwell(j)
			j.Model.Attention.HeadDim, j.Execution.Attention = 256, job.Some("fused")
		}},
		{RuleAttention, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { // latent heads of 192 and 128 on Blackwell
			blackwell(j)
			j.Model, j.Execution.Attention, l.ExpertParallel = deepseek(), job.Some("flash"), 8
		}},
		{RuleAttention, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { // heads of 320
			j.Model.Attention.HeadDim, j.Execution.Attention = 320, job.Some("flash")
		}},
		{RuleOverlapGather, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.OverlapGradientReduce, j.Execution.OverlapParameterGather = job.Some(false), job.Some(true)
		}},
		{RuleOverlapOptimizer, "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Execution.OverlapOptimizerGather = job.Some(true) }},
		{RuleOverlapOptimizer, "core_v0.15.0", func(j *job.Job, l *plan.Layout) {
			j.Execution.OverlapOptimizerGather, j.Training.Checkpoint.Path = job.Some(true), "/c"
			l.PipelineParallel, l.VirtualPipeline, l.PipelineSchedule = 2, 2, plan.ScheduleInterleaved1F1B
		}},
		{RuleOverlapOptimizerExperts, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model, j.Training.Checkpoint, j.Execution.OverlapOptimizerGather = mixtral(), job.Checkpoint{}, job.Some(true)
			l.PipelineParallel, l.VirtualPipeline, l.PipelineSchedule = 2, 2, plan.ScheduleInterleaved1F1B
		}},
		{RuleOverlapTensor, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Execution.OverlapTensorParallel = job.Some(true) }},
		{RuleOverlapTensor, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.OverlapTensorParallel = job.Some(true)
			j.Training.Precision, j.Training.FP8.Recipe = "fp8", "blockwise"
			l.TensorParallel, l.SequenceParallel = 2, true
			l.DataParallelShard /= 2
		}},
		{RuleOverlapExpert, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Model, j.Execution.OverlapExpertParallel = mixtral(), job.Some(true)
			l.ExpertParallel, l.PipelineParallel = 8, 2
		}},
		{RuleOverlapExpert, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model, j.Execution.OverlapExpertParallel, j.Training.Data.DocumentMask = mixtral(), job.Some(true), true
			l.ExpertParallel = 8
		}},
		{RulePipelineMask, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Training.Data.DocumentMask, l.PipelineParallel, l.MicroBatchSize = true, 2, 2
			l.DataParallelShard /= 2
		}},
		{RuleOptimizerOffload, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.OffloadOptimizer = job.Some(true)
			l.ZeroStage = 0
		}},
		{RuleAsyncOffload, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.OffloadOptimizer, j.Training.Checkpoint.Async = job.Some(true), true
			l.ZeroStage = 1
		}},
		{RuleActivationOffload, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.OffloadActivations = job.Some(true)
			l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "uniform", 1
		}},
		{RuleReshard, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.ReshardAfterForward, j.Constraints.Layout.ZeroStage.Values = job.Some(true), []int{1, 3}
		}},
		{RuleStateDType, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.OptimizerStateDType = job.Some("bf16")
			l.ZeroStage = 0
		}},
		{RuleShardBuffers, "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Execution.ShardBuffers = job.Some("double") }},
		{RuleSGD, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Training.Optimizer.Kind, j.Training.Checkpoint.SaveOptimizer = "sgd", false
		}},
		{RuleFP32Checkpoint, "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Training.Precision = "fp32" }},
		{RuleFP32Checkpoint, "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Training.Precision, l.ZeroStage, l.PipelineParallel = "fp32", 3, 1 }},
		{RuleCUDAGraphs, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.CUDAGraphs = job.Some("full")
			j.Training.BatchRamp = &job.BatchRamp{Start: 64, Increment: 64, Sequences: 8192}
		}},
		{RuleCUDAGraphs, "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.CUDAGraphs, l.PipelineParallel = job.Some("layer"), 4
			j.Training.BatchRamp = &job.BatchRamp{Start: 64, Increment: 64, Sequences: 8192}
		}},
		{RuleCUDAGraphs, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.CUDAGraphs, j.Training.Data.DocumentMask = job.Some("layer"), true
		}},
		{RuleCUDAGraphs, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.CUDAGraphs, j.Training.Data.DocumentMask = job.Some("full"), true
		}},
		{RuleCUDAGraphs, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.CUDAGraphs, j.Training.Precision = job.Some("layer"), "fp16"
		}},
		{RuleCUDAGraphs, "core_v0.15.3", func(j *job.Job, l *plan.Layout) {
			j.Execution.CUDAGraphs = job.Some("attention")
			l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleCoreAttention
		}},
		{RuleCUDAGraphs, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model, j.Execution.CUDAGraphs = mixtral(), job.Some("moe_router")
			l.ExpertParallel, l.Recompute, l.RecomputeModules = 8, plan.RecomputeSelective, plan.ModuleMoE
		}},
		{RuleCUDAGraphs, "core_v0.17.1", func(j *job.Job, l *plan.Layout) {
			j.Model, j.Execution.CUDAGraphs = mixtral(), job.Some("full")
			j.Model.MoE.TokenDrop, j.Model.MoE.CapacityFactor, l.ExpertParallel = true, 1.25, 8
		}},
		{RuleGraphModules, "core_v0.15.3", func(j *job.Job, l *plan.Layout) { j.Execution.CUDAGraphs = job.Some("mlp") }},
		{RuleGraphModules, "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Execution.CUDAGraphs = job.Some("moe_router") }},
		{RuleGraphModules, "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Execution.CUDAGraphs = job.Some("attention+mamba") }},
		{RuleGraphModules, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model, l.ExpertParallel = mixtral(), 8
			j.Execution.CUDAGraphs = job.Some("moe_preprocess")
		}},
		{RuleGraphModules, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model, l.ExpertParallel = mixtral(), 8
			j.Execution.CUDAGraphs = job.Some("mlp")
		}},
		{RuleGraphModules, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model, l.ExpertParallel = mixtral(), 8
			j.Execution.CUDAGraphs = job.Some("moe")
		}},
		{RuleGraphModules, "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model, l.ExpertParallel = mixtral(), 8
			j.Execution.CUDAGraphs = job.Some("moe_router+moe_preprocess")
			j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "tensorwise"}
		}},
		{RuleParameterGather, "core_v0.17.1", func(j *job.Job, l *plan.Layout) {
			j.Training.Optimizer.Kind, j.Training.Precision = "muon", "fp8"
			j.Training.FP8 = job.FP8{Recipe: "delayed", ParameterGather: true}
		}},
		{RuleMuon, "core_v0.16.1", func(j *job.Job, l *plan.Layout) { j.Training.Optimizer.Kind = "muon" }},
	} {
		t.Run(string(c.rule), func(t *testing.T) {
			j, l := baseJob(c.version), base()
			c.edit(j, &l)
			p := finish(j, l)
			tg, diags := Backend{}.Target(j)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if got := broken(tg, j, p); got != string(c.rule) {
				t.Errorf("breaks %q", got)
			}
		})
	}
}

// TestRulesHaveNames: a rule is known by its id, which has one reason.
func TestRulesHaveNames(t *testing.T) {
	for _, version := range (Backend{}).Versions() {
		tg, _ := Backend{}.Target(baseJob(version))
		seen := map[diag.ID]string{}
		for _, r := range tg.Rules {
			if other, ok := seen[r.ID]; ok {
				t.Errorf("%s: %s: %q and %q", version, r.ID, other, r.Reason)
			}
			seen[r.ID] = r.Reason
		}
	}
}

// TestMuonOfMeshes: the rule of muon is asked once of a mesh where it looks at nothing else. Before
// core_v0.17.0 it looks at an option of execution, too.
func TestMuonOfMeshes(t *testing.T) {
	for version, mesh := range map[string]bool{"core_v0.16.1": false, "core_v0.17.1": true, "core_v0.19.2": true} {
		tg, _ := Backend{}.Target(baseJob(version))
		i := slices.IndexFunc(tg.Rules, func(r target.Rule) bool { return r.ID == RuleMuon })
		if i < 0 || tg.Rules[i].Mesh != mesh {
			t.Errorf("%s: rule %d of its rules, and not %v of meshes", version, i, mesh)
		}
	}
}

// TestRulesDoNotAllocate: the search asks them for every layout.
func TestRulesDoNotAllocate(t *testing.T) {
	for _, c := range launches() {
		tg, _ := Backend{}.Target(c.job)
		f := &target.Facts{Job: c.job, Layout: &c.plan.Layout, Exec: &c.plan.Execution, GPUs: c.job.Cluster.GPUs()}
		if n := testing.AllocsPerRun(1, func() {
			for i := range tg.Rules {
				tg.Rules[i].Breaks(f)
			}
			tg.Resolve(c.job, f.Layout, f.Exec)
			tg.PaddedVocab(&c.job.Model, f.Exec.LossChunks)
		}); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

// TestDiagnostics: what a release cannot do is said with what can.
func TestDiagnostics(t *testing.T) {
	for _, c := range []struct {
		name, version string
		edit          func(j *job.Job)
		id            diag.ID
		want          string
	}{
		{"version", "core-0.19.2", func(j *job.Job) {}, UnknownVersion, `Did you mean "core_v0.19.2"?`},
		{"gpt_oss", "core_v0.18.2", func(j *job.Job) { j.Model = gptOSS() }, UnsupportedModel, "Megatron-LM from core_v0.19.0 on, TorchTitan"},
		{"softcap", "core_v0.19.2", func(j *job.Job) { j.Model.FinalSoftcap = 30 }, UnsupportedModel, `DeepSpeed has it for architecture "gemma2"`},
		{"alibi", "core_v0.19.2", func(j *job.Job) { j.Model.PositionEmbedding = job.PositionEmbedding{Kind: "alibi"} }, UnsupportedModel, "ALiBi"},
		{"queries without a low rank", "core_v0.19.2", func(j *job.Job) { j.Model = deepseek(); j.Model.Attention.MLA.QLoraRank = 0 }, UnsupportedModel, "a second time"},
		{"prediction with YaRN", "core_v0.19.2", func(j *job.Job) { j.Model = gptOSS(); j.Model.MTP.Layers = 1 }, UnsupportedModel, "multi-token prediction with YaRN"},
		{"prediction with learned positions", "core_v0.19.2", func(j *job.Job) {
			j.Model.MTP.Layers, j.Model.PositionEmbedding = 1, job.PositionEmbedding{Kind: "learned"}
		}, UnsupportedModel, "multi-token prediction with learned positions"},
		{"queued again without the optimizer", "core_v0.19.2", func(j *job.Job) { j.Training.Checkpoint.SaveOptimizer, j.Slurm.Requeue = false, job.Some(true) }, UnsupportedCheckpoint, "Set save_optimizer = true"},
		{"bias", "core_v0.19.2", func(j *job.Job) { j.Model.Attention.Bias = true }, UnsupportedModel, "--disable-bias-linear"},
		{"biases of queries and of the MLP", "core_v0.19.2", func(j *job.Job) {
			j.Model.Attention.QKVBias, j.Model.Attention.Bias, j.Model.MLPBias = true, true, false
		}, UnsupportedModel, "--disable-bias-linear"},
		{"llama3 factor", "core_v0.19.2", func(j *job.Job) {
			j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "llama3", Factor: 32, OriginalLength: 8192, LowFrequencyFactor: 1, HighFrequencyFactor: 4}
		}, UnsupportedModel, "factor of 8"},
		{"llama3 scaling of latent attention", "core_v0.19.2", func(j *job.Job) {
			j.Model = deepseek()
			j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "llama3", Factor: 8, OriginalLength: 8192, LowFrequencyFactor: 1, HighFrequencyFactor: 4}
		}, UnsupportedModel, "without --use-rope-scaling"},
		{"a share of a latent head", "core_v0.19.2", func(j *job.Job) { j.Model = deepseek(); j.Model.PositionEmbedding.Partial = 0.5 }, UnsupportedModel, "qk_rope_head_dim"},
		{"latent attention without positions", "core_v0.19.2", func(j *job.Job) {
			j.Model = deepseek()
			j.Model.PositionEmbedding = job.PositionEmbedding{Kind: "none"}
		}, UnsupportedModel, "Latent attention rotates its heads"},
		{"learned positions of latent attention", "core_v0.15.0", func(j *job.Job) {
			j.Model = deepseek()
			j.Model.MTP.Layers, j.Model.PositionEmbedding = 0, job.PositionEmbedding{Kind: "learned"}
		}, UnsupportedModel, "Latent attention rotates its heads"},
		{"shared experts with biases", "core_v0.15.0", func(j *job.Job) {
			j.Model = deepseek()
			j.Model.Attention.Bias, j.Model.MLPBias, j.Model.MoE.Router.Bias = true, true, true
		}, UnsupportedModel, "Shared experts are not built with biases"},
		{"a softmax scale of latent attention", "core_v0.19.2", func(j *job.Job) { j.Model = deepseek(); j.Model.Attention.Scale = 0.1 }, UnsupportedModel, "model.attention_scale"},
		{"experts in fp16", "core_v0.15.3", func(j *job.Job) { j.Model, j.Training.Precision = mixtral(), "fp16" }, UnsupportedPrecision, "core_v0.16.0"},
		{"experts in nvfp4", "core_v0.15.3", func(j *job.Job) {
			j.Model, j.Training.Precision, j.Cluster.GPU.ComputeCapability = mixtral(), "nvfp4", "10.0"
		}, UnsupportedPrecision, "pads the rows"},
		{"mxfp8 on Hopper", "core_v0.19.2", func(j *job.Job) { j.Training.Precision = "mxfp8" }, UnsupportedPrecision, "compute capability 10.0"},
		{"muon", "core_v0.15.3", func(j *job.Job) { j.Training.Optimizer.Kind = "muon" }, UnsupportedOptimizer, "from core_v0.16.0 on"},
		{"L2 decay", "core_v0.19.2", func(j *job.Job) { j.Training.Optimizer.Kind = "adam" }, UnsupportedOptimizer, "adamw"},
		{"room for more tokens than there are", "core_v0.19.2", func(j *job.Job) {
			j.Model = mixtral()
			j.Model.MoE.TokenDrop, j.Model.MoE.CapacityFactor = true, 4.5
		}, UnsupportedModel, "With top_k = 2 of 8 experts, capacity_factor = 4 drops"},
		{"one expert, of weight one", "core_v0.19.2", func(j *job.Job) { j.Model = mixtral(); j.Model.MoE.TopK = 1 }, UnsupportedModel, "pre_softmax = true and normalize = false"},
		{"one expert of sigmoid scores, of weight one", "core_v0.19.2", func(j *job.Job) {
			j.Model = mixtral()
			j.Model.MoE.TopK, j.Model.MoE.Router.Score, j.Model.MoE.Router.Normalize = 1, "sigmoid", true
		}, UnsupportedModel, "Set normalize = false"},
		{"no seed", "core_v0.15.3", func(j *job.Job) { j.Training.Seed = 0 }, UnsupportedSeed, "from 1 on"},
		{"loss chunks", "core_v0.19.2", func(j *job.Job) { j.Execution.LossChunks = job.Some(8) }, UnsupportedExecution, "TorchTitan 0.3.0 and DeepSpeed have it"},
		{"gradients without Megatron-FSDP", "core_v0.19.2", func(j *job.Job) {
			j.Execution.FullySharded, j.Constraints.Layout.ZeroStage.Values = job.Some(false), []int{2}
		}, UnsupportedExecution, "Remove fully_sharded, or set zero_stage to 0 or 1"},
		{"Megatron-FSDP without shards", "core_v0.19.2", func(j *job.Job) {
			j.Execution.FullySharded, j.Constraints.Layout.ZeroStage.Values = job.Some(true), []int{0}
		}, UnsupportedExecution, "Set zero_stage = 1, 2 or 3"},
		{"sharp before its group", "core_v0.19.2", func(j *job.Job) { j.Execution.SHARP = job.Some("data_parallel") }, UnsupportedExecution, "up to core_v0.18.2"},
		{"reshard", "core_v0.19.2", func(j *job.Job) { j.Execution.ReshardAfterForward = job.Some(true) }, UnsupportedExecution, "zero_stage = 3"},
		{"hybridep", "core_v0.15.3", func(j *job.Job) {
			j.Model, j.Execution.MoEDispatcher = mixtral(), job.Some("hybridep")
		}, UnsupportedExecution, "from core_v0.16.0 on"},
		{"module", "core_v0.19.2", func(j *job.Job) { j.Constraints.Layout.RecomputeModules = []string{"op"} }, UnknownRecomputeModule, `it knows no module "op"`},
		{"jsonl", "core_v0.19.2", func(j *job.Job) { j.Training.Data = job.Data{Format: "jsonl"} }, UnsupportedData, "tools/preprocess_data.py"},
		{"end of documents", "core_v0.18.2", func(j *job.Job) {
			j.Training.Data.Tokenizer = job.Tokenizer{Kind: "huggingface", Path: "/t", EndOfDocumentID: job.Some(2)}
		}, UnsupportedData, "TorchTitan and DeepSpeed have it"},
		{"blocks on Ada", "core_v0.19.2", func(j *job.Job) {
			j.Cluster.GPU.Name, j.Cluster.GPU.ComputeCapability, j.Training.Precision, j.Training.FP8.Recipe = "l40s", "8.9", "fp8", "blockwise"
		}, UnsupportedPrecision, "The fp8 recipe blockwise needs compute capability 9.0 or newer; l40s has 8.9. Use tensorwise"},
		{"rowwise scaling", "core_v0.19.2", func(j *job.Job) { j.Training.Precision, j.Training.FP8.Recipe = "fp8", "rowwise" }, UnsupportedPrecision, "TorchTitan has it"},
		{"split beside a path for validation", "core_v0.19.2", func(j *job.Job) {
			j.Training.Data = job.Data{Format: "megatron", Split: "90,9,1", Validation: &job.Validation{Path: "/v", Interval: 1, Steps: 1}}
		}, UnsupportedData, "Remove split"},
		{"document mask", "core_v0.18.2", func(j *job.Job) { j.Training.Data.DocumentMask = true }, UnsupportedData, "from core_v0.19.0 on"},
		{"hugging face", "core_v0.19.2", func(j *job.Job) { j.Training.Start.From = "huggingface" }, UnsupportedStart, "Megatron-Bridge"},
		{"partial reset", "core_v0.19.2", func(j *job.Job) { j.Training.Start = job.Start{From: "checkpoint", Path: "/c", ResetData: true} }, UnsupportedStart, "must be alike"},
		{"momentum of sgd", "core_v0.19.2", func(j *job.Job) { j.Training.Optimizer.Kind = "sgd" }, UnsupportedCheckpoint, "Set save_optimizer = false"},
		{"momentum of sgd that a chain would load", "core_v0.19.2", func(j *job.Job) {
			j.Training.Optimizer.Kind, j.Slurm.Chain.UntilDone = "sgd", true
		}, UnsupportedCheckpoint, "Take adamw, or submit once"},
		{"weights of sgd, from which no chain goes on", "core_v0.19.2", func(j *job.Job) {
			j.Training.Optimizer.Kind, j.Training.Checkpoint.SaveOptimizer, j.Slurm.Chain.Count = "sgd", false, 2
		}, UnsupportedCheckpoint, "Take adamw, or submit once"},
		{"weights, from which no chain goes on", "core_v0.19.2", func(j *job.Job) {
			j.Training.Checkpoint.SaveOptimizer, j.Slurm.Chain.Count = false, 2
		}, UnsupportedCheckpoint, "Set save_optimizer = true"},
		{"momentum of sgd to start from", "core_v0.19.2", func(j *job.Job) {
			j.Training.Optimizer.Kind, j.Training.Checkpoint = "sgd", job.Checkpoint{}
			j.Training.Start = job.Start{From: "checkpoint", Path: "/c"}
		}, UnsupportedStart, "cannot load the momentum"},
		{"keep last", "core_v0.19.2", func(j *job.Job) { j.Training.Checkpoint.KeepLast = 3 }, UnsupportedCheckpoint, "set keep_last = 1"},
		{"extra typo", "core_v0.19.2", func(j *job.Job) { j.Backend.ExtraArgs = []string{"--log-params-nrom"} }, InvalidExtraArgument, `Did you mean "--log-params-norm"?`},
		{"extra newer", "core_v0.15.3", func(j *job.Job) { j.Backend.ExtraArgs = []string{"--use-mup"} }, InvalidExtraArgument, "core_v0.17.0 has it"},
		{"extra value", "core_v0.19.2", func(j *job.Job) { j.Backend.ExtraArgs = []string{"--log-interval", "often"} }, InvalidExtraArgument, "whole number"},
		{"extra stray", "core_v0.19.2", func(j *job.Job) { j.Backend.ExtraArgs = []string{"5"} }, InvalidExtraArgument, "before any option"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := baseJob(c.version)
			c.edit(j)
			_, diags := Backend{}.Target(j)
			expect(t, diags, c.id, c.want)
		})
	}
}

// TestAlternatives: of what models with a layer pattern lack it is not said that the release
// has it, nor a framework that cannot build them.
func TestAlternatives(t *testing.T) {
	for _, c := range []struct {
		version, axis, value string
		model                func() job.Model
		want                 string
	}{
		{"core_v0.19.2", "context_parallel", "2", llama, "Megatron-LM, TorchTitan"},
		{"core_v0.19.2", "context_parallel", "2", nemotronH, "ndc does not plan it for models with a layer pattern"},
		{"core_v0.17.1", "recompute", "full", llama, "Megatron-LM, TorchTitan"},
		{"core_v0.17.1", "recompute", "full", nemotronH, "Megatron-LM does from core_v0.18.0 on"},
	} {
		j := baseJob(c.version)
		j.Model = c.model()
		target, diags := Backend{}.Target(j)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := target.Alternatives(c.axis, []string{c.value}); !strings.Contains(got, c.want) {
			t.Errorf("%s, %s of %s: %s", c.version, c.axis, j.Model.Name, got)
		}
	}
}

// TestEmitDiagnostics: what only the plan shows to be wrong.
func TestEmitDiagnostics(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(j *job.Job, l *plan.Layout)
		id   diag.ID
		want string
	}{
		{"repeated", func(j *job.Job, l *plan.Layout) { j.Backend.ExtraArgs = []string{"--micro-batch-size=4"} }, RepeatedExtraArgument, "--micro-batch-size"},
		{"left out on purpose", func(j *job.Job, l *plan.Layout) { j.Backend.ExtraArgs = []string{"--tp-comm-overlap"} }, RepeatedExtraArgument, "--tp-comm-overlap"},
		{"opposite", func(j *job.Job, l *plan.Layout) {
			j.Backend.ExtraArgs = []string{"--log-progress", "--sequence-parallel"}
		}, RepeatedExtraArgument, "--sequence-parallel"},
		{"connections", func(j *job.Job, l *plan.Layout) {
			l.TensorParallel = 2
			j.Backend.Environment = []job.Variable{{Name: "CUDA_DEVICE_MAX_CONNECTIONS", Value: "8"}}
		}, ContradictingEnvironment, "this layout needs 1"},
		{"connections of FSDP", func(j *job.Job, l *plan.Layout) {
			l.ZeroStage = 3
			j.Slurm.Environment = []job.Variable{{Name: "CUDA_DEVICE_MAX_CONNECTIONS", Value: "1"}}
		}, ContradictingEnvironment, "refuses 1"},
		{"attention", func(j *job.Job, l *plan.Layout) {
			j.Cluster.Network.Environment = []job.Variable{{Name: "NVTE_FLASH_ATTN", Value: "1"}}
		}, ContradictingEnvironment, "--attention-backend fused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, l := baseJob("core_v0.19.2"), base()
			c.edit(j, &l)
			artifacts, diags := Backend{}.Emit(j, finish(j, l))
			expect(t, diags, c.id, c.want)
			if artifacts != nil {
				t.Error("files beside errors")
			}
		})
	}
}

// expect demands exactly one error, with this id and this text.
func expect(t *testing.T, diags diag.List, id diag.ID, want string) {
	t.Helper()
	var errors []diag.Diagnostic
	for _, d := range diags {
		if d.Severity == diag.Error {
			errors = append(errors, d)
		}
	}
	if len(errors) == 0 || errors[0].ID != id || !strings.Contains(errors[0].Detail, want) {
		t.Errorf("got %v, want %s with %q", errors, id, want)
	}
}

// TestNeedsPackage: what Megatron-LM imports only for this job is warned of.
func TestNeedsPackage(t *testing.T) {
	j := baseJob("core_v0.19.2")
	j.Training.Logging.Stragglers = true
	_, diags := Backend{}.Target(j)
	if !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Warning && d.ID == NeedsPackage && strings.Contains(d.Detail, "nvidia-ml-py")
	}) {
		t.Errorf("got %v, want a warning of nvidia-ml-py", diags)
	}
}

// TestGroupScores: groups of experts that are scored as nowhere else are warned of.
func TestGroupScores(t *testing.T) {
	for _, c := range []struct {
		topK, groups, groupTopK int
		warned                  bool
	}{{8, 8, 4, false}, {6, 8, 3, false}, {8, 8, 2, true}, {4, 8, 4, true}, {8, 8, 8, false}, {8, 1, 1, false}, {8, 0, 0, false}, {8, 8, 3, false}} {
		j := baseJob("core_v0.19.2")
		j.Model = deepseek()
		j.Model.MoE.TopK, j.Model.MoE.Router.Groups, j.Model.MoE.Router.GroupTopK = c.topK, c.groups, c.groupTopK
		_, diags := Backend{}.Target(j)
		if warned := slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Warning && d.ID == ApproximatedModel }); warned != c.warned {
			t.Errorf("top_k %d, %d of %d groups: warned %t, want %t: %v", c.topK, c.groupTopK, c.groups, warned, c.warned, diags)
		}
	}
}

// TestExtraArguments: legal ones reach the script as written, each on a line.
func TestExtraArguments(t *testing.T) {
	j := baseJob("core_v0.18.2")
	j.Backend.ExtraArgs = []string{"--log-params-norm", "--tensorboard-queue-size=5", "--timing-log-option", "max"}
	artifacts, diags := Backend{}.Emit(j, finish(j, base()))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	for _, f := range artifacts {
		if f.Path != "launch.sh" {
			continue
		}
		for _, want := range []string{"\n  --log-params-norm #", "\n  '--tensorboard-queue-size=5' #", "\n  --timing-log-option max #"} {
			if !strings.Contains(string(f.Content), want) {
				t.Errorf("no %q", want)
			}
		}
	}
}

// TestLayoutString expands the string again and finds the stages in it.
func TestLayoutString(t *testing.T) {
	for want, stages := range map[string][]int{
		"Et*3|(t*4|)*14t*2mL": {3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2},
		"Et|t*2|tmL":          {1, 2, 1},
		"E|t*8|mL":            {0, 8, 0},
	} {
		if got := layoutString(stages, 1); got != want {
			t.Errorf("%v: %s, want %s", stages, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		stages := rapid.SliceOfN(rapid.IntRange(0, 5), 2, 32).Draw(t, "stages")
		mtp := rapid.IntRange(0, 2).Draw(t, "mtp")
		flat := expand(layoutString(stages, mtp))
		parts := strings.Split(flat, "|")
		if len(parts) != len(stages) || flat[0] != 'E' || flat[len(flat)-1] != 'L' || strings.Count(flat, "m") != mtp {
			t.Fatalf("%v: %s", stages, flat)
		}
		for i, n := range stages {
			if strings.Count(parts[i], "t") != n {
				t.Fatalf("%v: stage %d of %s", stages, i, flat)
			}
		}
	})
}

// expand unfolds x*n and (x|)*n.
func expand(s string) string {
	var out, group strings.Builder
	for i := 0; i < len(s); i++ {
		unit := string(s[i])
		if s[i] == '(' {
			end := strings.IndexByte(s[i:], ')')
			group.Reset()
			group.WriteString(expand(s[i+1 : i+end]))
			unit = group.String()
			i += end
		}
		n := 1
		if i+1 < len(s) && s[i+1] == '*' {
			n = 0
			for i += 2; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
				n = 10*n + int(s[i]-'0')
			}
			i--
		}
		out.WriteString(strings.Repeat(unit, n))
	}
	return out.String()
}

// TestTables: the tables of all releases are there, with the number of options
// counted when they were dumped from the tags.
func TestTables(t *testing.T) {
	want := map[string]int{"core_v0.15.0": 575, "core_v0.16.0": 680, "core_v0.17.0": 731, "core_v0.18.0": 785, "core_v0.19.0": 845}
	tables := map[string]*schema.Table{}
	for i := range versions {
		tables[versions[i].table] = versions[i].options
	}
	for name, n := range want {
		if got := tables[name].Len(); got != n {
			t.Errorf("%s: %d names of options, want %d", name, got, n)
		}
	}
	if !tables["core_v0.17.1"].Has("--verify-integrity") || tables["core_v0.17.0"].Has("--verify-integrity") {
		t.Error("core_v0.17.1 added --verify-integrity")
	}
}

// TestSamplesAfter: 64 → 256 by 64 over 8,192 sequences: 8,192/3 = 2,730.7
// sequences for each of 64, 128 and 192, so 43 steps of 64 reach 2,752, 22 of
// 128 reach 5,568 and 14 of 192 reach 8,256.
func TestSamplesAfter(t *testing.T) {
	training := &job.Training{GlobalBatchSize: 256, BatchRamp: &job.BatchRamp{Start: 64, Increment: 64, Sequences: 8192}}
	for steps, want := range map[int]int64{0: 0, 1: 64, 43: 2752, 44: 2880, 65: 5568, 79: 8256, 80: 8512} {
		if got := samplesAfter(training, steps); got != want {
			t.Errorf("%d steps: %d sequences, want %d", steps, got, want)
		}
	}
}

// TestUniformGroups: uniform recompute takes single layers unless the job names
// the size of its groups.
func TestUniformGroups(t *testing.T) {
	j := &job.Job{Model: job.Model{Layers: 8}}
	for _, c := range []struct {
		choice job.IntChoice
		want   []int
	}{
		{job.IntChoice{}, []int{1}},
		{job.IntChoice{Values: []int{4}}, []int{4}},
		{job.IntChoice{Ranged: true, Min: 7}, []int{7, 8}},
	} {
		j.Constraints.Layout.RecomputeLayers = c.choice
		if got := groups(j); !slices.Equal(got, c.want) {
			t.Errorf("%+v makes groups of %v, want %v", c.choice, got, c.want)
		}
	}
}

// TestZeroStages: Megatron-FSDP is offered to whoever asks for it, and to
// nobody else.
func TestZeroStages(t *testing.T) {
	for _, c := range []struct {
		asked job.IntChoice
		fsdp  job.Optional[bool]
		want  []int
	}{
		{job.IntChoice{}, job.Optional[bool]{}, []int{0, 1}},
		{job.IntChoice{Values: []int{0}}, job.Optional[bool]{}, []int{0, 1}},
		{job.IntChoice{Values: []int{1, 3}}, job.Optional[bool]{}, []int{0, 1, 3}},
		{job.IntChoice{Ranged: true, Max: 3, Not: []int{0}}, job.Optional[bool]{}, []int{0, 1}},
		{job.IntChoice{Ranged: true, Max: 3, Not: []int{3}}, job.Optional[bool]{}, []int{0, 1}},
		{job.IntChoice{Ranged: true, Max: 3, Not: []int{0, 1}}, job.Optional[bool]{}, []int{0, 1, 2, 3}},
		{job.IntChoice{Ranged: true, Min: 1, Max: 3, Not: []int{2}}, job.Optional[bool]{}, []int{0, 1, 3}},
		{job.IntChoice{Values: []int{3}}, job.Some(false), []int{0, 1}},
		{job.IntChoice{}, job.Some(true), []int{1, 2, 3}},
	} {
		j := &job.Job{}
		j.Constraints.Layout.ZeroStage, j.Execution.FullySharded = c.asked, c.fsdp
		if got := zeroStages(j); !slices.Equal(got, c.want) {
			t.Errorf("zero_stage %v, fully_sharded %v: %v, want %v", c.asked, c.fsdp, got, c.want)
		}
	}
}

// TestEveryOptionHasARow: what a release has of an option, a row carries out, and
// a release has the flag of a switch where the capability table says that it has
// the switch.
func TestEveryOptionHasARow(t *testing.T) {
	for i := range versions {
		v := &versions[i]
		table := v.execution()
		if silent := table.Silent(); silent != nil {
			t.Errorf("%s: no rows of %v", v.name, silent)
		}
		for _, r := range table.Rows {
			if flag := r.Becomes.flag; flag != "" && !v.options.Has(flag) {
				t.Errorf("%s has no %s for %s", v.name, flag, r.Option)
			}
		}
	}
}

// TestAskedOfTransformerEngine: what a job asks for in the words of Transformer
// Engine is counted where the kernels for it are.
func TestAskedOfTransformerEngine(t *testing.T) {
	set := func(name, value string) job.Variable { return job.Variable{Name: name, Value: value} }
	kernel := []job.Variable{set("NVTE_CUTEDSL_FUSED_GROUPED_MLP", "1")}
	attention := []job.Variable{set("NVTE_DPA_FP8_RECIPE", "Float8CurrentScaling"), set("NVTE_DPA_FP8_RECIPE_DPA", "1")}
	for _, c := range []struct {
		name, precision, capability string
		extra                       []string
		environment                 []job.Variable
		fused, attention            bool
	}{
		{"fused experts", "mxfp8", "10.0", []string{opFuser}, kernel, true, false},
		{"nobody asked for the kernel", "mxfp8", "10.0", []string{opFuser}, nil, false, false},
		{"nobody asked for the op fuser", "mxfp8", "10.0", nil, kernel, false, false},
		{"16 bits", "bf16", "10.0", []string{opFuser}, kernel, false, false},
		{"Hopper", "fp8", "9.0", []string{opFuser}, kernel, false, false},
		{"attention", "fp8", "9.0", nil, attention, false, true},
		{"attention in 16 bits", "fp8", "9.0", nil, append([]job.Variable{set("NVTE_DPA_FP8_RECIPE", "F16")}, attention[1]), false, false},
		{"attention of 16-bit GEMMs", "bf16", "9.0", nil, attention, false, false},
	} {
		j := baseJob("core_v0.19.2")
		j.Model.MoE = &job.MoE{Experts: 8, TopK: 2, ExpertFFNHiddenSize: 4096}
		j.Backend.ExtraArgs, j.Backend.Environment = c.extra, c.environment
		j.Training.Precision, j.Cluster.GPU.ComputeCapability = c.precision, c.capability
		if fused, low := fusesExperts(j), lowPrecisionAttention(j); fused != c.fused || low != c.attention {
			t.Errorf("%s: fused experts %v, 8-bit attention %v", c.name, fused, low)
		}
		v, _ := release(j)
		var diags diag.List
		checkExtraArguments(v, j, &diags)
		if warned := len(diags) > 0; warned != (len(c.extra) > 0 && !c.fused) {
			t.Errorf("%s: %v", c.name, diags)
		}
	}
}

// TestRecipePlace: what is wrong with a recipe is said at the recipe.
func TestRecipePlace(t *testing.T) {
	at := diag.Range{Filename: "job.hcl", Start: diag.Position{Line: 9, Column: 16}, End: diag.Position{Line: 9, Column: 25}}
	for _, recipe := range []string{"rowwise", "delayed"} {
		j := baseJob("core_v0.18.2")
		j.Training.Precision, j.Training.FP8.Recipe, j.Training.FP8.BF16FirstLayers = "fp8", recipe, 1
		j.Sources = job.Sources{"training.fp8.recipe": {Range: at}}
		_, diags := Backend{}.Target(j)
		if len(diags) != 1 || diags[0].Range != at {
			t.Errorf("%s: %v", recipe, diags)
		}
	}
}
