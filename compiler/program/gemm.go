package program

// GEMM is a matrix multiplication of the forward pass on one rank,
// C[M,N] = A[M,K] · B[K,N], where M counts tokens and B is the weight. The
// backward pass has two of the same volume: [M,K] = [M,N]·[N,K] for the input
// gradient and [K,N] = [K,M]·[M,N] for the weight gradient.
type GEMM struct {
	M, N, K int
	// Groups is the number of experts that share one grouped kernel; M is their
	// sum. 1: a plain multiplication.
	Groups int
	Count  int // how often per layer
}

// FLOPs of the forward pass, all counts.
func (g *GEMM) FLOPs() float64 {
	return 2 * float64(g.M) * float64(g.N) * float64(g.K) * float64(g.Count)
}

// CoreAttention is softmax(q·kᵀ)·v of one layer on one rank, per micro-batch.
type CoreAttention struct {
	Batch         int // sequences
	Queries, Keys int // tokens; Keys > Queries when context parallelism cuts the sequence
	Heads         int // query heads
	KVHeads       int
	QKDim, VDim   int // per head
	Window        int // 0: causal over all keys
}

// FLOPs of the forward pass, the causal half counted once:
// 2·Batch·Heads·(QKDim+VDim)·Σ keys per query.
func (c *CoreAttention) FLOPs() float64 {
	return 2 * float64(c.Batch*c.Heads*(c.QKDim+c.VDim)) * float64(c.Queries) * meanKeys(c.Keys, c.Window)
}

// meanKeys is the mean number of keys per query under a causal mask, s/2, and
// with a window w, w − w²/(2s).
func meanKeys(sequence, window int) float64 {
	s := float64(sequence)
	if window == 0 || window >= sequence {
		return s / 2
	}
	w := float64(window)
	return w - w*w/(2*s)
}
