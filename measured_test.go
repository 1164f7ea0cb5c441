package ndc_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/lang/catalog"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// measuredRow is what every row of testdata/measured has.
type measuredRow struct {
	ID     string
	Source struct{ Name, Where string }
	Model  struct {
		Layers, Hidden, Heads, Vocab int
		SequenceLength               int `json:"seq_len"`
	}
	Cluster struct{ GPU string }
	Layout  struct {
		TP, PP, MBS, GBS int
	}
}

// machineFacts is one line of testdata/measured/clusters.jsonl.
type machineFacts struct {
	ID        string
	AppliesTo struct {
		Source, GPU string
		GPUPart     string `json:"gpu_contains"`
		Where       string `json:"where_contains"`
	} `json:"applies_to"`
	Assumed  bool
	Defaults struct {
		MicroBatches string `json:"micro_batches"`
	}
	Open    string  // what the rows leave to a search
	Cluster *string `json:"catalog_cluster"`
	GPU     string  `json:"catalog_gpu"`
	Source  map[string]string
}

func (m *machineFacts) covers(r *measuredRow) bool {
	a := &m.AppliesTo
	return strings.HasPrefix(r.Source.Name, a.Source) && (a.GPU == "" || a.GPU == r.Cluster.GPU) &&
		strings.Contains(strings.ToLower(r.Cluster.GPU), a.GPUPart) && strings.Contains(r.Source.Where, a.Where)
}

// readLines decodes a file of one JSON object per line.
func readLines[T any](t *testing.T, path string) (rows []T) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var row T
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		rows = append(rows, row)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestMeasuredRows asks that every row names its source and sizes (the
// micro-batch may be the default of the run's program, or left to a search), that ids
// are unique, and that a machine of clusters.jsonl covers it of which more is
// known than the GPU.
func TestMeasuredRows(t *testing.T) {
	machines := readLines[machineFacts](t, "testdata/measured/clusters.jsonl")
	for _, m := range machines {
		if m.Source["*"] == "" || !slices.Contains(catalog.Names("gpu"), m.GPU) || m.Cluster != nil && !slices.Contains(catalog.Names("cluster"), *m.Cluster) {
			t.Errorf("machine %s lacks a source or a catalogue entry", m.ID)
		}
	}
	paths, _ := filepath.Glob("testdata/measured/*.jsonl")
	seen := map[string]bool{}
	for _, path := range paths {
		if filepath.Base(path) == "clusters.jsonl" {
			continue
		}
		for _, r := range readLines[measuredRow](t, path) {
			if seen[r.ID] {
				t.Errorf("%s: id %s is not unique", path, r.ID)
			}
			seen[r.ID] = true
			i := slices.IndexFunc(machines, func(m machineFacts) bool { return !m.Assumed && m.covers(&r) })
			if i < 0 {
				t.Errorf("%s: nothing is known of the machine of %s", path, r.ID)
				continue
			}
			sizes := []int{r.Model.Layers, r.Model.Hidden, r.Model.Heads, r.Model.Vocab, r.Model.SequenceLength, r.Layout.TP, r.Layout.PP, r.Layout.GBS}
			if machines[i].Defaults.MicroBatches == "" && machines[i].Open == "" {
				sizes = append(sizes, r.Layout.MBS)
			}
			if r.Source.Name == "" || slices.Min(sizes) <= 0 {
				t.Errorf("%s: %s is not fully specified: %v", path, r.ID, sizes)
			}
		}
	}
	if len(seen) < 400 {
		t.Errorf("only %d rows", len(seen))
	}
}
