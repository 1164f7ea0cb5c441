package lang

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/lang/job"
)

// overridden loads the smallest job with some overrides.
func overridden(t *testing.T, text string) (*Workspace, string) {
	t.Helper()
	w, diags := Load(files("job.hcl", minimal("", "", "steps = 1")), "job.hcl", Options{Overrides: ParseOverrides("--compare", text)})
	var details []string
	for _, d := range diags {
		details = append(details, d.Range.Filename+": "+d.Detail)
	}
	return w, strings.Join(details, "\n")
}

// TestOverride: what the command line sets counts as if the files said it, at its
// place in the option.
func TestOverride(t *testing.T) {
	w, wrong := overridden(t, `constraints.layout.tensor_parallel = [1, 2]; cluster.nodes=1;cluster.gpu.memory=90GiB; model.sequence_length=1024; training.optimizer.beta2=0.9;`+
		` execution.offload.optimizer=true; slurm.environment={ NCCL_DEBUG = "INFO" }; backend.version=core_v0.19.2; training.optimizer["adamw"].beta1=0.8; constraints.objective=memory; training.seed=null;`+
		` backend.constraints.layout.pipeline_parallel=2; backend.execution.attention=flash; backend.container.image=/a.sqsh; backend.environment={ A = "1" }`)
	if wrong != "" {
		t.Fatal(wrong)
	}
	j := &w.Jobs[0]
	got := []any{j.Constraints.Layout.TensorParallel.Values, j.Cluster.GPU.Memory.String(), j.Model.SequenceLength, j.Training.Optimizer.Beta1, j.Training.Optimizer.Beta2,
		j.Execution.OffloadOptimizer, j.Slurm.Environment, j.Backend.Version, j.Constraints.Objective,
		j.Constraints.Layout.PipelineParallel.Values, j.Execution.Attention, j.Slurm.Container.Image, j.Backend.Environment}
	want := []any{[]int{1, 2}, "90GiB", 1024, 0.8, 0.9, job.Some(true), []job.Variable{{Name: "NCCL_DEBUG", Value: "INFO"}}, "core_v0.19.2", "memory",
		[]int{2}, job.Some("flash"), "/a.sqsh", []job.Variable{{Name: "A", Value: "1"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if at := j.Sources.Range("model.sequence_length"); at.Filename != "--compare model.sequence_length=1024" || at.Start.Byte != len("model.sequence_length=") {
		t.Errorf("written at %v", at)
	}
}

// TestOverrideTakesAway: null takes blocks and entries of maps away, and an entry is set
// beside the others.
func TestOverrideTakesAway(t *testing.T) {
	src := minimal("", `slurm {
  environment = { A = "1", B = "2" }
  directives  = { comment = "x" }
  setup       = ["true"]
}`, "steps = 1\n checkpoint {\n path = \"/c\"\n }\n logging {\n tensorboard_path = \"/t\"\n }\n")
	w, diags := Load(files("job.hcl", src), "job.hcl", Options{Overrides: ParseOverrides("--compare",
		`slurm.environment.A=null; slurm.environment["B"]=a b; slurm.environment.C="007"; slurm.directives.comment=null; slurm.directives.mail-type=END;`+
			` training.checkpoint=null; backend.training.logging=null; backend.environment.X=1e3; cluster.nvlink=null; model.position_embedding=null`)})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	j := &w.Jobs[0]
	got := []any{j.Slurm.Environment, j.Slurm.Directives, j.Training.Checkpoint.Path, j.Training.Logging.TensorBoardPath, j.Backend.Environment, int(j.Cluster.NVLink.Domain), len(j.Slurm.Setup)}
	want := []any{[]job.Variable{{Name: "B", Value: "a b"}, {Name: "C", Value: "007"}}, []job.Variable{{Name: "mail-type", Value: "END"}}, "", "", []job.Variable{{Name: "X", Value: "1e3"}}, 0, 1}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if at := j.Sources.Range(`slurm.environment["C"]`); at.Filename != `--compare slurm.environment.C="007"` {
		t.Errorf("written at %v", at)
	}
}

// TestOverrideMistakes: paths and values are held to the words of the language.
func TestOverrideMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"constraints.layout.tensor_paralel=2":       `The block layout has no argument "tensor_paralel". Did you mean "tensor_parallel"?`,
		"constraint.layout.tensor_parallel=2":       `The block job has no block "constraint". Did you mean "constraints"?`,
		"tensor_parallel=2":                         `The block job has no argument "tensor_parallel".`,
		"constraints.layout.tensor_parallel":        `is not PATH=VALUE`,
		"constraints.layout.tensor_parallel=0":      `"tensor_parallel" must be at least 1, not 0.`,
		"cluster.gpu.memory=40":                     `memory`,
		"constraints.objective=speed":               `Did you mean "throughput"?`,
		"model=catalog.model.llama3_8b":             `"model" names a block`,
		"cluster.base=x":                            `"base" says how the job was put together`,
		"base=job.x":                                `"base" says how the job was put together`,
		"site=site.x":                               "--site says at which site a job is planned",
		"for_each=[1]":                              `"for_each" says how the job was put together`,
		"training.checkpoint=/c":                    `"checkpoint" is a block. null takes it away; anything else is set in it, such as checkpoint.path=….`,
		"training.optimizer=null":                   `The block training needs its block "optimizer"`,
		"backend=null":                              `"backend" is a block`,
		"slurm.environment.WANDB_API_KEY=x":         `WANDB_API_KEY`,
		`slurm.environment={ A = "1" }.B=2`:         `B`,
		"training.data.source.path=/x":              `Its label stands in brackets: source["LABEL"].`,
		`training.optimizer["sgd"].learning_rate=1`: `The block training has no such block optimizer`,
		"training.steps=3; training . steps = 4":    `training.steps is set twice`,
		"constraints.objective=memory; backend.constraints.objective=time":                         `constraints.objective is set twice`,
		`backend["megatron"].version=core_v0.19.2`:                                                 `"backend" stands without its label`,
		"training.steps=[for a in range(1000): [for b in range(1000): [for c in range(1000): a]]]": "together exceed",
		"backend.exec.attention=flash":                                                             `The block job has no block "exec".`,
		"cluster.nodes=1; cluster.nvlnk.domain=8":                                                  `The block cluster has no block "nvlnk". Did you mean "nvlink"?`,
	} {
		if _, got := overridden(t, text); !strings.Contains(got, want) || !strings.HasPrefix(got, "--compare ") {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
}
