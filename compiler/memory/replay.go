package memory

import (
	"slices"
	"sync/atomic"

	"github.com/ndc-dev/ndc/compiler/schedule"
)

// phase is where in a pass a rank is.
type phase uint8

const (
	afterForward    phase = iota // a chunk has run forward
	inLoss                       // the loss of a micro-batch runs backward
	inChunkedLoss                // the same for a loss in chunks, which does so right after the forward pass
	inHeadReduction              // the head's gradient is reduced after the last chunk of the loss
	inFirstLayer                 // the first layer to run backward
	inSecondLayer                // the second, while the first is reduced
	inLastLayer                  // the last
	inEmbedding                  // the gradient of the input embedding is made
	afterInputs                  // a chunk has made the gradients of its inputs; those of its weights wait
	numPhases
)

// held is what exists of a local chunk of a rank, or of several.
type held struct {
	alive    int32 // micro-batches whose activations are kept
	waiting  int32 // of these, those whose weight gradients wait; all that these need is counted, of which some is gone sooner (docs/memory.md, "Split backward passes")
	begun    int32 // chunks whose gradients exist
	gathered int32 // chunks whose parameters were left gathered by a backward pass
	loose    int32 // chunks whose newest weight gradients are not added to the others yet
}

// atHead is the number of micro-batches of which the loss has something.
func (h *held) atHead() int32 { return h.alive - h.waiting }

// add adds what exists of another chunk.
func (h *held) add(o *held) {
	h.alive += o.alive
	h.waiting += o.waiting
	h.begun += o.begun
	h.gathered += o.gathered
	h.loose += o.loose
}

// instant is a point of a rank's passes and what exists then, whatever it
// weighs. The passes before it have allocated and freed all that.
type instant struct {
	phase  phase
	chunk  int  // the local chunk that runs
	begins bool // it has the input embedding
	ends   bool // it has the output head
	fresh  bool // it makes its first gradients
	ready  bool // its parameters were left gathered
	late   bool // its micro-batch is one of those whose weight gradients wait
	adds   bool // it has just added the weight gradients of an earlier one
	held   []held
}

// alike reports whether two instants differ in no more than what exists: the
// running chunk matters where its own activations, gradients or parameters do.
func (a *instant) alike(b *instant) bool {
	if a.phase != b.phase || a.ends != b.ends || a.fresh != b.fresh || a.ready != b.ready || a.late != b.late || a.adds != b.adds || a.phase >= inSecondLayer && a.chunk != b.chunk {
		return false
	}
	for i := range a.held {
		if a.held[i].begun != b.held[i].begun || a.held[i].gathered != b.held[i].gathered || a.held[i].loose != b.held[i].loose {
			return false
		}
	}
	return true
}

// comparable reports whether all that an instant has beside what exists of chunks
// is no less than on another.
func (a *instant) comparable(b *instant) bool {
	return a.phase == b.phase && a.ends == b.ends && (b.fresh || !a.fresh) && a.ready == b.ready && a.late == b.late && a.adds == b.adds && (a.phase < inSecondLayer || a.chunk == b.chunk)
}

// run is a sequence of instants that are alike, from each of which to the next
// every chunk gains or loses as many micro-batches. What they weigh grows or
// falls evenly, so that one of its ends is the heaviest.
type run struct {
	first, last instant
	steps       int
}

// follows reports whether an instant goes on with a run.
func (r *run) follows(at *instant) bool {
	if !r.last.alike(at) {
		return false
	}
	for i := range at.held {
		first, last, next := &r.first.held[i], &r.last.held[i], &at.held[i]
		if r.steps > 0 && (int(next.alive-last.alive)*r.steps != int(last.alive-first.alive) || int(next.waiting-last.waiting)*r.steps != int(last.waiting-first.waiting)) {
			return false
		}
	}
	return true
}

// covers reports whether some instant of a run has all that another has.
func (r *run) covers(at *instant) bool {
	a, b := &r.first, &r.last
	if !a.comparable(at) {
		return false
	}
	low, high := 0, r.steps
	for i, want := range at.held {
		if want.begun > a.held[i].begun || want.gathered > a.held[i].gathered || want.loose > a.held[i].loose {
			return false
		}
		for _, count := range [...][3]int32{{a.held[i].alive, b.held[i].alive, want.alive}, {a.held[i].waiting, b.held[i].waiting, want.waiting}} {
			lack := int(count[2] - count[0])
			switch step := int(count[1] - count[0]); {
			case step > 0:
				low = max(low, ceilDivide(lack*r.steps, step))
			case step < 0:
				high = min(high, floorDivide(-lack*r.steps, -step))
			case lack > 0:
				return false
			}
		}
	}
	return low <= high
}

// floorDivide divides by a positive number and rounds down.
func floorDivide(a, b int) int {
	if a < 0 {
		return -((b - 1 - a) / b)
	}
	return a / b
}

// ceilDivide divides by a positive number and rounds up.
func ceilDivide(a, b int) int { return -floorDivide(-a, b) }

// replay is what comes and goes on a rank while it runs its passes: the runs of
// instants that no other has more than.
type replay struct {
	runs  []run
	folds atomic.Pointer[fold] // made so far
}

// covers reports whether a rank has at least as much as another at every
// instant.
func (r *replay) covers(o *replay) bool {
	for i := range o.runs {
		if !r.has(&o.runs[i].first) || !r.has(&o.runs[i].last) {
			return false
		}
	}
	return true
}

