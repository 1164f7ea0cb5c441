package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/tools/golden"
)

var usedCluster = regexp.MustCompile(`catalog\.cluster\.(\w+)`)

// built builds the only job of a file.
func built(t *testing.T, text []byte) (*plan.Plan, []File) {
	t.Helper()
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: text}}, "job.hcl", lang.Options{})
	if diags.HasErrors() || len(w.Jobs) != 1 {
		t.Fatalf("%v\n%s", diags, text)
	}
	j := &w.Jobs[0]
	b := emitter(j.Backend.Kind)
	target, diags := b.Target(j)
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, text)
	}
	p, diags, err := compiler.Compile(context.Background(), j, target)
	if err != nil || diags.HasErrors() || !p.Feasible {
		t.Fatalf("no plan: %v %v\n%s", err, diags, text)
	}
	artifacts, diags := b.Emit(j, p)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return p, files(artifacts)
}

// files are the artifacts of a backend as a user would import them.
func files(artifacts []backends.Artifact) []File {
	var all []File
	for _, a := range artifacts {
		if isImported(a.Path) {
			all = append(all, File{Name: a.Path, Content: a.Content})
		}
	}
	return all
}

// TestRoundTrip imports what the examples emit, builds that, and imports it
// again: the plan is the example's, and the second job is the first.
func TestRoundTrip(t *testing.T) {
	if *golden.Update {
		t.Skip("the examples may be on their way to being rewritten")
	}
	for kind, least := range map[string]int{"megatron": 5, "torchtitan": 2, "deepspeed": 5} {
		folders, err := filepath.Glob("../examples/*/out/*/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		if kind == "torchtitan" { // later releases are configured by Python, which is imported as what the framework prints of it
			folders = slices.DeleteFunc(folders, func(folder string) bool {
				_, err := os.Stat(filepath.Join(folder, "train.toml"))
				return err != nil
			})
		}
		if len(folders) < least {
			t.Fatalf("%s: %d examples", kind, len(folders))
		}
		for _, folder := range folders {
			name := filepath.Base(filepath.Dir(folder))
			t.Run(kind+"/"+name, func(t *testing.T) {
				source, err := os.ReadFile(filepath.Join("../examples", name, "job.hcl"))
				if err != nil {
					t.Fatal(err)
				}
				o := Options{Cluster: string(usedCluster.FindSubmatch(source)[1])}
				first := imported(t, emittedIn(t, folder), o)
				p, again := built(t, clustered(first, source))
				second := imported(t, again, o)
				if d := cmp.Diff(string(first), string(second)); d != "" {
					t.Errorf("imported again (-first +second):\n%s", d)
				}
				samePlan(t, filepath.Join(folder, "plan.json"), p)
			})
		}
	}
}

// TestOwnOptions: what ndc emits by itself is not passed on, whether the cluster is
// named or not, has as many GPUs as the layout takes, or memory for it.
func TestOwnOptions(t *testing.T) {
	for _, at := range []string{"tiny/megatron", "tiny/torchtitan", "tiny/deepspeed", "hsdp/torchtitan", "llama3-long/megatron", "llama3-70b/deepspeed", "llama3-8b-continued/deepspeed"} {
		name, kind, _ := strings.Cut(at, "/")
		for _, o := range []Options{{}, {Cluster: "single_gpu", Nodes: 1}, {Cluster: "dgx_a100", Nodes: 3}, {Cluster: "leonardo"}} {
			o.Job = name
			r, diags := Import(emittedIn(t, filepath.Join("../examples", name, "out", name, kind)), o)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			for _, f := range r.Findings {
				if f.Verdict == "passed on" {
					t.Errorf("%s on %q: %s: %s %s: %s", at, o.Cluster, f.Verdict, f.Name, f.Value, f.Why)
				}
			}
		}
	}
}

