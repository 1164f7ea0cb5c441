package lang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/lang/budget"
	"github.com/ndc-dev/ndc/lang/job"
)

// sweep is a job with everything that merges in a way of its own.
const sweep = `
job "start" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 8
    steps             = 10
    seed              = 7
    optimizer "adamw" {
      learning_rate = 1e-4
      beta1         = 0.8
    }
    data {
      format = "megatron"
      source "a" {
        path = "/data/a"
      }
      source "b" {
        path = "/data/b"
      }
      tokenizer "huggingface" {
        path = "/tokenizer"
      }
    }
    checkpoint {
      path = "/checkpoints"
    }
    logging {
      tensorboard_path = "/tensorboard"
    }
  }
  backend "megatron" {
    version     = "core_v0.18.2"
    path        = "/megatron"
    environment = { A = "1", B = "2" }
    container {
      image  = "m.sqsh"
      mounts = ["/backend:/backend"]
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
    container {
      image = "t.sqsh"
    }
  }
  slurm {
    account     = "llm"
    modules     = ["cuda"]
    environment = { X = "1", Y = "2" }
    directives  = { comment = "base", nice = "5" }
    container {
      mounts = ["/data:/data", "/scratch:/scratch"]
    }
  }
}
job "sweep" {
  for_each = { low = 1e-5, high = 1e-3 }
  base     = job.start
  without  = ["backend.torchtitan", "training.seed"]
  training {
    optimizer "adamw" {
      learning_rate = each.value
    }
    data {
      source "b" {
        path = "/other/${each.key}"
      }
    }
  }
  backend "megatron" {
    version     = "core_v0.18.2"
    environment = { B = "3" }
  }
  slurm {
    modules     = ["gcc"]
    environment = { Y = "3", Z = "4" }
    directives  = { comment = each.key }
    container {
      mounts = ["/data:/data", "/more:/more"]
    }
  }
}
job "seeds" {
  count = 2
  base  = job.start
  training {
    seed = count.index + 100
  }
}
`

// TestInstances: for_each and count make jobs with names and folders of their
// own, over a base.
func TestInstances(t *testing.T) {
	w, diags := Load(files("job.hcl", sweep), "job.hcl", Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	var got []string
	for _, j := range w.Jobs {
		got = append(got, fmt.Sprintf("%s %s %g %d %s %s", j.Name, j.Backend.Kind, j.Training.Optimizer.LearningRate, j.Training.Seed, j.Training.Checkpoint.Path, j.Training.Logging.TensorBoardPath))
	}
	want := []string{
		"start megatron 0.0001 7 /checkpoints/megatron /tensorboard/megatron",
		"start torchtitan 0.0001 7 /checkpoints/torchtitan /tensorboard/torchtitan",
		"sweep-high megatron 0.001 1234 /checkpoints/sweep-high/megatron /tensorboard/sweep-high/megatron",
		"sweep-low megatron 1e-05 1234 /checkpoints/sweep-low/megatron /tensorboard/sweep-low/megatron",
		"seeds-0 megatron 0.0001 100 /checkpoints/seeds-0/megatron /tensorboard/seeds-0/megatron",
		"seeds-0 torchtitan 0.0001 100 /checkpoints/seeds-0/torchtitan /tensorboard/seeds-0/torchtitan",
		"seeds-1 megatron 0.0001 101 /checkpoints/seeds-1/megatron /tensorboard/seeds-1/megatron",
		"seeds-1 torchtitan 0.0001 101 /checkpoints/seeds-1/torchtitan /tensorboard/seeds-1/torchtitan",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"start", "sweep-high", "sweep-low", "seeds-0", "seeds-1"}, w.Names); d != "" {
		t.Error(d)
	}
}

