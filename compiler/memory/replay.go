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

// held is what exists of a local chunk of a rank, or of all of a class.
type held struct {
	alive    int32 // micro-batches whose activations are kept
	waiting  int32 // of these, those whose weight gradients wait; all that these need is counted, of which some is gone sooner (docs/memory.md, "Split backward passes")
	begun    int32 // chunks whose gradients exist
	gathered int32 // chunks whose parameters were left gathered by a backward pass
	loose    int32 // chunks whose newest weight gradients are not added to the others yet
}

// atHead is the number of micro-batches of which the loss has something.
func (h *held) atHead() int32 { return h.alive - h.waiting }

// counts lists all that exists.
func (h *held) counts() [5]int32 { return [...]int32{h.alive, h.waiting, h.begun, h.gathered, h.loose} }

// atLeast reports whether as much exists as elsewhere.
func (h *held) atLeast(o *held) bool {
	return h.alive >= o.alive && h.waiting >= o.waiting && h.begun >= o.begun && h.gathered >= o.gathered && h.loose >= o.loose
}

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
	chunk  int  // the class of the chunk that runs
	begins bool // it has the input embedding
	ends   bool // it has the output head
	fresh  bool // it makes its first gradients
	ready  bool // its parameters were left gathered
	late   bool // its micro-batch is one of those whose weight gradients wait
	adds   bool // it has just added the weight gradients of an earlier one
	kind   kind
	held   []held // by class
}

// kind is all that decides what an instant weighs beside what exists of chunks and
// whether first gradients are made: the running chunk matters where its own
// activations, gradients or parameters do.
type kind uint32

// classify sets the kind.
func (a *instant) classify() {
	k := kind(a.phase)
	if a.phase >= inSecondLayer {
		k |= kind(a.chunk) << 16
	}
	for i, b := range [...]bool{a.ends, a.ready, a.late, a.adds} {
		if b {
			k |= 1 << (8 + i)
		}
	}
	a.kind = k
}