// TestWindows: a byte order mark and Windows' ends of lines change nothing, also in what
// ndc wrote itself, which names its release.
func TestWindows(t *testing.T) {
	for _, at := range []string{"llama3-8b/megatron", "hsdp/torchtitan", "tiny/deepspeed"} {
		name, kind, _ := strings.Cut(at, "/")
		all := emittedIn(t, filepath.Join("../examples", name, "out", name, kind))
		want, diags := Import(all, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for i := range all {
			all[i].Content = append([]byte("\ufeff"), bytes.ReplaceAll(all[i].Content, []byte("\n"), []byte("\r\n"))...)
		}
		got, diags := Import(all, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if d := cmp.Diff(string(want.Job), string(got.Job)) + cmp.Diff(want.Findings, got.Findings); d != "" {
			t.Errorf("%s (-before +after):\n%s", at, d)
		}
	}
}

// TestStart: a job that starts from a checkpoint comes back as one, though its launch
// loads the run's own checkpoints as soon as there are some.
func TestStart(t *testing.T) {
	for _, reset := range []string{"", "reset_optimizer = true\n      reset_schedule  = true\n      reset_data      = true"} {
		for base, path := range map[string]string{"/base": "/run", "$${BASE}/x": "$${SCRATCH}/run"} {
			text := fmt.Sprintf(`
cluster "c" {
  base  = catalog.cluster.dgx_h100
  nodes = 1
}

job "started" {
  model   = catalog.model.gpt3_1_7b
  cluster = cluster.c

  training {
    global_batch_size = 64
    steps             = 1000

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
    start {
      from = "checkpoint"
      path = %q
      %s
    }
    checkpoint {
      path     = %q
      interval = 100
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
    path    = "/opt/megatron-lm"
  }
}
`, base, reset, path)
			_, launch := built(t, []byte(text))
			got := string(imported(t, launch, Options{Cluster: "dgx_h100"}))
			block := regexp.MustCompile(`(?ms)^    start \{\n.*?^    \}`).FindString(got)
			if want := fmt.Sprintf("path = %q", base); !strings.Contains(strings.Join(strings.Fields(block), " "), want) || (reset != "") != strings.Contains(block, "reset_optimizer") {
				t.Errorf("start from %s, saves to %s: %q", base, path, block)
			}
		}
	}
}

// emittedIn reads the files of a folder that are imported: not those that say
// the plan, and no programs.
func emittedIn(t *testing.T, folder string) []File {
	t.Helper()
	var all []File
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !isImported(name) {
			return err
		}
		b, err := os.ReadFile(filepath.Join(folder, name))
		all = append(all, File{Name: name, Content: b})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func isImported(name string) bool {
	return path.Base(name) != "plan.json" && slices.Contains([]string{".sh", ".sbatch", ".toml", ".json"}, path.Ext(name))
}

var (
	clusterBlock = regexp.MustCompile(`(?ms)^cluster "(\w+)" \{.*?^\}`)
	nodes        = regexp.MustCompile(`(?m)^  nodes *=.*$`)
)

// clustered puts the cluster of an example in the place of an imported one:
// what is built of a launch knows the network no better than its user says.
func clustered(imported, example []byte) []byte {
	m := clusterBlock.FindSubmatch(example)
	if m == nil {
		return imported
	}
	own := bytes.Replace(m[0], m[1], []byte("cluster"), 1)
	own = nodes.ReplaceAll(own, nodes.Find(clusterBlock.Find(imported)))
	return clusterBlock.ReplaceAllLiteral(imported, own)
}

func imported(t *testing.T, all []File, o Options) []byte {
	t.Helper()
	r, diags := Import(all, o)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, f := range r.Findings {
		if f.Verdict == "not understood" || f.Verdict == "passed on" && !isExtra(all, f) {
			t.Errorf("%s:%d: %s: %s %s: %s", f.File, f.Line, f.Verdict, f.Name, f.Value, f.Why)
		}
	}
	if len(r.Open) > 0 {
		t.Errorf("variables are open: %v", r.Open)
	}
	return r.Job
}

// isExtra reports a line that ndc emitted because the job passes it on itself.
func isExtra(all []File, f draft.Finding) bool {
	return slices.ContainsFunc(all, func(file File) bool {
		lines := strings.Split(string(file.Content), "\n")
		return file.Name == f.File && f.Line <= len(lines) && strings.HasSuffix(lines[f.Line-1], "# spec: backend.extra_args")
	})
}

// samePlan compares what a plan decides and predicts with a plan.json.
func samePlan(t *testing.T, path string, p *plan.Plan) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(file.Of(p))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	apart := []string{"usable_bytes", "oom_probability"} // which count the job's own limit on memory, which is in no launch
	if p.Backend == "torchtitan" {
		apart = append(apart, "host") // what loads the data is in a program
	}
	chosen := []string{"step_range_seconds", "expected_seconds", "chosen_among"} // which a layout that is pinned is not
	want["time"], got["time"] = without(t, want["time"], chosen), without(t, got["time"], chosen)
	want["memory"], got["memory"] = without(t, want["memory"], apart), without(t, got["memory"], apart)
	for _, part := range []string{"layout", "execution", "mesh", "memory", "time"} {
		if d := cmp.Diff(compact(t, want[part]), compact(t, got[part])); d != "" {
			t.Errorf("%s (-example +imported):\n%s", part, d)
		}
	}
}

func without(t *testing.T, raw json.RawMessage, keys []string) json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if all[key] == nil {
			t.Fatalf("there is no %s", key)
		}
		delete(all, key)
	}
	rest, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return rest
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", " "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPrinted: the records of what TorchTitan prints of the backend's golden
// files (integration/torchtitan makes them) are imported without a rest, and the
// jobs can be built.
func TestPrinted(t *testing.T) {
	paths, err := filepath.Glob("../testdata/intake/printed/*.json")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d records: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Cluster: "dgx_h100", Nodes: 1, GPUs: ranks(t, src)}
			log := append([]byte("[rank0]:[titan] 2026-09-09 12:00:00,000 - root - INFO - Running with configs: "), src...)
			job := imported(t, []File{{Name: "printed.json", Content: src}}, o)
			if d := cmp.Diff(string(job), string(imported(t, []File{{Name: "printed.log", Content: log}}, o))); d != "" {
				t.Errorf("read of a log (-file +log):\n%s", d)
			}
			golden.Compare(t, strings.TrimSuffix(path, ".json")+".hcl", job)
			built(t, job)
		})
	}
}

