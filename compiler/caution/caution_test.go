package caution

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// careful is a job that nobody would warn of, and its plan: 10,000 steps of 10
// seconds in submissions of a day.
func careful() (*job.Job, *plan.Plan) {
	j := &job.Job{
		Name:  "careful",
		Model: job.Model{SequenceLength: 4096},
		Cluster: job.Cluster{Nodes: 4, GPUsPerNode: 8, NVLink: job.NVLink{Domain: 8}, GPU: job.GPU{Name: "h100_sxm", ComputeCapability: "9.0"}, Network: job.Network{Kind: "infiniband",
			Environment: []job.Variable{{Name: "NCCL_IB_HCA", Value: "mlx5"}}}},
		Training: job.Training{
			GlobalBatchSize: 256, Steps: 10000, Tokens: 10000 * 256 * 4096, Precision: "bf16",
			Optimizer:  job.Optimizer{Kind: "adamw", LearningRate: 3e-4, WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8},
			Schedule:   job.Schedule{Kind: "cosine", WarmupSteps: 200, MinimumLearningRate: 3e-5},
			Data:       job.Data{Validation: &job.Validation{Interval: 500, Steps: 20}},
			Start:      job.Start{From: "scratch"},
			Checkpoint: job.Checkpoint{Path: "/checkpoints/careful", IntervalTime: 1800, KeepLast: 3, SaveOptimizer: true},
			Logging:    job.Logging{Interval: 10, Profile: &job.Profile{StartStep: 10, EndStep: 12}},
		},
		Slurm:   job.Slurm{Time: units.Day, Chain: job.Chain{UntilDone: true}, Environment: []job.Variable{{Name: "NCCL_DEBUG", Value: "WARN"}}},
		Sources: job.Sources{"training.tokens": {Origin: job.FromSpec}, "training.logging.interval": {Origin: job.FromSpec}},
	}
	p := &plan.Plan{
		Feasible: true,
		Memory: plan.Memory{GPUBytes: 80 * units.GiB, UsableBytes: 80 * units.GiB,
			Peak: plan.Peak{DeviceBytes: 70 * units.GiB, DeviceRangeBytes: [2]units.Bytes{68 * units.GiB, 75 * units.GiB}}},
		Time: plan.Time{StepSeconds: 10},
		Run: plan.Run{Steps: 10000, Seconds: 100000, Jobs: 2,
			Checkpoints: &plan.Checkpoints{Given: "time", IntervalSteps: 180, IntervalSeconds: 1800}},
	}
	return j, p
}

// links sets the bandwidths of a job's machine, in GB/s.
func links(j *job.Job, memory, nvlink, pcie, adapter float64) {
	c := &j.Cluster
	c.GPU.MemoryBandwidth, c.NVLink.Bandwidth = units.BytesPerSecond(memory*1e9), units.BytesPerSecond(nvlink*1e9)
	c.PCIe.Bandwidth, c.Network.Bandwidth = units.BytesPerSecond(pcie*1e9), units.BytesPerSecond(adapter*1e9)
}

