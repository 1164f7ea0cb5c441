package torchtitan

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// broken lists the rules that a layout breaks.
func broken(t *testing.T, j *job.Job, l plan.Layout, change func(*plan.Execution)) []diag.ID {
	t.Helper()
	tg, diags := Backend{}.Target(j)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	x := tg.Resolved(j, &l)
	if change != nil {
		change(&x)
	}
	var ids []diag.ID
	for _, r := range tg.Rules {
		if r.Breaks(&target.Facts{Job: j, Layout: &l, Exec: &x, GPUs: l.GPUs()}) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// TestRules: each layout breaks the rule that it was made for, in the releases that have it.
func TestRules(t *testing.T) {
	sharded := func(l *plan.Layout) { l.DataParallelShard = 2 }
	piped := func(l *plan.Layout) {
		sharded(l)
		l.PipelineParallel, l.PipelineSchedule, l.MicroBatches = 2, plan.Schedule1F1B, 4
	}
	long := denseModel()
	long.SequenceLength = 256
	cases := []struct {
		name     string
		versions string
		model    job.Model
		layout   func(*plan.Layout)
		exec     func(*plan.Execution)
		want     []diag.ID
	}{
		{"fsdp is legal", "both", denseModel(), sharded, nil, nil},
		{"1f1b is legal", "both", denseModel(), piped, nil, nil},
		{"tp above kv heads", "both", denseModel(), func(l *plan.Layout) { sharded(l); l.TensorParallel = 4 }, nil, []diag.ID{ruleKVHeads}},
		{"tp does not divide heads", "both", denseModel(), func(l *plan.Layout) { sharded(l); l.TensorParallel = 8 }, nil, []diag.ID{ruleHeads, ruleKVHeads}},
		{"zero 1", "both", denseModel(), func(l *plan.Layout) { sharded(l); l.ZeroStage = 1 }, nil, []diag.ID{ruleZeroStage}},
		{"unsharded zero 3", "both", denseModel(), nil, nil, []diag.ID{ruleZeroStage}},
		{"sharded by context alone", "both", long, func(l *plan.Layout) { l.ContextParallel = 2 }, nil, nil},
		{"half a block of a mask on each rank", "0.2.2", denseModel(), func(l *plan.Layout) { l.ContextParallel = 2 }, nil, nil},
		{"half a block of a mask on each rank", "0.3.0", denseModel(), func(l *plan.Layout) { l.ContextParallel = 2 }, nil, []diag.ID{ruleSequence}},
		{"reshard against the stage", "both", denseModel(), sharded, func(x *plan.Execution) { x.ReshardAfterForward = false }, []diag.ID{ruleReshard}},
		{"too few micro-batches", "both", denseModel(), func(l *plan.Layout) { piped(l); l.MicroBatches = 1 }, nil, []diag.ID{rulePipelineBatches}},
		{"interleaved with one chunk", "both", denseModel(), func(l *plan.Layout) { piped(l); l.PipelineSchedule = plan.ScheduleInterleaved1F1B }, nil, []diag.ID{rulePipelineChunks}},
		{"interleaved rounds", "both", denseModel(), func(l *plan.Layout) {
			piped(l)
			l.PipelineSchedule, l.VirtualPipeline, l.MicroBatches = plan.ScheduleInterleaved1F1B, 2, 5
		}, nil, []diag.ID{rulePipelineRounds}},
		{"no layer on the first stage", "0.2.2", denseModel(), func(l *plan.Layout) { piped(l); l.StageLayers = []int{0, 8} }, nil, nil},
		{"no layer on the first stage", "0.3.0", denseModel(), func(l *plan.Layout) { piped(l); l.StageLayers = []int{0, 8} }, nil, []diag.ID{ruleEmptyStage}},
		{"no layer on the last stage", "both", denseModel(), func(l *plan.Layout) { piped(l); l.StageLayers = []int{8, 0} }, nil, nil},
		{"no layer between", "both", denseModel(), func(l *plan.Layout) {
			piped(l)
			l.PipelineSchedule, l.VirtualPipeline, l.StageLayers = plan.ScheduleInterleaved1F1B, 2, []int{3, 2, 0, 3}
		}, nil, []diag.ID{ruleEmptyStage}},
		{"offload without fsdp", "both", denseModel(), func(l *plan.Layout) { l.ZeroStage = 0 }, func(x *plan.Execution) { x.OffloadOptimizer, x.OffloadParameters = true, true }, []diag.ID{ruleOffload}},
		{"offload of the optimizer alone", "both", denseModel(), sharded, func(x *plan.Execution) { x.OffloadOptimizer = true }, []diag.ID{ruleOffload}},
		{"async tp without tp", "both", denseModel(), sharded, func(x *plan.Execution) { x.OverlapTensorParallel = true }, []diag.ID{ruleAsyncTensor}},
		{"async tp without compile", "both", denseModel(), sharded, func(x *plan.Execution) { x.OverlapTensorParallel, x.Compile = true, false }, []diag.ID{ruleAsyncTensor}},
		{"odd loss chunks", "both", denseModel(), sharded, func(x *plan.Execution) { x.LossChunks = 3 }, []diag.ID{ruleLossChunks}},
		{"pure replicas with tp", "0.2.2", denseModel(), func(l *plan.Layout) { l.DataParallelReplicate, l.TensorParallel, l.ZeroStage = 2, 2, 0 }, nil, []diag.ID{ruleReplicateOnly, ruleUnsharded}},
		{"pure replicas with tp", "0.3.0", denseModel(), func(l *plan.Layout) { l.DataParallelReplicate, l.TensorParallel, l.ZeroStage = 2, 2, 0 }, nil, nil},
		{"graphs with pp", "0.3.0", denseModel(), piped, func(x *plan.Execution) { x.CUDAGraphs = "full" }, []diag.ID{rulePipelineGraphs}},
		{"ep does not divide experts", "both", expertModel(), func(l *plan.Layout) { l.DataParallelShard, l.ExpertParallel = 3, 3 }, nil, []diag.ID{ruleExperts}},
		{"ep beyond its ranks", "both", expertModel(), func(l *plan.Layout) { l.DataParallelShard, l.ExpertParallel = 2, 4 }, nil, []diag.ID{ruleExpertRanks}},
		{"experts split by tp", "0.2.2", expertModel(), func(l *plan.Layout) { sharded(l); l.TensorParallel = 2 }, nil, []diag.ID{ruleExpertTensor, ruleTensorRouter}},
		{"experts split by tp", "0.3.0", expertModel(), func(l *plan.Layout) { sharded(l); l.TensorParallel = 2 }, nil, []diag.ID{ruleExpertTensor}},
		{"experts split by tp and said so", "0.2.2", expertModel(), func(l *plan.Layout) { sharded(l); l.TensorParallel, l.ExpertTensorParallel = 2, 2 }, nil, []diag.ID{ruleTensorRouter}},
		{"experts split by tp and said so", "0.3.0", expertModel(), func(l *plan.Layout) { sharded(l); l.TensorParallel, l.ExpertTensorParallel = 2, 2 }, nil, nil},
		{"ep with etp", "0.3.0", expertModel(), func(l *plan.Layout) {
			sharded(l)
			l.TensorParallel, l.ExpertTensorParallel, l.ExpertParallel = 2, 2, 2
		}, nil, []diag.ID{ruleExpertTensor}},
		{"ep with etp", "0.2.2", expertModel(), func(l *plan.Layout) {
			sharded(l)
			l.TensorParallel, l.ExpertTensorParallel, l.ExpertParallel = 2, 2, 2
		}, nil, []diag.ID{ruleTensorRouter}},
		{"deepep without ep", "both", expertModel(), sharded, func(x *plan.Execution) { x.MoEDispatcher = "deepep" }, []diag.ID{ruleDispatcher}},
	}
	for _, c := range cases {
		for _, version := range (Backend{}).Versions() {
			if c.versions != "both" && c.versions != version {
				continue
			}
			got := broken(t, testJob(version, c.model, 8), layoutOf(c.layout), c.exec)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s on %s breaks %v, want %v", c.name, version, got, c.want)
			}
		}
	}
}

// TestDeepEPRanks: 0.2.2's DeepEP shares memory within a node, 0.3.0's does not
// mind.
func TestDeepEPRanks(t *testing.T) {
	eight := layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.ExpertParallel = 8, 8 })
	deepep := func(x *plan.Execution) { x.MoEDispatcher = "deepep" }
	for _, c := range []struct {
		version string
		perNode int
		want    []diag.ID
	}{{"0.2.2", 8, nil}, {"0.2.2", 4, []diag.ID{ruleDeepEP}}, {"0.3.0", 4, nil}} {
		j := testJob(c.version, expertModel(), c.perNode)
		j.Model.MoE.Experts, j.Cluster.Nodes = 8, 8/c.perNode
		if got := broken(t, j, eight, deepep); !slices.Equal(got, c.want) {
			t.Errorf("%s, nodes of %d: %v, want %v", c.version, c.perNode, got, c.want)
		}
	}
}