// TestPrintedSinks: TorchTitan's own kernel for a model with sinks is one that no job
// has, because it learns from wrong gradients. The import says so and leaves it out.
func TestPrintedSinks(t *testing.T) {
	src, err := os.ReadFile("../testdata/intake/printed/sink.json")
	if err != nil {
		t.Fatal(err)
	}
	own := bytes.ReplaceAll(src, []byte(`"block_size": 128, "kernel_options": {}`), []byte(`"window_size": [31, 0]`))
	if bytes.Equal(src, own) {
		t.Fatal("the record has no kernel to replace")
	}
	o := Options{Cluster: "dgx_h100", Nodes: 1, GPUs: ranks(t, src)}
	job := imported(t, []File{{Name: "printed.json", Content: own}}, o)
	if bytes.Contains(job, []byte("varlen")) {
		t.Errorf("the job asks for varlen:\n%s", job)
	}
	built(t, job)
}

// ranks are the GPUs of a printed configuration.
func ranks(t *testing.T, src []byte) int {
	t.Helper()
	var all struct{ Parallelism map[string]any }
	if err := json.Unmarshal(src, &all); err != nil {
		t.Fatal(err)
	}
	n := 1
	for _, axis := range []string{"data_parallel_replicate", "data_parallel_shard", "tensor_parallel", "context_parallel", "pipeline_parallel"} {
		n *= int(all.Parallelism[axis+"_degree"].(float64))
	}
	return n
}
