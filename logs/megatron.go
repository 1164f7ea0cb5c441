package logs

import (
	"strings"
)

// Megatron-LM prints, on its last rank, one line of fields between bars every
// --log-interval steps, since core_v0.14 after the first step as well
// (megatron/training/training.py, training_log). Its interval timer stands still
// while it saves and evaluates. Memory comes after the first two steps and every
// --log-memory-interval, from the ranks that are first in their data-parallel
// group (report_memory); MB are 2^20 bytes. Megatron-Bridge prints gigabytes of 10^9
// (megatron/bridge/training/utils/train_utils.py, report_memory). NeMo 2, which trains by
// Megatron-LM's core, prints fields of other names after each step, and counts steps from 0
// (nemo/lightning/pytorch/callbacks/progress_printer.py); memory is in bytes.
var (
	megatronStep   = compile(`\biteration +(\d+)/ *(\d+) \|(.*(?:elapsed time per iteration \(|train_step_timing in s:).*)`)
	megatronMemory = compile(`\(after (\d+) iterations\) memory \((MB|GB)\) \|(.*)`)
	megatronTimer  = compile(`(?:^|[^ ]) {2,9}([a-z][a-z0-9-]+) \.+: \((\d+\.\d+), (\d+\.\d+)\)`)
	megatronMost   = compile(`(?:^|[^ ]) {2,9}([a-z][a-z0-9-]+) \.+: (\d+\.\d+)$`)
	megatronNamed  = compile(`(?:^ {1,9}|[^ ] {2,9})([a-z][a-z0-9/-]+):$`) // --timing-log-option all: each rank has a line
	megatronOne    = compile(`(?:^|[^ ]) {4,12}rank +\d+: (\d+\.\d+)$`)
	megatronWorld  = compile(`\busing world size: (\d+), data-parallel[ -]size: `)
	megatronSize   = compile(`(?:[, \]]|None)(context-parallel|tensor-model-parallel|pipeline-model-parallel)[ -]size: (\d+)`)
	megatronFact   = compile(`(?:^ {1,2}|[^ ] +)(seq_length|micro_batch_size|expert_model_parallel_size|num_layers|num_experts) \.+ (\d+|None)$`) // global_batch_size is none where the batch grows by a schedule
	megatronValid  = compile(`validation loss at iteration +(\d+)`)
)

// timerBlock is a list of timers that is being printed. Other ranks may speak meanwhile.
type timerBlock struct {
	open    bool
	speaker string
	named   string // the timer of the ranks that follow
}

// phases of Megatron-LM's timers that are no part of a step.
var megatronPhases = map[string]PhaseKind{"load-checkpoint": Load, "save-checkpoint": Save}

func megatron(p *Parser, text string) bool {
	memory := megatronMemory.FindStringSubmatch(text)
	if memory != nil { // beside a step where two ranks wrote at once
		p.megatronMemory(whole(memory[1]), memory[3])
	}
	if m := megatronStep.FindStringSubmatch(text); m != nil {
		p.timers.open = false
		s, total := Step{Iteration: whole(m[1])}, m[2]
		for _, field := range strings.Split(m[3], "|") {
			name, value, _ := strings.Cut(field, ":")
			switch strings.TrimSpace(name) {
			case "elapsed time per iteration (ms)":
				value, _, _ = strings.Cut(value, "/") // Megatron-FL adds a mean behind a slash
				s.Seconds = number(value) / 1000
			case "elapsed time per iteration (s)": // BigScience's Megatron-DeepSpeed
				s.Seconds = number(value)
			case "train_step_timing in s": // NeMo
				s.Seconds = number(value)
			case "global_step":
				s.Iteration, total = whole(value)+1, "" // what stands before is the epoch's
			case "max_memory_allocated":
				s.Allocated = number(value)
			case "max_memory_reserved":
				s.Reserved = number(value)
			case "throughput per GPU (TFLOP/s/GPU)", "TFLOPs", "TFLOPS_per_GPU":
				value, _, _ = strings.Cut(value, "/")
				s.TFLOPS = number(value)
			case "global batch size", "global_batch_size":
				s.Sequences = whole(value)
			case "number of skipped iterations":
				s.Skipped = whole(value)
			case "lm loss", "loss", "reduced_train_loss":
				s.loss(value)
			}
		}
		p.total(total)
		p.step(Megatron, s)
		return true
	}
	if memory != nil {
		return true
	}
	if m := megatronWorld.FindStringSubmatch(text); m != nil {
		p.launch()
		p.head.GPUs = whole(m[1])
		for _, m := range megatronSize.FindAllStringSubmatch(text, -1) {
			*p.megatronSize(m[1]) = whole(m[2])
		}
		return true
	}
	if m := megatronFact.FindStringSubmatch(text); m != nil {
		if m[1] == "num_experts" {
			p.dense = m[2] == "None"
			return true
		}
		*p.megatronSize(m[1]) = whole(m[2])
		return true
	}
	switch {
	case strings.Contains(text, " across ranks (ms):"):
		p.timers = timerBlock{open: true, speaker: strings.Clone(p.speaker)}
		return true
	case strings.HasPrefix(text, "time to initialize megatron"), strings.Contains(text, "[after in-process setup and before initialize_megatron]"):
		p.launch()
		return true
	case megatronValid.MatchString(text):
		p.phase(Evaluation, 0)
		return true
	}
	return p.timers.open && p.speaker == p.timers.speaker && p.megatronTimer(text)
}