// TestSplitAttention: what 0.2.2's models do not take together with tensor
// parallelism, which 0.3.0 does.
func TestSplitAttention(t *testing.T) {
	tensor := func(l *plan.Layout) { l.DataParallelShard, l.TensorParallel, l.ExpertTensorParallel = 2, 2, 2 }
	context := func(l *plan.Layout) { tensor(l); l.ContextParallel = 2 }
	masked := func(d *job.Data) { d.DocumentMask = true }
	restarted := func(d *job.Data) { d.ResetPositionIDs = true }
	both := func(d *job.Data) { masked(d); restarted(d) }
	plain := func(*job.Data) {}
	rules := []diag.ID{ruleContextTensor, ruleTensorMask, ruleTensorPositions}
	for _, c := range []struct {
		model  job.Model
		layout func(*plan.Layout)
		data   func(*job.Data)
		want   []diag.ID
	}{
		{denseModel(), context, plain, nil},
		{denseModel(), tensor, both, nil},
		{expertModel(), func(l *plan.Layout) { context(l); l.TensorParallel = 1 }, plain, nil},
		{expertModel(), tensor, plain, nil},
		{expertModel(), context, plain, []diag.ID{ruleContextTensor}},
		{expertModel(), tensor, masked, []diag.ID{ruleTensorMask}},
		{expertModel(), tensor, restarted, []diag.ID{ruleTensorPositions}},
		{latentModel(), context, plain, nil},
		{latentModel(), tensor, masked, nil},
		{latentModel(), tensor, both, []diag.ID{ruleTensorPositions}},
	} {
		j := testJob("0.2.2", c.model, 8)
		c.data(&j.Training.Data)
		got := slices.DeleteFunc(broken(t, j, layoutOf(c.layout), nil), func(id diag.ID) bool { return !slices.Contains(rules, id) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s breaks %v, want %v", c.model.Name, got, c.want)
		}
	}
	j := testJob("0.3.0", expertModel(), 8)
	both(&j.Training.Data)
	for _, id := range broken(t, j, layoutOf(context), nil) {
		if slices.Contains(rules, id) {
			t.Errorf("0.3.0 breaks %s", id)
		}
	}
}

// TestContextValidation: 0.2.2's qwen3 cannot validate in context parallelism.
func TestContextValidation(t *testing.T) {
	context := layoutOf(func(l *plan.Layout) { l.ContextParallel = 2 })
	for _, c := range []struct {
		version string
		model   job.Model
		want    bool
	}{{"0.2.2", expertModel(), true}, {"0.2.2", denseModel(), false}, {"0.2.2", latentModel(), false}, {"0.3.0", expertModel(), false}} {
		j := testJob(c.version, c.model, 8)
		j.Training.Data.Validation = &job.Validation{Path: "/data/valid", Interval: 10, Steps: 1}
		if got := slices.Contains(broken(t, j, context, nil), ruleContextValidation); got != c.want {
			t.Errorf("%s on %s: breaks the rule %t, want %t", c.model.Name, c.version, got, c.want)
		}
	}
}

// TestVeeValidation: what lies in a V does not validate; other pipelines do.
func TestVeeValidation(t *testing.T) {
	for kind, want := range map[plan.Schedule]bool{plan.ScheduleZBV: true, plan.ScheduleDualPipeV: true, plan.ScheduleInterleaved1F1B: false} {
		j := testJob("0.3.0", denseModel(), 2)
		l := layoutOf(func(l *plan.Layout) {
			l.PipelineParallel, l.VirtualPipeline, l.PipelineSchedule, l.MicroBatches = 2, 2, kind, 8
		})
		if slices.Contains(broken(t, j, l, nil), ruleSplitValidation) {
			t.Errorf("%s is refused without validation", kind)
		}
		j.Training.Data.Validation = &job.Validation{Path: "/data/valid", Interval: 10, Steps: 1}
		if got := slices.Contains(broken(t, j, l, nil), ruleSplitValidation); got != want {
			t.Errorf("%s breaks the rule %t, want %t", kind, got, want)
		}
	}
}

// TestSequenceRule: 0.2.2 asks for tp·2·cp even without context parallelism,
// 0.3.0 only for tp under sequence parallelism.
func TestSequenceRule(t *testing.T) {
	m := denseModel()
	m.SequenceLength = 129 * 2
	l := layoutOf(func(l *plan.Layout) { l.TensorParallel, l.DataParallelShard = 2, 2 })
	if got := broken(t, testJob("0.2.2", m, 4), l, nil); !slices.Contains(got, ruleSequence) {
		t.Errorf("0.2.2 takes 258 tokens on tp 2: %v", got)
	}
	if got := broken(t, testJob("0.3.0", m, 4), l, nil); slices.Contains(got, ruleSequence) {
		t.Errorf("0.3.0 refuses 258 tokens on tp 2")
	}
}

// TestPositionsRule: the rule is the release's, however a job spells it.
func TestPositionsRule(t *testing.T) {
	l := layoutOf(func(l *plan.Layout) { l.PipelineParallel, l.DataParallelShard, l.MicroBatches = 2, 2, 4 })
	for version, want := range map[string]bool{"0.2.2": true, "v0.2.2": true, "0.3.0": false, "v0.3.0": false} {
		j := testJob(version, denseModel(), 4)
		j.Training.Data.DocumentMask, j.Training.Data.ResetPositionIDs = true, true
		if got := slices.Contains(broken(t, j, l, nil), rulePipelinePositions); got != want {
			t.Errorf("%s: refused %v, want %v", version, got, want)
		}
	}
}

// TestHotLoopDoesNotAllocate: a search resolves and judges millions of layouts, and none of them
// takes memory.
func TestHotLoopDoesNotAllocate(t *testing.T) {
	for _, version := range (Backend{}).Versions() {
		j := testJob(version, expertModel(), 8)
		tg, diags := Backend{}.Target(j)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		l := layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.ExpertParallel = 4, 2 })
		f := &target.Facts{Job: j, Layout: &l, Exec: new(plan.Execution), GPUs: 4}
		if n := testing.AllocsPerRun(100, func() {
			tg.Resolve(j, &l, f.Exec)
			for i := range tg.Rules {
				tg.Rules[i].Breaks(f)
			}
		}); n > 0 {
			t.Errorf("%s: %g allocations for one layout", version, n)
		}
	}
}

