package memory

import "github.com/ndc-dev/ndc/compiler/program"

// deepEP is how many rows DeepEP's buffers have in each channel for each rank that
// they receive from.
type deepEP struct {
	Ranks   int    `json:"ranks"`
	NVLink  int64  `json:"nvlink"`  // rows
	Network int64  `json:"network"` // rows
	Source  string `json:"source"`
}

// dispatcherBuffers is what the package that exchanges the rows of experts holds on a
// GPU beside the allocator of tensors, in bytes.
func (m *Model) dispatcherBuffers(s *shape) float64 {
	if m.job.Model.MoE == nil {
		return 0
	}
	switch s.dispatcher {
	case "hybridep":
		return m.hybridEP(&s.Shape)
	case "deepep":
		return m.deepEP(&s.Shape)
	}
	return 0
}

// hybridEP has room for all tokens of all ranks, as if one rank got them: their rows,
// probabilities for every expert of the NVLink domain, and scales. Between domains the
// rows of a rank are there once more, and once for every other domain in each of three
// buffers (DeepEP, branch hybrid-ep, csrc/hybrid_ep/buffer/intranode.cu and
// internode_doca.cu, allocate_dispatch_buffers and allocate_combine_buffers).
func (m *Model) hybridEP(s *program.Shape) float64 {
	ranks := s.ExpertParallel * s.ExpertTensorParallel
	domain := min(max(m.job.Cluster.NVLink.Domain, 1), ranks)
	hidden, experts := float64(m.arch.Model.HiddenSize), float64(m.job.Model.MoE.Experts/s.ExpertParallel)
	rows, scales, probabilities := 2*hidden, hidden/32, float64(4*experts*float64(domain))
	tokens, others := m.exchanged(s), float64(ranks/domain-1)
	total := float64(tokens * (rows + scales + probabilities))
	if others > 0 {
		own := rows + scales + float64(4*experts*float64(ranks))
		other := float64(3*(rows+probabilities)) + scales
		total += float64(tokens / float64(ranks) * (own + float64(others*other)))
	}
	return total
}

// deepEP has buffers of fixed numbers of rows: bf16, 128 choices of experts with their
// weights, 128 scales and where they come from (DeepEP v1.2.1, csrc/config.hpp,
// get_nvl_buffer_size_hint and get_rdma_buffer_size_hint). Between nodes they lie in
// memory that NVSHMEM takes by the piece.
func (m *Model) deepEP(s *program.Shape) float64 {
	node, channels, piece := int64(overheads["deepep_node"]), int64(overheads["deepep_channels"]), int64(overheads["nvshmem_piece"])
	ranks := s.ExpertParallel * s.ExpertTensorParallel
	buffers, ok := deepEPs[ranks]
	if !ok || !m.runtime.Experts.ChunkedExchange {
		return 0
	}
	row := 2*int64(m.arch.Model.HiddenSize) + 128*(8+4+4) + 8
	total := channels * min(int64(ranks), node) * buffers.NVLink * row
	if n := int64(ranks); n > node {
		network := 2 * channels * (n / node) * buffers.Network * (row + 16)
		total += (network + piece - 1) / piece * piece
	}
	return float64(total)
}
