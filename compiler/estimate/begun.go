package estimate

import (
	"slices"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/lang/job"
)

// begunKey is what the times of the blocks before a mixture of experts depend on.
type begunKey struct {
	tensor, context, microBatch int32
	execution                   int16
	kind                        int8
	dtype                       compute.DType
	sequence                    bool
}

// begun is a layer as far as it is the same however its experts are cut and run:
// what a builder had collected of the blocks before them, in the order of their
// operations.
type begun struct {
	builder builder
	blocks  []blockTimes
	again   []exchange
	stream  stream
}

// begunKey is that of a layer of a kind.
func (b *builder) begunKey(kind int) begunKey {
	k := b.e.withoutExperts(b.e.tableKey(b.l, b.x), b.x)
	return begunKey{tensor: k.tensor, context: k.context, microBatch: k.microBatch, execution: k.execution, sequence: k.sequence, kind: int8(kind), dtype: b.dtype}
}

// resume goes on where an earlier layer like this one came to its experts, and
// returns the number of blocks that are done.
func (b *builder) resume(kind int, s *stream) int {
	if !b.e.arch.Kinds()[kind].MoE {
		return 0
	}
	known := b.e.begun[b.begunKey(kind)]
	if known == nil {
		return 0
	}
	l, x, g, blocks, again := b.l, b.x, b.g, b.blocks, b.again
	*b, *s = known.builder, known.stream
	b.l, b.x, b.g, b.blocks, b.again = l, x, g, append(blocks, known.blocks...), append(again, known.again...)
	return len(known.blocks)
}

// halt remembers a layer of which some blocks are done, where the next has experts
// and none before it had.
func (b *builder) halt(kind, done int, s *stream) {
	if all := b.e.arch.Kinds()[kind].Blocks; done == len(all) || b.experts > 0 || all[done] != job.ExpertsBlock {
		return
	}
	known := &begun{builder: *b, blocks: slices.Clone(b.blocks), again: slices.Clone(b.again), stream: *s}
	known.builder.l, known.builder.x, known.builder.g, known.builder.blocks, known.builder.again = nil, nil, nil, nil, nil
	remember(b.e.begun, b.begunKey(kind), known, mostTables)
}
