//go:build conformance

package torchtitan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	frameworks "github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// release is one supported TorchTitan.
type release struct {
	version   string
	arguments []string // of the command line that reads the emitted files
}

var releases = []release{
	{"0.2.2", []string{"--job.config_file", "train.toml"}},
	{"0.3.0", []string{"--module", "ndc_job", "--config", "run"}},
}

// python returns the interpreter of an environment with the release,
// installing it first if it is missing.
func (r release) python(t *testing.T) string {
	t.Helper()
	python, err := frameworks.TorchTitan(r.version).Python()
	if err != nil {
		line := r.line("")
		line.What, line.Skipped = t.Name(), err.Error()
		line.AddAfter(t)
		t.Skip("skipped: ", err)
	}
	return python
}

// line is a row of the summary about this release.
func (r release) line(what string) *summary.Line {
	return &summary.Line{Framework: "torchtitan", Version: r.version, What: what}
}

// run executes a command and returns its output; a failure ends the test with
// the last lines.
func run(t *testing.T, limit time.Duration, env []string, dir string, command ...string) string {
	t.Helper()
	out, err := try(limit, env, dir, command...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, frameworks.Tail(out, 40))
	}
	return out
}

func try(limit time.Duration, env []string, dir string, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	frameworks.Together(cmd)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("no end after %s: %w", limit, ctx.Err())
	}
	return out.String(), err
}

// ndc builds the program, unless NDC_PROGRAM names one.
func ndc(t *testing.T) string {
	t.Helper()
	if program := os.Getenv("NDC_PROGRAM"); program != "" {
		return program
	}
	program := filepath.Join(t.TempDir(), "ndc")
	run(t, 5*time.Minute, nil, ".", "go", "build", "-o", program, "../../cmd/ndc")
	return program
}

// here is the folder of this test's Python programs.
func here(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// environment makes a folder of generated files and the drivers importable.
func environment(t *testing.T, files string, more ...string) []string {
	return append([]string{"PYTHONPATH=" + files + ":" + here(t), "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1",
		"NDC_LOG_DIR=" + t.TempDir()}, more...)
}

// parse reads the files with the configuration manager of the release.
func (r release) parse(t *testing.T, files string) {
	t.Helper()
	run(t, 5*time.Minute, environment(t, files), files, append([]string{r.python(t), "-m", "torchtitan.config.manager"}, r.arguments...)...)
}

// dryRun builds and steps the real Trainer for the first and the last rank.
func (r release) dryRun(t *testing.T, files string, world int) {
	t.Helper()
	for _, rank := range []int{0, world - 1} {
		env := environment(t, files, fmt.Sprintf("WORLD_SIZE=%d", world), fmt.Sprintf("RANK=%d", rank))
		out := run(t, 30*time.Minute, env, files, append([]string{r.python(t), filepath.Join(here(t), "dryrun.py")}, r.arguments...)...)
		t.Logf("TorchTitan %s: %s", r.version, frameworks.Tail(out, 1))
		if rank == world-1 && rank == 0 {
			break
		}
	}
}

// TestExamples hands every TorchTitan example to the release that it names; with
// NDC_CONFORMANCE_CHEAP the smallest two.
func TestExamples(t *testing.T) {
	program := ndc(t)
	jobs, err := filepath.Glob("../../examples/*/job.hcl")
	if err != nil || len(jobs) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, job := range jobs {
		t.Run(filepath.Base(filepath.Dir(job)), func(t *testing.T) {
			if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" && !slices.Contains([]string{"tiny", "llama3-8b"}, filepath.Base(filepath.Dir(job))) {
				t.Skip("not in the sample")
			}
			content, err := os.ReadFile(job)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(content, []byte(`backend "torchtitan"`)) {
				t.Skip("not for TorchTitan")
			}
			out := t.TempDir()
			run(t, 10*time.Minute, nil, ".", program, "build", job, "--backend", "torchtitan", "-o", out)
			folders, _ := filepath.Glob(filepath.Join(out, "*", "torchtitan"))
			if len(folders) == 0 {
				t.Fatal("nothing was written")
			}
			for _, files := range folders {
				r, world := identify(t, files)
				r.parse(t, files)
				r.dryRun(t, files, world)
			}
		})
	}
}

