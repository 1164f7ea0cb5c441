package slurm

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestSpareNodes: two nodes to spare in each of two segments of 16 make 36, in
// segments of 18, and the ranks are warned before the limit. Without segments they
// make 34. Nodes that the job lists are not excluded.
func TestSpareNodes(t *testing.T) {
	j, p, l := example()
	j.Slurm.SpareNodes, p.Run.Checkpoints = 2, &plan.Checkpoints{SaveSeconds: 30}
	for _, c := range []struct {
		change func()
		want   []string
		spares spares
	}{
		{func() {}, []string{"--nodes=36", "--no-kill", "--segment=18", "--signal=TERM@90"},
			spares{Fruitless: 2, CheckSeconds: 420, Segment: 16, Group: 18, Whole: 16, LastStart: 24*3600 - 90, HandsOn: true, ExpireSeconds: 86400, MostExcluded: 4, Speed: true, SpeedSeconds: 1756}},
		{func() { j.Slurm.Segment, j.Slurm.Signal = 0, "TERM@600" }, []string{"--nodes=34", "--no-kill", "--signal=TERM@600"},
			spares{Fruitless: 2, CheckSeconds: 420, Group: 34, Whole: 32, LastStart: 24*3600 - 90, HandsOn: true, ExpireSeconds: 86400, MostExcluded: 3, Speed: true, SpeedSeconds: 1756}},
		{func() {
			j.Slurm.NodeCheck, j.Slurm.NodeList, j.Slurm.Time, j.Slurm.CheckSpeed = nil, "n[1-34]", 0, job.Some(false)
		}, []string{"--nodes=34", "--no-kill"},
			spares{Fruitless: 2, CheckSeconds: 300, Group: 34, Whole: 32, ExpireSeconds: 86400, MostExcluded: 3}},
	} {
		c.change()
		archive := files(t, j, p, l)
		for _, d := range c.want {
			if script := string(archive.Files[0].Data); !strings.Contains(script, "\n#SBATCH "+d+"\n") {
				t.Errorf("no %s:\n%s", d, script[:2000])
			}
		}
		got := *spareNodes(j, p, l)
		if got.Exclude.String() != "''" {
			t.Errorf("excludes %s", got.Exclude)
		}
		got.Exclude = c.spares.Exclude
		if got != c.spares {
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
