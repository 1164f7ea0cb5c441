package logs

import (
	"slices"
	"testing"
)

// TestWords: a pattern is tried on lines that hold what all its matches hold.
func TestWords(t *testing.T) {
	for expression, want := range map[string][]string{
		`\bstep (\d+)/(\d+) loss `:          {" loss "},
		`^ {2}(?:saved|read) in (\d+) s`:    {"saved", "read"},
		`(?:saved the|read the) file|x-ray`: {"saved the", "read the", "x-ray"},
		`(?:ab)+|abc`:                       {"ab", "abc"},
		`(?i)loss is nan`:                   nil,
		`a*|loss`:                           nil,
		`(?:loss)?\d+`:                      nil,
		`[Ff]ound (?i:nan) in`:              {"ound "},
	} {
		p := compile(expression)
		if p.once.Do(p.read); !slices.Equal(p.words, want) {
			t.Errorf("%s: %q, want %q", expression, p.words, want)
		}
	}
	for _, p := range []*pattern{emittedStep, engineStep, engineSkip, pipelineStep, megatronStep, titanStep, titanBatch, titanSaved} {
		if p.once.Do(p.read); p.words == nil {
			t.Errorf("%s is tried on every line", p.expression)
		}
	}
	for _, f := range failures {
		if f.sign.once.Do(f.sign.read); f.sign.words == nil {
			t.Errorf("%s is tried on every line", f.sign.expression)
		}
	}
}

// TestKilled: a sign counts without any of the words that others have in common.
func TestKilled(t *testing.T) {
	var p Parser
	p.Line("worker 3: killed by signal 9")
	if l := p.Log(); len(l.Failures) != 1 || l.Failures[0].Kind != "killed" {
		t.Errorf("%+v", l.Failures)
	}
}
