//go:build conformance

package random

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/lang/job"
)

// withSingles adds to launches those that they must repeat: the same job on a single rank, from
// the same weights. DeepSpeed's trainer and Megatron-FSDP draw weights that no layout changes; to
// others, one rank saves those that it drew. Launches in the slice are replaced by what starts
// from there, and saves on its way.
func withSingles(t *testing.T, launches []*artifacts.Launch, folder string) (list []*artifacts.Launch) {
	t.Helper()
	for i, l := range launches {
		path := func(name string) string { return filepath.Join(folder, "saved", fmt.Sprint(i, "-", name), l.Framework) }
		compared, loads := l.World() > 1 && repeats(l), l.Framework != "deepspeed" && !l.Execution.FullySharded
		alone, spread := onOneRank(l), *l.Job
		alone.Training.Checkpoint = job.Checkpoint{Path: path("alone"), IntervalSteps: l.Job.Training.Steps, SaveOptimizer: loadsOptimizer(l)}
		weights := alone
		weights.Training.Checkpoint.Path = path("weights")
		if compared && loads {
			alone.Training.Start = job.Start{From: "checkpoint", Path: path("weights"), ResetOptimizer: true, ResetSchedule: true, ResetData: true}
			spread.Training.Start = alone.Training.Start
		}
		if savesHere(l) {
			c := &spread.Training.Checkpoint
			c.Path, c.IntervalSteps, c.IntervalTime, c.SaveOptimizer = path("spread"), saved, 0, loadsOptimizer(l)
		}
		if b := artifacts.BuildJob(&spread).Launch; b == nil {
			compared = compared && !loads // the distributed optimizer loads no states in fp32
		} else {
			if !reflect.DeepEqual(b.Layout, l.Layout) {
				t.Errorf("%s: with checkpoints, another layout is chosen", l.Name)
			}
			b.Name, launches[i], l = l.Name, b, b
		}
		if compared && loads {
			list = append(list, built(t, &weights, l.Name+", weights"))
		}
		if compared {
			list = append(list, built(t, &alone, single(l.Name)))
		}
		list = append(list, l)
	}
	return list
}

// saved is the step of the checkpoint that a launch goes back to.
const saved = 2

// savesHere reports whether a launch saves where there is no GPU: checkpoints of Megatron-FSDP
// hang over gloo.
func savesHere(l *artifacts.Launch) bool {
	return l.Framework != "megatron" || !l.Execution.FullySharded
}

// loadsOptimizer: Megatron-LM does not load what it saves of SGD.
func loadsOptimizer(l *artifacts.Launch) bool {
	return l.Framework != "megatron" || l.Job.Training.Optimizer.Kind != "sgd"
}

// rewound are the launches that saved, with what came after that checkpoint taken away, of those
// that can repeat themselves.
func rewound(t *testing.T, launches []*artifacts.Launch, results map[string]trained) (list []*artifacts.Launch) {
	t.Helper()
	for _, l := range launches {
		c := &l.Job.Training.Checkpoint
		overwritten := c.KeepLast == 1 && l.Job.Training.Steps > saved
		if !savesHere(l) || c.Path == "" || c.IntervalSteps != saved || overwritten || !c.SaveOptimizer || forgets(l) || results[l.Name].Error != "" {
			continue
		}
		kept, marker, latest := "step-2", "", ""
		switch l.Framework {
		case "megatron":
			kept, marker, latest = "iter_0000002", "latest_checkpointed_iteration.txt", "2"
		case "deepspeed":
			marker, latest = "latest", kept
		}
		if err := goBack(c.Path, kept, marker, latest); err != nil {
			t.Errorf("%s: %v", l.Name, err)
			continue
		}
		list = append(list, l)
	}
	return list
}

// forgets reports whether a checkpoint lacks something. While fp16 looks for its scale no step is
// taken, and Megatron-LM's optimizers have no states, which they ask a checkpoint for. TorchTitan
// 0.2.2 balances experts by the tokens of a validation, too, which it does not save.
func forgets(l *artifacts.Launch) bool {
	training := &l.Job.Training
	switch l.Framework {
	case "megatron":
		return training.Precision == "fp16"
	case "torchtitan":
		return l.Version == "0.2.2" && l.Job.Model.MoE != nil && training.Data.Validation != nil
	}
	return false
}

