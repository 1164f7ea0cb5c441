package logs

// The program that ndc emits for DeepSpeed prints a line of its own every
// logging.interval steps, whose time includes checkpoints and no evaluation
// (trainer/logs.py). DeepSpeed's engines print theirs every steps_per_print
// steps: the throughput timer samples per second of the last step and the
// device's peak (deepspeed/utils/timer.py), the pipeline engine a time and a loss
// (runtime/pipe/engine.py), wall_clock_breakdown the parts of a micro-step.
var (
	emittedStep  = compile(`\bstep (\d+)/(\d+) loss (\S+) gradient norm \S+ learning rate \S+ seconds (\S+) tokens/s/GPU (\S+)(?: allocated (\S+) GiB reserved (\S+) GiB)?`)
	emittedValid = compile(`\bstep (\d+)/(\d+) validation loss `)
	engineStep   = compile(`epoch=\d+/micro_step=\d+/global_step=(\d+), RunningAvgSamplesPerSec=\S+, CurrSamplesPerSec=([\d.e+-]+)(?:, MemAllocated=\S+GB, MaxMemAllocated=([\d.]+)GB)?`)
	pipelineStep = compile(`\bsteps: (\d+) loss: (\S+) .*?iter time \(s\): ([\d.]+) samples/sec: ([\d.]+)`)
	engineParts  = compile(`time \(ms\) \|((?: [a-z_-]+: [\d.]+ ?\|?)+)`)
	engineSkip   = compile(`\b(?i:overflow)\b.*\b[Ss]kipping step\b`) // since its last step was reported, or for this one
	enginePart   = compile(`([a-z_-]+): ([\d.]+)`)
)

func deepSpeed(p *Parser, text string) bool {
	if m := emittedStep.FindStringSubmatch(text); m != nil {
		p.total(m[2])
		s := Step{Iteration: whole(m[1]), Seconds: number(m[4]), TokensPerSecond: number(m[5]),
			Allocated: number(m[6]) * (1 << 30), Reserved: number(m[7]) * (1 << 30)}
		s.loss(m[3])
		p.step(DeepSpeed, s)
		return true
	}
	if emittedValid.MatchString(text) {
		p.phase(Evaluation, 0)
		return true
	}
	if m := engineStep.FindStringSubmatch(text); m != nil {
		p.step(DeepSpeed, Step{Iteration: whole(m[1]), SamplesPerSecond: number(m[2]), Allocated: number(m[3]) * (1 << 30)})
		return true
	}
	if m := pipelineStep.FindStringSubmatch(text); m != nil {
		s := Step{Iteration: whole(m[1]), Seconds: number(m[3]), SamplesPerSecond: number(m[4])}
		s.loss(m[2])
		p.step(DeepSpeed, s)
		return true
	}
	if engineSkip.MatchString(text) {
		p.skipped++
		return true
	}
	if m := engineParts.FindStringSubmatch(text); m != nil {
		for _, part := range enginePart.FindAllStringSubmatch(m[1], -1) {
			p.timer(part[1], number(part[2])/1000)
		}
		return true
	}
	return false
}
