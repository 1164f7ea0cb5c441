package logs

import (
	"strings"
)

// TorchTitan prints on every rank that LOG_RANK names, torchrun's default being
// all, every metrics.log_freq steps (torchtitan/components/metrics.py). tps is
// tokens per second of one GPU, memory the peak of what the allocator held since
// the last line, both over a time that includes checkpoints and garbage
// collection but no evaluation. Ranks without the last stage of a pipeline print a
// negative loss, as they have none. Releases before 0.2 print no gradient norm and
// no mfu, call tps wps, and name only the dimensions of a mesh that have several GPUs.
var (
	titanStep   = compile(`\bstep: +(\d+)  loss: +(\S+)(?:  grad_norm: +\S+)?  memory: *(-?[\d.]+)GiB\([^)]*\)  (?:tps|wps): ([\d,]+)(?:  tflops: ([\d,.]+))?`)
	titanValid  = compile(`\bvalidate step: +(\d+) `)
	titanBatch  = compile(`(?:Trainer is initialized|Training starts at step \d+,) with .*global batch size (\d+), .*sequence length (\d+), total steps (\d+)`)
	titanMesh   = compile(`Building device mesh with parallelism: pp=(\d+), dp_replicate=(\d+), dp_shard=(\d+), cp=(\d+), tp=(\d+)(?:, ep=(\d+))?`)
	titanAxes   = compile(`Building \d+-D device mesh with \[([^\]]+)\], \[([\d, ]+)\]`)
	titanLoaded = compile(`Finished loading the (?:ft )?checkpoint in ([\d.]+) seconds`)
	titanSaved  = compile(`(?:Finished (?:saving|staging) the checkpoint(?: \(or staging if async is enabled\))? ?in|Last step checkpoint completed in) ([\d.]+) ?s`)
	titanStart  = compile(`\btorchtitan version: `)
)

func torchTitan(p *Parser, text string) bool {
	if titanValid.MatchString(text) {
		p.phase(Evaluation, 0)
		return true
	}
	if m := titanStep.FindStringSubmatch(text); m != nil {
		s := Step{Iteration: whole(m[1]), Reserved: max(0, number(m[3])) * (1 << 30), TokensPerSecond: number(m[4]), TFLOPS: number(m[5])}
		s.loss(m[2])
		s.Loss = max(0, s.Loss)
		if s.TokensPerSecond > 0 && p.head.GPUs > 0 {
			s.Seconds = p.head.tokens() / float64(p.head.GPUs) / s.TokensPerSecond
		}
		p.step(TorchTitan, s)
		return true
	}
	if titanStart.MatchString(text) {
		p.launch()
		return true
	}
	return p.titanMesh(titanMesh.FindStringSubmatch(text)) || p.titanAxes(titanAxes.FindStringSubmatch(text)) || p.titanBatch(titanBatch.FindStringSubmatch(text)) ||
		p.timed(Load, titanLoaded.FindStringSubmatch(text)) || p.timed(Save, titanSaved.FindStringSubmatch(text))
}

// titanMesh keeps the number of GPUs and what each dimension has of them.
func (p *Parser) titanMesh(m []string) bool {
	if m == nil {
		return false
	}
	n := 1
	for _, degree := range m[1:6] {
		if n *= whole(degree); n > 1<<30 {
			n = 0
		}
	}
	p.head.GPUs = n
	p.degrees = Degrees{Pipeline: whole(m[1]), Replicate: whole(m[2]), Shard: whole(m[3]), Context: whole(m[4]), Tensor: whole(m[5]), Expert: whole(m[6])}
	return true
}

// titanAxes keeps the number of GPUs, and of each dimension of a mesh of earlier releases
// how many it has. Those that are not named have one, unless one is cut for experts.
func (p *Parser) titanAxes(m []string) bool {
	if m == nil {
		return false
	}
	names, sizes := strings.Split(m[1], ","), strings.Split(m[2], ",")
	d, known := Degrees{Tensor: 1, Context: 1, Pipeline: 1, Replicate: 1, Shard: 1}, len(names) == len(sizes)
	n := 1
	for i, size := range sizes {
		if n *= whole(size); n > 1<<30 {
			n = 0
		}
		if !known {
			continue
		}
		switch strings.Trim(names[i], " '\"") {
		case "pp":
			d.Pipeline = whole(size)
		case "dp_replicate":
			d.Replicate = whole(size)
		case "dp_shard":
			d.Shard = whole(size)
		case "cp":
			d.Context = whole(size)
		case "tp":
			d.Tensor = whole(size)
		default:
			known = false
		}
	}
	if p.head.GPUs = n; known {
		p.degrees = d
	}
	return true
}

// titanBatch keeps the batch of a step.
func (p *Parser) titanBatch(m []string) bool {
	if m == nil {
		return false
	}
	p.head.Sequences, p.head.Length = whole(m[1]), whole(m[2])
	p.total(m[3])
	return true
}

// timed adds a phase whose line says how long it took.
func (p *Parser) timed(kind PhaseKind, m []string) bool {
	if m == nil {
		return false
	}
	p.phase(kind, number(m[1]))
	return true
}