// TestAdvice: a model is told to do without the parts that it can do without only where it
// lacks no others.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		missing []capability.Feature
		want    string // after who has them
	}{
		{[]capability.Feature{"model.dropout"}, " Or set dropout = 0."},
		{[]capability.Feature{"model.dropout", "model.mtp_layers"}, " Or set dropout = 0 and mtp_layers = 0."},
		{[]capability.Feature{"model.position_embedding=learned", "model.dropout"}, ""},
	} {
		if got := strings.TrimPrefix(advice(c.missing), capability.Alternatives(c.missing...)); got != c.want {
			t.Errorf("%v: %q, want %q", c.missing, got, c.want)
		}
	}
}

// TestRefusals: every argument that cannot be honoured is an error that names
// it and says what to do.
func TestRefusals(t *testing.T) {
	cases := []struct {
		name     string
		versions string
		change   func(*job.Job)
		id       diag.ID
		detail   string
	}{
		{"groups of one expert", "both", func(j *job.Job) { j.Model = latentModel(); j.Model.MoE.Router.Groups = 8 }, UnsupportedModel, "stops at groups of one"},
		{"learned positions", "both", func(j *job.Job) { j.Model.PositionEmbedding.Kind = "learned" }, UnsupportedModel, `Megatron-LM and DeepSpeed (for architecture "gpt") have it`},
		{"gelu", "both", func(j *job.Job) { j.Model.Activation.Kind = "gelu" }, UnsupportedModel, "lacks GELU"},
		{"soft caps", "both", func(j *job.Job) { j.Model.FinalSoftcap = 30 }, UnsupportedModel, "a soft cap on the final logits"},
		{"a softmax scale of latent attention", "both", func(j *job.Job) { j.Model = latentModel(); j.Model.Attention.Scale = 0.1 }, UnsupportedModel, "a softmax scale"},
		{"YaRN that scales the rope of latent attention", "both", func(j *job.Job) { yarn(j, latentModel()).MScaleAllDim = 0 }, UnsupportedModel, "cosines and sines by 1.369; the deepseek_v3"},
		{"YaRN that scales the rope by less", "both", func(j *job.Job) { yarn(j, latentModel()).MScale = 0.707 }, UnsupportedModel, "needs equal values"},
		{"YaRN that does not scale the rope of sinks", "both", func(j *job.Job) { yarn(j, sinkModel()).MScaleAllDim = 1 }, UnsupportedModel, "sines by 1; the gpt_oss"},
		{"YaRN of latent attention, not rounded", "0.2.2", func(j *job.Job) { yarn(j, latentModel()).Untruncated = true }, UnsupportedModel, "truncate = true"},
		{"YaRN with sinks, rounded", "0.2.2", func(j *job.Job) { yarn(j, sinkModel()).Untruncated = false }, UnsupportedModel, "truncate = false"},
		{"YaRN with sinks that begins at no frequency", "0.2.2", func(j *job.Job) { yarn(j, sinkModel()).OriginalLength = 128 }, UnsupportedModel, "-0.275 to 1.84 of 8"},
		{"llama3 scaling with sinks", "both", func(j *job.Job) { yarn(j, sinkModel()).Type = "llama3" }, UnsupportedModel, "llama3 rope scaling"},
		{"a model that ndc does not build", "0.3.0", func(j *job.Job) { j.Model.Attention.QKNorm, j.Model.Attention.Gate = true, true }, UnsupportedModel, "TorchTitan 0.3.0's qwen3, which model"},
		{"own multi-token prediction", "0.3.0", func(j *job.Job) { j.Model = latentModel(); j.Model.MTP.Layers = 1 }, UnsupportedModel, "ndc does not emit the multi-token prediction of TorchTitan 0.3.0's deepseek_v3"},
		{"no multi-token prediction of latent attention", "0.2.2", func(j *job.Job) { j.Model = latentModel(); j.Model.MTP.Layers = 1 }, UnsupportedModel, "TorchTitan 0.2.2's deepseek_v3, which model small_mla is built as, lacks multi-token prediction"},
		{"multi-token prediction", "both", func(j *job.Job) { j.Model.MTP.Layers = 1 }, UnsupportedModel, "mtp_layers = 0"},
		{"latent attention without positions", "both", func(j *job.Job) {
			j.Model = latentModel()
			j.Model.PositionEmbedding = job.PositionEmbedding{Kind: "none"}
		}, UnsupportedModel, "lacks latent attention without positions. No backend has it."},
		{"biases of attention alone", "both", func(j *job.Job) { j.Model.Attention.Bias = true }, UnsupportedModel, `biases on attention and not in the MLP. DeepSpeed has it for architectures "llama"`},
		{"biases of queries", "0.2.2", func(j *job.Job) { j.Model.Attention.QKVBias = true }, UnsupportedModel, `Megatron-LM, TorchTitan 0.3.0 and DeepSpeed (for architectures "qwen2"`},
		{"biases of queries of experts", "0.2.2", func(j *job.Job) { j.Model = expertModel(); j.Model.Attention.QKVBias = true }, UnsupportedModel, "TorchTitan 0.3.0"},
		{"biases of queries with sinks", "both", func(j *job.Job) {
			j.Model = sinkModel()
			j.Model.Attention.QKVBias, j.Model.Attention.Bias = true, false
		}, UnsupportedModel, "attention sinks without biases"},
		{"tied with llama3 scaling", "0.2.2", func(j *job.Job) {
			j.Model.TiedEmbeddings = true
			j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "llama3", Factor: 8, OriginalLength: 8192, LowFrequencyFactor: 1, HighFrequencyFactor: 4}
		}, UnsupportedModel, "rope scaling"},
		{"muon", "both", func(j *job.Job) { j.Training.Optimizer.Kind = "muon" }, UnsupportedTraining, "Megatron-LM has it from core_v0.16.0 on"},
		{"own muon", "0.3.0", func(j *job.Job) { j.Training.Optimizer.Kind = "muon" }, UnsupportedTraining, "What ndc emits for TorchTitan 0.3.0 drives adamw and adam, not muon: its DistMuon"},
		{"no muon", "0.2.2", func(j *job.Job) { j.Training.Optimizer.Kind = "muon" }, UnsupportedTraining, "TorchTitan 0.2.2 has adamw and adam, not muon."},
		{"batch ramp", "both", func(j *job.Job) { j.Training.BatchRamp = &job.BatchRamp{} }, UnsupportedTraining, "constant"},
		{"held minimum", "both", func(j *job.Job) { j.Training.Schedule.DecaySteps = 2 }, UnsupportedSchedule, "Leave decay_steps out, so that it falls to the end of the run. Megatron-LM"},
		{"held minimum, in tokens", "both", func(j *job.Job) {
			j.Training.Schedule.DecaySteps = 2
			j.Sources = job.Sources{"training.schedule.decay_tokens": {Origin: job.FromSpec}}
		}, UnsupportedSchedule, "Leave decay_tokens out"},
		{"exponential decay", "both", func(j *job.Job) {
			j.Training.Schedule = job.Schedule{Kind: "wsd", DecaySteps: 2, DecayShape: "exponential"}
		}, UnsupportedSchedule, "Megatron-LM and DeepSpeed have it"},
		{"fp16", "both", func(j *job.Job) { j.Training.Precision = "fp16" }, UnsupportedPrecision, "Megatron-LM and DeepSpeed have it"},
		{"nvfp4", "0.2.2", func(j *job.Job) { j.Training.Precision = "nvfp4" }, UnsupportedPrecision, "0.3.0"},
		{"mxfp8 on Hopper", "both", func(j *job.Job) { j.Training.Precision = "mxfp8" }, UnsupportedPrecision, "capability 10"},
		{"sinks in fp32", "0.3.0", func(j *job.Job) { j.Model, j.Training.Precision = sinkModel(), "fp32" }, UnsupportedPrecision, "results in bf16"},
		{"tensorwise scaling", "0.3.0", func(j *job.Job) { j.Training.Precision, j.Training.FP8.Recipe = "fp8", "tensorwise" }, UnsupportedPrecision, `recipe = "rowwise"`},
		{"delayed scaling, of two recipes", "0.2.2", func(j *job.Job) { j.Training.Precision, j.Training.FP8.Recipe = "fp8", "delayed" }, UnsupportedPrecision, `tensorwise and rowwise: set fp8 { recipe = "tensorwise" }`},
		{"gathers of rows", "0.2.2", func(j *job.Job) {
			j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "rowwise", ParameterGather: true}
		}, UnsupportedPrecision, "tensorwise scaling"},
		{"data cache", "both", func(j *job.Job) { j.Training.Data.CachePath = "/cache" }, UnsupportedData, "Megatron-LM and DeepSpeed have it"},
		{"offload of the optimizer", "both", func(j *job.Job) { j.Execution.OffloadOptimizer = job.Some(true) }, UnsupportedExecution, "offload.parameters = true"},
		{"offload of parameters", "both", func(j *job.Job) { j.Execution.OffloadParameters = job.Some(true) }, UnsupportedExecution, "offload.optimizer = true"},
		{"fp8 moments", "both", func(j *job.Job) { j.Execution.OptimizerStateDType = job.Some("fp8") }, UnsupportedExecution, "Megatron-LM has it"},
		{"delayed scaling", "both", func(j *job.Job) { j.Training.Precision, j.Training.FP8.Recipe = "fp8", "delayed" }, UnsupportedPrecision, "Megatron-LM has it"},
		{"split text", "both", func(j *job.Job) {
			j.Training.Data.Format, j.Training.Data.Tokenizer.Kind, j.Training.Data.Split = "jsonl", "huggingface", "90,10,0"
		}, UnsupportedData, "splits indexed tokens only"},
		{"mask alone", "0.3.0", func(j *job.Job) { j.Training.Data.DocumentMask = true }, UnsupportedData, "reset_position_ids"},
		{"mask with sinks", "0.2.2", func(j *job.Job) { j.Model, j.Training.Data.DocumentMask = sinkModel(), true }, UnsupportedData, "0.3.0 can"},
		{"positions with sinks", "0.2.2", func(j *job.Job) { j.Model, j.Training.Data.ResetPositionIDs = sinkModel(), true }, UnsupportedData, "0.3.0 does"},
		{"one checkpoint", "both", func(j *job.Job) { j.Training.Checkpoint.KeepLast = 1 }, UnsupportedCheckpoint, "keep_last = 2"},
		{"some resets", "both", func(j *job.Job) {
			j.Training.Start = job.Start{From: "checkpoint", Path: "/c", ResetOptimizer: true}
		}, UnsupportedCheckpoint, "all or none"},
		{"graphs per layer", "both", func(j *job.Job) { j.Execution.CUDAGraphs = job.Some("layer") }, UnsupportedExecution, "Megatron-LM has it"},
		{"deepep of qwen3", "0.2.2", func(j *job.Job) { j.Model, j.Execution.MoEDispatcher = expertModel(), job.Some("deepep") }, UnsupportedExecution, "always dispatches by alltoall"},
		{"deepep in mxfp8", "0.3.0", func(j *job.Job) {
			j.Model, j.Training.Precision, j.Cluster.GPU.ComputeCapability, j.Execution.MoEDispatcher = expertModel(), "mxfp8", "10.0", job.Some("deepep")
		}, UnsupportedExecution, "does not pad"},
		{"ring attention", "both", func(j *job.Job) { j.Execution.ContextParallelType = job.Some("ring") }, UnsupportedExecution, "Megatron-LM has it"},
		{"modules", "both", func(j *job.Job) { j.Constraints.Layout.RecomputeModules = []string{"mlp"} }, UnsupportedExecution, `["op"]`},
		{"cuDNN's attention", "both", func(j *job.Job) { j.Execution.Attention = job.Some("fused") }, UnsupportedExecution, "Megatron-LM has it"},
		{"varlen", "0.2.2", func(j *job.Job) { j.Execution.Attention = job.Some("varlen") }, UnsupportedExecution, "TorchTitan 0.3.0"},
		{"varlen on a GPU without kernels", "0.3.0", func(j *job.Job) {
			j.Execution.Attention, j.Cluster.GPU.ComputeCapability = job.Some("varlen"), "12.0"
		}, UnsupportedExecution, "compute capability 8, 9 or 10; h100 has 12.0"},
		{"varlen with sinks", "0.3.0", func(j *job.Job) { j.Model, j.Execution.Attention = sinkModel(), job.Some("varlen") }, UnsupportedExecution, "gradient of the log-sum-exp"},
		{"varlen of uneven heads", "0.3.0", func(j *job.Job) {
			j.Model, j.Execution.Attention = latentModel(), job.Some("varlen")
		}, UnsupportedExecution, "24 for keys and 16 for values"},
		{"varlen of wide heads", "0.3.0", func(j *job.Job) {
			j.Model.Attention.HeadDim, j.Execution.Attention, j.Cluster.GPU.ComputeCapability = 192, job.Some("varlen"), "10.0"
		}, UnsupportedExecution, "no kernel for heads of 192"},
		{"varlen in fp32", "0.3.0", func(j *job.Job) { j.Execution.Attention, j.Training.Precision = job.Some("varlen"), "fp32" }, UnsupportedExecution, "16 bits"},
		{"flex_flash on Ampere", "0.3.0", func(j *job.Job) {
			j.Execution.Attention, j.Cluster.GPU.ComputeCapability = job.Some("flex_flash"), "8.0"
		}, UnsupportedExecution, "compute capability 9 and 10"},
		{"flex_flash of wide heads", "0.3.0", func(j *job.Job) {
			j.Model.Attention.HeadDim, j.Execution.Attention = 256, job.Some("flex_flash")
		}, UnsupportedExecution, "at most 128"},
		{"unknown argument", "both", func(j *job.Job) { j.Backend.ExtraArgs = []string{"--training.seqlen=4"} }, InvalidOption, `Did you mean "training.seq_len"`},
		{"wrong type", "both", func(j *job.Job) { j.Backend.ExtraArgs = []string{"--training.local_batch_size=eight"} }, InvalidOption, "whole number"},
		{"diloco", "0.2.2", func(j *job.Job) { j.Backend.ExtraArgs = []string{"--fault_tolerance.semi_sync_method=diloco"} }, UnplannedOption, "a lighthouse and a launch of its own for each replica"},
		{"diloco", "0.3.0", func(j *job.Job) { j.Backend.ExtraArgs = []string{"--fault_tolerance.semi_sync_method=diloco"} }, InvalidOption, "0.3.0 has no option fault_tolerance"},
		{"wrong choice", "both", func(j *job.Job) { j.Backend.ExtraArgs = []string{"--parallelism.fsdp_reshard_after_forward=sometimes"} }, InvalidOption, "one of default, always, never"},
	}
	for _, c := range cases {
		for _, version := range (Backend{}).Versions() {
			if c.versions != "both" && c.versions != version {
				continue
			}
			j := testJob(version, denseModel(), 2)
			c.change(j)
			_, diags := Backend{}.Target(j)
			if !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.ID == c.id && strings.Contains(d.Detail, c.detail) }) {
				t.Errorf("%s on %s: %v, want %s with %q", c.name, version, diags, c.id, c.detail)
			}
		}
	}
}

