package memory

import "slices"

// stageRank is a rank of the pipeline. Its chunks are put together that have the
// same layers and are no end of the pipeline: which of them holds something does
// not matter to what the rank holds.
type stageRank struct {
	number int
	class  []int // of every local chunk
	chunks []int // of every class, one of its chunks, in pipeline order
	count  []int // how many it has
	runs   []run // of the replay, with what exists of classes in place of chunks
}

// rank is a rank of the model's pipeline.
func (m *Model) rank(number int) stageRank {
	p := m.pipeline
	virtual := p.shape.Virtual
	numbers := make([]int, 3*virtual)
	r := stageRank{number: number, class: numbers[:0:virtual], chunks: numbers[virtual : virtual : 2*virtual], count: numbers[2*virtual : 2*virtual]}
	for local := range virtual {
		r.add(m, p.chunk(number, local))
	}
	replay := m.replay(number)
	r.runs = replay.runs
	if len(r.chunks) < len(r.class) {
		r.runs = replay.folded(&r)
	}
	return r
}

// add adds a chunk to the class of those like it.
func (r *stageRank) add(m *Model, chunk int) {
	last := len(m.pipeline.starts) - 2
	for k, other := range r.chunks {
		if chunk > 0 && other > 0 && chunk < last && other < last && m.alike(chunk, other) {
			r.class = append(r.class, k)
			r.count[k]++
			return
		}
	}
	r.class = append(r.class, len(r.chunks))
	r.chunks, r.count = append(r.chunks, chunk), append(r.count, 1)
}

// fold is the runs of a replay with the chunks of a rank put together by their
// classes. Which chunks are alike is the same for many splits of the layers, and
// so a replay remembers its folds.
type fold struct {
	class []int
	runs  []run
	next  *fold
}

// folded finds or makes the fold for a rank. Of two workers that make one at once,
// one may keep its own to itself.
func (r *replay) folded(rank *stageRank) []run {
	known := r.folds.Load()
	for f := known; f != nil; f = f.next {
		if slices.Equal(f.class, rank.class) {
			return f.runs
		}
	}
	f := &fold{class: rank.class, runs: rank.fold(), next: known}
	r.folds.CompareAndSwap(known, f)
	return f.runs
}

// fold puts what exists of the chunks of a class together, and leaves the runs out
// that then have no more than another.
func (r *stageRank) fold() []run {
	folded := replay{runs: make([]run, 0, len(r.runs))}
	memory := make([]held, 2*len(r.runs)*len(r.chunks))
	for i := range r.runs {
		old := &r.runs[i]
		first, last := r.instant(&old.first, &memory), r.instant(&old.last, &memory)
		if !folded.has(&first) || !folded.has(&last) {
			folded.add(run{first: first, last: last, steps: old.steps})
		}
	}
	return folded.runs
}

// instant is an instant with what exists of classes, at the start of some memory.
func (r *stageRank) instant(at *instant, memory *[]held) instant {
	n := len(r.chunks)
	out := *at
	out.chunk, out.held = r.class[at.chunk], (*memory)[:n:n]
	*memory = (*memory)[n:]
	for i := range at.held {
		out.held[r.class[i]].add(&at.held[i])
	}
	return out
}
