package intake

import (
	"context"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/lang"
)

// emitted are the files that ndc would write for a job, on a cluster of the
// catalogue where the job leaves that open; nil where it would write none.
func (in *intake) emitted(text string, open []placeholder) []backends.Artifact {
	var variables []lang.VariableArg
	for _, v := range open {
		variables = append(variables, lang.VariableArg{Name: v.name, Value: in.stand(v.name)})
	}
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(text)}}, "job.hcl", lang.Options{Variables: variables})
	if diags.HasErrors() || len(w.Jobs) != 1 {
		return nil
	}
	j := &w.Jobs[0]
	b := emitter(j.Backend.Kind)
	target, diags := b.Target(j)
	if diags.HasErrors() {
		return nil
	}
	p, diags, err := compiler.Compile(context.Background(), j, target)
	if err != nil || diags.HasErrors() || p == nil || !p.Feasible {
		return nil
	}
	files, _ := b.Emit(j, p)
	return files
}

// stand is a value for a variable that the user will set, good enough to see
// what ndc would emit.
func (in *intake) stand(name string) string {
	d, layout := in.d, "constraints.layout."
	size := func(axis string) int64 { return max(d.Int(layout+axis), 1) }
	switch name {
	case "cluster":
		return "dgx_h200"
	case "nodes":
		pipeline := size("pipeline_parallel")
		gpus := max(size("tensor_parallel")*size("context_parallel"), size("expert_parallel")*size("expert_tensor_parallel")) * pipeline
		return strconv.FormatInt((gpus+7)/8, 10)
	case "precision":
		return "bf16"
	case "learning_rate":
		return "1e-4"
	case "vocab_size":
		return "128000"
	case "model":
		return "llama3_8b"
	case "global_batch_size":
		return "4096"
	}
	return "4096"
}

// largest bounds the nodes of a job that is built to be compared: a layout that
// is open takes the longer the more there are.
const largest = 4096

// usual takes back the options that would be passed on and that ndc emits by
// itself.
func (in *intake) usual(text string, open []placeholder) {
	if in.launch != megatron.Kind || in.d.Int("cluster.nodes") > largest {
		return
	}
	for _, f := range in.emitted(text, open) {
		if !strings.HasSuffix(f.Path, "launch.sh") {
			continue
		}
		s, err := shell.Read(f.Path, f.Content, nil)
		if err != nil {
			panic("intake: ndc's own launch does not parse: " + err.Error())
		}
		if c, ok := megatron.Command(s); ok {
			megatron.Drop(in.d, c)
		}
	}
}
