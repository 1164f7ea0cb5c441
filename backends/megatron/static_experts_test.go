package megatron

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestStaticExpertRules: each edit of a launch with a graph of the whole step over
// experts that drop no token breaks the rule named, or none.
func TestStaticExpertRules(t *testing.T) {
	for _, c := range []struct {
		name, version string
		edit          func(j *job.Job, l *plan.Layout)
		rule          diag.ID
	}{
		{"", "core_v0.18.0", func(j *job.Job, l *plan.Layout) {}, ""},
		{"", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {}, ""},
		{"gpt-oss", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Model = gptOSS() }, ""},
		{"latent attention", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model, l.Recompute, l.RecomputeModules = deepseek(), plan.RecomputeSelective, plan.ModuleLatentUp
		}, ""},
		{"continued", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Training.Start = job.Start{From: "checkpoint", Path: "/checkpoints/other"}
		}, ""},
		{"release", "core_v0.17.1", func(j *job.Job, l *plan.Layout) {}, RuleStaticExperts},
		{"GPU", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Cluster.GPU.ComputeCapability = "12.0" }, RuleStaticExperts},
		{"precision", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Training.Precision = "bf16" }, RuleStaticExperts},
		{"bf16 layers", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Training.FP8.BF16LastLayers = 1 }, RuleStaticExperts},
		{"width", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Model.MoE.ExpertFFNHiddenSize = 1056 }, RuleStaticExperts},
		{"activation", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Model.Activation.Kind = "relu2" }, RuleStaticExperts},
		{"clamp", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Model.Activation.Clamp = 10 }, RuleStaticExperts},
		{"offset", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Model, j.Model.Activation.Offset = gptOSS(), 0 }, RuleStaticExperts},
		{"biases", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			j.Model.Attention.Bias, j.Model.MLPBias, j.Model.MoE.Router.Bias = true, true, true
		}, RuleStaticExperts},
		{"weights", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Training.Start = job.Start{From: "checkpoint", Path: "/checkpoints/converted", ResetOptimizer: true, ResetSchedule: true, ResetData: true}
		}, RuleStaticExperts},
		{"dispatcher", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Execution.MoEDispatcher = job.Some("alltoall") }, RuleStaticExpertsLayout},
		{"deepep", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Execution.MoEDispatcher = job.Some("deepep") }, RuleStaticExpertsLayout},
		{"expert tensor parallelism", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { l.ExpertTensorParallel = 2 }, RuleStaticExpertsLayout},
		{"full recompute", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "uniform", 1
		}, RuleStaticExpertsLayout},
		{"recompute", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
			l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleExpertActivation
		}, RuleStaticExpertsLayout},
		{"Megatron-FSDP", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { l.ZeroStage = 3 }, RuleStaticExpertsLayout},
		{"micro-batches", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Training.GlobalBatchSize = 64000 }, RuleStaticExpertsLayout},
		{"imbalance", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Model.MoE.LoadImbalance = 1.5 }, RuleStaticExpertsLoad},
		{"padding", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model.MoE.Experts, j.Model.SequenceLength = 512, 1024 // 64 · 128 rows of padding beside 2,048 rows
		}, RuleStaticExpertsLoad},
		{"more capacity", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Model.MoE.LoadImbalance, j.Backend.ExtraArgs = 1.5, []string{"--moe-expert-rank-capacity-factor=2"}
		}, ""},
		{"dropped tokens", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
			j.Execution.MoEDispatcher = job.Some("alltoall")
			j.Model.MoE.TokenDrop, j.Model.MoE.CapacityFactor = true, 1.25
		}, ""},
	} {
		t.Run(c.version+" "+c.name, func(t *testing.T) {
			j, l := baseJob(c.version), base()
			static(j, &l)
			c.edit(j, &l)
			if c.version == "core_v0.17.1" {
				j.Training.FP8 = job.FP8{}
			}
			p := finish(j, l)
			tg, diags := Backend{}.Target(j)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if got := broken(tg, j, p); got != string(c.rule) {
				t.Errorf("breaks %q", got)
			}
			if has := tg.Runtime.Experts.Static.Capacity > 0; has != (c.rule != RuleStaticExperts && !j.Model.MoE.TokenDrop) {
				t.Errorf("buffers of %v", tg.Runtime.Experts.Static)
			}
		})
	}
}

// TestStaticFactors: extra arguments say other factors, which the plan counts, and
// which stand in place of ndc's.
func TestStaticFactors(t *testing.T) {
	j, l := baseJob("core_v0.19.2"), base()
	static(j, &l)
	check := func(want runtime.StaticExperts, warnings int) {
		t.Helper()
		v, _ := release(j)
		if got := v.staticExperts(j); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		_, diags := Backend{}.Target(j)
		if len(diags) != warnings {
			t.Errorf("says %v, want %d warnings", diags, warnings)
		}
	}
	check(runtime.StaticExperts{Capacity: 1.5, RowMultiple: 256, Pages: 1.2, HostPages: 1}, 1) // of the package that HybridEP needs
	j.Backend.ExtraArgs = []string{"--moe-expert-rank-capacity-factor", "2.5", "--moe-paged-stash-buffer-size-factor-cpu=0"}
	check(runtime.StaticExperts{Capacity: 2.5, RowMultiple: 256, Pages: 1.2, HostPages: 0}, 1)
	j.Backend.ExtraArgs = append(j.Backend.ExtraArgs, "--use-transformer-engine-op-fuser", "--moe-paged-stash", "--moe-mlp-glu-interleave-size", "32")
	check(runtime.StaticExperts{Capacity: 2.5, RowMultiple: 256, Pages: 1.2, HostPages: 0}, 1)
	v, _ := release(j)
	a := commandLine(v, j, finish(j, l))
	if !a.used["--moe-paged-stash"] || !a.used["--use-transformer-engine-op-fuser"] {
		t.Error("no pages or no fused kernel")
	}
	j.Backend.ExtraArgs = []string{"--moe-paged-stash-buffer-size-factor-cuda", "-1.2"} // of what the first step routed
	check(runtime.StaticExperts{Capacity: 1.5, RowMultiple: 256, Pages: 1.2, HostPages: 1}, 2)
	j.Backend.ExtraArgs, j.Execution.CUDAGraphs = []string{"--moe-expert-rank-capacity-factor", "2"}, job.Some("none")
	check(runtime.StaticExperts{Capacity: 2, RowMultiple: 256, Pages: 1.2, HostPages: 1}, 2)
}
