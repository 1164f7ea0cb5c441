package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

const (
	folder       = "testdata/launches"
	launchesPath = folder + "/launches.jsonl"
	reasonsPath  = folder + "/reasons.jsonl"
)

// launch is a published launch: what it sets, and what its authors published.
type launch struct {
	Name   string `json:"name"` // of its file and of its job
	Title  string `json:"title"`
	Source struct {
		Repository string `json:"repository"`
		Path       string `json:"path"`
		Commit     string `json:"commit"`
	} `json:"source"`
	Published struct {
		TokensPerSecond float64 `json:"tokens_per_second_per_gpu"`
		TFLOPS          float64 `json:"tflops_per_gpu"`
		StepSeconds     float64 `json:"step_seconds"`
		Where           string  `json:"where"`
	} `json:"published"`
	Notes string `json:"notes"`
	// Options are the options of the command line, or the keys of the
	// configuration, with their values as they are written, a blank between two.
	// "…" is a value of the site: a path, or a name.
	Options     map[string]string `json:"options"`
	Environment map[string]string `json:"environment"`
}

// reason says why ndc does not emit what published launches set, or emits
// something else.
type reason struct {
	// Launch is the one launch that the reason is for; "" for all.
	Launch string `json:"launch"`
	// Options are names of options or of variables.
	Options []string `json:"options"`
	Verdict verdict  `json:"verdict"`
	Why     string   `json:"why"`
	used    bool
}

func readLines[T any](path string) ([]T, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []T
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var one T
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&one); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, n, err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

// emitted is what ndc writes for the job of a launch, layout pinned.
func emitted(root string, l *launch) (*job.Job, []backends.Artifact, error) {
	path := filepath.Join(root, folder, l.Name+".hcl")
	w, diags := lang.Load(os.DirFS(filepath.Dir(path)), filepath.Base(path), lang.Options{})
	if diags.HasErrors() {
		return nil, nil, fmt.Errorf("%s: %v", path, diags)
	}
	for i := range w.Jobs {
		if j := &w.Jobs[i]; j.Name == l.Name {
			files, err := emit(j)
			return j, files, err
		}
	}
	return nil, nil, fmt.Errorf("%s has no job %q", path, l.Name)
}

func emit(j *job.Job) ([]backends.Artifact, error) {
	b := artifacts.Backends[j.Backend.Kind]
	t, diags := b.Target(j)
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s: %v", j.Name, diags)
	}
	p, diags, err := compiler.Compile(context.Background(), j, t)
	switch {
	case err != nil:
		return nil, err
	case diags.HasErrors():
		return nil, fmt.Errorf("%s: %v", j.Name, diags)
	case !p.Feasible:
		return nil, fmt.Errorf("%s does not fit", j.Name)
	}
	files, diags := b.Emit(j, p)
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s: %v", j.Name, diags)
	}
	return files, nil
}

// exampleFiles are the files of an example that the repository holds.
func exampleFiles(root, example, backend string) ([]backends.Artifact, error) {
	base := filepath.Join(root, "examples", example, "out", example, backend)
	var files []backends.Artifact
	for _, name := range []string{"launch.sh", "environment.sh"} {
		b, err := os.ReadFile(filepath.Join(base, name))
		if err != nil {
			return nil, err
		}
		files = append(files, backends.Artifact{Path: name, Content: b})
	}
	return files, nil
}

func content(files []backends.Artifact, name string) []byte {
	for _, f := range files {
		if strings.HasSuffix(f.Path, name) {
			return f.Content
		}
	}
	return nil
}
