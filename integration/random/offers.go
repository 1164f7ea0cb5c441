//go:build conformance

package random

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/integration/artifacts"
)

// choice is something that a search may choose, and how a launch shows that it
// was chosen.
type choice struct {
	name string
	made func(l *artifacts.Launch) bool
	text string // of a job that asks for it; "" where many jobs have it unasked
}

// choices are what a target offers to the search beyond one rank of every axis.
func choices(t *target.Target) []choice {
	list := slices.Concat(axes(t), stages(t), recomputes(t))
	for _, v := range t.Variants {
		list = append(list, choice{v.Name, func(l *artifacts.Launch) bool {
			x := l.Execution
			v.Apply(&x)
			return x == l.Execution
		}, ""})
	}
	return list
}

// axes are the degrees of parallelism.
func axes(t *target.Target) []choice {
	above := func(name string, of func(l *plan.Layout) int) choice {
		return choice{name + " above 1", func(l *artifacts.Launch) bool { return of(l.Layout) > 1 }, ""}
	}
	list := []choice{above("tensor_parallel", func(l *plan.Layout) int { return l.TensorParallel }),
		above("micro_batch_size", func(l *plan.Layout) int { return l.MicroBatchSize })}
	for _, a := range []struct {
		offered bool
		choice
	}{
		{t.ContextParallel, above("context_parallel", func(l *plan.Layout) int { return l.ContextParallel })},
		{t.PipelineParallel, above("pipeline_parallel", func(l *plan.Layout) int { return l.PipelineParallel })},
		{t.VirtualPipeline, above("virtual_pipeline", func(l *plan.Layout) int { return l.VirtualPipeline })},
		{t.ExpertParallel, above("expert_parallel", func(l *plan.Layout) int { return l.ExpertParallel })},
		{t.ExpertTensorParallel, above("expert_tensor_parallel", func(l *plan.Layout) int { return l.ExpertTensorParallel })},
		{t.Replicate, above("data_parallel_replicate", func(l *plan.Layout) int { return min(l.DataParallelReplicate, l.DataParallelShard) })},
		{t.UnevenStages, choice{"uneven stage_layers", func(l *artifacts.Launch) bool {
			return slices.Min(l.Layout.StageLayers) < slices.Max(l.Layout.StageLayers)
		}, ""}},
	} {
		if a.offered {
			list = append(list, a.choice)
		}
	}
	for _, on := range t.SequenceParallel {
		list = append(list, choice{fmt.Sprintf("sequence_parallel = %t", on), func(l *artifacts.Launch) bool {
			return l.Layout.TensorParallel > 1 && l.Layout.SequenceParallel == on
		}, ""})
	}
	return list
}

// stages are the schedules and the stages of ZeRO.
func stages(t *target.Target) (list []choice) {
	for _, s := range t.Schedules {
		name := "pipeline_schedule = "
		list = append(list, choice{name + s.String(), func(l *artifacts.Launch) bool { return l.Layout.PipelineSchedule == s }, name + strconv.Quote(s.String())})
	}
	for _, z := range t.ZeroStages {
		list = append(list, choice{fmt.Sprint("zero_stage = ", z), func(l *artifacts.Launch) bool { return l.Layout.ZeroStage == z }, ""})
	}
	return list
}

func recomputes(t *target.Target) (list []choice) {
	for _, o := range t.Recomputes {
		name := strings.Join(append([]string{"recompute = " + o.Mode.String(), o.Method}, o.Modules.Names()...), " ")
		text := ""
		if o.Modules != 0 && t.Backend == "megatron" {
			text = "recompute_modules = " + quoted(o.Modules.Names())
		}
		list = append(list, choice{strings.Join(strings.Fields(name), " "), func(l *artifacts.Launch) bool {
			y := l.Layout
			return y.Recompute == o.Mode && (o.Mode != plan.RecomputeSelective || y.RecomputeModules == o.Modules) && (o.Mode != plan.RecomputeFull || y.RecomputeMethod == o.Method)
		}, text})
	}
	return list
}
