package curves

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
)

// Corpus makes documents of a language with something to learn: the ids of a
// vocabulary come with the frequencies of words (Zipf's law), and two of three
// words are followed by one of only four. Id 0 ends a document. The same
// arguments give the same tokens everywhere.
func Corpus(seed uint64, vocabulary, tokens int) [][]uint16 {
	random := rand.New(rand.NewPCG(seed, 1))
	word := zipf(random, vocabulary)
	next := make([][4]uint16, vocabulary)
	for i := range next {
		next[i] = [4]uint16{word(), word(), word(), word()}
	}
	var documents [][]uint16
	for total := 0; total < tokens; {
		document := make([]uint16, 50+random.IntN(400))
		id := word()
		for i := range document {
			document[i] = id
			if id = next[id][random.IntN(4)]; random.IntN(3) == 0 {
				id = word()
			}
		}
		document[len(document)-1] = 0
		documents = append(documents, document)
		total += len(document)
	}
	return documents
}

// zipf draws ids above 0, id n as often as 1/n.
func zipf(random *rand.Rand, vocabulary int) func() uint16 {
	most := math.Log(float64(vocabulary))
	return func() uint16 { return uint16(math.Exp(random.Float64() * most)) }
}

// WriteIndexed writes documents as Megatron-LM's .bin and .idx, the format that
// all three frameworks read here.
func WriteIndexed(prefix string, documents [][]uint16) error {
	const uint16Code = 8 // megatron/core/datasets/indexed_dataset.py, DType
	var tokens, lengths, pointers, firsts []byte
	for i, d := range documents {
		lengths = binary.LittleEndian.AppendUint32(lengths, uint32(len(d)))
		pointers = binary.LittleEndian.AppendUint64(pointers, uint64(len(tokens)))
		firsts = binary.LittleEndian.AppendUint64(firsts, uint64(i))
		for _, id := range d {
			tokens = binary.LittleEndian.AppendUint16(tokens, id)
		}
	}
	count := uint64(len(documents))
	index := append([]byte("MMIDIDX\x00\x00"), binary.LittleEndian.AppendUint64(nil, 1)...)
	index = append(index, uint16Code)
	index = binary.LittleEndian.AppendUint64(index, count)
	index = binary.LittleEndian.AppendUint64(index, count+1)
	index = bytes.Join([][]byte{index, lengths, pointers, firsts, binary.LittleEndian.AppendUint64(nil, count)}, nil)
	if err := os.WriteFile(prefix+".bin", tokens, 0o644); err != nil {
		return err
	}
	return os.WriteFile(prefix+".idx", index, 0o644)
}
