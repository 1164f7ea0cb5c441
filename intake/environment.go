package intake

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/shell"
)

// fabric are the beginnings of environment variables of the cluster's fabric,
// which a job keeps.
var fabric = []string{"NCCL_", "UCX_", "FI_", "GLOO_", "RCCL_", "SHARP_"}

// counts are the variables by which ms-swift is told on how many nodes and GPUs it starts
// its program (swift/cli/main.py: get_torchrun_args).
var counts = map[string]string{"NNODES": "cluster.nodes", "NPROC_PER_NODE": "cluster.gpus_per_node"}

// startsSwift reports a script that starts ms-swift.
func startsSwift(s *shell.Script) bool {
	return slices.ContainsFunc(s.Commands, func(c shell.Command) bool {
		return len(c.Words) > 1 && (path.Base(c.Words[0].Text) == "megatron" || path.Base(c.Words[0].Text) == "swift") && slices.Contains([]string{"sft", "pt", "rlhf"}, c.Words[1].Text)
	})
}

// exports keeps the environment of the fabric; what else a script exports is
// its own affair, and ndc sets what the framework needs. A secret stays out of
// the job and of the report.
func (in *intake) exports(file string, s *shell.Script) {
	if startsSwift(s) {
		named := func(name string) bool {
			return slices.ContainsFunc(s.Exports, func(e shell.Export) bool { return e.Name == name })
		}
		if named("NPROC_PER_NODE") && !named("NNODES") {
			defer in.d.Default("cluster.nodes", int64(1), draft.Place{}) // as torchrun has it
		}
	}
	for _, e := range s.Exports {
		at := megatron.Place(file, e.Value)
		if slices.ContainsFunc(strangers, func(prefix string) bool { return strings.HasPrefix(e.Name, prefix) }) {
			in.noGPUs(e.Name)
		}
		f := draft.Finding{Place: at, Name: e.Name, Value: draft.Guarded(e.Name, e.Value.Text), Verdict: draft.Left, Why: "a variable of the environment; slurm.environment takes it where the run needs it"}
		secret := draft.IsSecret(e.Name, e.Value.Text)
		if secret {
			f.Why = draft.NoSecrets
		}
		if to := counts[e.Name]; to != "" && startsSwift(s) {
			if n, err := strconv.ParseInt(e.Value.Text, 10, 64); err == nil && n > 0 {
				in.d.Default(to, n, at)
				f.Verdict, f.To, f.Why = draft.Mapped, to, ""
			}
		}
		for _, prefix := range fabric {
			if !secret && strings.HasPrefix(e.Name, prefix) && !e.Value.Open && !e.Value.Maybe {
				in.d.Add("slurm.environment", e.Name, e.Value.Text, at)
				f.Verdict, f.To, f.Why = draft.Mapped, "slurm.environment", ""
			}
		}
		in.d.Find(f)
	}
}
