package compiler

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestGuard: no plan leaves that prints another memory than was judged, or that
// is called feasible and breaks its own limit; one that says it does not fit may.
func TestGuard(t *testing.T) {
	const GiB = units.GiB
	for _, c := range []struct {
		name     string
		change   func(j *job.Job, p *plan.Plan)
		feasible bool
		panics   string
	}{
		{"as judged", func(*job.Job, *plan.Plan) {}, true, ""},
		{"another stage", func(_ *job.Job, p *plan.Plan) { p.Memory.Peak.Stage = 2 }, true, "the search judged"},
		{"more of a node", func(_ *job.Job, p *plan.Plan) { p.Memory.Host.BytesPerNode++ }, true, "the search judged"},
		{"a higher upper end", func(_ *job.Job, p *plan.Plan) { p.Memory.Peak.DeviceRangeBytes[1]++ }, false, "the search judged"},
		{"a stage beyond the peak", func(_ *job.Job, p *plan.Plan) { p.Memory.Stages[0].DeviceBytes = 71 * GiB }, true, "on stage 0, beyond the peak"},
		{"less usable", func(_ *job.Job, p *plan.Plan) { p.Memory.UsableBytes = 74 * GiB }, true, "75GiB of 74GiB usable"},
		{"less usable, and said so", func(_ *job.Job, p *plan.Plan) { p.Memory.UsableBytes = 74 * GiB }, false, ""},
		{"another margin", func(_ *job.Job, p *plan.Plan) { p.Memory.NeededBytes++ }, false, "the search judged"},
		{"a smaller node", func(j *job.Job, _ *plan.Plan) { j.Cluster.HostMemory = 30 * GiB }, true, "32GiB of 30GiB on a node"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, p := &job.Job{}, &plan.Plan{Feasible: c.feasible, Memory: plan.Memory{
				UsableBytes: 80 * GiB, NeededBytes: 75 * GiB, Host: plan.HostMemory{BytesPerNode: 32 * GiB},
				Peak:   plan.Peak{Stage: 1, Rank: 8, DeviceBytes: 70 * GiB, DeviceRangeBytes: [2]units.Bytes{60 * GiB, 75 * GiB}},
				Stages: []plan.StageMemory{{Stage: 0, DeviceBytes: 60 * GiB}, {Stage: 1, DeviceBytes: 70 * GiB}},
			}}
			judged := &search.Candidate{Result: estimate.Result{PeakStage: 1, PeakRank: 8, PeakDeviceBytes: 70 * GiB, PeakDeviceUpperBytes: 75 * GiB, NeededBytes: 75 * GiB, HostBytes: 32 * GiB}}
			c.change(j, p)
			defer func() {
				said, _ := recover().(string)
				if (said != "") != (c.panics != "") || !strings.Contains(said, c.panics) {
					t.Errorf("the guard says %q, want %q", said, c.panics)
				}
			}()
			guard(j, p, judged)
		})
	}
}
