package search

import (
	_ "embed"
	"encoding/json"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// Predictions of layouts that differ by less than the model can resolve say
// nothing about which is faster, but a simpler layout is easier to start, to
// debug and to resume. So a layout is ranked by its step time with a premium
// for every mechanism that it uses; the premiums, in data/premium.json, are
// small against the error of the model, and the plan shows the time itself.
type premium struct {
	Source         string  `json:"source"`
	Context        float64 `json:"context_parallel"`
	Pipeline       float64 `json:"pipeline_parallel"`
	VirtualStage   float64 `json:"virtual_stage"` // for each beyond the first
	Uneven         float64 `json:"uneven_stages"`
	Replicate      float64 `json:"replicate_and_shard"`
	ExpertTensor   float64 `json:"expert_tensor_parallel"`
	PartRecompute  float64 `json:"recompute_of_some_layers"`
	GradientShards float64 `json:"zero_stage_above_1"`
	WholeSequence  float64 `json:"tensor_without_sequence_parallel"`
	Offload        float64 `json:"offload"` // for each kind of state that goes to the host
}

//go:embed data/premium.json
var premiumData []byte

var premiums = func() (p premium) {
	if err := json.Unmarshal(premiumData, &p); err != nil {
		panic("search: data/premium.json: " + err.Error())
	}
	return p
}()

// of returns the premium of a layout as a share of its step time; axes that
// are not set yet add nothing.
func (p *premium) of(l *plan.Layout) float64 {
	share := float64(max(l.VirtualPipeline, 1)-1) * p.VirtualStage
	for _, m := range [...]struct {
		used  bool
		share float64
	}{
		{l.ContextParallel > 1, p.Context},
		{l.PipelineParallel > 1, p.Pipeline},
		{uneven(l.StageLayers), p.Uneven},
		{l.DataParallelReplicate > 1 && l.DataParallelShard > 1, p.Replicate},
		{l.ExpertTensorParallel > 1, p.ExpertTensor},
		{l.RecomputeMethod == "block", p.PartRecompute},
		{l.ZeroStage > 1, p.GradientShards},
		{l.TensorParallel > 1 && !l.SequenceParallel, p.WholeSequence},
	} {
		if m.used {
			share += m.share
		}
	}
	return share
}

// most is a premium that no layout of a model exceeds.
func (p *premium) most(layers int) float64 {
	return p.Context + p.Pipeline + p.VirtualStage*float64(layers) + p.Uneven + p.Replicate + p.ExpertTensor + p.PartRecompute + p.GradientShards + p.WholeSequence + 3*p.Offload
}

func uneven(split []int) bool {
	return slices.ContainsFunc(split, func(layers int) bool { return layers != split[0] })
}

// ofOffload is the premium of what the execution options move to the host.
func (p *premium) ofOffload(x *plan.Execution) float64 {
	share := 0.0
	for _, used := range [...]bool{x.OffloadActivations, x.OffloadOptimizer, x.OffloadParameters} {
		if used {
			share += p.Offload
		}
	}
	return share
}
