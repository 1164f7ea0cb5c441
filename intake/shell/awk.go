package shell

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/benhoyt/goawk/interp"
	"github.com/benhoyt/goawk/parser"
)

// awkProgram is a program of awk that prints what it calculates of numbers, and reads and keeps
// nothing: no other can be without end, or write more than a line.
var awkProgram = regexp.MustCompile(`^\s*BEGIN\s*\{\s*print(?:f\s*\(?\s*"%(?:[di]|\.\df)(?:\\n)?"\s*,|\b)([\w\s.+\-*/%^(),]+);?\s*(?:exit\s*;?\s*)?\}\s*$`)

// awkName is a variable or a function in what a program calculates.
var awkName = regexp.MustCompile(`\b[A-Za-z_]\w*`)

// awkPrints is what awk prints by some words behind its name; false of programs that do more
// than to calculate with what the words say.
func (e *evaluator) awkPrints(words []text, line int) (text, bool) {
	var out bytes.Buffer
	names, config := []string{"int"}, interp.Config{Output: &out, Environ: []string{}, NoExec: true, NoFileReads: true, NoFileWrites: true}
	for ; len(words) > 2 && words[0].String() == "-v" && !words[1].isOpen(); words = words[2:] {
		name, value, _ := strings.Cut(words[1].String(), "=")
		names, config.Vars = append(names, name), append(config.Vars, name, value)
	}
	if len(words) != 1 || words[0].isOpen() || len(words[0]) > longestProgram || !e.spend(0, len(words[0])) {
		return nil, false
	}
	program := words[0].String()
	calculated := awkProgram.FindStringSubmatch(program)
	if calculated == nil || slices.ContainsFunc(awkName.FindAllString(calculated[1], -1), func(name string) bool { return !slices.Contains(names, name) }) {
		return nil, false
	}
	parsed, err := parser.ParseProgram([]byte(program), nil)
	if err != nil {
		return nil, false
	}
	if _, err := interp.ExecProgram(parsed, &config); err != nil || bytes.Contains(out.Bytes(), []byte("inf")) || bytes.Contains(out.Bytes(), []byte("nan")) {
		return nil, false
	}
	return known(out.String(), line), true
}
