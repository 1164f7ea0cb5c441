package estimate

import (
	"github.com/ndc-dev/ndc/tools/runtimes"
	"testing"

	_ "github.com/ndc-dev/ndc/tools/draws"
	"pgregory.net/rapid"
)

// TestFloors: no floor lies above the step, and what an evaluator remembers of
// other layouts changes nothing.
func TestFloors(t *testing.T) {
	for _, r := range runtimes.All() {
		mixture := moe()
		mixture.MTPLayers = 1
		used := map[bool]*Evaluator{false: New(jobOf(dense(), 8), targetOf(r)), true: New(jobOf(mixture, 8), targetOf(r))}
		rapid.Check(t, func(t *rapid.T) {
			experts := rapid.Bool().Draw(t, "moe")
			l, x := layouts(t, experts), execution()
			x.OverlapTensorParallel = rapid.Bool().Draw(t, "tensor parallel overlapped")
			x.OverlapExpertParallel = rapid.Bool().Draw(t, "expert parallel overlapped")
			x.MoEDispatcher = rapid.SampledFrom([]string{"alltoall", "allgather", "deepep"}).Draw(t, "dispatcher")
			l.ZeroStage = rapid.IntRange(1, 3).Draw(t, "zero")
			l.StageLayers[0]-- // the last stage has more layers, too
			l.StageLayers[l.Chunks()-1]++
			e, fresh := used[experts], New(used[experts].job, used[experts].target)
			mesh, floor, step := e.MeshFloor(&l, &x), e.Floor(&l, &x), e.Step(&l, &x)
			if mesh > step || floor > step {
				t.Fatalf("%+v: floors %v of the mesh and %v of the pipeline, step %v", l, mesh, floor, step)
			}
			if got := fresh.Step(&l, &x); got != step {
				t.Fatalf("%+v: step %v, %v without what was remembered", l, step, got)
			}
			if got := fresh.Floor(&l, &x); got != floor {
				t.Fatalf("%+v: floor %v, %v without what was remembered", l, floor, got)
			}
			if got := fresh.MeshFloor(&l, &x); got != mesh {
				t.Fatalf("%+v: floor %v of the mesh, %v without what was remembered", l, mesh, got)
			}
		})
	}
}
