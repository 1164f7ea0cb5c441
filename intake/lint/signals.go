package lint

import (
	"fmt"
	"strings"
)

// checkSignals compares the signal that Slurm sends before the time limit with
// the traps that wait for it.
func checkSignals(s *script) {
	d, ok := s.asked("signal")
	if !ok {
		return
	}
	flags, signal, has := strings.Cut(d.value, ":")
	if !has {
		flags, signal = "", d.value
	}
	signal, _, _ = strings.Cut(signal, "@")
	signal = strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	for _, c := range s.order {
		if c.word(0) != "trap" || c.function || len(c.expr.Args) < 3 || !c.traps(signal) || leaves(literal(c.expr.Args[1])) {
			continue
		}
		at := s.of(c.expr)
		if !strings.Contains(strings.ToUpper(flags), "B") {
			s.report(SignalUnheard, at, fmt.Sprintf("--signal=%s on line %d goes to the steps of the job, not to the shell of this script: the trap never runs. Write --signal=B:%s.", d.value, d.at.Start.Line, d.value))
			continue
		}
		for _, l := range s.launches() {
			if l.call != nil && l.srun != nil && !l.call.background && !l.call.function && l.call.offset() > c.offset() {
				s.report(LateTrap, at, fmt.Sprintf("bash runs a trap when the command in the foreground has ended, and line %d starts the training there: the trap runs after it, or never. End that command with & and put wait behind it.", s.at(l.call.offset())))
				break
			}
		}
	}
}

// leaves reports a handler that waits for no signal: "-", which takes a trap away, and one
// that does nothing but end the script, as for scancel.
func leaves(handler string) bool {
	for command := range strings.SplitSeq(handler, ";") {
		switch words := strings.Fields(command); {
		case len(words) == 0, words[0] == "-", words[0] == "exit", words[0] == "trap" && len(words) > 1 && words[1] == "-":
		default:
			return false
		}
	}
	return handler != ""
}

// traps reports a trap for a signal.
func (c *call) traps(signal string) bool {
	for i := 2; i < len(c.expr.Args); i++ {
		name := strings.TrimPrefix(strings.ToUpper(literal(c.expr.Args[i])), "SIG")
		if name == signal || numbers[name] == signal && signal != "" {
			return true
		}
	}
	return false
}

// numbers are the signals that people trap by number, on Linux (signal(7)).
var numbers = map[string]string{"10": "USR1", "12": "USR2", "15": "TERM", "2": "INT", "1": "HUP"}