// TestBaseOfJobs: maps and backends of a base merge by key and label, mounts
// are appended, and the rest replaces what the base says.
func TestBaseOfJobs(t *testing.T) {
	j := mustLoad(t, files("job.hcl", sweep), "job.hcl", Options{Job: "sweep-low", Backend: "megatron"})[0]
	want := job.Slurm{
		Account: "llm", GPUsDirective: "gres", Modules: []string{"gcc"},
		Environment: []job.Variable{{Name: "X", Value: "1"}, {Name: "Y", Value: "3"}, {Name: "Z", Value: "4"}},
		Directives:  []job.Variable{{Name: "comment", Value: "low"}, {Name: "nice", Value: "5"}},
		Container:   job.Container{Image: "m.sqsh", Mounts: []string{"/data:/data", "/scratch:/scratch", "/more:/more", "/backend:/backend"}, Runtime: "pyxis"},
		Launcher:    "torchrun", Bind: "none",
	}
	if d := cmp.Diff(want, j.Slurm); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]job.DataSource{{Name: "b", Path: "/other/low", Weight: 1}}, j.Training.Data.Sources); d != "" {
		t.Error(d)
	}
	if j.Backend.Path != "/megatron" || !cmp.Equal(j.Backend.Environment, []job.Variable{{Name: "A", Value: "1"}, {Name: "B", Value: "3"}}) || j.Training.Optimizer.Beta1 != 0.8 {
		t.Errorf("unexpected backend or optimizer: %+v %+v", j.Backend, j.Training.Optimizer)
	}
	for path, text := range map[string]string{
		`slurm.environment["X"]`: `"1"`, `slurm.environment["Y"]`: `"3"`, "training.optimizer.learning_rate": "each.value", "training.optimizer.beta1": "0.8",
	} {
		if r := j.Sources.Range(path); sweep[r.Start.Byte:r.End.Byte] != text {
			t.Errorf("%s is at %q, want %q", path, sweep[r.Start.Byte:r.End.Byte], text)
		}
	}
	if j.Sources.IsSet("training.seed") || j.Training.Seed != 1234 {
		t.Error("training.seed is not left out")
	}
}

// TestMounts: a base's mounts come first, and none twice.
func TestMounts(t *testing.T) {
	src := strings.Replace(sweep, `      mounts = ["/backend:/backend"]`+"\n", "", 1)
	j := mustLoad(t, files("job.hcl", src), "job.hcl", Options{Job: "sweep", Backend: "megatron"})[0]
	if d := cmp.Diff([]string{"/data:/data", "/scratch:/scratch", "/more:/more"}, j.Slurm.Container.Mounts); d != "" {
		t.Error(d)
	}
	if r := j.Sources.Range("slurm.container.mounts[2]"); src[r.Start.Byte:r.End.Byte] != `"/more:/more"` {
		t.Errorf("the third mount is at %q", src[r.Start.Byte:r.End.Byte])
	}
}

// TestMountsOfOnePlace: what a backend mounts where the job mounts something else takes
// its place in the list.
func TestMountsOfOnePlace(t *testing.T) {
	src := strings.Replace(sweep, `["/backend:/backend"]`, `["/fast:/data/:ro", "/backend:/backend"]`, 1)
	j := mustLoad(t, files("job.hcl", src), "job.hcl", Options{Job: "start", Backend: "megatron"})[0]
	if d := cmp.Diff([]string{"/fast:/data/:ro", "/scratch:/scratch", "/backend:/backend"}, j.Slurm.Container.Mounts); d != "" {
		t.Error(d)
	}
	for i, text := range []string{`"/fast:/data/:ro"`, `"/scratch:/scratch"`, `"/backend:/backend"`} {
		if r := j.Sources.Range(fmt.Sprintf("slurm.container.mounts[%d]", i)); src[r.Start.Byte:r.End.Byte] != text {
			t.Errorf("mount %d is at %q, want %s", i, src[r.Start.Byte:r.End.Byte], text)
		}
	}
}

// TestSelectedElements: --job takes a label, which is all its elements, or the name of
// one.
func TestSelectedElements(t *testing.T) {
	for asked, want := range map[string]int{"": 5, "sweep": 2, "sweep-low": 1, "seeds-1": 1, "start": 1} {
		if got := len(mustLoad(t, files("job.hcl", sweep), "job.hcl", Options{Job: asked, Backend: "megatron"})); got != want {
			t.Errorf("--job %s makes %d jobs, want %d", asked, got, want)
		}
	}
	_, diags := Load(files("job.hcl", sweep), "job.hcl", Options{Job: "sweep-lo"})
	if len(diags) != 1 || diags[0].ID != UnknownJob || !strings.Contains(diags[0].Detail, `Did you mean "sweep-low"`) {
		t.Error(diags)
	}
}

