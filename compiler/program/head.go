package program

// Embedding is the number of elements of the input embedding on one rank, for
// a vocabulary as built (padded): vocabulary × hidden over the tensor group,
// and the learned position table, which every tensor rank holds in full.
func (p *Program) Embedding(vocabulary, tensorParallel int) int64 {
	return p.WordEmbedding(vocabulary, tensorParallel) + p.PositionTable()
}

// WordEmbedding is vocabulary × hidden over the tensor group: the input
// embedding without positions, and equally the output head.
func (p *Program) WordEmbedding(vocabulary, tensorParallel int) int64 {
	return ceil(int64(vocabulary), tensorParallel) * int64(p.Model.HiddenSize)
}

// PositionTable is the number of elements of learned positions; 0 for others.
func (p *Program) PositionTable() int64 {
	if p.Model.PositionEmbedding.Kind != "learned" {
		return 0
	}
	n := p.Model.MaxPositions
	if n == 0 {
		n = p.Model.SequenceLength
	}
	return int64(n) * int64(p.Model.HiddenSize)
}

// FinalNorm is the number of elements of the norm before the output head.
func (p *Program) FinalNorm() int64 {
	if p.Model.Normalization == "layernorm" {
		return 2 * int64(p.Model.HiddenSize)
	}
	return int64(p.Model.HiddenSize)
}

// HeadGEMM is the matrix multiplication of the output head for one micro-batch
// with the part of the vocabulary that a rank holds.
func (p *Program) HeadGEMM(vocabulary int, s *Shape) GEMM {
	return GEMM{M: p.Tokens(s), N: vocabulary, K: p.Model.HiddenSize, Groups: 1, Count: 1}
}

// HeadFLOPs is the forward model FLOPs per token of the output head.
func (p *Program) HeadFLOPs() float64 {
	return 2 * float64(p.Model.HiddenSize) * float64(p.Model.VocabSize)
}
