package slurm

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestSpareNodes: two nodes to spare in each of two segments of 16 make 36, in
// segments of 18, and the ranks are warned before the limit. Without segments they
// make 34.
func TestSpareNodes(t *testing.T) {
	j, p, l := example()
	j.Slurm.SpareNodes, p.Run.Checkpoints = 2, &plan.Checkpoints{SaveSeconds: 30}
	for _, c := range []struct {
		change func()
		want   []string
		spares spares
	}{
		{func() {}, []string{"--nodes=36", "--no-kill", "--segment=18", "--signal=TERM@90"},
			spares{Fruitless: 2, CheckSeconds: 420, Segment: 16, Group: 18, Whole: 16, LastStart: 24*3600 - 90, Speed: true, SpeedSeconds: 1756}},
		{func() { j.Slurm.Segment, j.Slurm.Signal = 0, "TERM@600" }, []string{"--nodes=34", "--no-kill", "--signal=TERM@600"},
			spares{Fruitless: 2, CheckSeconds: 420, Group: 34, Whole: 32, LastStart: 24*3600 - 90, Speed: true, SpeedSeconds: 1756}},
		{func() {
			j.Slurm.NodeCheck, j.Slurm.NodeList, j.Slurm.Time, j.Slurm.CheckSpeed = nil, "n[1-34]", 0, job.Some(false)
		}, []string{"--nodes=34", "--no-kill"},
			spares{Fruitless: 2, CheckSeconds: 300, Group: 34, Whole: 32}},
	} {
		c.change()
		archive := files(t, j, p, l)
		for _, d := range c.want {
			if script := string(archive.Files[0].Data); !strings.Contains(script, "\n#SBATCH "+d+"\n") {
				t.Errorf("no %s:\n%s", d, script[:2000])
			}
		}
		if got := *spareNodes(j, p, l); got != c.spares {
			t.Errorf("%+v, want %+v", got, c.spares)
		}
	}
	if got := j.AllocatedGPUs(); got != 34*8 {
		t.Errorf("%d GPUs", got)
	}
	j.Slurm.Directives = []job.Variable{{Name: "no-kill", Value: "off"}}
	if _, diags := Files(j, p, l); len(diags) != 1 || diags[0].ID != IDReservedDirective {
		t.Errorf("--no-kill=off: %v", diags)
	}
}

// TestHandOn: as many nodes are excluded as there are to spare, or a tenth, at least one; none
// of those that the job lists.
func TestHandOn(t *testing.T) {
	j, _, _ := example()
	for _, c := range []struct{ nodes, spare, want int }{{32, 2, 3}, {32, 5, 5}, {8, 0, 1}} {
		j.Cluster.Nodes, j.Slurm.Segment, j.Slurm.SpareNodes = c.nodes, 0, c.spare
		if got := handOnOf(j); got.Most != c.want || got.ExpireSeconds != 86400 || got.Excludes || got.Exclude.String() != "''" {
			t.Errorf("%d nodes, %d to spare: %+v, want %d", c.nodes, c.spare, got, c.want)
		}
	}
	j.Slurm.NodeList = "n[1-8]"
	if got := handOnOf(j); got != nil {
		t.Errorf("nodes are named: %+v", got)
	}
	j.Slurm.NodeList, j.Slurm.Exclude = "", "/site/bad-nodes"
	if got := handOnOf(j); got != nil {
		t.Errorf("nodes are left out by a file: %+v", got)
	}
	j.Slurm.Exclude, j.Slurm.Chain = "", job.Chain{}
	if got := handOnOf(j); got != nil {
		t.Errorf("no chain: %+v", got)
	}
}
