//go:build conformance

package torchtitan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	frameworks "github.com/ndc-dev/ndc/integration/environment"
)

// TestRandomJobs builds random jobs with a pinned layout and hands those that
// ndc calls legal to the real Trainer, first and last rank. NDC_RANDOM_JOBS is
// how many to try per release (24), NDC_RANDOM_SEED where to start.
func TestRandomJobs(t *testing.T) {
	program, count := ndc(t), setting("NDC_RANDOM_JOBS", 24)
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(setting("NDC_RANDOM_SEED", 1)), 0))
			var list bytes.Buffer
			folders := map[string]string{}
			for n := range count {
				j := randomJob(random)
				files := filepath.Join(t.TempDir(), fmt.Sprint(n))
				if !j.build(t, program, r, files) {
					continue
				}
				files = filepath.Join(files, "out", "small", "torchtitan")
				folders[files] = j.layout
				for _, rank := range []int{0, j.gpus - 1} {
					fmt.Fprintln(&list, files, j.gpus, rank)
				}
			}
			path := filepath.Join(t.TempDir(), "list")
			if err := os.WriteFile(path, list.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			out := run(t, 2*time.Hour, environment(t, "."), ".", r.python(t), "dryrun.py", "--many", path)
			t.Logf("TorchTitan %s: %d of %d random jobs are legal", r.version, len(folders), count)
			report(t, out, folders)
		})
	}
}

func setting(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// report fails for every job that the framework rejects.
func report(t *testing.T, out string, layouts map[string]string) {
	t.Helper()
	checked := 0
	for _, line := range strings.Split(out, "\n") {
		var answer struct{ Folder, Rank, Error string }
		if json.Unmarshal([]byte(line), &answer) != nil || answer.Folder == "" {
			continue
		}
		checked++
		if answer.Error != "" {
			t.Errorf("rank %s is rejected: %s\nlayout: %s", answer.Rank, answer.Error, strings.ReplaceAll(layouts[answer.Folder], "\n", ";"))
		}
	}
	if checked != 2*len(layouts) {
		t.Errorf("%d answers for %d jobs:\n%s", checked, len(layouts), frameworks.Tail(out, 20))
	}
}

// random is a job by its layout, its changes to the model, and its size.
type random struct {
	gpus          int
	layout, model string
}

// randomJob draws degrees that multiply to the GPU count; whether the layout
// is legal is for ndc to say.
func randomJob(r *rand.Rand) random {
	pick := func(values ...int) int { return values[r.IntN(len(values))] }
	tp, cp, pp, shard, replicate := pick(1, 1, 2), pick(1, 1, 2), pick(1, 1, 2), pick(1, 2, 4), pick(1, 1, 2)
	j := random{gpus: tp * cp * pp * shard * replicate}
	var l strings.Builder
	put := func(format string, a ...any) { fmt.Fprintf(&l, format+"\n", a...) }
	put("tensor_parallel = %d\ncontext_parallel = %d\npipeline_parallel = %d\ndata_parallel_shard = %d\ndata_parallel_replicate = %d", tp, cp, pp, shard, replicate)
	put("micro_batch_size = %d\nrecompute = %q", pick(1, 2), []string{"none", "selective", "full"}[r.IntN(3)])
	if shard*cp > 1 {
		put("zero_stage = %d", pick(2, 3))
	}
	if pp > 1 {
		schedule := []string{"1f1b", "gpipe", "interleaved_1f1b", "zbv"}[r.IntN(4)]
		put("pipeline_schedule = %q", schedule)
		if schedule == "interleaved_1f1b" || schedule == "zbv" {
			put("virtual_pipeline = 2")
		} else {
			put("stage_layers = %s", []string{"[3, 1]", "[1, 3]", "[2, 2]"}[r.IntN(3)])
		}
	}
	j.model = models[r.IntN(len(models))]
	if strings.Contains(j.model, "moe {") {
		put("expert_parallel = %d", pick(1, 2, 4))
	}
	j.layout = l.String()
	return j
}

// models are changes to the small model of testdata/small.hcl.
var models = []string{
	"",
	"qk_norm = true\n",
	"tied_embeddings = true\n",
	"qk_norm = true\nmoe {\n experts = 8\n top_k = 2\n expert_ffn_hidden_size = 48\n router {\n score = \"softmax\"\n balance = \"bias\"\n normalize = true\n }\n}\n",
	"kv_heads = 4\nmla {\n q_lora_rank = 24\n kv_lora_rank = 16\n qk_nope_head_dim = 16\n qk_rope_head_dim = 8\n v_head_dim = 16\n}\nmoe {\n experts = 8\n top_k = 2\n expert_ffn_hidden_size = 48\n shared_experts = 1\n shared_expert_ffn_hidden_size = 48\n first_dense_layers = 1\n router {\n score = \"sigmoid\"\n balance = \"bias\"\n normalize = true\n }\n}\n",
}

// build writes the files; false when ndc finds the job illegal.
func (j random) build(t *testing.T, program string, r release, dir string) bool {
	t.Helper()
	text, err := os.ReadFile("testdata/small.hcl")
	if err != nil {
		t.Fatal(err)
	}
	s := strings.Replace(string(text), "# LAYOUT", j.layout, 1)
	s = strings.Replace(s, "  position_embedding", j.model+"  position_embedding", 1)
	if strings.Contains(j.model, "kv_heads") {
		s = strings.Replace(s, "kv_heads        = 2", "", 1)
	}
	if strings.Contains(j.model, "mla") { // whose parts say what a head is
		s = strings.Replace(s, "head_dim        = 16", "", 1)
	}
	if strings.Contains(j.model, "tied") {
		s = strings.Replace(s, "tied_embeddings = false", "", 1)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	job := filepath.Join(dir, "job.hcl")
	if err := os.WriteFile(job, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := try(5*time.Minute, nil, ".", program, "build", job, "--var", "data=/data", "--var", "checkpoints=/saved",
		"--var", fmt.Sprintf("gpus=%d", min(8, j.gpus)), "--var", fmt.Sprintf("nodes=%d", max(1, j.gpus/8)), "--var", "version="+r.version, "-o", filepath.Join(dir, "out"))
	if err != nil && !illegal(out) {
		t.Errorf("%v\n%s\n%s", err, out, j.layout)
	}
	return err == nil
}

// illegal reports an answer that names a rule or an axis, not a defect.
func illegal(out string) bool {
	for _, sign := range []string{"No layout", "no layout", "lacks", "cannot", "illegal", "not fit", "divide"} {
		if strings.Contains(out, sign) {
			return true
		}
	}
	return false
}
