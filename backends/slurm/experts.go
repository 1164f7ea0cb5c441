package slurm

import (
	"fmt"
	"slices"
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

// deepEPGroups are the numbers of ranks beyond a node for which DeepEP has
// kernels with settings.
var deepEPGroups = [...]int{16, 24, 32, 48, 64, 96, 128, 144, 160}

// DeepEP reports whether the first version of DeepEP (deep_ep.Buffer) serves a
// group of ranks that exchange tokens and lie one after the other. Up to eight
// share memory by handles of one operating system, so that they lie in one node;
// more are eights of a node, of which ranks with the same place talk over the
// network (deepseek-ai/DeepEP v1.2.1, csrc/kernels/configs.cuh NUM_MAX_NVL_PEERS,
// csrc/kernels/launch.cuh SWITCH_RANKS, csrc/deep_ep.cpp Buffer; 24, 48 and 96 since
// then, deep_ep/buffers/legacy.py get_dispatch_config).
func DeepEP(c *job.Cluster, group int) bool {
	switch group {
	case 2, 4, 8:
		return c.GPUsPerNode%group == 0
	}
	return c.GPUsPerNode%8 == 0 && slices.Contains(deepEPGroups[:], group)
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
