package compiler

import (
	"context"
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// How far from the job advice on nodes and batch goes.
const (
	mostNodes   = 64   // times the nodes
	leastNodes  = 0.75 // of the nodes
	otherBatch  = 0.1  // by which a batch may differ
	worthSaving = 0.1  // of the GPU time
	mostFewer   = 3    // numbers of nodes below that are tried
	mostNoGain  = 2    // doublings in a row that bring the nearest layout no nearer
)

// divides reports whether some nodes can share the batch evenly whatever powers
// of two other axes take: all other factors of the GPUs have to divide it.
// Otherwise an axis that no one would cut so has to take those factors, such as a
// pipeline of 41 stages.
func divides(j *job.Job, nodes int) bool {
	return nodes > 0 && j.Training.GlobalBatchSize%odd(nodes*j.Cluster.GPUsPerNode) == 0
}

// spreads reports whether the experts of a layer can be cut over a whole NVLink
// domain of these nodes. Expert parallelism divides both the experts and the GPUs of
// a stage, so that of 256 experts on 288 GPUs with domains of 72 no more than 32 ranks
// share them, and 8 unless the pipeline takes the factor 9. Domains of a power of two
// are shared whatever the number of nodes.
func spreads(j *job.Job, nodes int) bool {
	return j.Model.MoE == nil || odd(j.Cluster.NVLink.Domain) == 1 ||
		nodes > 0 && j.Model.MoE.Experts%odd(nodes*j.Cluster.GPUsPerNode) == 0
}

// odd is a number without its factors of two.
func odd(n int) int {
	for n > 0 && n%2 == 0 {
		n /= 2
	}
	return max(n, 1)
}

// withNodes is the job on another number of nodes.
func withNodes(j *job.Job, nodes int) *job.Job {
	changed := *j
	changed.Cluster.Nodes = nodes
	return &changed
}

// fewer lists numbers of nodes a little below that divide the batch and spread the
// experts, the largest first; none where the job's own number does.
func fewer(j *job.Job) []int {
	placed := j.Placement()
	fine := func(nodes int) bool { return divides(j, nodes) && spreads(j, nodes) && placed(nodes) }
	var list []int
	if now := j.Cluster.Nodes; !fine(now) {
		for n := now - 1; float64(n) >= leastNodes*float64(now) && len(list) < mostFewer; n-- {
			if fine(n) {
				list = append(list, n)
			}
		}
	}
	return list
}

// left is what a replica of a layout has of the batch where that is odd and more data
// parallelism would take an even share, as 45 of 720 sequences on 16 replicas of 8 GPUs:
// no layout has more replicas then, however much faster they would be. Else it is 0.
func left(j *job.Job, l *plan.Layout) int {
	replicas := l.DataParallelReplicate * l.DataParallelShard
	sequences := j.Training.GlobalBatchSize / replicas
	if sequences > 1 && sequences%2 == 1 && j.Cluster.GPUs()/replicas%2 == 0 {
		return sequences
	}
	return 0
}

// nodesChange says how the job gets another number of nodes.
func nodesChange(j *job.Job, nodes int) string {
	return fmt.Sprintf("%s (now %d)", nodesSetting(j, nodes), j.Cluster.Nodes)
}

// nodesSetting is what gives a job a number of nodes: the cluster's, or the job's own
// number where it says one, of which, with those to spare, the cluster's is the most.
func nodesSetting(j *job.Job, nodes int) string {
	setting := fmt.Sprintf("nodes = %d", nodes)
	switch {
	case j.MostNodes == 0:
		return "cluster." + setting
	case j.Allocated(nodes) > j.MostNodes:
		return fmt.Sprintf("cluster.nodes = %d and %s", j.Allocated(nodes), setting)
	}
	return setting
}

// nodesFix tells of another number of nodes.
func nodesFix(ctx context.Context, j *job.Job, t *target.Target, nodes int, best *search.Candidate) plan.Fix {
	return answer{job: withNodes(j, nodes), target: t, best: best}.fix(ctx, func(*search.Candidate) string { return nodesChange(j, nodes) })
}

// fewerNodes finds fewer nodes on which the job fits, where theirs do not divide
// the batch.
func fewerNodes(ctx context.Context, j *job.Job, t *target.Target) []plan.Fix {
	for _, n := range fewer(j) {
		if b := fits(ctx, withNodes(j, n), t, false); b != nil {
			return []plan.Fix{nodesFix(ctx, j, t, n, b)}
		}
	}
	return nil
}

// halfNodes finds on how many nodes the job takes little enough GPU time, which
// grows with them: it halves the job's own until that suffices and then halves the distance to
// the smallest number that did not.
func halfNodes(ctx context.Context, j *job.Job, t *target.Target) []plan.Fix {
	half := func(nodes int) int { // in whole segments
		unit := max(1, j.Slurm.Segment)
		return nodes / unit / 2 * unit
	}
	placed := j.Placement()
	for n, most := half(j.Cluster.Nodes), j.Cluster.Nodes; n > 0 && placed(n); n, most = half(n), n {
		best := fits(ctx, withNodes(j, n), t, false)
		if best == nil {
			continue
		}
		for between := dividing(j, n, most); len(between) > 0; {
			middle := len(between) / 2
			if b := fits(ctx, withNodes(j, between[middle]), t, false); b != nil {
				best, n, between = b, between[middle], between[middle+1:]
			} else {
				between = between[:middle]
			}
		}
		return []plan.Fix{nodesFix(ctx, j, t, n, best)}
	}
	return nil
}

// moreNodes finds how many nodes it takes.
func moreNodes(ctx context.Context, j *job.Job, t *target.Target, o *search.Outcome) []plan.Fix {
	n, best := enoughNodes(ctx, j, t, o)
	if best == nil {
		return nil
	}
	return []plan.Fix{nodesFix(ctx, j, t, n, best)}
}

// enoughNodes finds how many nodes it takes, and the best layout there, nil for none: it doubles
// them until the job fits, or more of them bring it no nearer to that, and then halves the
// distance to the largest number that did not, among those that divide the batch, if there are
// any. Nodes without a network cannot be more than one. What was found on the job's own nodes is
// given, nil for nothing.
func enoughNodes(ctx context.Context, j *job.Job, t *target.Target, o *search.Outcome) (int, *search.Candidate) {
	if j.Cluster.Network.Kind == "" {
		return 0, nil
	}
	low, high := 0, j.Cluster.Nodes
	var best *search.Candidate
	for without := 0; best == nil; {
		if low, high = high, 2*high; high > mostNodes*j.Cluster.Nodes || without == mostNoGain {
			return 0, nil
		}
		next := outcome(ctx, withNodes(j, high), t)
		if best = chosen(next, false); best != nil {
			break
		}
		if nearer(next, o) {
			without, o = 0, next
		} else {
			without++
		}
	}
	between := dividing(j, low, high)
	for len(between) > 0 {
		middle := len(between) / 2
		if b := fits(ctx, withNodes(j, between[middle]), t, false); b != nil {
			best, high, between = b, between[middle], between[:middle]
		} else {
			between = between[middle+1:]
		}
	}
	return high, best
}

// nearer reports whether the nearest layout of one search is nearer to what it fails than that of
// another. What is legal at all is nearer than what is not.
func nearer(a, b *search.Outcome) bool {
	switch {
	case a == nil || len(a.Nearest) == 0:
		return false
	case b == nil || len(b.Nearest) == 0:
		return true
	}
	return a.Nearest[0].Nearer(&b.Nearest[0])
}

// dividing lists the numbers of nodes between two that Slurm takes the job on and that divide
// the batch; all of the former where none does.
func dividing(j *job.Job, low, high int) []int {
	var all, even []int
	placed := j.Placement()
	for n := low + 1; n < high; n++ {
		if !placed(n) {
			continue
		}
		all = append(all, n)
		if divides(j, n) {
			even = append(even, n)
		}
	}
	if len(even) == 0 {
		return all
	}
	return even
}

// roundBatch is the batch nearest to the job's that the GPUs divide, or that their
// half or a smaller part of theirs divides where that is too far; 0 if none is near.
func roundBatch(j *job.Job) int {
	now := j.Training.GlobalBatchSize
	for unit := j.Cluster.GPUs(); unit > 0; unit /= 2 {
		near := (now + unit/2) / unit * unit
		if off := float64(near-now) / float64(now); near > 0 && off <= otherBatch && off >= -otherBatch {
			return near
		}
		if unit%2 == 1 {
			return 0
		}
	}
	return 0
}

// awkward warns where the number of nodes does not divide the batch, or does not spread
// the experts, and another number, or another batch, takes much less GPU time for a
// sequence. It costs two searches at most, cut to what would be worth it, and none where
// batch and experts can be shared evenly.
func awkward(ctx context.Context, j *job.Job, t *target.Target, best *search.Candidate) []plan.Warning {
	batch, experts, odds := divides(j, j.Cluster.Nodes), spreads(j, j.Cluster.Nodes), left(j, &best.Layout)
	if batch && experts && odds == 0 || j.Constraints.Objective == "memory" {
		return nil
	}
	var better []string
	try := func(changed *job.Job, what string) {
		able, diags := t.Again(changed)
		if diags.HasErrors() {
			return
		}
		most := perSequence(j, best.Cost()) * (1 - worthSaving) / perSequence(changed, 1)
		if b, err := search.Below(ctx, changed, predicted(changed, able), most); err == nil && b != nil {
			saved := 1 - perSequence(changed, float64(b.Result.StepSeconds))/perSequence(j, float64(best.Result.StepSeconds))
			better = append(better, fmt.Sprintf("%s takes %.0f %% less (%s s a step)", what, 100*saved, units.Significant(float64(b.Result.StepSeconds), 3)))
		}
	}
	if list := fewer(j); len(list) > 0 {
		try(withNodes(j, list[0]), nodesSetting(j, list[0]))
	}
	if round := roundBatch(j); round > 0 && round != j.Training.GlobalBatchSize && (!batch || odds > 0) {
		changed := *j
		changed.SetBatch(round)
		try(&changed, fmt.Sprintf("training.global_batch_size = %d", round))
	}
	if better == nil {
		return nil
	}
	summary, why := "The nodes do not divide the batch", ""
	gpus, factor := units.Count(j.Cluster.GPUs(), "GPU"), odd(j.Cluster.GPUs())
	switch {
	case !batch:
		why = fmt.Sprintf("%s have the factor %d, and global_batch_size = %d lacks it, so another axis has to take it.", gpus, factor, j.Training.GlobalBatchSize)
	case !experts:
		summary = "The nodes do not divide the experts"
		why = fmt.Sprintf("%s have the factor %d, and moe.experts = %d lacks it, so another axis than expert_parallel has to take it.", gpus, factor, j.Model.MoE.Experts)
	case odds == j.Training.GlobalBatchSize:
		why = fmt.Sprintf("global_batch_size = %d is odd, so no two replicas on the %s can share it.", odds, gpus)
	default:
		why = fmt.Sprintf("Of global_batch_size = %d an odd number of sequences, %d, is left for each of %s, so more of the %s cannot share it.",
			j.Training.GlobalBatchSize, odds, units.Count(j.Training.GlobalBatchSize/odds, "replica"), gpus)
	}
	return []plan.Warning{{ID: string(IDAwkwardNodes), Summary: summary, Detail: fmt.Sprintf("%s Of the GPU time for a sequence, %s.", why, strings.Join(better, ", and "))}}
}

// perSequence is the GPU time of one sequence, for a step of some length.
func perSequence(j *job.Job, step float64) float64 {
	return step * float64(j.Cluster.GPUs()) / float64(j.Training.GlobalBatchSize)
}