// goBack removes all checkpoints but one, which the marker names from then on.
func goBack(folder, kept, marker, latest string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != kept {
			if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	if marker != "" {
		if err := os.WriteFile(filepath.Join(folder, marker), []byte(latest), 0o644); err != nil {
			return err
		}
	}
	_, err = os.Stat(filepath.Join(folder, kept))
	return err
}

// repeats reports whether a launch computes what a single rank does. Masks of dropout and the
// tokens that full experts drop differ from rank to rank, and so do the weights that ranks of
// Megatron-FSDP draw of tensors that are split before they are sharded. Its balancing loss over
// the whole batch is of the micro-batches so far (megatron/core/transformer/moe/router.py,
// ga_steps), of which a single rank has more.
func repeats(l *artifacts.Launch) bool {
	m, y := &l.Job.Model, l.Layout
	split := y.TensorParallel * y.PipelineParallel * y.ExpertParallel * y.ExpertTensorParallel
	return m.Dropout == 0 && (m.MoE == nil || !m.MoE.TokenDrop && (m.MoE.Router.Balance != "global_aux_loss" || y.DataParallel() == 1)) &&
		(l.Framework != "megatron" || !l.Execution.FullySharded || split == 1)
}

func built(t *testing.T, j *job.Job, name string) *artifacts.Launch {
	t.Helper()
	b := artifacts.BuildJob(j)
	if b.Launch == nil {
		t.Fatalf("%s: %v", name, b.Refused)
	}
	b.Launch.Name = name
	return b.Launch
}

// single is what the run of a job on one rank is called.
func single(name string) string { return name + ", alone" }

// onOneRank is a launch's job where nothing is spread, offloaded or computed in parts.
func onOneRank(l *artifacts.Launch) job.Job {
	j := *l.Job
	j.Cluster.Nodes, j.Cluster.GPUsPerNode = 1, 1
	j.Constraints.Layout, j.Execution = job.LayoutConstraints{}, job.Execution{Compile: j.Execution.Compile,
		GradientDType: j.Execution.GradientDType, CrossEntropy: j.Execution.CrossEntropy} // both round gradients
	if l.Framework == "megatron" { // which pads the vocabulary to suit the tensor group
		j.Model.PaddedVocabSize = l.Target.PaddedVocab(&j.Model, l.Layout.TensorParallel)
	}
	j.Constraints.Layout.MicroBatchSize = job.IntChoice{Values: []int{l.Layout.MicroBatchSize}} // over which experts are balanced
	return j
}

// apart is where a launch does not learn as a single rank does.
func apart(l *artifacts.Launch, spread, alone trained) (complaints []string) {
	if alone.Error != "" || len(alone.Steps) != len(spread.Steps) {
		return []string{fmt.Sprintf("on one rank: %d steps: %s", len(alone.Steps), alone.Error)}
	}
	near := 2e-5
	if l.Job.Training.Precision != "fp32" {
		near = 3e-3
	}
	unlogged := l.Framework == "megatron" && l.Execution.FullySharded && l.Job.Training.Optimizer.GradientClipping == 0
	for i, s := range spread.Steps {
		one := alone.Steps[i]
		if !(math.Abs(s.Loss-one.Loss) < near) || !unlogged && math.Abs(s.Norm-one.Norm) > 10*near*max(1, one.Norm) {
			complaints = append(complaints, fmt.Sprintf("step %d: loss %g and norm %g, on one rank %g and %g", s.Step, s.Loss, s.Norm, one.Loss, one.Norm))
		}
	}
	if len(spread.Validation) != len(alone.Validation) {
		complaints = append(complaints, fmt.Sprintf("%d evaluations, on one rank %d", len(spread.Validation), len(alone.Validation)))
	}
	for i, loss := range spread.Validation[:min(len(spread.Validation), len(alone.Validation))] {
		if !(math.Abs(loss-alone.Validation[i]) < near) {
			complaints = append(complaints, fmt.Sprintf("evaluation %d: loss %g, on one rank %g", i+1, loss, alone.Validation[i]))
		}
	}
	return complaints
}
