package estimate

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestUnplaced: experts over 64 of the 72 GPUs of a rack are told that Slurm has to
// be asked for such blocks, and what they take otherwise; a job that asks, one that
// fills its racks or lies in one, groups that lie in a rack however it is cut, and a
// short run are told nothing.
func TestUnplaced(t *testing.T) {
	for _, c := range []struct {
		name           string
		nodes, experts int // one a rank
		change         func(*job.Job)
		want           string
	}{
		{"two blocks of 64", 32, 64, nil, "Set slurm.segment = 16."},
		{"blocks of 32", 40, 32, nil, "Set slurm.segment = 8."},
		{"asked for", 32, 64, func(j *job.Job) { j.Slurm.Segment = 16 }, ""},
		{"whole racks", 36, 36, nil, ""},
		{"one rack", 16, 64, nil, ""},
		{"groups of 8", 32, 8, nil, ""},
		{"nodes of one domain each", 32, 64, func(j *job.Job) { j.Cluster.NVLink.Domain = 4 }, ""},
		{"odd nodes", 33, 4, nil, ""},
		{"trial", 32, 64, func(j *job.Job) { j.Training.Steps = 10 }, ""},
	} {
		j := jobOf(moe(), c.nodes)
		j.Model.MoE.Experts = c.experts
		j.Cluster.GPUsPerNode, j.Cluster.NVLink.Domain, j.Training.Steps = 4, 72, 100_000
		if c.change != nil {
			c.change(j)
		}
		l, x := single(j.Cluster.GPUs()), execution()
		l.ExpertParallel, l.MicroBatches = c.experts, 4
		var got string
		for _, w := range New(j, targetOf(runtimes.Whole())).Describe(&l, &x).Warnings {
			if w.ID == string(IDUnplacedBlocks) {
				got = w.Detail
			}
		}
		if (got == "") != (c.want == "") || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