// identify reads release and world size from the summary line of ndc_job.py.
func identify(t *testing.T, files string) (release, int) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(files, "ndc_job.py"))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`on TorchTitan ([0-9.]+), ([0-9]+) GPUs?`).FindSubmatch(content)
	if match == nil {
		t.Fatalf("no summary in %s", files)
	}
	world, _ := strconv.Atoi(string(match[2]))
	for _, r := range releases {
		if r.version == string(match[1]) {
			return r, world
		}
	}
	t.Fatalf("unknown release %s", match[1])
	return release{}, 0
}

// layoutCase is a layout that is really trained, by one release or all.
type layoutCase struct {
	name      string
	gpus      int
	layout    string
	release   string
	attention string // a kernel, on documents of their own; "": what ndc takes, on whole sequences
}

var layouts = []layoutCase{
	{"fsdp", 2, `data_parallel_shard = 2`, "", ""},
	{"hsdp", 4, "data_parallel_shard = 2\n data_parallel_replicate = 2", "", ""},
	{"ddp", 2, "data_parallel_shard = 1\n data_parallel_replicate = 2", "", ""},
	{"tp", 4, "data_parallel_shard = 2\n tensor_parallel = 2", "", ""},
	{"pp", 4, "data_parallel_shard = 2\n pipeline_parallel = 2\n pipeline_schedule = \"1f1b\"\n stage_layers = [3, 1]\n micro_batch_size = 1", "", ""},
	{"interleaved", 4, "data_parallel_shard = 2\n pipeline_parallel = 2\n virtual_pipeline = 2\n pipeline_schedule = \"interleaved_1f1b\"\n micro_batch_size = 1", "", ""},
	{"zb_h1", 4, "data_parallel_shard = 2\n pipeline_parallel = 2\n pipeline_schedule = \"zb_h1\"\n micro_batch_size = 1", "0.3.0", ""},
	{"zb_h2", 4, "data_parallel_shard = 2\n pipeline_parallel = 2\n pipeline_schedule = \"zb_h2\"\n micro_batch_size = 1", "0.3.0", ""},
	{"zbv", 4, "data_parallel_shard = 2\n pipeline_parallel = 2\n pipeline_schedule = \"zbv\"\n micro_batch_size = 1", "0.3.0", ""},
	{"dualpipev", 4, "data_parallel_shard = 2\n pipeline_parallel = 2\n pipeline_schedule = \"dualpipev\"\n micro_batch_size = 1", "0.3.0", ""},
}

// TestTraining trains the small job in every layout. All start from one
// checkpoint and see the same samples, so the losses agree but for the
// rounding of bf16. (Drawn weights would differ: torch numbers the random
// draws of a sharded tensor by its shards.)
func TestTraining(t *testing.T) {
	program, data := ndc(t), t.TempDir()
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			line := r.line("small jobs trained on CPU, layouts")
			line.AddAfter(t)
			run(t, time.Minute, nil, ".", r.python(t), "make_data.py", data, "512")
			seed := r.seed(t, program, data)
			var want []step
			for _, c := range layouts {
				if c.release != "" && c.release != r.version {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					line.Count(t)
					got := r.train(t, c.build(t, program, r, data), c.gpus, "--checkpoint.folder", filepath.Join(t.TempDir(), "saved"), "--checkpoint.initial_load_path", seed)
					t.Logf("TorchTitan %s %s: losses and norms %v", r.version, c.name, got)
					if len(got) != 6 || got[5].loss > got[0].loss-0.5 {
						t.Fatalf("losses %v: want six that fall", got)
					}
					if want == nil {
						want = got
					}
					for i := range got {
						if d := got[i].loss - want[i].loss; d > tolerance || d < -tolerance {
							t.Errorf("step %d: loss %g, with %s %g", i+1, got[i].loss, layouts[0].name, want[i].loss)
						}
						if d := got[i].norm/want[i].norm - 1; d > tolerance || d < -tolerance {
							t.Errorf("step %d: gradient norm %g, with %s %g", i+1, got[i].norm, layouts[0].name, want[i].norm)
						}
					}
				})
			}
		})
	}
}

