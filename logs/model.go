package logs

import (
	"math"
)

// Model is what a launch says of the model that it trains; what is not known is 0.
type Model struct {
	Layers int

	Parameters  float64 // as printed, or summed up of those that ranks print
	Least, Most float64 // that the model has, as exactly as what was printed tells
}

// What frameworks and the programs around them say of the size of a model, before their steps:
// TorchTitan the whole model (torchtitan/train.py), Megatron-LM its part on the
// ranks that are first in their data-parallel group (megatron/training/training.py:
// get_model) and the whole of what is no hybrid (theoretical_memory_usage.py), DeepSpeed
// the model that it partitions as it is made (runtime/zero/partition_parameters.py) and
// that of a pipeline (runtime/pipe/engine.py).
var (
	titanParameters    = compile(`\bsize: ([\d,]+) total parameters`)
	megatronRank       = compile(`> number of parameters on (?:\(tensor, pipeline\) )?model parallel rank \((\d+), (\d+)\): (\d+)`)
	megatronBillions   = compile(`\bTotal number of parameters in billions: +(\d+\.\d+)`)
	deepSpeedElements  = compile(`finished initializing model - num_params = \d+, num_elems = (\d+\.\d+)B`)
	pipelineParameters = compile(`\bTOTAL_PARAMS=\d+ .*UNIQUE_PARAMS=(\d+) `)
)

// How far numbers are from the parameters of a model. Formulas leave small parts out.
const (
	counted  = 0.01   // one by one
	computed = 0.10   // by a formula, or with all that tensor parallelism copies
	copied   = 1. / 3 // most that is in a model twice, as an embedding is that is a head too
	rounding = 0.005e9

	// padding is the most that Megatron-LM adds to the vocabulary of an embedding and a head for
	// each rank of a tensor group (--make-vocab-size-divisible-by), at the widest hidden size.
	padding = 2 * 128 * 16384
)

// model reads what a line says of the model.
func model(p *Parser, text string) bool {
	if m := titanParameters.FindStringSubmatch(text); m != nil {
		p.sized(number(m[1]), counted, 0)
		return true
	}
	if m := megatronRank.FindStringSubmatch(text); m != nil {
		p.part(whole(m[1]), whole(m[2]), number(m[3]))
		return true
	}
	if m := megatronBillions.FindStringSubmatch(text); m != nil {
		p.sized(number(m[1])*1e9, computed, rounding+padding*float64(max(1, p.degrees.Tensor)))
		return true
	}
	if m := deepSpeedElements.FindStringSubmatch(text); m != nil {
		n := number(m[1]) * 1e9 // a head that is tied to the embedding is counted before that
		p.bounded(n, n*(1-copied)-rounding, n*(1+counted)+rounding)
		return true
	}
	if m := pipelineParameters.FindStringSubmatch(text); m != nil {
		p.sized(number(m[1]), computed, 0)
		return true
	}
	return false
}

// sized keeps a number of parameters, which is off by a share and an amount at most. One
// that says nothing, as of a model of some thousand parameters in billions, bounds none.
func (p *Parser) sized(n, share, amount float64) {
	if n <= 2*amount {
		return
	}
	p.bounded(n, max(0, n*(1-share)-amount), n*(1+share)+amount)
}

// bounded narrows the number of parameters; bounds that rule one another out, as where a
// program makes several models, leave none.
func (p *Parser) bounded(n, least, most float64) {
	m := &p.model
	m.Parameters = n
	if m.Most > 0 && (least > m.Most || most < m.Least) {
		m.Least, m.Most = 0, math.MaxFloat64
		return
	}
	m.Least = max(m.Least, least)
	if m.Most == 0 || most < m.Most {
		m.Most = most
	}
}

// shares are what the stages of one place of the tensor group have of a model's parameters.
type shares struct {
	of  map[int]float64 // by stage
	sum float64
}

// part keeps the parameters of a rank of Megatron-LM: those of all stages of one
// place of the tensor group are the model's over the size of that group, but for what
// stages copy, and experts of other ranks.
func (p *Parser) part(tensor, stage int, parameters float64) {
	if p.parts == nil {
		p.parts, p.ranks = map[int]*shares{}, 0
	}
	at := p.parts[tensor]
	if at == nil {
		at = &shares{of: map[int]float64{}}
	}
	before, known := at.of[stage]
	if !known {
		if p.ranks == most {
			return
		}
		p.ranks++
	}
	at.of[stage] = parameters
	at.sum += parameters - before
	p.parts[tensor] = at
	ranks, stages := p.degrees.Tensor, p.degrees.Pipeline
	if ranks == 0 || len(at.of) != stages {
		return
	}
	sum := at.sum * float64(ranks)
	if sum <= 0 { // of parameters that are partitioned
		return
	}
	lower, upper := max(0, sum*(1-computed)-padding*float64(ranks)), math.MaxFloat64
	if stages > 1 {
		lower *= 1 - copied
	}
	if p.dense {
		upper = sum * (1 + computed)
	}
	p.bounded(sum, lower, upper)
}
