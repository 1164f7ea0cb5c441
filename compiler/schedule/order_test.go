package schedule

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	_ "github.com/ndc-dev/ndc/tools/draws"
	"pgregory.net/rapid"
)

// torchNames are the classes of torch.distributed.pipelining.
var torchNames = map[string]plan.Schedule{
	"Interleaved1F1B":       plan.ScheduleInterleaved1F1B,
	"InterleavedZeroBubble": plan.ScheduleZBH1, // of one chunk per rank
	"ZBVZeroBubble":         plan.ScheduleZBV,
	"DualPipeV":             plan.ScheduleDualPipeV,
}

// TestTorchOrders compares the generated orders with those of the real classes
// (testdata/torch.jsonl, recorded by integration/oracle/orders.py), pass by pass.
func TestTorchOrders(t *testing.T) {
	f, err := os.Open("testdata/torch.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	asked := 0
	for lines := bufio.NewScanner(f); lines.Scan(); asked++ {
		var row struct {
			Schedule     string
			Pipeline     int
			Virtual      int
			MicroBatches int `json:"micro_batches"`
			Ranks        []string
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		o := NewOrder(Shape{Schedule: torchNames[row.Schedule], Pipeline: row.Pipeline, Virtual: row.Virtual, MicroBatches: row.MicroBatches})
		for rank, want := range row.Ranks {
			if got := line(o.Ranks[rank]); got != want {
				t.Errorf("%s of %d ranks, %d micro-batches, rank %d:\n  have %s\n  torch %s", row.Schedule, row.Pipeline, row.MicroBatches, rank, got, want)
			}
		}
	}
	if asked < 20 {
		t.Errorf("%d orders were compared", asked)
	}
}

// line writes passes as torch does: chunk, kind, micro-batch.
func line(passes []Pass) string {
	var words []string
	for _, p := range passes {
		words = append(words, fmt.Sprintf("%d%c%d", p.Chunk, "FBIW"[p.Work], p.MicroBatch))
	}
	return strings.Join(words, " ")
}

// split returns durations of equal chunks with their backward passes in two.
func split(chunks int, f, i, w units.Seconds) *Durations {
	d := even(chunks, f, i)
	for range chunks {
		d.WeightGradient = append(d.WeightGradient, w)
	}
	return d
}

// idle is what a rank does not work between its first and its last pass, at
// the rank where it is longest: the bubble of the zero-bubble papers, whose
// ranks need not end together.
func idle(r Result) (most units.Seconds) {
	for rank, slots := range r.Ranks {
		most = max(most, slots[len(slots)-1].End-slots[0].Start-r.Busy[rank])
	}
	return most
}

// TestBubblesOfThePapers checks what the papers say of their schedules, for
// even stages whose forward pass takes f, input gradient i, weight gradient w:
//
//   - Qi et al. 2023 (arXiv:2401.10241, table 1): 1F1B idles (p−1)(f+i+w) and
//     holds p micro-batches; ZB-H1 (p−1)(f+i−w) and p; ZB-H2 (p−1)(f+i−2w) and
//     2p−1.
//   - Qi et al. 2024 (arXiv:2405.15362): ZBV idles nothing for f = i = w and
//     holds 2p chunks, the activations of p micro-batches.
//   - DeepSeek-AI 2024 (arXiv:2412.19437, table 2): DualPipe idles
//     (p/2−1)(f&b + b − 3w) and holds p+1 micro-batches, with b the whole
//     backward pass and f&b the time of a forward and a backward pass that run
//     together, here f + b. It holds for f = i and w ≤ f.
func TestBubblesOfThePapers(t *testing.T) {
	for _, c := range []struct {
		schedule  plan.Schedule
		virtual   int
		f, i, w   units.Seconds
		idle      func(p int, f, i, w units.Seconds) units.Seconds
		inFlight  func(p int) int
		wholeStep bool // the idle time is that of the whole step
	}{
		{plan.Schedule1F1B, 1, 1, 1, 1, func(p int, f, i, w units.Seconds) units.Seconds { return units.Seconds(p-1) * (f + i + w) }, func(p int) int { return p }, true},
		{plan.ScheduleZBH1, 1, 1, 1, 1, func(p int, f, i, w units.Seconds) units.Seconds { return units.Seconds(p-1) * (f + i - w) }, func(p int) int { return p }, true},
		{plan.ScheduleZBH1, 1, 1, 1.1, 0.8, func(p int, f, i, w units.Seconds) units.Seconds { return units.Seconds(p-1) * (f + i - w) }, func(p int) int { return p }, true},
		{plan.ScheduleZBH2, 1, 1, 1, 1, func(p int, f, i, w units.Seconds) units.Seconds { return units.Seconds(p-1) * (f + i - 2*w) }, func(p int) int { return 2*p - 1 }, false},
		{plan.ScheduleZBV, 2, 1, 1, 1, func(int, units.Seconds, units.Seconds, units.Seconds) units.Seconds { return 0 }, func(p int) int { return 2 * p }, false},
		{plan.ScheduleDualPipe, 1, 1, 1, 1, func(p int, f, i, w units.Seconds) units.Seconds {
			return units.Seconds(p/2-1) * (f + (i + w) + (i + w) - 3*w)
		}, func(p int) int { return p + 1 }, true},
		{plan.ScheduleDualPipe, 1, 1, 1, 0.8, func(p int, f, i, w units.Seconds) units.Seconds {
			return units.Seconds(p/2-1) * (f + (i + w) + (i + w) - 3*w)
		}, func(p int) int { return p + 1 }, true},
	} {
		for _, p := range []int{2, 4, 6, 8} {
			s := Shape{Schedule: c.schedule, Pipeline: p, Virtual: c.virtual, MicroBatches: 6 * p}
			o := NewOrder(s)
			d := split(o.Chunks, c.f, c.i, c.w)
			d.Together = true
			r := o.Simulate(d)
			got := idle(r)
			if c.wholeStep {
				got = r.Seconds - r.Busy[0]
			}
			if want := c.idle(p, c.f, c.i, c.w); math.Abs(float64(got-want)) > 1e-9 {
				t.Errorf("%v of %d ranks (%v, %v, %v) idles %v, want %v", c.schedule, p, c.f, c.i, c.w, got, want)
			}
			most := 0
			for rank := range p {
				most = max(most, o.InFlight(rank))
			}
			if want := c.inFlight(p); most != want {
				t.Errorf("%v of %d ranks holds %d, want %d", c.schedule, p, most, want)
			}
		}
	}
}

// TestOrders checks what every order must obey: each micro-batch passes each
// chunk once forward and once backward, on its own rank, and the order ends.
func TestOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyShape(t)
		o := NewOrder(s)
		d := split(o.Chunks, 1, units.Seconds(rapid.Float64Range(0.5, 2).Draw(t, "input")), units.Seconds(rapid.Float64Range(0, 2).Draw(t, "weight")))
		r := o.Simulate(d)
		work := units.Seconds(0)
		for rank := range o.Pipeline {
			work += r.Busy[rank]
			seen := map[Pass]bool{}
			for _, x := range o.Ranks[rank] {
				x.Paired = false
				if seen[x] || o.Placement.Rank(int(x.Chunk), o.Pipeline) != rank {
					t.Fatalf("%+v: rank %d runs %+v twice, or it is not its own", s, rank, x)
				}
				seen[x] = true
				input, forward := x, x
				input.Work, forward.Work = InputGradient, Forward
				if x.Work == WeightGradient && !seen[input] || x.Work != Forward && !seen[forward] {
					t.Fatalf("%+v: rank %d comes to %+v too early", s, rank, x)
				}
			}
			if alive := aliveAtEnd(o.Ranks[rank]); alive != 0 {
				t.Fatalf("%+v: rank %d still holds %d", s, rank, alive)
			}
		}
		want := units.Seconds(o.Chunks*o.MicroBatches) * (d.Forward[0] + d.Backward(0))
		if math.Abs(float64(work-want)) > 1e-6*float64(want) {
			t.Fatalf("%+v: the ranks work %v, want %v", s, work, want)
		}
	})
}

func aliveAtEnd(passes []Pass) (alive int) {
	for _, p := range passes {
		alive += p.Work.alive()
	}
	return alive
}

// anyShape draws a legal shape of any schedule.
func anyShape(t *rapid.T) Shape {
	s := Shape{Schedule: plan.Schedule(rapid.IntRange(int(plan.ScheduleGPipe), int(plan.ScheduleDualPipeV)).Draw(t, "schedule")), Virtual: 1}
	s.Pipeline = rapid.IntRange(2, 8).Draw(t, "pipeline")
	s.MicroBatches = rapid.IntRange(1, 40).Draw(t, "microBatches")
	switch s.Schedule {
	case plan.ScheduleInterleaved1F1B:
		s.Virtual = rapid.IntRange(2, 4).Draw(t, "virtual")
		s.MicroBatches *= s.Pipeline
	case plan.ScheduleZBV:
		s.Virtual = 2
	case plan.ScheduleDualPipeV:
		s.Virtual, s.MicroBatches = 2, s.MicroBatches+2*s.Pipeline-1
	case plan.ScheduleDualPipe:
		s.Pipeline += s.Pipeline % 2
		s.MicroBatches = 2 * (s.MicroBatches + s.Pipeline - 1)
	}
	return s
}
