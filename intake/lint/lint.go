// Package lint finds in scripts that people wrote by hand what makes a run fail,
// waste its GPUs or end otherwise than they think: options of sbatch that sbatch
// does not read, launches whose numbers contradict one another, variables that
// reach no rank, options that no release knows. It reports what holds wherever
// the script runs, and is silent where the environment could make it right.
//
// It executes nothing and judges no style. Package intake/shell evaluates the
// scripts; intake makes jobs of them. What Slurm, NCCL, torchrun and Megatron-LM
// accept is read from tables, those of Megatron-LM and DeepSpeed being the ones that
// backends/megatron and backends/deepspeed emit by.
package lint

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/intake/shell"
)

// Bounds of a script, far above any launch.
const (
	// MaxBytes is the length of the longest script that is read.
	MaxBytes = 1 << 18

	maxFindings = 200 // of a script
	maxLaunches = 100 // that are looked into
	maxNames    = 500 // that are compared with one another
)

// Options say what a script does not.
type Options struct {
	// Release is the release of Megatron-LM, such as core_v0.18.0; "" for the
	// one that the script names, if it names one.
	Release string
	// Slurm is the release of Slurm, such as 22.05; "" for an unknown one.
	Slurm string
}

// Check lists what is wrong with a script. The name is that of its ranges.
func Check(name string, src []byte, o Options) diag.List {
	s := &script{name: name, src: src, release: o.Release, slurm: o.Slurm}
	if s.text() && !s.isNoScript() && s.read() {
		for _, check := range []func(*script){
			checkDirectives, checkSubmission, checkSignals, checkOutput,
			checkCommands, checkPipes, checkVariables, checkEnvironment, checkSecrets,
			checkLaunches, checkDocuments,
		} {
			check(s)
		}
	}
	s.silence()
	s.diags.Sort()
	return s.diags
}

// silenced is a comment that silences a rule for the script, with the reason
// behind it.
var silenced = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*ndc:ignore[ \t]+([a-z0-9-]+)`)

// silence takes away the findings of rules that the script silences.
func (s *script) silence() {
	known := map[diag.ID]bool{}
	var names []string
	for _, r := range Rules() {
		known[r.ID] = true
		names = append(names, string(r.ID))
	}
	for _, m := range silenced.FindAllSubmatchIndex(s.src, -1) {
		id := diag.ID(s.src[m[2]:m[3]])
		if known[id] {
			s.diags = slices.DeleteFunc(s.diags, func(d diag.Diagnostic) bool { return d.ID == id })
			continue
		}
		s.report(UnknownRule, s.span(m[2], m[3]), fmt.Sprintf("There is no rule %s, and the comment silences nothing.%s", id, diag.DidYouMean(string(id), names)))
	}
}

// mark is a byte order mark, with which some editors begin UTF-8.
var mark = []byte("\ufeff")

// text checks what must hold before the file is looked at.
func (s *script) text() bool {
	switch {
	case len(s.src) > MaxBytes:
		s.report(Syntax, s.span(0, 1), fmt.Sprintf("It has %d bytes, and no script for a launch has more than %d. Name the script itself.", len(s.src), MaxBytes))
		return false
	case bytes.IndexByte(s.src, 0) >= 0:
		s.report(Syntax, s.span(0, 1), "It holds a zero byte, and is no text. Name the script itself.")
		return false
	}
	return true
}

// plain takes away what other systems write into a script, and bash does not pass over.
func (s *script) plain() {
	if bytes.HasPrefix(s.src, mark) {
		s.report(NoShebang, s.span(0, len(mark)), "The file begins with a byte order mark, which editors do not show. sbatch refuses such a script, and bash takes the mark for the beginning of a command. Take it away, as with sed -i '1s/^\\xEF\\xBB\\xBF//'.")
		s.marked, s.src = true, append(bytes.Repeat([]byte(" "), len(mark)), s.src[len(mark):]...) // places stay
	}
	if i := bytes.Index(s.src, []byte("\r\n")); i >= 0 {
		s.report(DOSLines, s.span(i, i+1), "The lines end in CR LF. sbatch refuses such a script, and bash takes the CR for a part of the last word of each line. Convert it, as with sed -i 's/\\r$//'.")
		s.src = bytes.ReplaceAll(s.src, []byte("\\\r\n"), []byte(" \\\n")) // as lines that are joined when it is converted
		s.src = bytes.ReplaceAll(s.src, []byte("\r\n"), []byte(" \n"))     // places stay
	}
}

// substitution is what the parser says of what stands in ${…}, into which bash looks
// when it comes to it, and goes on behind the command. Without its end all is in it.
var substitution = regexp.MustCompile(`parameter expansion operators?(: [^"]|$)|parameter expansion flags|nested parameter expansion|invalid parameter name`)

// read parses the script.
func (s *script) read() bool {
	s.plain()
	p, err := shell.Parse(s.src)
	if err == nil {
		for _, b := range p.Blanks {
			s.report(Blank, s.span(b[0], b[1]), fmt.Sprintf("%s stands for a value. bash reads < and > as redirections, and the line fails. Put the value there.", s.src[b[0]:b[1]]))
		}
		s.evaluate(p)
		return true
	}
	at := s.span(0, 1)
	if bad, ok := err.(syntax.ParseError); ok {
		offset := min(int(bad.Pos.Offset()), len(s.src))
		at, err = s.span(offset, offset+1), errors.New(strings.ReplaceAll(bad.Text, "`foo()`", "a function's name with ()")) // which the parser calls foo
	}
	if substitution.MatchString(err.Error()) {
		s.report(Syntax, at, fmt.Sprintf("bash takes it for a bad substitution: %s. The command is not run, and the script goes on without it where set -e does not end it. What follows was not looked at.", err))
		return false
	}
	s.report(Syntax, at, fmt.Sprintf("bash cannot read the script: %s. Nothing after this place runs.", err))
	return false
}