// TestAttentionKernels trains the small job with each kernel of attention that
// 0.3.0 has, on documents of their own: the packages are stood in for by the
// same sums without tiles, the masks and bounds are TorchTitan's. So the losses
// are those of FlexAttention.
func TestAttentionKernels(t *testing.T) {
	program, data, r := ndc(t), t.TempDir(), releases[1]
	line := r.line("small jobs trained on CPU, kernels of attention")
	line.AddAfter(t)
	run(t, time.Minute, nil, ".", r.python(t), "make_data.py", data, "512")
	seed := r.seed(t, program, data)
	var want []step
	for _, kernel := range []string{"flash", "flex_flash", "varlen"} {
		for _, l := range layouts[:5] { // sharded, replicated, tensor and pipeline parallel
			if kernel == "flash" && want != nil {
				break
			}
			t.Run(kernel+"/"+l.name, func(t *testing.T) {
				line.Count(t)
				c := l
				c.attention = kernel
				got := r.train(t, c.build(t, program, r, data), c.gpus, "--checkpoint.folder", filepath.Join(t.TempDir(), "saved"), "--checkpoint.initial_load_path", seed)
				t.Logf("TorchTitan %s %s %s: losses %v", r.version, kernel, c.name, got)
				if len(got) != 6 || got[5].loss > got[0].loss-0.5 {
					t.Fatalf("losses %v: want six that fall", got)
				}
				if want == nil {
					want = got
				}
				for i := range got {
					if d := got[i].loss - want[i].loss; d > tolerance || d < -tolerance {
						t.Errorf("step %d: loss %g, by FlexAttention %g", i+1, got[i].loss, want[i].loss)
					}
				}
			})
		}
	}
}

// tolerance of losses between layouts, and of gradient norms by the share: rounding
// of bf16 over a few steps.
const tolerance = 0.02

// seed writes the initial weights once, by the framework's own option for it.
func (r release) seed(t *testing.T, program, data string) string {
	t.Helper()
	folder := t.TempDir()
	single := layoutCase{name: "single", gpus: 1, layout: "data_parallel_shard = 1"}
	r.launch(t, single.build(t, program, r, data), 1, nil, "--checkpoint.folder", folder, "--checkpoint.create_seed_checkpoint")
	return filepath.Join(folder, "step-0")
}

// build writes the files of a case.
func (c layoutCase) build(t *testing.T, program string, r release, data string) string {
	t.Helper()
	template, err := os.ReadFile("testdata/small.hcl")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	job := filepath.Join(dir, "job.hcl")
	content := strings.Replace(string(template), "# LAYOUT", c.layout, 1)
	if c.attention != "" {
		content = strings.NewReplacer("compile = false", fmt.Sprintf("compile = false\n attention = %q", c.attention),
			"data {\n", "data {\n document_mask = true\n reset_position_ids = true\n").Replace(content)
	}
	if err := os.WriteFile(job, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, 5*time.Minute, nil, ".", program, "build", job, "--var", "data="+data, "--var", "checkpoints="+filepath.Join(dir, "saved"),
		"--var", fmt.Sprintf("gpus=%d", c.gpus), "--var", "version="+r.version, "-o", filepath.Join(dir, "out"))
	return filepath.Join(dir, "out", "small", "torchtitan")
}

// step is what TorchTitan logs of one: the loss, and the gradient's norm before it is
// clipped.
type step struct{ loss, norm float64 }

var lossLine = regexp.MustCompile(`step: +([0-9]+)  loss: +(-?[0-9.]+)  grad_norm: +([0-9.]+)`)

