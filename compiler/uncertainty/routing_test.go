package uncertainty

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestRoutingNumbers: 64 experts, 8 of them for each of 4,096 tokens. Tokens alone
// make √((64/8 − 1)/4,096) = 4.1 % of an expert, 4.1 %·√(1/4 · 60/63) = 2.0 % of
// four; a router of 30 % makes √(0.3² + 0.041²) = 30.3 % of one.
func TestRoutingNumbers(t *testing.T) {
	for _, c := range []struct {
		router Routing
		held   int
		want   float64
	}{{0, 1, 0.04134}, {0, 4, 0.02017}, {0.3, 1, 0.30283}, {0.3, 64, 0}} {
		if got := c.router.Rank(4096, 64, 8, c.held); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("router of %v, %d experts: %.5f, want %.5f", c.router, c.held, got, c.want)
		}
	}
	if got := Routing(0.3).Rank(1e15, 64, 8, 1); math.Abs(got-0.3) > 1e-9 {
		t.Errorf("of endless tokens: %v", got)
	}
	if got := Routing(0).Rank(4096, 8, 8, 1); got != 0 {
		t.Errorf("of experts that take every token: %v", got)
	}
}

// TestRoutingDrawn holds the formula to tokens that take their experts blindly.
func TestRoutingDrawn(t *testing.T) {
	const tokens, experts, k, held, times = 200, 16, 3, 4, 4000
	random := rand.New(rand.NewPCG(1, 2))
	mean, squares := float64(tokens*k*held)/experts, 0.0
	for range times {
		load := 0.0
		for range tokens {
			for _, e := range random.Perm(experts)[:k] {
				if e < held {
					load++
				}
			}
		}
		squares += (load/mean - 1) * (load/mean - 1) / times
	}
	want := Routing(0).Rank(tokens, experts, k, held)
	if got := math.Sqrt(squares); math.Abs(got/want-1) > 0.04 {
		t.Errorf("drawn %.4f, by the formula %.4f", got, want)
	}
}

// TestRoutingProperties: more tokens, more experts for each and more experts on a
// rank even out, a worse router does not.
func TestRoutingProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		router := Routing(rapid.Float64Range(0, 1).Draw(t, "router"))
		tokens := rapid.Float64Range(1, 1e6).Draw(t, "tokens")
		experts := rapid.IntRange(2, 512).Draw(t, "experts")
		k, held := rapid.IntRange(1, experts-1).Draw(t, "k"), rapid.IntRange(1, experts-1).Draw(t, "held")
		got := router.Rank(tokens, experts, k, held)
		if got < 0 || math.IsNaN(got) {
			t.Fatal(got)
		}
		for name, more := range map[string]float64{"tokens": router.Rank(2*tokens, experts, k, held),
			"k": router.Rank(tokens, experts, k+1, held), "held": router.Rank(tokens, experts, k, held+1)} {
			if more > got {
				t.Errorf("more %s: %v, before %v", name, more, got)
			}
		}
		if worse := (router + 0.1).Rank(tokens, experts, k, held); worse < got {
			t.Errorf("a worse router: %v, before %v", worse, got)
		}
	})
}
