package uncertainty

import "math"

// Routing is how unevenly a router loads experts: the standard deviation of an
// expert's load over the mean, of very many tokens.
type Routing float64

// Rank is the same of all experts of one rank together, in one layer and one
// micro-batch of so many tokens, each of which goes to k of the experts. What a
// router favours and what a few tokens happen to need add as variances: a token
// takes k experts without putting any back, so that an expert's load has the
// relative variance (experts/k − 1)/tokens. All loads together are given, so that
// those of a rank vary less the more of the experts it holds, and not at all
// where it holds them all (both by the variance of sampling without replacement).
func (r Routing) Rank(tokens float64, experts, k, held int) float64 {
	if experts <= 1 || tokens <= 0 || k <= 0 {
		return 0
	}
	n, m := float64(experts), float64(max(1, held))
	each := float64(r*r) + max(0, n/float64(k)-1)/tokens
	return math.Sqrt(each / m * max(0, n-m) / (n - 1))
}
