// Package oracle asks the real frameworks, on a machine without a GPU, how
// much one rank of a planned job holds, and compares ndc's plans with the
// answers.
//
// The answers lie in testdata/oracle, one case a line: a job in few words, the
// release that was asked, and what it said. Go tests compare plans with them
// and need no Python; the program in record fills in cases without answers;
// the conformance suite asks a sample again. Whether a framework accepts a job
// is the business of the sibling packages, whose programs build the ranks.
package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// Case is a job in few words and what a framework said about some of its
// ranks. Objects are blocks of the job file, their members its arguments.
type Case[A any] struct {
	Framework   string         `json:"framework"`
	Version     string         `json:"version"`
	Model       string         `json:"model"`            // of the catalogue
	Change      map[string]any `json:"change,omitempty"` // of the model
	Nodes       int            `json:"nodes"`
	GPUsPerNode int            `json:"gpus_per_node"`
	Batch       int            `json:"global_batch_size"`
	Layout      map[string]any `json:"layout"`
	Execution   map[string]any `json:"execution,omitempty"`
	Ranks       []int          `json:"ranks"`
	Answers     []A            `json:"answers,omitempty"` // one for each rank
}

// World is the number of ranks.
func (c *Case[A]) World() int { return c.Nodes * c.GPUsPerNode }

// Name tells the case from others.
func (c *Case[A]) Name() string {
	parts := []string{c.Framework, c.Version, c.Model}
	for _, m := range []map[string]any{c.Change, c.Layout, c.Execution} {
		if len(m) > 0 {
			b, _ := json.Marshal(m)
			parts = append(parts, string(b))
		}
	}
	return strings.Join(append(parts, fmt.Sprint(c.World(), " ranks, batch ", c.Batch)), " ")
}

// defaults are the axes that a case leaves out.
var defaults = map[string]any{
	"tensor_parallel": 1, "sequence_parallel": false, "context_parallel": 1, "pipeline_parallel": 1, "virtual_pipeline": 1,
	"expert_parallel": 1, "expert_tensor_parallel": 1, "data_parallel_replicate": 1, "micro_batch_size": 1, "recompute": "none",
}

// Job is the text of the case's job file. The GPU is given room for any layout,
// because only what fits is emitted.
func (c *Case[A]) Job() string {
	layout := maps.Clone(defaults)
	maps.Copy(layout, c.Layout)
	var b strings.Builder
	fmt.Fprintf(&b, "gpu \"roomy\" {\n base = catalog.gpu.h100_sxm\n memory = \"64TiB\"\n}\n")
	fmt.Fprintf(&b, "cluster \"c\" {\n base = catalog.cluster.dgx_h100\n gpu = gpu.roomy\n host_memory = \"512TiB\"\n nodes = %d\n gpus_per_node = %d\n}\n", c.Nodes, c.GPUsPerNode)
	fmt.Fprintf(&b, "model \"m\" {\n base = catalog.model.%s\n init_std = 0.02\n%s}\n", c.Model, block(c.Change))
	fmt.Fprintf(&b, `job "oracle" {
 model = model.m
 cluster = cluster.c
 training {
  global_batch_size = %d
  steps = 10
  precision = "bf16"
  seed = 1234
  optimizer "adamw" {
   learning_rate = 1e-4
   weight_decay = 0.1
   beta1 = 0.9
   beta2 = 0.95
   epsilon = 1e-8
   gradient_clipping = 1
  }
  schedule "constant" {
   warmup_steps = 1
  }
  data {
   mock = true
  }
 }
 constraints {
  nvlink_only = []
  layout {
%s  }
 }
 execution {
%s }
 backend %q {
  version = %q
  %s
 }
 slurm {
  time = "01:00:00"
 }
}
`, c.Batch, block(layout), block(c.Execution), c.Framework, c.Version, backend(c.Framework))
	return b.String()
}

// backend is what a backend needs beside its version. DeepSpeed's own AdamW
// would be compiled first, and holds what torch's does.
func backend(framework string) string {
	switch framework {
	case "megatron":
		return `path = "/opt/megatron-lm"`
	case "deepspeed":
		return `extra_args = ["optimizer.params.torch_adam=true"]`
	}
	return ""
}