// alike reports whether two instants differ in no more than micro-batches.
func (a *instant) alike(b *instant) bool {
	if a.kind != b.kind || a.fresh != b.fresh {
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
func (a *instant) comparable(b *instant) bool { return a.kind == b.kind && (b.fresh || !a.fresh) }

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

// covers reports whether an end of a run is at least as heavy as an instant,
// whatever chunks weigh.
func (r *run) covers(at *instant) bool {
	return r.first.comparable(at) && between(&r.first, &r.last, at)
}

// between reports whether what exists at an instant is no more than at some place
// on the line between two others that are comparable with it. What they weigh
// changes evenly along that line, so that one of them is at least as heavy.
func between(a, b, at *instant) bool {
	low, high := fraction{0, 1}, fraction{1, 1} // how far from a to b
	for i := range at.held {
		from, to, want := &a.held[i], &b.held[i], &at.held[i]
		if *from == *to {
			if !from.atLeast(want) {
				return false
			}
			continue
		}
		f, t, w := from.counts(), to.counts(), want.counts()
		for k := range w {
			lack := int64(w[k] - f[k])
			switch step := int64(t[k] - f[k]); {
			case step > 0:
				low = low.larger(fraction{lack, step})
			case step < 0:
				high = high.smaller(fraction{-lack, -step})
			case lack > 0:
				return false
			}
		}
	}
	return !high.less(low)
}

// fraction is a quotient whose divisor is positive.
type fraction struct{ over, under int64 }

func (f fraction) less(g fraction) bool { return f.over*g.under < g.over*f.under }

func (f fraction) larger(g fraction) fraction {
	if f.less(g) {
		return g
	}
	return f
}

func (f fraction) smaller(g fraction) fraction {
	if g.less(f) {
		return g
	}
	return f
}

// replay is what comes and goes on a rank while it runs its passes. Chunks are put
// together by their classes, and so there are several replays of a rank.
type replay struct {
	class  []int         // of every local chunk
	all    []run         // of instants that no other has more than
	runs   []run         // of these, the ones that may be the heaviest
	before atomic.Uint32 // whether the rank before has as much: 0 where nobody asked yet, 1 no, 2 yes
	next   *replay       // of the same rank with other classes
}

// within reports whether the rank before, whose replay with the same classes it is
// given, has at least as much at every instant.
func (r *replay) within(before *replay) bool {
	if r.before.Load() == 0 {
		known := uint32(1)
		if before.covers(r) {
			known = 2
		}
		r.before.Store(known)
	}
	return r.before.Load() == 2
}

// covers reports whether a rank has at least as much as another at every
// instant.
func (r *replay) covers(o *replay) bool {
	for i := range o.all {
		if !r.has(&o.all[i].first) || !r.has(&o.all[i].last) {
			return false
		}
	}
	return true
}

// has reports whether some instant has all that another has.
func (r *replay) has(at *instant) bool {
	for i := range r.all {
		if r.all[i].covers(at) {
			return true
		}
	}
	return false
}

// add adds a run and leaves those out that it covers.
func (r *replay) add(more run) {
	for i := len(r.all) - 1; i >= 0; i-- {
		if old := &r.all[i]; more.covers(&old.first) && more.covers(&old.last) {
			r.all = slices.Delete(r.all, i, i+1)
		}
	}
	r.all = append(r.all, more)
}

// thin settles which runs may be the heaviest: none that is never heavier than
// the comparable ones before and after it. While a rank runs its last backward
// passes, one chunk after the other leaves its parameters gathered as activations
// go, and either those weigh more or these.
func (r *replay) thin() {
	r.runs = make([]run, 0, len(r.all))
	for i := range r.all {
		more := r.all[i]
		for {
			middle := lastLike(r.runs, &more)
			before := lastLike(r.runs[:max(middle, 0)], &more)
			if before < 0 || !more.spans(&r.runs[before], &r.runs[middle]) {
				break
			}
			r.runs = slices.Delete(r.runs, middle, middle+1)
		}
		r.runs = append(r.runs, more)
	}
}

// lastLike is the place of the last of some runs with the same beside what exists
// of chunks as another, −1 if there is none.
func lastLike(runs []run, as *run) int {
	for i := len(runs) - 1; i >= 0; i-- {
		if a := &runs[i].first; a.kind == as.first.kind && a.fresh == as.first.fresh {
			return i
		}
	}
	return -1
}

// spans reports whether one of two runs is always as heavy as a third.
func (r *run) spans(o, third *run) bool {
	within := func(at *instant) bool {
		return between(&o.first, &r.first, at) || between(&o.last, &r.first, at) || between(&o.first, &r.last, at) || between(&o.last, &r.last, at)
	}
	return within(&third.first) && within(&third.last)
}

// comings is what passes bring beside activations.
type comings struct {
	gradients  bool // begin to exist with the first backward pass of a chunk
	parameters bool // are left gathered by the backward passes of a chunk
}

// replayer walks the passes of a rank.
type replayer struct {
	comes comings
	alone bool           // there is no other rank
	class []int          // by local chunk
	now   []instant      // by local chunk: what is the same whenever it runs
	own   []held         // by local chunk
	held  []held         // by class
	open  []run          // by phase and class; steps of −1: none
	out   *replay        // alone outlives the replayer
	each  func(*instant) // nil, or who wants every instant and no runs
}

// replayRank replays the passes of a rank of an order, whose chunks have classes.
func replayRank(o *schedule.Order, rank int, comes comings, class []int) *replay {
	w := newReplayer(o, rank, comes, class)
	w.open = make([]run, int(numPhases)*len(w.held))
	for i := range w.open {
		w.open[i].steps = -1
	}
	for _, p := range o.Ranks[rank] {
		w.pass(p.Work, int(p.Chunk)/o.Pipeline)
	}
	for i := range w.open {
		w.shut(&w.open[i])
	}
	w.out.class = class
	w.out.thin()
	return w.out
}

// newReplayer stands before the first pass of a rank of an order.
func newReplayer(o *schedule.Order, rank int, comes comings, class []int) *replayer {
	w := &replayer{comes: comes, alone: o.Pipeline == 1, class: class, now: make([]instant, len(class)), own: make([]held, len(class)),
		held: make([]held, slices.Max(class)+1), out: &replay{}}
	for i := range w.now {
		c := o.Placement.Chunk(rank, i, o.Pipeline)
		w.now[i] = instant{chunk: class[i], begins: o.First(c), ends: o.Last(c), held: w.held}
	}
	return w
}

// has lets something else exist of a local chunk.
func (w *replayer) has(local int, h held) {
	all, was := &w.held[w.class[local]], &w.own[local]
	all.add(&h)
	all.alive -= was.alive
	all.waiting -= was.waiting
	all.begun -= was.begun
	all.gathered -= was.gathered
	all.loose -= was.loose
	*was = h
}

// pass lets a rank allocate and free what a pass does. A chunk that runs forward
// ends with no parameters gathered, one that has run backward with all.
func (w *replayer) pass(work schedule.Work, local int) {
	at, h := w.now[local], w.own[local]
	switch work {
	case schedule.Forward:
		h.alive++
		h.gathered = 0
		w.has(local, h)
		w.note(at, local, afterForward)
		if at.ends {
			w.note(at, local, inChunkedLoss)
			w.note(at, local, inHeadReduction)
		}
	case schedule.Backward:
		w.enter(local)
		w.makeGradients(local)
		h = w.own[local]
		h.alive--
		w.has(local, h)
	case schedule.InputGradient:
		if at.begins { // nobody waits for it: the backward pass runs with that of the weights
			return
		}
		at.late, at.adds = true, h.loose > 0
		w.enter(local)
		h = w.own[local]
		h.waiting++
		w.has(local, h)
		w.note(at, local, afterInputs)
	case schedule.WeightGradient:
		if at.begins {
			w.pass(schedule.Backward, local)
			return
		}
		at.late = true
		w.note(at, local, inLastLayer)
		h.alive--
		h.waiting--
		h.loose = 1
		w.has(local, h)
	}
}

// enter runs a chunk backward up to its last layer.
func (w *replayer) enter(local int) {
	at := w.now[local]
	if at.ends {
		w.note(at, local, inLoss)
	}
	w.note(at, local, inFirstLayer)
	if w.comes.gradients && w.alone {
		w.note(at, local, inSecondLayer)
	}
	h := w.own[local]
	if w.comes.parameters {
		h.gathered = 1
	}
	if w.comes.gradients {
		h.begun = max(h.begun, h.loose)
	}
	h.loose = 0
	w.has(local, h)
}

// makeGradients runs the last layer of a chunk backward, and the input
// embedding.
func (w *replayer) makeGradients(local int) {
	at, h := w.now[local], w.own[local]
	if w.comes.gradients {
		at.fresh, h.begun = h.begun == 0, 1
		w.has(local, h)
	}
	w.note(at, local, inLastLayer)
	if at.begins {
		at.fresh = false
		w.note(at, local, inEmbedding)
	}
}

// note adds an instant to the runs.
func (w *replayer) note(at instant, local int, p phase) {
	at.phase, at.ready = p, w.own[local].gathered > 0
	at.classify()
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