// has reports whether some instant has all that another has.
func (r *replay) has(at *instant) bool {
	for i := range r.runs {
		if r.runs[i].covers(at) {
			return true
		}
	}
	return false
}

// add adds a run and leaves those out that it covers.
func (r *replay) add(more run) {
	r.runs = slices.DeleteFunc(r.runs, func(old run) bool { return more.covers(&old.first) && more.covers(&old.last) })
	r.runs = append(r.runs, more)
}

// comings is what passes bring beside activations.
type comings struct {
	gradients  bool // begin to exist with the first backward pass of a chunk
	parameters bool // are left gathered by the backward passes of a chunk
}

// replayer walks the passes of a rank.
type replayer struct {
	comes comings
	alone bool      // there is no other rank
	now   []instant // by local chunk: what is the same whenever it runs
	held  []held
	open  []run // by phase and chunk; steps of −1: none
	out   replay
	each  func(*instant) // nil, or who wants every instant and no runs
}

// replayRank replays the passes of a rank of an order.
func replayRank(o *schedule.Order, rank int, comes comings) *replay {
	chunks := o.Chunks / o.Pipeline
	w := newReplayer(o, rank, comes)
	w.open = make([]run, int(numPhases)*chunks)
	for i := range w.open {
		w.open[i].steps = -1
	}
	for _, p := range o.Ranks[rank] {
		w.pass(p.Work, w.now[int(p.Chunk)/o.Pipeline])
	}
	for i := range w.open {
		w.shut(&w.open[i])
	}
	return &w.out
}

// newReplayer stands before the first pass of a rank of an order.
func newReplayer(o *schedule.Order, rank int, comes comings) *replayer {
	chunks := o.Chunks / o.Pipeline
	w := &replayer{comes: comes, alone: o.Pipeline == 1, now: make([]instant, chunks), held: make([]held, chunks)}
	for i := range w.now {
		c := o.Placement.Chunk(rank, i, o.Pipeline)
		w.now[i] = instant{chunk: i, begins: o.First(c), ends: o.Last(c), held: w.held}
	}
	return w
}

// pass lets a rank allocate and free what a pass does. A chunk that runs forward
// ends with no parameters gathered, one that has run backward with all.
func (w *replayer) pass(work schedule.Work, at instant) {
	h := &w.held[at.chunk]
	switch work {
	case schedule.Forward:
		h.alive++
		h.gathered = 0
		w.note(at, afterForward)
		if at.ends {
			w.note(at, inChunkedLoss)
			w.note(at, inHeadReduction)
		}
	case schedule.Backward:
		w.enter(at)
		w.makeGradients(at)
		h.alive--
	case schedule.InputGradient:
		if at.begins { // nobody waits for it: the backward pass runs with that of the weights
			return
		}
		adds := h.loose > 0
		w.enter(at)
		h.waiting++
		at.late, at.adds = true, adds
		w.note(at, afterInputs)
	case schedule.WeightGradient:
		if at.begins {
			w.pass(schedule.Backward, at)
			return
		}
		at.late = true
		w.note(at, inLastLayer)
		h.alive--
		h.waiting--
		h.loose = 1
	}
}

// enter runs a chunk backward up to its last layer.
func (w *replayer) enter(at instant) {
	if at.ends {
		w.note(at, inLoss)
	}
	w.note(at, inFirstLayer)
	if w.comes.gradients && w.alone {
		w.note(at, inSecondLayer)
	}
	h := &w.held[at.chunk]
	if w.comes.parameters {
		h.gathered = 1
	}
	if w.comes.gradients {
		h.begun = max(h.begun, h.loose)
	}
	h.loose = 0
}

// makeGradients runs the last layer of a chunk backward, and the input
// embedding.
func (w *replayer) makeGradients(at instant) {
	h := &w.held[at.chunk]
	if w.comes.gradients {
		at.fresh, h.begun = h.begun == 0, 1
	}
	w.note(at, inLastLayer)
	if at.begins {
		at.fresh = false
		w.note(at, inEmbedding)
	}
}

// note adds an instant to the runs.
func (w *replayer) note(at instant, p phase) {
	at.phase, at.ready = p, w.held[at.chunk].gathered > 0
	if w.each != nil {
		w.each(&at)
		return
	}
	if w.comes == (comings{}) && !at.late && (p == afterForward || p == inLastLayer) { // no more than the first layer to run backward
		return
	}
	r := &w.open[int(p)*len(w.held)]
	if p >= inSecondLayer {
		r = &w.open[int(p)*len(w.held)+at.chunk]
	}
	if r.steps >= 0 && r.follows(&at) {
		if !slices.Equal(r.last.held, at.held) {
			r.steps++
			r.last.set(&at)
		}
		return
	}
	w.shut(r)
	if r.first.held == nil { // of most phases and chunks there is none
		memory, n := make([]held, 2*len(w.held)), len(w.held)
		r.first.held, r.last.held = memory[:n:n], memory[n:]
	}
	r.first.set(&at)
	r.last.set(&at)
	r.steps = 0
}

// shut ends a run, and adds it to the replay if another does not have as much.
func (w *replayer) shut(r *run) {
	if r.steps < 0 || w.out.has(&r.first) && w.out.has(&r.last) {
		return
	}
	kept := run{steps: r.steps}
	kept.first.held, kept.last.held = make([]held, len(w.held)), make([]held, len(w.held))
	kept.first.set(&r.first)
	kept.last.set(&r.last)
	w.out.add(kept)
}

// set copies an instant, what exists included.
func (a *instant) set(b *instant) {
	h := a.held
	copy(h, b.held)
	*a = *b
	a.held = h
}
