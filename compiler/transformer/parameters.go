package transformer

// Elements counts parameters of one rank by the group that their gradients are
// reduced over.
type Elements struct {
	Dense  int64 // reduced over data × context parallel ranks
	Expert int64 // reduced over the expert data-parallel ranks
}

// Add returns the sum of both.
func (e Elements) Add(o Elements) Elements {
	return Elements{e.Dense + o.Dense, e.Expert + o.Expert}
}

// Times returns n times the elements.
func (e Elements) Times(n int) Elements {
	return Elements{e.Dense * int64(n), e.Expert * int64(n)}
}

// Sum is all elements.
func (e Elements) Sum() int64 { return e.Dense + e.Expert }

// Layer is the number of elements of one layer of a kind on one rank.
func (a *Architecture) Layer(kind int, s Split) Elements {
	var e Elements
	for i := range a.tensor[kind] {
		t := &a.tensor[kind][i]
		if t.Expert() {
			e.Expert += t.Local(s)
		} else {
			e.Dense += t.Local(s)
		}
	}
	return e
}

// Layers is the number of elements of decoder layers [first, end) on one rank,
// MTP layers not included.
func (a *Architecture) Layers(first, end int, s Split) Elements {
	var e Elements
	for k := range a.kinds {
		if n := a.Count(k, first, end); n > 0 {
			e = e.Add(a.Layer(k, s).Times(n))
		}
	}
	return e
}

// Chunk is a consecutive part of the model.
type Chunk struct {
	First, End int // decoder layers [First, End)
	// Embedding says that the input embedding is here: on the first chunk, and
	// as a copy on a later chunk that needs it (tied head, MTP).
	Embedding bool
	MTP       int  // MTP layers
	Head      bool // final norm and output head
}

// Chunk is the number of elements of a chunk on one rank, for a vocabulary as
// built. A tied head adds nothing where the embedding is on the same chunk.
func (a *Architecture) Chunk(c Chunk, vocabulary int, s Split) Elements {
	e := a.Layers(c.First, c.End, s)
	if c.Embedding {
		e.Dense += a.WordEmbedding(vocabulary, s.TensorParallel)
		if c.First == 0 {
			e.Dense += a.PositionTable()
		}
	}
	if c.Head {
		e.Dense += a.FinalNorm()
		if !a.Model.TiedEmbeddings || !c.Embedding {
			e.Dense += a.WordEmbedding(vocabulary, s.TensorParallel)
		}
	}
	if c.MTP > 0 {
		e = e.Add(a.Layer(a.mtp, s).Times(c.MTP))
	}
	return e
}

// Embedding is the number of elements of the input embedding on one rank, for
// a vocabulary as built (padded): vocabulary × hidden over the tensor group,
// and the learned position table, which every tensor rank holds in full.
func (a *Architecture) Embedding(vocabulary, tensorParallel int) int64 {
	return a.WordEmbedding(vocabulary, tensorParallel) + a.PositionTable()
}

// WordEmbedding is vocabulary × hidden over the tensor group: the input
// embedding without positions, and equally the output head.
func (a *Architecture) WordEmbedding(vocabulary, tensorParallel int) int64 {
	return ceil(int64(vocabulary), tensorParallel) * int64(a.Model.HiddenSize)
}

// PositionTable is the number of elements of learned positions; 0 for others.
func (a *Architecture) PositionTable() int64 {
	if a.Model.PositionEmbedding.Kind != "learned" {
		return 0
	}
	n := a.Model.MaxPositions
	if n == 0 {
		n = a.Model.SequenceLength
	}
	return int64(n) * int64(a.Model.HiddenSize)
}

// FinalNorm is the number of elements of the norm before the output head.
func (a *Architecture) FinalNorm() int64 {
	if a.Model.Normalization == "layernorm" {
		return 2 * int64(a.Model.HiddenSize)
	}
	return int64(a.Model.HiddenSize)
}

// whole is the split of a model on a single rank.
var whole = Split{TensorParallel: 1, ExpertParallel: 1, ExpertTensorParallel: 1}

// ParametersTotal counts the parameters of the main model: every tensor once,
// the embedding with the vocabulary as published (not padded), tied embeddings
// once, MTP layers not counted (DeepSeek-V3: 671.03 B, as published).
func (a *Architecture) ParametersTotal() int64 {
	n := a.Embedding(a.Model.VocabSize, 1) + a.FinalNorm()
	if !a.Model.TiedEmbeddings {
		n += a.WordEmbedding(a.Model.VocabSize, 1)
	}
	return n + a.Layers(0, a.Model.Layers, whole).Sum()
}

// ParametersActive counts the parameters that one token touches: as
// [Architecture.ParametersTotal], with top-k experts instead of all. The input
// embedding is counted in full, as most publishers do (Mixtral 8x7B 12.88 B,
// Kimi K2 32.86 B); gpt-oss and DeepSeek's figures leave it out.
func (a *Architecture) ParametersActive() int64 {
	n := a.ParametersTotal()
	if e := a.Model.MoE; e != nil {
		routed := a.Layers(0, a.Model.Layers, whole).Expert
		n -= routed / int64(e.Experts) * int64(e.Experts-e.TopK)
	}
	return n
}

// ParametersMTP counts the parameters of all MTP layers; they share embedding
// and head with the main model.
func (a *Architecture) ParametersMTP() int64 {
	if a.mtp < 0 {
		return 0
	}
	return a.Layer(a.mtp, whole).Sum() * int64(a.Model.MTPLayers)
}
