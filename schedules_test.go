package ndc_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestOptionsBySchedule: what options become does not depend on how layers are split nor on how
// many of them are recomputed, which a floor of many pipelines at once takes for granted.
func TestOptionsBySchedule(t *testing.T) {
	for _, r := range [][2]string{{"megatron", "core_v0.19.2"}, {"megatron", "core_v0.16.0"}, {"torchtitan", "0.2.2"}, {"torchtitan", "0.3.0"}, {"deepspeed", "0.19.8"}} {
		for _, model := range []string{"llama3_8b", "qwen3_30b_a3b"} {
			text := strings.Replace(fmt.Sprintf(smallJob, "", r[0], r[1]), "llama3_8b", model, 1)
			w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: []byte(text)}}, "job.hcl", lang.Options{NDCVersion: "1.0.0"})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			j := &w.Jobs[0]
			to, diags := emitterOf(j).Target(j)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if n := compareOptions(t, j, to); n == 0 && to.VirtualPipeline {
				t.Errorf("%s %s: no two pipelines of %s were compared", r[0], r[1], model)
			}
		}
	}
}

// compareOptions resolves layouts of some meshes of a job, and says how many had to agree with another.
func compareOptions(t *testing.T, j *job.Job, to *target.Target) (compared int) {
	t.Helper()
	type class struct {
		mesh, microBatch int
		schedule         plan.Schedule
		interleaved      bool
		recompute        plan.Recompute
		modules          plan.Modules
		method           string
		option           int
	}
	known := map[class]plan.Execution{}
	pinned := pinnedJobs(j, to)
	space := layout.NewSpace(j, to)
	for m := 0; m < len(space.Meshes); m += 23 {
		mesh := &space.Meshes[m]
		var l plan.Layout
		mesh.Fill(&l)
		for _, l.MicroBatchSize = range space.MicroBatchSizes(mesh) {
			l.MicroBatches = j.Training.GlobalBatchSize / l.DataParallel() / l.MicroBatchSize
			for _, p := range space.Pipelines(mesh) {
				p.Fill(&l)
				for i := range p.Recomputes {
					r := &p.Recomputes[i]
					for _, n := range [...]int{r.Layers, max(r.Layers, r.Most)} {
						r.Fill(&l, n)
						of := class{m, l.MicroBatchSize, l.PipelineSchedule, l.VirtualPipeline > 1, r.Mode, r.Modules, r.Method, 0}
						resolveAll(pinned, to, &l, func(option int, x plan.Execution) {
							of.option = option
							first, seen := known[of]
							if known[of] = x; seen {
								compared++
							}
							if seen && first != x {
								t.Fatalf("%s %s: %+v\nruns with %+v,\nanother pipeline of its schedule with %+v", to.Backend, to.Version, l, x, first)
							}
						})
					}
				}
			}
		}
	}
	return compared
}

// pinnedJobs are the job, and the job with each value that its target offers.
func pinnedJobs(j *job.Job, to *target.Target) []*job.Job {
	list := []*job.Job{j}
	for _, offer := range to.Offers {
		for _, value := range offer.Values {
			s, err := option.FindOption(offer.Option).Setting(value)
			if err != nil {
				panic(err)
			}
			pinned := *j
			s.Pin(&pinned.Execution)
			list = append(list, &pinned)
		}
	}
	return list
}

// resolveAll tells what each of some jobs runs a layout with, without variants and with each
// that applies.
func resolveAll(jobs []*job.Job, to *target.Target, l *plan.Layout, told func(option int, x plan.Execution)) {
	at := 0
	for _, j := range jobs {
		var x plan.Execution
		f := target.Facts{Job: j, Layout: l, Exec: &x, GPUs: j.Cluster.GPUs()}
		to.Resolve(j, l, &x)
		told(at, x)
		without := x
		for i := range to.Variants {
			v := &to.Variants[i]
			if at++; v.Applies == nil || v.Applies(&f) {
				v.Apply(&x)
				told(at, x)
			}
			x = without
		}
		at++
	}
}
