package intake

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/intake/draft"
)

var update = flag.Bool("update", false, "rewrite the results of the corpus, where its files are")

// corpusFile lists public files and what importing each gave. The files
// themselves stay where they are: NDC_CORPUS names a folder that holds them as
// REPO/COMMIT/PATH, in which case they are imported again.
const corpusFile = "../testdata/intake/corpus.jsonl"

type corpusRow struct {
	Kind   string `json:"kind"`
	Repo   string `json:"repo"`
	Path   string `json:"path"`
	Commit string `json:"commit"`

	Parsed  bool   `json:"parsed"`
	Mapped  int    `json:"mapped"`
	Passed  int    `json:"passed_on"`
	Left    int    `json:"left_out"`
	Unknown int    `json:"not_understood"`
	Why     string `json:"why,omitempty"` // not parsed
}

func readCorpus(t *testing.T) []corpusRow {
	t.Helper()
	b, err := os.ReadFile(corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	var rows []corpusRow
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		var r corpusRow
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// TestCorpus: of 200 public files and more, 95 in 100 are read, and each of
// those gives settings of which every one has a verdict.
func TestCorpus(t *testing.T) {
	rows := readCorpus(t)
	if folder := os.Getenv("NDC_CORPUS"); folder != "" {
		again := make([]corpusRow, len(rows))
		for i, r := range rows {
			again[i] = imports(t, folder, r)
		}
		if *update {
			writeCorpus(t, again)
		} else if d := cmp.Diff(rows, again); d != "" {
			t.Errorf("the results changed (-recorded +now), go test -update rewrites them:\n%s", d)
		}
		rows = again
	}
	parsed, kinds := 0, map[string]int{}
	for _, r := range rows {
		if kinds[r.Kind]++; r.Parsed {
			parsed++
		} else if r.Why == "" {
			t.Errorf("%s %s: it is not read, and nothing says why", r.Repo, r.Path)
		}
		if r.Parsed && r.Mapped+r.Passed+r.Left+r.Unknown == 0 {
			t.Errorf("%s %s: it is read and has no settings", r.Repo, r.Path)
		}
	}
	if len(rows) < 200 || 100*parsed < 95*len(rows) || len(kinds) != 4 {
		t.Errorf("%d of %d files are read, of the kinds %v", parsed, len(rows), kinds)
	}
}

func imports(t *testing.T, folder string, r corpusRow) corpusRow {
	t.Helper()
	out := corpusRow{Kind: r.Kind, Repo: r.Repo, Path: r.Path, Commit: r.Commit}
	b, err := os.ReadFile(filepath.Join(folder, r.Repo, r.Commit, r.Path))
	if err != nil {
		t.Fatal(err)
	}
	result, diags := Import([]File{{Name: r.Path, Content: b}}, Options{})
	if diags.HasErrors() {
		out.Why = diags[0].Detail
		return out
	}
	out.Parsed = true
	for _, f := range result.Findings {
		switch f.Verdict {
		case draft.Mapped:
			out.Mapped++
		case draft.Passed:
			out.Passed++
		case draft.Left:
			out.Left++
		case draft.Unknown:
			out.Unknown++
		default:
			t.Errorf("%s: %s has no verdict", r.Path, f.Name)
		}
	}
	return out
}

func writeCorpus(t *testing.T, rows []corpusRow) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, r := range rows {
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(corpusFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzImport: no file makes the import panic, and what it writes can be read.
func FuzzImport(f *testing.F) {
	for _, s := range []string{
		`{"model_type": "llama", "hidden_size": 8, "rope_scaling": {"type": "yarn", "factor": 2}}`,
		`{"model_type": "qwen3_next", "num_hidden_layers": 4, "layer_types": ["full_attention"]}`,
		`{"zero_optimization": {"stage": 2}, "optimizer": {"params": {"betas": [1, 2]}}, "train_batch_size": "auto"}`,
		`{"training": {"steps": 3, "local_batch_size": -1}, "parallelism": {"pipeline_parallel_degree": 2}}`,
	} {
		f.Add("config.json", []byte(s))
	}
	f.Add("train.toml", []byte("[training]\nsteps = 3\nmax_norm = inf\n[parallelism]\nmodule_fqns_per_model_part = [[\"layers.0\"]]\n"))
	f.Add("run.sh", []byte("A=--num-layers; torchrun x.py $A 4 --hidden-size 8 --num-attention-heads 2 --lr 1 --seq-length 4 --micro-batch-size 1 --moe-layer-freq '([0]*2+[1])*3' --pipeline-model-parallel-layout 'Et*2|(t|)*3L'"))
	f.Fuzz(func(t *testing.T, name string, src []byte) {
		if len(src) > 1<<14 {
			return
		}
		Import([]File{{Name: name, Content: src}}, Options{})
	})
}