// block writes arguments and blocks in the order of their names.
func block(members map[string]any) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if inner, ok := members[name].(map[string]any); ok {
			fmt.Fprintf(&b, "%s {\n%s}\n", name, block(inner))
			continue
		}
		value, _ := json.Marshal(members[name]) // a JSON value is one of HCL's
		fmt.Fprintf(&b, "%s = %s\n", name, value)
	}
	return b.String()
}

// Plan compiles the case as ndc would.
func (c *Case[A]) Plan() (*job.Job, *plan.Plan, error) {
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(c.Job())}}, "job.hcl", lang.Options{})
	if diags.HasErrors() {
		return nil, nil, refused(diags)
	}
	j := &w.Jobs[0]
	t, diags := artifacts.Backends[c.Framework].Target(j)
	if diags.HasErrors() {
		return nil, nil, refused(diags)
	}
	p, diags, _ := compiler.Compile(context.Background(), j, t) // a context that does not end
	if diags.HasErrors() {
		return nil, nil, refused(diags)
	}
	if !p.Feasible {
		return nil, nil, fmt.Errorf("nothing fits: %+v", p.Infeasible)
	}
	return j, p, nil
}

// emit writes what ndc emits for the case into a folder, and pins the layers
// of the stages that it chose: they belong to the answer.
func (c *Case[A]) emit(folder string) (*artifacts.Launch, error) {
	built, diags := artifacts.Build([]byte(c.Job()))
	if diags.HasErrors() {
		return nil, refused(diags)
	}
	l := built[0].Launch
	if l == nil {
		return nil, refused(built[0].Refused)
	}
	if l.Layout.PipelineParallel > 1 {
		c.Layout["stage_layers"] = l.Layout.StageLayers
	}
	return l, l.Write(folder)
}

// ask writes what ndc emits for the cases, hands one of the programs beside
// this file the lines of input that a case and its folder make, and returns
// what it answers.
func ask[A any](cases []*Case[A], root, scratch, python, program string, env []string, lines func(c *Case[A], folder string) []any) (*json.Decoder, error) {
	var input bytes.Buffer
	e := json.NewEncoder(&input)
	for i, c := range cases {
		folder, err := filepath.Abs(filepath.Join(scratch, strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		if _, err := c.emit(folder); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name(), err)
		}
		for _, line := range lines(c, folder) {
			if err := e.Encode(line); err != nil {
				return nil, err
			}
		}
	}
	out, err := environment.Ask(len(cases), &input, append(env, "OMP_NUM_THREADS=1"), python, filepath.Join(root, "integration", "oracle", program))
	return json.NewDecoder(strings.NewReader(out)), err
}

// refused says why ndc refuses a job.
func refused(l diag.List) error {
	for _, d := range l {
		if d.Severity == diag.Error {
			return fmt.Errorf("%s: %s: %s", d.ID, d.Summary, d.Detail)
		}
	}
	return errors.New("refused without a reason")
}

// Stage is the pipeline stage of a rank: stages are the outermost axis of all
// frameworks' meshes.
func Stage(p *plan.Plan, rank int) int {
	return rank * p.Layout.PipelineParallel / p.Layout.GPUs()
}

// Line is a line of a stage's ledger in bytes, 0 where it is empty.
func Line(s *plan.StageMemory, ids ...string) int64 {
	var n int64
	for _, y := range s.Ledger {
		if slices.Contains(ids, y.ID) {
			n += int64(y.Bytes)
		}
	}
	return n
}

// Read reads the cases of a file.
func Read[A any](name string) ([]Case[A], error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var list []Case[A]
	for line := range bytes.Lines(b) {
		var c Case[A]
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(list)+1, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// Write replaces a file's cases.
func Write[A any](name string, list []Case[A]) error {
	var b bytes.Buffer
	for i := range list {
		if err := json.NewEncoder(&b).Encode(&list[i]); err != nil {
			return err
		}
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}