// TestManyInstances: as many jobs of one block as are allowed.
func TestManyInstances(t *testing.T) {
	src := minimal("", fmt.Sprintf("count = %d", budget.MaxElements), "steps = count.index + 1")
	jobs := mustLoad(t, files("job.hcl", src), "job.hcl", Options{})
	if n := len(jobs); n != budget.MaxElements || jobs[n-1].Training.Steps != n {
		t.Errorf("%d jobs", n)
	}
}

// TestFoldedNames: two jobs whose folders are one where case does not count are
// refused, whatever makes their names.
func TestFoldedNames(t *testing.T) {
	for _, src := range []string{
		minimal("", "for_each = { A = 1, a = 2 }", "steps = 1"),
		minimal("", "", "steps = 1") + strings.Replace(minimal("", "", "steps = 1"), `job "j"`, `job "J"`, 1),
	} {
		_, diags := Load(files("job.hcl", src), "job.hcl", Options{})
		if len(diags) != 1 || diags[0].ID != DuplicateBlock || !strings.Contains(diags[0].Detail, "upper and lower case") {
			t.Errorf("%v\n%s", diags, src)
		}
	}
}

// TestVariablesOfBackends: variables, directives and mounts of a backend's blocks stand
// beside the job's, and its own modules in their place.
func TestVariablesOfBackends(t *testing.T) {
	src := strings.Replace(sweep, `    environment = { A = "1", B = "2" }`, `    slurm {
      modules     = ["own"]
      environment = { Y = "5", W = "6" }
      directives  = { nice = "7" }
    }`, 1)
	j := mustLoad(t, files("job.hcl", src), "job.hcl", Options{Job: "start", Backend: "megatron"})[0]
	if d := cmp.Diff([]job.Variable{{Name: "W", Value: "6"}, {Name: "X", Value: "1"}, {Name: "Y", Value: "5"}}, j.Slurm.Environment); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]job.Variable{{Name: "comment", Value: "base"}, {Name: "nice", Value: "7"}}, j.Slurm.Directives); d != "" {
		t.Error(d)
	}
	if !cmp.Equal(j.Slurm.Modules, []string{"own"}) || !cmp.Equal(j.Slurm.Container.Mounts, []string{"/data:/data", "/scratch:/scratch", "/backend:/backend"}) {
		t.Errorf("modules %v and mounts %v", j.Slurm.Modules, j.Slurm.Container.Mounts)
	}
	for path, text := range map[string]string{`slurm.environment["X"]`: `"1"`, `slurm.environment["Y"]`: `"5"`} {
		if r := j.Sources.Range(path); src[r.Start.Byte:r.End.Byte] != text {
			t.Errorf("%s is at %q, want %q", path, src[r.Start.Byte:r.End.Byte], text)
		}
	}
}

// TestWithoutEntries: variables and directives of a base are left out by their names,
// and labels and names may stand in brackets.
func TestWithoutEntries(t *testing.T) {
	src := sweep + `job "less" {
  base    = job.start
  without = ["slurm.environment.X", "slurm.directives[\"nice\"]", "slurm.environment.NONE", "backend.torchtitan", "backend[\"megatron\"].environment.A"]
  training {
    checkpoint {
      path = "/elsewhere"
    }
  }
}
`
	j := mustLoad(t, files("job.hcl", src), "job.hcl", Options{Job: "less"})[0]
	if d := cmp.Diff([]job.Variable{{Name: "Y", Value: "2"}}, j.Slurm.Environment); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]job.Variable{{Name: "comment", Value: "base"}}, j.Slurm.Directives); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]job.Variable{{Name: "B", Value: "2"}}, j.Backend.Environment); d != "" {
		t.Error(d)
	}
	if _, ok := j.Sources[`slurm.environment["X"]`]; ok {
		t.Error("X has a source")
	}
}

// TestChainOfBases: jobs of which each is the base of the next are evaluated once each.
func TestChainOfBases(t *testing.T) {
	var chain strings.Builder
	for i, base := 1, "j"; i < 990; i++ {
		fmt.Fprintf(&chain, "job \"j%d\" {\n  base = job.%s\n  training {\n    seed = %d\n  }\n}\n", i, base, i)
		base = fmt.Sprintf("j%d", i)
	}
	w, diags := Load(files("job.hcl", minimal(chain.String(), "", "steps = 10")), "job.hcl", Options{})
	if len(diags) > 0 || len(w.Jobs) != 990 {
		t.Fatalf("%d jobs: %v", len(w.Jobs), diags)
	}
}
