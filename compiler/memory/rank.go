package memory

// stageRank is a rank of the pipeline. Its chunks are put together that have the
// same layers and are no end of the pipeline: which of them holds something does
// not matter to what the rank holds.
type stageRank struct {
	number int
	class  []int // of every local chunk
	chunks []int // of every class, one of its chunks, in pipeline order
	count  []int // how many it has
	runs   []run // of the replay
}

// rank is a rank of the model's pipeline.
func (m *Model) rank(number int) stageRank {
	r := m.classes(number)
	r.runs = m.replay(&r).runs
	return r
}

// classes is a rank whose passes nobody has replayed.
func (m *Model) classes(number int) stageRank {
	p := m.pipeline
	virtual := p.shape.Virtual
	numbers := make([]int, 3*virtual)
	r := stageRank{number: number, class: numbers[:0:virtual], chunks: numbers[virtual : virtual : 2*virtual], count: numbers[2*virtual : 2*virtual]}
	for local := range virtual {
		r.add(m, p.chunk(number, local))
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