// TestWarnings changes one thing at a time.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*job.Job, *plan.Plan)
		want   string // ids; the detail holds text
		text   string
	}{
		{"careful", func(*job.Job, *plan.Plan) {}, "", ""},
		{"links in order", func(j *job.Job, _ *plan.Plan) { links(j, 3350, 450, 63, 50) }, "", ""},
		{"C2C as fast as NVLink", func(j *job.Job, _ *plan.Plan) { links(j, 4000, 450, 450, 25) }, "", ""},
		{"no NVLink", func(j *job.Job, _ *plan.Plan) { links(j, 864, 0, 31, 12.5) }, "", ""},
		{"bytes for bits", func(j *job.Job, _ *plan.Plan) { links(j, 3350, 450, 63, 400) }, "unlikely-bandwidth", "An adapter of 400GB/s hangs on PCIe of 63GB/s, so that it cannot send as fast. Is 400Gb/s meant?"},
		{"NVLink in bits", func(j *job.Job, _ *plan.Plan) { links(j, 3350, 450.0/8, 63, 50) }, "unlikely-bandwidth", "NVLink of 56.25GB/s is slower than PCIe, 63GB/s. Is 450GB/s meant?"},
		{"memory in bits", func(j *job.Job, _ *plan.Plan) { links(j, 3350.0/8, 450, 63, 50) }, "unlikely-bandwidth", "Is 3350GB/s meant?"},
		{"some GPU", func(j *job.Job, _ *plan.Plan) { j.Cluster.GPU.ComputeCapability = "" }, "unknown-generation", `The GPU h100_sxm has no compute_capability.`},
		{"some GPU in 8 bits", func(j *job.Job, _ *plan.Plan) {
			j.Cluster.GPU.ComputeCapability, j.Training.Precision = "", "mxfp8"
		}, "unknown-generation", `precision = "mxfp8", which GPUs of 10.0 and 10.3 alone have, is taken for granted.`},
		{"no chain", func(j *job.Job, _ *plan.Plan) { j.Slurm.Chain = job.Chain{} }, "run-outlasts-limit", "27.8 hours, and one submission trains 23.7 hours"},
		{"experts fit", func(_ *job.Job, p *plan.Plan) { p.Memory.ExpertRows = &plan.ExpertRows{Buffer: 1.5, Busiest: 1.5} }, "", ""},
		{"experts overflow", func(_ *job.Job, p *plan.Plan) { p.Memory.ExpertRows = &plan.ExpertRows{Buffer: 1.5, Busiest: 1.74} }, "experts-overflow", "1.50 times the rows of balanced routing, and while the router is at its most uneven the busiest rank is expected to get 1.74"},
		{"no chain, fits", func(j *job.Job, p *plan.Plan) { j.Slurm.Chain, p.Run.Jobs, p.Run.Seconds = job.Chain{}, 1, 80000 }, "", ""},
		{"no chain, no checkpoint", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Chain, j.Training.Checkpoint, p.Run.Checkpoints = job.Chain{}, job.Checkpoint{}, nil
		}, "nothing-saved run-outlasts-limit", "Nothing is saved."},
		{"chain of one", func(j *job.Job, _ *plan.Plan) { j.Slurm.Chain = job.Chain{Count: 1} }, "run-outlasts-limit", ""},
		{"short chain", func(j *job.Job, p *plan.Plan) { j.Slurm.Chain, p.Run.Jobs = job.Chain{Count: 2}, 3 }, "chain-too-short", "Set chain = 3"},
		{"chain too short for its failures", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Chain, p.Run.Failures = job.Chain{Count: 3}, 5.2
		}, "chain-too-short", "3 submissions would do for the run's 27.8 hours without failures, of which 5.2 are expected. Each ends a submission. Set chain = 7 or more"},
		{"short chain that fails, too", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Chain, p.Run.Jobs, p.Run.Failures = job.Chain{Count: 2}, 3, 5.2
		}, "chain-too-short", "of the run's 27.8 hours. Failures, of which 5.2 are expected, end one more each. Set chain = 8"},
		{"short chain with spare nodes", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Chain, j.Slurm.SpareNodes, p.Run.Jobs, p.Run.Failures = job.Chain{Count: 2}, 1, 3, 5.2
		}, "chain-too-short", "27.8 hours. Set chain = 3"},
		{"no chain, fails", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Chain, p.Run.Jobs, p.Run.Failures = job.Chain{}, 1, 2
		}, "chain-too-short", "1 submission would do for the run's 27.8 hours without failures, of which 2 are expected."},
		{"no chain, requeued", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Chain, j.Slurm.Requeue, p.Run.Jobs, p.Run.Failures = job.Chain{}, job.Some(true), 1, 2
		}, "", ""},
		{"no chain, hardly fails", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Chain, p.Run.Jobs, p.Run.Failures = job.Chain{}, 1, 0.4
		}, "", ""},
		{"chain of failures with spare nodes", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Chain, j.Slurm.SpareNodes, p.Run.Failures = job.Chain{Count: 2}, 1, 5.2
		}, "", ""},
		{"chain until done, whatever fails", func(_ *job.Job, p *plan.Plan) { p.Run.Failures = 50 }, "", ""},
		{"long chain", func(j *job.Job, _ *plan.Plan) { j.Slurm.Chain = job.Chain{Count: 2} }, "", ""},
		{"minutes", func(j *job.Job, p *plan.Plan) { j.Slurm.Time, p.Run.Jobs = 1440, 80 }, "short-time-limit sparse-checkpoints", "A limit of 24 minutes leaves 22 minutes"},
		{"minutes suffice", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Time, p.Run = 600, plan.Run{Steps: 10, Seconds: 100, Jobs: 1, Checkpoints: &plan.Checkpoints{Given: "auto", IntervalSteps: 10, IntervalSeconds: 120}}
		}, "", ""},
		{"few steps", func(_ *job.Job, p *plan.Plan) { p.Time.StepSeconds = 6000 }, "short-time-limit", "14 steps"},
		{"no limit", func(j *job.Job, _ *plan.Plan) { j.Slurm.Time = 0 }, "no-time-limit", "27.8 hours"},
		{"expected beyond the GPU-hours", func(j *job.Job, p *plan.Plan) {
			p.Time.ExpectedSeconds, p.Time.ChosenAmong, p.Run.GPUHours = 10.2, 11, 990
			j.Constraints.MaxGPUHours = job.Some(1000.0)
		}, "limit-in-doubt", "keeps max_gpu_hours = 1000. Expected are 1009.8: the layout was chosen as the best of 11 predictions, and such a one errs in its favour on average. Calibrate, or leave the limit 1.0 % more room"},
		{"expected beyond the time", func(j *job.Job, p *plan.Plan) {
			p.Time.ExpectedSeconds = 10.2
			j.Constraints.MaxTrainingTime = job.Some(units.Seconds(101000))
		}, "limit-in-doubt", "max_training_time = "},
		{"expected below the MFU", func(j *job.Job, p *plan.Plan) {
			p.Time.ExpectedSeconds, p.Throughput.MFU = 10.2, 0.405
			j.Constraints.MinMFU = job.Some(0.4)
		}, "limit-in-doubt", "min_mfu = 0.4. Expected are 0.39706:"},
		{"expected beyond the GPU-hours on a new cluster", func(j *job.Job, p *plan.Plan) {
			p.Time.ExpectedSeconds, p.Time.ChosenAmong, p.Time.UnmeasuredShare, p.Run.GPUHours = 10.5, 11, 0.03, 990
			j.Constraints.MaxGPUHours = job.Some(1000.0)
		}, "limit-in-doubt", "errs in its favour on average; steps take longer on average on a cluster where nothing was measured. Calibrate, or leave the limit 4.0 % more room"},
		{"expected within", func(j *job.Job, p *plan.Plan) {
			p.Time.ExpectedSeconds, p.Run.GPUHours, p.Run.Cost = 10.2, 970, 97
			j.Constraints.MaxGPUHours, j.Constraints.MaxCost, j.Constraints.MaxTrainingTime = job.Some(1000.0), job.Some(100.0), job.Some(units.Seconds(103000))
		}, "", ""},
		{"failures beyond the GPU-hours", func(j *job.Job, p *plan.Plan) {
			p.Run.ExpectedSeconds, p.Run.Goodput, p.Run.GPUHours = 120000, 0.83, 990
			j.Cluster.Reliability, j.Constraints.MaxGPUHours = &job.Reliability{}, job.Some(1000.0)
		}, "limit-in-doubt", "keeps max_gpu_hours = 1000. Expected are 1188: a run with its failures, saves and starts takes longer. Leave the limit 18.8 % more room."},
		{"failures within the GPU-hours", func(j *job.Job, p *plan.Plan) {
			p.Run.ExpectedSeconds, p.Run.Goodput, p.Run.GPUHours = 101000, 0.99, 990
			j.Cluster.Reliability, j.Constraints.MaxGPUHours = &job.Reliability{}, job.Some(1000.0)
		}, "", ""},
		{"pinned", func(j *job.Job, p *plan.Plan) {
			p.Time.ExpectedSeconds, p.Run.GPUHours = 10, 1000
			j.Constraints.MaxGPUHours = job.Some(1000.0)
		}, "", ""},
		{"reports within the silence", func(j *job.Job, _ *plan.Plan) { j.Slurm.HangTimeout.Time = 120 }, "", ""},
		{"reports beyond the silence", func(j *job.Job, _ *plan.Plan) { j.Slurm.HangTimeout.Time = 90 }, "hasty-hang-timeout", "every 10 steps, 100.0 seconds, and after 90.0 seconds of silence"},
		{"an evaluation beyond the silence", func(j *job.Job, _ *plan.Plan) {
			j.Training.Data.Validation, j.Slurm.HangTimeout.Time = &job.Validation{Interval: 500, Steps: 60}, 120
		}, "hasty-hang-timeout", "silent while they evaluate 60 batches, about 3 minutes, and after 2 minutes"},
		{"saves within the silence", func(j *job.Job, p *plan.Plan) {
			j.Training.Logging.Interval, j.Slurm.HangTimeout.Time, p.Run.Checkpoints.IntervalSteps = 1000, 1900, 180
		}, "", ""},
		{"learned silence", func(j *job.Job, _ *plan.Plan) { j.Slurm.HangTimeout.Learned = true }, "", ""},
		{"years", func(_ *job.Job, p *plan.Plan) { p.Run.Seconds = 800 * units.Day }, "long-run", "2.2 years"},
		{"fails now and then", func(j *job.Job, p *plan.Plan) {
			j.Cluster.Reliability = &job.Reliability{GPUHoursBetweenFailures: 5000, Restart: 600}
			p.Run.ExpectedSeconds, p.Run.Goodput = 110000, 0.9
		}, "", ""},
		{"fails before a restart is over", func(j *job.Job, _ *plan.Plan) {
			j.Cluster.Reliability = &job.Reliability{GPUHoursBetweenFailures: 4, Restart: 600}
		}, "failures-outrun", "On 32 GPUs a failure comes every 8 minutes; the next step is 10 minutes later, and 30 minutes lie between two checkpoints. So the run never ends."},
		{"fails most of the time", func(j *job.Job, p *plan.Plan) {
			j.Cluster.Reliability = &job.Reliability{GPUHoursBetweenFailures: 8, Restart: 600}
			p.Run.ExpectedSeconds, p.Run.Goodput = 4000000, 0.025
		}, "failures-outrun", "So the run of 27.8 hours is expected to take 46.3 days."},
		{"fails, and saves nothing", func(j *job.Job, p *plan.Plan) {
			j.Cluster.Reliability, j.Training.Checkpoint.Path, p.Run.Checkpoints = &job.Reliability{}, "", nil
		}, "nothing-saved", ""},
		{"mock", func(j *job.Job, _ *plan.Plan) { j.Training.Data.Mock = true }, "long-mock-run", ""},
		{"mock trial", func(j *job.Job, p *plan.Plan) {
			j.Training.Data.Mock, p.Run.Seconds, j.Training.Checkpoint.Path, p.Run.Checkpoints = true, 9000, "", nil
		}, "", ""},
		{"nothing saved", func(j *job.Job, p *plan.Plan) { j.Training.Checkpoint.Path, p.Run.Checkpoints = "", nil }, "nothing-saved", "gone when it ends"},
		{"interval beyond the run", func(_ *job.Job, p *plan.Plan) { p.Run.Checkpoints.IntervalSeconds = 100001 }, "sparse-checkpoints", "the run is 10000 steps"},
		{"interval beyond the limit", func(_ *job.Job, p *plan.Plan) {
			p.Run.Checkpoints = &plan.Checkpoints{Given: "steps", IntervalSteps: 9000, IntervalSeconds: 90000}
		}, "sparse-checkpoints", "9000 steps apart, 25.0 hours, and one submission"},
		{"automatic interval of a short run", func(_ *job.Job, p *plan.Plan) {
			p.Run.Checkpoints = &plan.Checkpoints{Given: "auto", IntervalSteps: 10000, IntervalSeconds: 360000}
		}, "", ""},
		{"saved all the time", func(_ *job.Job, p *plan.Plan) {
			p.Run.Checkpoints = &plan.Checkpoints{Given: "steps", IntervalSteps: 2, IntervalSeconds: 20, SaveSeconds: 60}
		}, "frequent-checkpoints", "saves 5000 times. A save of a large model takes about a minute."},
		{"saved all the time, and fast", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Time, j.Cluster.Storage.Bandwidth = 0, 1e12
			p.Run.Checkpoints = &plan.Checkpoints{Given: "steps", IntervalSteps: 2, IntervalSeconds: 20, SaveSeconds: 0.2}
		}, "no-time-limit", ""},
		{"saved too slowly for its interval", func(j *job.Job, p *plan.Plan) {
			j.Slurm.Time, j.Cluster.Storage.Bandwidth = 0, 1e9
			p.Run.Checkpoints = &plan.Checkpoints{Given: "time", IntervalSteps: 60, IntervalSeconds: 600, SaveSeconds: 1200}
		}, "frequent-checkpoints no-time-limit", "saves 166 times. By cluster.storage a save takes 20 minutes."},
		{"full", func(_ *job.Job, p *plan.Plan) { p.Memory.Peak.DeviceRangeBytes[1] = 80 * units.GiB }, "memory-reaches-gpu", `memory_headroom = "7%"`},
		{"full with headroom", func(j *job.Job, p *plan.Plan) {
			p.Memory.Peak.DeviceRangeBytes[1] = 81 * units.GiB
			j.Constraints.MemoryHeadroom = job.Some(units.Share(0.06))
		}, "memory-reaches-gpu", `memory_headroom = "9%"`},
		{"rate without its sign", func(j *job.Job, _ *plan.Plan) { j.Training.Optimizer.LearningRate = 1.5e4 }, "unlikely-learning-rate", "15000"},
		{"rate of muon", func(j *job.Job, _ *plan.Plan) {
			j.Training.Optimizer.Kind, j.Training.Optimizer.LearningRate = "muon", 0.05
		}, "", ""},
		{"rate of nothing", func(j *job.Job, _ *plan.Plan) { j.Training.Optimizer.LearningRate = 1e-40 }, "unlikely-learning-rate", "changes nothing"},
		{"betas exchanged", func(j *job.Job, _ *plan.Plan) { j.Training.Optimizer.Beta1, j.Training.Optimizer.Beta2 = 0.95, 0.9 }, "unlikely-optimizer", "exchanged"},
		{"epsilon", func(j *job.Job, _ *plan.Plan) { j.Training.Optimizer.Epsilon = 1e8 }, "unlikely-optimizer", "1e+08"},
		{"decay", func(j *job.Job, _ *plan.Plan) { j.Training.Optimizer.WeightDecay = 10 }, "unlikely-optimizer", "pulls all weights"},
		{"sgd has none of these", func(j *job.Job, _ *plan.Plan) { j.Training.Optimizer = job.Optimizer{Kind: "sgd", LearningRate: 1} }, "", ""},
		{"long warm-up", func(j *job.Job, _ *plan.Plan) { j.Training.Schedule.WarmupSteps = 5001 }, "long-warmup", "5001 of 10000"},
		{"no warm-up", func(j *job.Job, _ *plan.Plan) { j.Training.Schedule.WarmupSteps = 0 }, "no-warmup", "such as 100"},
		{"no warm-up of sgd", func(j *job.Job, _ *plan.Plan) {
			j.Training.Optimizer, j.Training.Schedule.WarmupSteps = job.Optimizer{Kind: "sgd", LearningRate: 0.1}, 0
		}, "no-warmup", "rate of 0.1: losses spike"},
		{"no warm-up from weights", func(j *job.Job, _ *plan.Plan) {
			j.Training.Schedule.WarmupSteps, j.Training.Start.From = 0, "huggingface"
		}, "", ""},
		{"validation", func(j *job.Job, _ *plan.Plan) { j.Training.Data.Validation.Interval = 10001 }, "never-reached", "nothing is evaluated"},
		{"log", func(j *job.Job, _ *plan.Plan) { j.Training.Logging.Interval = 10001 }, "never-reached", "no loss"},
		{"profile", func(j *job.Job, _ *plan.Plan) { j.Training.Logging.Profile.StartStep = 10000 }, "never-reached", "nothing is recorded"},
		{"ramp", func(j *job.Job, _ *plan.Plan) {
			j.Training.BatchRamp = &job.BatchRamp{Start: 64, Increment: 64, Sequences: 3e6}
		}, "never-reached", "never trains with global_batch_size"},
		{"costly validation", func(j *job.Job, _ *plan.Plan) { j.Training.Data.Validation.Steps = 150 }, "costly-validation", "150 batches are evaluated, each about a third of a step: the run takes 10 % longer"},
		{"validation of a sixteenth", func(j *job.Job, _ *plan.Plan) { j.Training.Data.Validation.Steps = 100 }, "", ""},
		{"tokens in billions", func(j *job.Job, _ *plan.Plan) { j.Training.Tokens = 300 }, "less-than-one-batch", "300 tokens, and one batch has 1048576"},
		{"one checkpoint", func(j *job.Job, _ *plan.Plan) { j.Training.Checkpoint.KeepLast = 1 }, "single-checkpoint", "all of them, or the last few where"},
		{"all checkpoints", func(j *job.Job, p *plan.Plan) {
			j.Training.Checkpoint.KeepLast, p.Run.Checkpoints.Bytes, p.Run.Checkpoints.Kept = 0, units.TiB, 4000
		}, "piled-checkpoints", "more than 1 PB in all"},
		{"some of all checkpoints", func(j *job.Job, p *plan.Plan) {
			j.Training.Checkpoint.KeepLast, p.Run.Checkpoints.Bytes, p.Run.Checkpoints.Kept = 0, units.TiB, 400
		}, "", ""},
		{"own disks", func(j *job.Job, _ *plan.Plan) { j.Training.Checkpoint.Path = "/tmp/careful" }, "local-checkpoints", "a /tmp of its own"},
		{"own disk of one node", func(j *job.Job, p *plan.Plan) {
			j.Training.Checkpoint.Path, j.Cluster.Nodes, j.Slurm.Chain, p.Run.Jobs = "/tmp/careful", 1, job.Chain{}, 1
		}, "", ""},
		{"mounted over", func(j *job.Job, _ *plan.Plan) {
			j.Training.Checkpoint.Path = "/tmp/out/careful"
			j.Slurm.Container = job.Container{Image: "i", Mounts: []string{"/lustre/out:/tmp/out"}}
		}, "", ""},
		{"debugging", func(j *job.Job, _ *plan.Plan) {
			j.Backend.Environment = []job.Variable{{Name: "CUDA_LAUNCH_BLOCKING", Value: "1"}, {Name: "NCCL_IB_DISABLE", Value: "1"}}
		}, "debugging-environment debugging-environment", "waits for every kernel"},
		{"no fabric to disable", func(j *job.Job, _ *plan.Plan) {
			j.Cluster.Network.Kind = "efa"
			j.Backend.Environment = []job.Variable{{Name: "NCCL_IB_DISABLE", Value: "1"}, {Name: "NCCL_P2P_DISABLE", Value: "0"}}
		}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, p := careful()
			c.change(j, p)
			got := append(Job(j), Plan(j, p)...)
			var ids []string
			found := c.text == ""
			for _, d := range got {
				if d.Severity != diag.Warning || d.Summary == "" || strings.Contains(d.Detail, "%!") {
					t.Errorf("%v", d)
				}
				ids = append(ids, string(d.ID))
				found = found || strings.Contains(d.Detail, c.text)
			}
			slices.Sort(ids)
			if strings.Join(ids, " ") != c.want || !found {
				t.Errorf("%v, want %s with %q", got, c.want, c.text)
			}
		})
	}
}

// TestEveryWarning: each id has a summary, and a case above.
func TestEveryWarning(t *testing.T) {
	source, err := os.ReadFile("caution_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for id, summary := range summaries {
		if summary == "" || !strings.Contains(string(source), `"`+string(id)) {
			t.Errorf("%s has no summary or no case", id)
		}
	}
}

// TestData: what is called unlikely has a source.
func TestData(t *testing.T) {
	sources := []string{recipes.Epsilon.Source, recipes.WeightDecay.Source, recipes.Warmup.Source}
	for _, b := range recipes.LearningRates {
		sources = append(sources, b.Source)
	}
	for _, v := range variables {
		sources = append(sources, v.Source, v.Why)
	}
	if len(sources) < 10 || slices.Contains(sources, "") {
		t.Errorf("%q", sources)
	}
}
