package logs

import (
	"slices"
	"strings"
)

// What ndc's Slurm scripts say of a submission.
var (
	scriptJob    = compile(`^ndc: job (\d+) on `)
	scriptLink   = compile(`^ndc: link \d+ of run (\d+); configuration ([0-9a-f]+);`)
	scriptAgain  = compile(`^ndc: start (\d+) of job (\d+), on `)
	scriptStatus = compile(`^ndc: srun ended with status (\d+)`)
	scriptFirst  = compile(`^ndc: rank \d+ on \S+ failed first, at \S+ \S+: (.*)`)
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
	at := strings.Index(text, "ndc: ")
	// What collects logs may put anything before a line, and a progress bar, which a rank that
	// dies leaves without an end, stands before what comes next.
	if at < 0 || at > 0 && text[at-1] > ' ' && text[at-1] != ']' {
		return false
	}
	if text = text[at:]; speed(p, text) {
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
	if m := scriptFirst.FindStringSubmatch(text); m != nil {
		p.firstRank(text, m[1])
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
// first that a launch shows stays: what follows is its consequence. Of causes that show
// late, what was shown before is one, as of a node whose death Slurm notices when its peers
// have complained.
var failures = []struct {
	kind string
	sign *pattern
}{
	// torch's allocator, the driver (as its expandable segments and Triton's kernels ask it, too), cuBLAS and cuDNN,
	// NCCL, Slurm to 20.11 and since, srun, and torch on the host.
	{"out_of_memory", compile(`OutOfMemoryError|CUDA out of memory|CUDA (?:driver )?error: out of memory|Triton Error \[CUDA\]: out of memory|CU(?:BLAS|DNN)_STATUS_ALLOC_FAILED|Cuda failure (?:\d+ )?'out of memory'|oom[-_]kill event|oom-kill|Out Of Memory|CPUAllocator: can't allocate memory`)},
	{"time_limit", compile(`DUE TO TIME LIMIT`)},
	{"preempted", compile(`DUE TO PREEMPTION`)},
	{"node", compile(`NODE[_ ]FAIL|DUE TO NODE FAILURE|srun: error: Node failure on`)},
	{"gpu", compile(`NVRM: Xid|uncorrectable (?:NVLink|ECC) error|CUDA error: (?:an illegal|unspecified|device-side|the launch|no CUDA-capable)|CUBLAS_STATUS_EXECUTION_FAILED|GPU has fallen off the bus`)},
	{"hang", compile(`Watchdog caught collective operation timeout|collective operation timeout: WorkNCCL|\bndc: the run hangs and is ended`)},
	{"network", compile(`ncclRemoteError|ncclSystemError|NCCL WARN NET/IB.*(?:error|failed|completion .*status=)|NET/OFI.*error`)},
	{"storage", compile(`No space left on device|Disk quota exceeded|Stale file handle|Input/output error|Read-only file system|[Tt]ransport endpoint (?:is not connected|shutdown)`)},
	{"not_a_number", compile(`[Ff]ound (?i:nan) in|[Ll]oss is (?i:nan)`)},
	{"killed", compile(`Signal 9 \(SIGKILL\)|killed by signal|Segmentation fault|Bus error|ChildFailedError`)},
}

// unsaid is the kind of a failure of which a launch shows no sign but the status that it
// ends with.
const unsaid = "unexplained"

// causes are kinds that explain those of consequences, in whichever order a log shows them.
var causes, consequences = []string{"out_of_memory", "node", "gpu", "storage"}, []string{unsaid, "killed", "network", "hang"}

// explains reports whether a sign tells better why a launch ended than the one before.
func explains(kind, before string) bool {
	return before == unsaid || slices.Contains(causes, kind) && slices.Contains(consequences, before)
}

// failure keeps a sign of failure.
func (p *Parser) failure(text string) {
	if kind := sign(text); kind != "" {
		p.failed(kind, text)
	}
}

// sign is the kind of failure that a text is a sign of, "" of none.
func sign(text string) string {
	for _, f := range failures {
		if f.sign.MatchString(text) {
			return f.kind
		}
	}
	return ""
}

// rankCrashed is what the script says of a rank that neither raised nor was told to end.
var rankCrashed = compile(`^ended with (?:signal (?:4|7|8|9|11)|status (?:132|135|136|137|139))$`)

// firstRank takes what the script found of the rank that failed first, of which the words of
// torchrun and of its peers are consequences.
func (p *Parser) firstRank(text, why string) {
	kind := sign(why)
	if kind == "" {
		kind = unsaid
		if rankCrashed.MatchString(why) {
			kind = "killed"
		}
	}
	if f := p.lastFailure(); f != nil && (f.Kind == "killed" || kind != unsaid && slices.Contains(consequences, f.Kind)) {
		p.log.Failures = p.log.Failures[:len(p.log.Failures)-1]
	}
	p.failed(kind, text)
}

// lastFailure is that of the newest launch, if it shows one.
func (p *Parser) lastFailure() *Failure {
	n := len(p.log.Failures)
	if n == 0 || p.log.Failures[n-1].Launch != max(0, len(p.log.Launches)-1) {
		return nil
	}
	return &p.log.Failures[n-1]
}

// failed keeps the first sign of why the newest launch ended, or the one that explains it.
func (p *Parser) failed(kind, text string) {
	if f := p.lastFailure(); f != nil {
		if !explains(kind, f.Kind) {
			return
		}
		p.log.Failures = p.log.Failures[:len(p.log.Failures)-1]
	}
	const longest = 200
	p.survived = 0
	keep(&p.log.Failures, Failure{Line: p.line, Launch: max(0, len(p.log.Launches)-1), Kind: kind, Text: strings.Clone(strings.ToValidUTF8(text[:min(longest, len(text))], ""))})
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