// yarn makes a job's model one that has YaRN.
func yarn(j *job.Job, m job.Model) *job.RopeScaling {
	j.Model = m
	return m.PositionEmbedding.Scaling
}

// TestYaRN: what the models compute is accepted, whatever the constants.
func TestYaRN(t *testing.T) {
	for _, version := range (Backend{}).Versions() {
		for name, change := range map[string]func(*job.Job){
			"of DeepSeek-V2": func(j *job.Job) { s := yarn(j, latentModel()); s.MScale, s.MScaleAllDim = 0.707, 0.707 },
			"without scales": func(j *job.Job) { s := yarn(j, latentModel()); s.MScale, s.MScaleAllDim = 0, 0 },
			"by one": func(j *job.Job) {
				s := yarn(j, latentModel())
				s.Factor, s.MScaleAllDim, s.Untruncated = 1, 0, true
			},
			"of gpt-oss": func(j *job.Job) { yarn(j, sinkModel()) },
		} {
			j := testJob(version, denseModel(), 2)
			change(j)
			if _, diags := (Backend{}).Target(j); diags.HasErrors() {
				t.Errorf("%s on %s: %v", name, version, diags)
			}
		}
	}
}

// TestUnknownVersion: a version that is not offered is refused with the nearest one.
func TestUnknownVersion(t *testing.T) {
	j := testJob("0.3.1", denseModel(), 2)
	_, diags := Backend{}.Target(j)
	if len(diags) != 1 || diags[0].ID != UnknownVersion || !strings.Contains(diags[0].Detail, `Did you mean "0.3.0"?`) {
		t.Error(diags)
	}
}

