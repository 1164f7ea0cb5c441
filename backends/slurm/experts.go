package slurm

import (
	"fmt"
	"strconv"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// HybridEP is the environment that DeepEP's hybrid-ep branch reads about NVLink.
// Its builds differ: those before 2025-12-03 read NVLINK_DOMAIN_SIZE, and use
// memory of other nodes above 8; those up to 2026-01-20 take eight ranks and
// no other node unless told; later ones look for themselves, and take what they
// are told over what they see (deepseek-ai/DeepEP, deep_ep/hybrid_ep_buffer.py
// and csrc/hybrid_ep/allocator/allocator.cu). Frameworks do not pin a build, so
// all three are said. group is the ranks that exchange tokens.
func HybridEP(j *job.Job, group int) []Setting {
	ranks, domain := ranksPerDomain(j, group), max(j.Cluster.NVLink.Domain, 1)
	split := fmt.Sprintf("of %d expert ranks, those that share an NVLink domain at any place", group)
	if ranks < group {
		split += "; DeepEP has to be built with HYBRID_EP_MULTINODE=1"
	}
	fabric, why := "0", "an NVLink domain is a node: memory is shared by CUDA IPC"
	if domain > j.Cluster.GPUsPerNode {
		fabric, why = "1", "an NVLink domain has several nodes: memory is shared by fabric handles"
	}
	return []Setting{
		{"NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN", render.Literal(strconv.Itoa(ranks)), split},
		{"NVLINK_DOMAIN_SIZE", render.Literal(strconv.Itoa(domain)), "GPUs of an NVLink domain, for DeepEP before December 2025"},
		{"USE_MNNVL", render.Literal(fabric), why},
	}
}

// ranksPerDomain is how many neighbouring ranks of every group share an NVLink
// domain. Groups lie one after the other, so that blocks of this size have to
// fit both the group and the domain, or Slurm's segment of it: of groups of 64
// in domains of 72, the second has 8 ranks in the first domain.
func ranksPerDomain(j *job.Job, group int) int {
	c := &j.Cluster
	block := max(c.NVLink.Domain, 1)
	switch segment := j.Slurm.Segment * c.GPUsPerNode; {
	case block <= c.GPUsPerNode:
	case segment > 0:
		block = min(block, segment)
	case group <= block && c.GPUs() <= block:
		return group
	}
	for group%block != 0 {
		group, block = block, group%block
	}
	return block
}

// ExpertGroup is how many ranks exchange tokens: those among which experts, and
// the inside of experts, are spread.
func ExpertGroup(l *plan.Layout) int { return l.ExpertParallel * max(1, l.ExpertTensorParallel) }
