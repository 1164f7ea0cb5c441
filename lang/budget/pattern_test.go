package budget

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMatches: the steps that are counted are those of package regexp, as far as the
// number of matches tells.
func TestMatches(t *testing.T) {
	texts := []string{"", "a", "ab ab\naab", "ba\n\nab", "aä\xffb—a", strings.Repeat("ab", 50)}
	for _, p := range []string{"", "a", "a*", "a*?", "a|ab", "(a|ab)(b|)", "^a", "(?m)^a", "(?m)b$", `\ba`, `\Ba`, `\b|a`, "b|", "(?s).*b|a", "(?i)A+", "[^a]", "ä|.", "(|a)+b", "x", `\z`, "a{2,3}?"} {
		for _, s := range texts {
			count, work := matches(p, s, math.MaxInt)
			if want := len(regexp.MustCompile(p).FindAllStringIndex(s, -1)); int(count) != want || work <= 0 {
				t.Errorf("%q matches %q %v times, and package regexp finds %d", p, s, count, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringOf(rapid.SampledFrom([]rune(`aab.*+?|()^$[]\b`))).Draw(t, "pattern")
		s := rapid.StringOf(rapid.SampledFrom([]rune("aab \n"))).Draw(t, "text")
		re, err := regexp.Compile(p)
		if err != nil {
			return
		}
		if count, _ := matches(p, s, math.MaxInt); int(count) != len(re.FindAllStringIndex(s, -1)) {
			t.Errorf("%q matches %q %v times, and package regexp finds %d", p, s, count, len(re.FindAllStringIndex(s, -1)))
		}
	})
}

// TestQuadraticPattern: a short match that looks at the whole text pays for that, and
// one that does not pays for what it reads.
func TestQuadraticPattern(t *testing.T) {
	s := strings.Repeat("a", 60_000)
	if _, work := matches(".*b|a", s, math.MaxInt); work <= MaxTotal {
		t.Errorf("quadratic: %v units", work)
	}
	if _, work := matches("a|b", s, math.MaxInt); work > MaxTotal/100 {
		t.Errorf("linear: %v units", work)
	}
}