// TestRouterWarning: what TorchTitan does in another way is said.
func TestRouterWarning(t *testing.T) {
	precise := testJob("0.2.2", expertModel(), 2)
	precise.Model.MoE.Router.DType = "fp32"
	_, diags := Backend{}.Target(precise)
	if !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return strings.Contains(d.Detail, "router in bf16, not in fp32") }) {
		t.Error(diags)
	}
	precise.Training.Precision = "fp32"
	_, diags = Backend{}.Target(precise)
	if !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return strings.Contains(d.Detail, "weights of experts in bf16") }) {
		t.Error(diags)
	}
	for precision, says := range map[string]bool{"fp8": true, "mxfp8": false, "bf16": false} {
		j := testJob("0.2.2", expertModel(), 2)
		j.Cluster.GPU.ComputeCapability, j.Training.Precision = "10.0", precision
		target, diags := Backend{}.Target(j)
		if diags.HasErrors() || says != slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
			return strings.Contains(d.Detail, "the weights of experts are multiplied in bf16")
		}) {
			t.Errorf("%s: %v", precision, diags)
		} else if target.Runtime.Experts.Unquantised != says {
			t.Errorf("%s: experts are planned as unquantised: %v", precision, !says)
		}
	}
	_, diags = Backend{}.Target(testJob("0.3.0", expertModel(), 2))
	if len(diags) != 1 || diags[0].ID != Differs || diags[0].Severity != diag.Warning || !strings.Contains(diags[0].Detail, "auxiliary balancing loss (coefficient 0.001)") {
		t.Error(diags)
	}
}