// megatronSize is the place of a fact of a launch that is printed before its steps.
func (p *Parser) megatronSize(name string) *int {
	switch name {
	case "context-parallel":
		return &p.degrees.Context
	case "tensor-model-parallel":
		return &p.degrees.Tensor
	case "pipeline-model-parallel":
		return &p.degrees.Pipeline
	case "expert_model_parallel_size":
		return &p.degrees.Expert
	case "num_layers":
		return &p.model.Layers
	case "micro_batch_size":
		return &p.degrees.MicroBatch
	}
	return &p.head.Length
}

// megatronMemory gives the memory of a rank to the step that it was printed
// after. Ranks print as they come, so that it may stand before the step's line.
func (p *Parser) megatronMemory(iteration int, fields string) {
	said := Step{Iteration: iteration}
	for _, field := range strings.Split(fields, "|") {
		name, value, _ := strings.Cut(field, ":")
		value, _, _ = strings.Cut(strings.TrimSpace(value), " ")
		value, _, _ = strings.Cut(value, "[") // of the rank that says the same on this line
		switch strings.TrimSpace(name) {
		case "max allocated":
			said.Allocated = max(said.Allocated, number(value)*(1<<20))
		case "max reserved":
			said.Reserved = max(said.Reserved, number(value)*(1<<20))
		case "mem-max-allocated-gigabytes":
			said.Allocated = max(said.Allocated, number(value)*1e9)
		case "mem-max-reserved-gigabytes":
			said.Reserved = max(said.Reserved, number(value)*1e9)
		}
	}
	if s := p.log.Last(); s != nil && s.Iteration == iteration {
		s.join(&said)
		return
	}
	if p.memory.Iteration != iteration {
		p.memory = Step{Iteration: iteration}
	}
	p.memory.join(&said)
}

// megatronTimer reads one timer of a list: of all ranks the slowest. Those of
// a step were divided by the steps of the interval before they were printed.
func (p *Parser) megatronTimer(text string) bool {
	if m := megatronNamed.FindStringSubmatch(text); m != nil {
		p.timers.named = strings.Clone(m[1])
		return true
	}
	name, value := p.timers.named, ""
	if m := megatronTimer.FindStringSubmatch(text); m != nil {
		name, value = m[1], m[3]
	} else if m := megatronMost.FindStringSubmatch(text); m != nil {
		name, value = m[1], m[2]
	} else if m := megatronOne.FindStringSubmatch(text); m != nil && name != "" {
		value = m[1]
	} else {
		p.timers.open = false
		return false
	}
	seconds := number(value) / 1000
	if kind, ok := megatronPhases[name]; ok {
		if kind == Save || seconds > 0.01 { // nothing to load takes no time
			p.phase(kind, seconds)
		}
		return true
	}
	if !p.trained(len(p.log.Launches) - 1) { // others are printed
		return true
	}
	if n := len(p.log.Timers) - 1; p.timers.named != "" && n >= 0 && p.log.Timers[n].Name == name && p.log.Timers[n].Iteration == p.iteration() {
		p.log.Timers[n].Seconds = max(p.log.Timers[n].Seconds, seconds)
		return true
	}
	p.timer(name, seconds)
	return true
}