// train runs the ranks on the CPU and returns every step.
func (r release) train(t *testing.T, files string, ranks int, more ...string) []step {
	t.Helper()
	return losses(r.launch(t, files, ranks, nil, more...))
}

func (r release) launch(t *testing.T, files string, ranks int, env []string, more ...string) string {
	t.Helper()
	command := []string{r.python(t), "-m", "torch.distributed.run", fmt.Sprintf("--nproc-per-node=%d", ranks),
		"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", filepath.Join(here(t), "train.py")}
	command = append(append(command, r.arguments...), more...)
	env = append(environment(t, files), env...)
	if out, err := try(launchLimit, env, files, command...); err == nil {
		return out
	} else if !ended(out, err) {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, frameworks.Tail(out, 40))
	} else {
		t.Logf("started again: %v; %s\n%s", err, frameworks.Machine(), frameworks.Tail(out, 5))
	}
	return run(t, launchLimit, env, files, command...)
}

// launchLimit is ten times what a small job takes.
const launchLimit = 6 * time.Minute

// ended reports that not the program but its time or the machine ended a
// launch: once may be the machine, twice is the program.
func ended(out string, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || strings.Contains(out, "Signal 9 (SIGKILL)")
}

// losses reads every step; ranks without the last pipeline stage print -1 for the
// loss.
func losses(out string) []step {
	byStep := map[int]step{}
	last := 0
	for _, m := range lossLine.FindAllStringSubmatch(out, -1) {
		number, _ := strconv.Atoi(m[1])
		loss, _ := strconv.ParseFloat(m[2], 64)
		norm, _ := strconv.ParseFloat(m[3], 64)
		if loss >= 0 {
			byStep[number], last = step{loss, norm}, max(last, number)
		}
	}
	var list []step
	for number := 1; number <= last; number++ {
		if s, ok := byStep[number]; ok {
			list = append(list, s)
		}
	}
	return list
}

// TestStopAndResume: a run whose time is up saves, stops with success, and
// goes on with the very numbers of a run without a stop.
func TestStopAndResume(t *testing.T) {
	program, data := ndc(t), t.TempDir()
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			line := r.line("a small job stopped and resumed on CPU")
			line.AddAfter(t)
			line.Count(t)
			run(t, time.Minute, nil, ".", r.python(t), "make_data.py", data, "512")
			files := layouts[0].build(t, program, r, data)
			whole := r.train(t, files, 2, "--checkpoint.folder", t.TempDir())
			saved := t.TempDir()
			every := stepsBetweenLooks(t, files)
			first := losses(r.launch(t, files, 2, []string{"NDC_END_TIME=1"}, "--checkpoint.folder", saved))
			if every < 6 && len(first) != every {
				t.Fatalf("stopped after %d steps, the clock is read every %d", len(first), every)
			}
			rest := r.train(t, files, 2, "--checkpoint.folder", saved)
			got := append(first, rest...)
			if fmt.Sprint(got) != fmt.Sprint(whole) {
				t.Errorf("losses %v, without a stop %v", got, whole)
			}
		})
	}
}

// stepsBetweenLooks is the emitted check_every, cut to a value that makes the
// small job stop in the middle.
func stepsBetweenLooks(t *testing.T, files string) int {
	t.Helper()
	path := filepath.Join(files, "ndc_job.py")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := regexp.MustCompile(`check_every=[0-9]+`).ReplaceAll(content, []byte("check_every=4"))
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	return 4
}

// TestReader checks the emitted reader of token files by itself.
func TestReader(t *testing.T) {
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			line := r.line("the emitted reader of token files")
			line.AddAfter(t)
			line.Count(t)
			env := []string{"PYTHONPATH=../../backends/torchtitan/templates", "PYTHONDONTWRITEBYTECODE=1"}
			run(t, 5*time.Minute, env, ".", r.python(t), "check_runtime.py", t.TempDir())
		})
	}
}
