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
	if s.text() && s.read() {
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

// text checks what must hold before the script is parsed.
func (s *script) text() bool {
	switch {
	case len(s.src) > MaxBytes:
		s.report(Syntax, s.span(0, 1), fmt.Sprintf("It has %d bytes, and no script for a launch has more than %d. Name the script itself.", len(s.src), MaxBytes))
		return false
	case bytes.IndexByte(s.src, 0) >= 0:
		s.report(Syntax, s.span(0, 1), "It holds a zero byte, and is no text. Name the script itself.")
		return false
	}
	if i := bytes.Index(s.src, []byte("\r\n")); i >= 0 {
		s.report(DOSLines, s.span(i, i+1), "The lines end in CR LF. sbatch refuses such a script, and bash takes the CR for a part of the last word of each line. Convert it, as with sed -i 's/\\r$//'.")
		s.src = bytes.ReplaceAll(s.src, []byte("\r\n"), []byte(" \n")) // places stay
	}
	return true
}

// blanks are places that the reader of an example shall fill in, such as
// NAME=<path>, which bash would refuse.
var blanks = regexp.MustCompile(`=(<[^<>\n|&;"'$]*>)`)

// blanks are the places of blanks, comments aside.
func (s *script) blanks() [][]int {
	return slices.DeleteFunc(blanks.FindAllSubmatchIndex(s.src, -1), func(m []int) bool {
		line := s.src[bytes.LastIndexByte(s.src[:m[0]], '\n')+1 : m[0]]
		return bytes.HasPrefix(bytes.TrimSpace(line), []byte("#"))
	})
}

// read parses the script.
func (s *script) read() bool {
	file, src, err := parse(s.src)
	if err == nil {
		s.src = src
		return s.evaluate(file)
	}
	filled := bytes.Clone(s.src)
	for _, m := range s.blanks() {
		filled[m[2]], filled[m[3]-1] = '"', '"'
		for i := m[2] + 1; i < m[3]-1; i++ {
			if filled[i] == ' ' || filled[i] == '\t' {
				filled[i] = '_' // one word, where it is used
			}
		}
	}
	if file, filled, again := parse(filled); again == nil {
		for _, m := range s.blanks() {
			s.report(Blank, s.span(m[2], m[3]), fmt.Sprintf("%s stands for a value. bash reads < and > as redirections and refuses the line. Put the value there.", s.src[m[2]:m[3]]))
		}
		s.src = filled
		return s.evaluate(file)
	}
	at := s.span(0, 1)
	if bad, ok := err.(syntax.ParseError); ok {
		offset := min(int(bad.Pos.Offset()), len(s.src))
		at, err = s.span(offset, offset+1), fmt.Errorf("%s", bad.Text)
	}
	s.report(Syntax, at, fmt.Sprintf("bash cannot read the script: %s. Nothing after this place runs.", err))
	return false
}

// parse reads bash, where the parser reads it otherwise than bash does: an
// element of a list that begins with [ is a word unless ]= follows, and a comment
// ends with its line, whether or not a backslash stands there. Such a byte becomes
// another. What was read is returned, with every place as it was.
func parse(src []byte) (*syntax.File, []byte, error) {
	for range 100 {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(bytes.NewReader(src), "")
		changed := bytes.Clone(src)
		bad, ok := err.(syntax.ParseError)
		switch {
		case err == nil:
			endComments(file, changed)
		case ok && strings.HasPrefix(bad.Text, "`[x]` must be followed by"):
			if at := bytes.LastIndexByte(src[:min(int(bad.Pos.Offset())+1, len(src))], '['); at >= 0 {
				changed[at] = 'x'
			}
		}
		if bytes.Equal(changed, src) {
			return file, src, err
		}
		src = changed
	}
	return nil, nil, errors.New("it cannot be followed")
}

// endComments takes away the backslashes at the ends of comments.
func endComments(file *syntax.File, src []byte) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			from := int(c.Pos().Offset())
			if end := bytes.IndexByte(src[from:], '\n'); end > 0 && src[from+end-1] == '\\' {
				src[from+end-1] = ' '
			}
		}
		return true
	})
}