// TestSmallWeight: a source that the pattern of the emitted reader has more often
// than its weight says is warned of, by the pattern that the reader has.
func TestSmallWeight(t *testing.T) {
	for weight, says := range map[float64]string{0.25: "", 1e-4: "", 6e-5: "", 1e-5: "is 1 in 10000 of what is read, and 1e-05 of all", 1e-308: "is 1 in 10000 of what is read, and 1e-308 of all"} {
		j := testJob("0.3.0", denseModel(), 2)
		j.Training.Data.Sources[0].Weight, j.Training.Data.Sources[1].Weight = 1-weight, weight
		_, diags := Backend{}.Target(j)
		i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.ID == Differs && strings.Contains(d.Detail, "pattern") })
		if (i >= 0) != (says != "") || i >= 0 && !strings.Contains(diags[i].Detail, says) || diags.HasErrors() {
			t.Errorf("%g: %v", weight, diags)
		}
	}
	runtime, err := os.ReadFile("templates/ndc_runtime.py")
	if err != nil || !strings.Contains(string(runtime), "\nBLEND_PERIOD = 10_000\n") || blendPeriod != 10_000 {
		t.Errorf("the reader has another period than %d", blendPeriod)
	}
}

// TestFamilies: a model is built by what it has, never by its name.
func TestFamilies(t *testing.T) {
	tied := denseModel()
	tied.TiedEmbeddings = true
	wide := denseModel()
	wide.Attention.HeadDim = 32
	for _, c := range []struct {
		model               job.Model
		before, after       string
		pipeline, pipeline3 bool
	}{
		{denseModel(), "llama3", "llama3", true, true},
		{tied, "qwen3", "llama3", false, true},
		{wide, "qwen3", "llama3", false, true},
		{expertModel(), "qwen3", "qwen3", false, true},
		{latentModel(), "deepseek_v3", "deepseek_v3", true, true},
		{sinkModel(), "gpt_oss", "gpt_oss", false, true},
	} {
		a, b := versions[0].find(&c.model), versions[1].find(&c.model)
		if a.module != c.before || b.module != c.after || a.pipeline != c.pipeline || b.pipeline != c.pipeline3 {
			t.Errorf("%s is built as %s and %s, want %s and %s", c.model.Name, a.module, b.module, c.before, c.after)
		}
	}
}

