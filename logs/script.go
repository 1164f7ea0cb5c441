package logs

import (
	"strings"
)

// What ndc's Slurm scripts say of a submission.
var (
	scriptJob    = compile(`^ndc: job (\d+) on `)
	scriptLink   = compile(`^ndc: link \d+ of run (\d+); configuration ([0-9a-f]+);`)
	scriptAgain  = compile(`^ndc: start (\d+) of job (\d+), on `)
	scriptStatus = compile(`^ndc: srun ended with status (\d+)`)
	scriptNext   = compile(`^ndc: link \d+ of chain \d+ at step \d+; next is job (\d+)`)
	scriptEnd    = compile(`^ndc: (?:.*; )?(?:the chain ends at step|this was the last link of the chain)`)
)

// What check_speed.py says of nodes.
var (
	speedAlone   = compile(`^ndc: (GEMM|all-reduce) of \d+ .*, (\d+) nodes each: ([\d.e+-]+) s, predicted ([\d.e+-]+) s$`)
	speedBetween = compile(`^ndc: all-reduce of \d+ MiB over (\d+) nodes, \S+ to \S+: ([\d.e+-]+) s, predicted ([\d.e+-]+) s$`)
)

// speed reads what was measured before a start.
func speed(p *Parser, text string) bool {
	s := Speed{Line: p.line}
	if m := speedAlone.FindStringSubmatch(text); m != nil {
		s.Kind, s.Nodes, s.Seconds, s.Predicted = Products, whole(m[2]), number(m[3]), number(m[4])
		if m[1] == "all-reduce" {
			s.Kind = Inside
		}
	} else if m := speedBetween.FindStringSubmatch(text); m != nil {
		s.Kind, s.Nodes, s.Seconds, s.Predicted = Between, whole(m[1]), number(m[2]), number(m[3])
	} else {
		return false
	}
	if s.Seconds > 0 && s.Predicted > 0 {
		keep(&p.log.Speeds, s)
	}
	return true
}

func script(p *Parser, text string) bool {
	if strings.HasPrefix(text, "ndc: ") && speed(p, text) {
		return true
	}
	if m := scriptJob.FindStringSubmatch(text); m != nil {
		l := p.begin() // the last one may have failed before its first step
		l.Job, l.Run, l.Configuration = strings.Clone(m[1]), "", ""
		p.chained, p.log.Ended = false, false
		return true
	}
	if m := scriptLink.FindStringSubmatch(text); m != nil {
		l := p.launch()
		l.Run, l.Configuration = strings.Clone(m[1]), strings.Clone(m[2])
		return true
	}
	if m := scriptAgain.FindStringSubmatch(text); m != nil {
		var began Launch // by the same script
		if n := len(p.log.Launches); n > 0 {
			began = p.log.Launches[n-1]
		}
		start := p.begin
		if m[1] == "1" { // the script has just begun it
			start = p.launch
		}
		l := start()
		l.Job, l.Run, l.Configuration, p.log.Ended = strings.Clone(m[2]), began.Run, began.Configuration, false
		return true
	}
	if scriptNext.MatchString(text) {
		p.chained = true
		return true
	}
	if scriptEnd.MatchString(text) {
		p.log.Ended = true
		return true
	}
	if m := scriptStatus.FindStringSubmatch(text); m != nil {
		if n := len(p.log.Launches); n > 0 {
			p.log.Launches[n-1].Status = whole(m[1])
			p.log.Ended = !p.chained
			if p.log.Launches[n-1].Status > 0 {
				p.failed(unsaid, text)
			}
		}
		return true
	}
	return false
}

// failures are signs of why a launch ends, and the kind that each is of. The
// first that a launch shows stays: what follows is its consequence.
var failures = []struct {
	kind string
	sign *pattern
}{
	// torch's allocator, the driver, NCCL, Slurm to 20.11 and since, srun, and torch on the host.
	{"out_of_memory", compile(`OutOfMemoryError|CUDA out of memory|CUDA error: out of memory|Cuda failure (?:\d+ )?'out of memory'|oom[-_]kill event|oom-kill|Out Of Memory|CPUAllocator: can't allocate memory`)},
	{"time_limit", compile(`DUE TO TIME LIMIT`)},
	{"preempted", compile(`DUE TO PREEMPTION`)},
	{"node", compile(`NODE[_ ]FAIL|DUE TO NODE FAILURE`)},
	{"gpu", compile(`NVRM: Xid|uncorrectable (?:NVLink|ECC) error|CUDA error: (?:an illegal|unspecified|device-side|the launch|no CUDA-capable)|CUBLAS_STATUS_EXECUTION_FAILED|GPU has fallen off the bus`)},
	{"hang", compile(`Watchdog caught collective operation timeout|collective operation timeout: WorkNCCL`)},
	{"network", compile(`ncclRemoteError|ncclSystemError|NCCL WARN NET/IB.*(?:error|failed|completion .*status=)|NET/OFI.*error`)},
	{"storage", compile(`No space left on device|Disk quota exceeded|Stale file handle|Input/output error`)},
	{"not_a_number", compile(`[Ff]ound (?i:nan) in|[Ll]oss is (?i:nan)`)},
	{"killed", compile(`Signal 9 \(SIGKILL\)|killed by signal|Segmentation fault|Bus error|ChildFailedError`)},
}

// unsaid is the kind of a failure of which a launch shows no sign but the status that it
// ends with.
const unsaid = "unexplained"

// failure keeps a sign of failure.
func (p *Parser) failure(text string) {
	for _, f := range failures {
		if f.sign.MatchString(text) {
			p.failed(f.kind, text)
			return
		}
	}
}

// failed keeps the first sign of why the newest launch ended, as which its status counts
// where there is no other.
func (p *Parser) failed(kind, text string) {
	at := max(0, len(p.log.Launches)-1)
	if n := len(p.log.Failures); n > 0 && p.log.Failures[n-1].Launch == at {
		if p.log.Failures[n-1].Kind != unsaid {
			return
		}
		p.log.Failures = p.log.Failures[:n-1]
	}
	const longest = 200
	p.survived = 0
	keep(&p.log.Failures, Failure{Line: p.line, Launch: at, Kind: kind, Text: strings.Clone(strings.ToValidUTF8(text[:min(longest, len(text))], ""))})
}

// survive takes back a failure of a launch that goes on: what a kernel is tuned with may
// not fit, a network be tried again. Other ranks may yet report a step that had ended.
func (p *Parser) survive() {
	const enough = 2 // reports
	n := len(p.log.Failures)
	if n == 0 || n == most || p.log.Failures[n-1].Launch != len(p.log.Launches)-1 {
		return
	}
	if p.survived++; p.survived == enough {
		p.log.Failures = p.log.Failures[:n-1]
	}
}
