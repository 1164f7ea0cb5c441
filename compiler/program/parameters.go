package program

// Elements counts parameters of one rank by the group that their gradients are
// reduced over.
type Elements struct {
	Dense  int64 // reduced over data × context parallel ranks
	Expert int64 // reduced over the expert data-parallel ranks
	// Replicated is the part of Dense that every tensor rank has in full. Under
	// sequence parallelism each sees a part of the tokens, so that these gradients
	// are reduced over the tensor group, too.
	Replicated int64
}

// Add returns the sum of both.
func (e Elements) Add(o Elements) Elements {
	return Elements{e.Dense + o.Dense, e.Expert + o.Expert, e.Replicated + o.Replicated}
}

// Times returns n times the elements.
func (e Elements) Times(n int) Elements {
	return Elements{e.Dense * int64(n), e.Expert * int64(n), e.Replicated * int64(n)}
}

// Sum is all elements.
func (e Elements) Sum() int64 { return e.Dense + e.Expert }

// Elements is the number of elements of one layer of a kind on one rank.
func (p *Program) Elements(kind int, s Split) Elements {
	var e Elements
	p.Weights(kind, func(_ *Operation, w *Weight) {
		if w.Expert() {
			e.Expert += w.Local(s)
		} else {
			e.Dense += w.Local(s)
			if w.Sharding == Replicated {
				e.Replicated += w.Elements()
			}
		}
	})
	return e
}

// Layers is the number of elements of decoder layers [first, end) on one rank,
// MTP layers not included.
func (p *Program) Layers(first, end int, s Split) Elements {
	var e Elements
	for k := range p.kinds {
		if n := p.Count(k, first, end); n > 0 {
			e = e.Add(p.Elements(k, s).Times(n))
		}
	}
	return e
}

// ParametersTotal counts the parameters of the main model: every tensor once,
// the embedding with the vocabulary as published (not padded), tied embeddings
// once, MTP layers not counted (DeepSeek-V3: 671.03 B, as published).
func (p *Program) ParametersTotal() int64 {
	n := p.Embedding(p.Model.VocabSize, 1) + p.FinalNorm()
	if !p.Model.TiedEmbeddings {
		n += p.WordEmbedding(p.Model.VocabSize, 1)
	}
	return n + p.Layers(0, p.Model.Layers, whole).Sum()
}

// ParametersActive counts the parameters that one token touches: as
// [Program.ParametersTotal], with top-k experts instead of all. The input
// embedding is counted in full, as most publishers do (Mixtral 8x7B 12.88 B,
// Kimi K2 32.86 B); gpt-oss and DeepSeek's figures leave it out.
func (p *Program) ParametersActive() int64 {
	n := p.ParametersTotal()
	if e := p.Model.MoE; e != nil {
		routed := p.Layers(0, p.Model.Layers, whole).Expert
		n -= routed / int64(e.Experts) * int64(e.Experts-e.TopK)
	}
	return n
}

// ParametersMTP counts the parameters of all MTP layers; they share embedding
// and head with the main model.
func (p *Program) ParametersMTP() int64 {
	if p.mtp < 0 {
		return 0
	}
	return p.Elements(p.mtp, whole).Sum() * int64(p.Model.MTP.Layers)
}
