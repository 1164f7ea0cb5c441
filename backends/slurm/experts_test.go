package slurm

import (
	"fmt"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// TestHybridEP: what DeepEP is told about NVLink, against where the ranks of
// every group really lie.
func TestHybridEP(t *testing.T) {
	h100 := job.Cluster{Nodes: 32, GPUsPerNode: 8, NVLink: job.NVLink{Domain: 8}}
	gb200 := job.Cluster{Nodes: 64, GPUsPerNode: 4, NVLink: job.NVLink{Domain: 72}}
	one := job.Cluster{Nodes: 16, GPUsPerNode: 4, NVLink: job.NVLink{Domain: 72}}
	whole := job.Cluster{Nodes: 72, GPUsPerNode: 4, NVLink: job.NVLink{Domain: 72}}
	for _, c := range []struct {
		name    string
		cluster job.Cluster
		segment int
		group   int
		want    string // ranks per domain, domain, fabric
	}{
		{"within a node", h100, 0, 4, "4 8 0"},
		{"a node", h100, 0, 8, "8 8 0"},
		{"over nodes", h100, 0, 64, "8 8 0"},
		{"groups that straddle nodes", h100, 0, 12, "4 8 0"},
		{"one rack", one, 0, 64, "64 72 1"},
		{"segments of 16 nodes", gb200, 16, 64, "64 72 1"},
		{"segments of 16 nodes, half", gb200, 16, 32, "32 72 1"},
		{"segments of 8 nodes", gb200, 8, 64, "32 72 1"},
		{"racks without segments", gb200, 0, 64, "8 72 1"},
		{"whole racks, 72 ranks", whole, 0, 72, "72 72 1"},
		{"whole racks, 36 ranks", whole, 18, 36, "36 72 1"},
	} {
		j := &job.Job{Cluster: c.cluster, Slurm: job.Slurm{Segment: c.segment}}
		s := HybridEP(j, c.group)
		if got := fmt.Sprint(s[0].Value, " ", s[1].Value, " ", s[2].Value); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		straddles(t, c.name, j, c.group)
	}
}

// straddles places all groups of a job one after the other and looks for a
// block of ranks, as DeepEP cuts them, that no domain holds whole.
func straddles(t *testing.T, name string, j *job.Job, group int) {
	t.Helper()
	ranks := ranksPerDomain(j, group)
	domain := j.Cluster.NVLink.Domain
	if s := j.Slurm.Segment * j.Cluster.GPUsPerNode; s > 0 && s < domain {
		domain = s
	}
	if group%ranks != 0 {
		t.Errorf("%s: %d does not divide %d", name, ranks, group)
	}
	for first := 0; first+group <= j.Cluster.GPUs(); first += group {
		for block := first; block < first+group; block += ranks {
			if block/domain != (block+ranks-1)/domain {
				t.Errorf("%s: ranks %d to %d lie in two domains", name, block, block+ranks-1)
			}
		}
	}
}

// TestDeepEP: a group beyond a node needs eights of neighbours in every node.
func TestDeepEP(t *testing.T) {
	for _, c := range []struct {
		perNode, group int
		want           bool
	}{
		{8, 2, true}, {8, 4, true}, {8, 8, true}, {8, 16, true}, {8, 64, true}, {8, 160, true}, {16, 16, true},
		{4, 4, true}, {4, 8, false}, {4, 16, false}, {4, 64, false}, {6, 4, false}, {8, 6, false}, {8, 12, false}, {8, 256, false},
	} {
		if got := DeepEP(&job.Cluster{GPUsPerNode: c.perNode}, c.group); got != c.want {
			t.Errorf("%d GPUs per node, %d ranks: %t", c.perNode, c.group, got)
		}
	}
}
