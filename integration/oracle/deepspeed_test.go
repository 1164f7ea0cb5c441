package oracle

import "testing"

const deepspeedFile = "../../testdata/oracle/deepspeed.jsonl"

// TestDeepSpeed holds plans against what every rank holds after
// deepspeed.initialize: weights and fp32 masters to the element, but for what
// DeepSpeed pads its flat groups with.
func TestDeepSpeed(t *testing.T) {
	cases, err := Read[Partition](deepspeedFile)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		c := &cases[i]
		_, p, err := c.Plan()
		if err != nil {
			t.Errorf("%s: %v", c.Name(), err)
			continue
		}
		if len(c.Answers) != c.World() {
			t.Errorf("%s: %d of %d ranks are recorded", c.Name(), len(c.Answers), c.World())
			continue
		}
		s := &p.Memory.Stages[0]
		var all Partition
		for _, a := range c.Answers {
			all.Parameters += a.Parameters
			all.Optimizer += a.Optimizer
		}
		all.Parameters -= c.Answers[0].Padding
		ranks := int64(c.World())
		equal(t, c.Name(), "weights", ranks*Line(s, "parameters")/2, all.Parameters, ranks)
		equal(t, c.Name(), "masters", ranks*Line(s, "master_parameters")/4, all.Optimizer, ranks*padding)
	}
}

// padding bounds what DeepSpeed adds to a rank's flat groups: each of at most
// four is rounded up to two elements a rank.
const padding = 8

// equal demands a number of elements over all ranks.
func equal(t *testing.T, name, what string, got, want, slack int64) {
	t.Helper()
	if got < want-slack || got > want+slack {
		t.Errorf("%s: %s %d, want %d", name, what, got, want)
	}
}