// TestEveryOptionHasARow: what a release has of an option, a row carries out.
func TestEveryOptionHasARow(t *testing.T) {
	for _, v := range versions {
		if silent := v.execution().Silent(); silent != nil {
			t.Errorf("%s: no rows of %v", v.name, silent)
		}
	}
}

// TestExpertsOverTensorRanks: experts are split by tensor parallelism where there
// is no expert parallelism, so that their layouts are in the space.
func TestExpertsOverTensorRanks(t *testing.T) {
	for _, version := range (Backend{}).Versions() {
		for want, m := range map[bool]job.Model{true: expertModel(), false: denseModel()} {
			tg, diags := Backend{}.Target(testJob(version, m, 8))
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if tg.ExpertTensorParallel != want {
				t.Errorf("%s: experts of %s over tensor ranks: %v, want %v", version, m.Name, tg.ExpertTensorParallel, want)
			}
		}
	}
}

// TestDispatcherPackage: a dispatcher of another package is warned of, also where it is
// one of several.
func TestDispatcherPackage(t *testing.T) {
	for version, model := range map[string]job.Model{"0.2.2": latentModel(), "0.3.0": expertModel()} {
		for _, asked := range [][]string{{"deepep"}, {"alltoall", "deepep"}, {"alltoall"}, nil} {
			j := testJob(version, model, 4)
			switch {
			case len(asked) == 1:
				j.Execution.MoEDispatcher = job.Some(asked[0])
			case len(asked) > 1:
				j.Constraints.Execution = map[string][]string{"moe_dispatcher": asked}
			}
			_, diags := Backend{}.Target(j)
			warned := slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.ID == NeedsPackage && strings.Contains(d.Detail, "DeepEP") })
			if diags.HasErrors() || warned != slices.Contains(asked, "deepep") {
				t.Errorf("%s, %v: %v", version, asked, diags)
			}
		}
	}
}
