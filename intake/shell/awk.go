package shell

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// awkProgram is a program of awk that prints one thing and reads nothing, and awkPrintf what
// printf prints of one number.
var (
	awkProgram = regexp.MustCompile(`^\s*BEGIN\s*\{\s*print(f?)\b([^;{}]+);?\s*(?:exit\s*;?\s*)?\}\s*$`)
	awkPrintf  = regexp.MustCompile(`^\s*(?:"([^"]*)"\s*,([^"]+)|\(\s*"([^"]*)"\s*,([^"]+)\)\s*)$`)
)

// awkFormat is a format of printf for one number.
var awkFormat = regexp.MustCompile(`^%(?:([di])|\.(\d)f)(?:\\n)?$`)

// awkPrints is what awk prints by some words behind its name; false of programs that do more
// than to calculate one number.
func (e *evaluator) awkPrints(words []text, line int) (text, bool) {
	a := &awk{variables: map[string]float64{}}
	for ; len(words) > 2 && words[0].String() == "-v"; words = words[2:] {
		name, value, _ := strings.Cut(words[1].String(), "=")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || words[1].isOpen() {
			return nil, false
		}
		a.variables[name] = n
	}
	if len(words) != 1 || words[0].isOpen() || len(words[0]) > longestProgram || !e.spend(0, len(words[0])) {
		return nil, false
	}
	parts := awkProgram.FindStringSubmatch(words[0].String())
	if parts == nil {
		return nil, false
	}
	a.rest = parts[2]
	format := ""
	if parts[1] != "" {
		if parts = awkPrintf.FindStringSubmatch(a.rest); parts == nil {
			return nil, false
		}
		format, a.rest = parts[1]+parts[3], parts[2]+parts[4] // of the two ways to write it
		if format == "" {
			return nil, false
		}
	}
	n := a.sum()
	if strings.TrimSpace(a.rest) != "" || a.failed || math.IsNaN(n) || math.Abs(n) >= 1<<53 {
		return nil, false
	}
	shown, ok := awkShows(n, format)
	return known(shown, line), ok
}

// awkShows is a number as print or a format of printf shows it.
func awkShows(n float64, format string) (string, bool) {
	switch how := awkFormat.FindStringSubmatch(format); {
	case format == "" && n == math.Trunc(n), how != nil && how[1] != "":
		return strconv.FormatInt(int64(n), 10), true
	case format == "":
		return strconv.FormatFloat(n, 'g', 6, 64), true
	case how != nil:
		return strconv.FormatFloat(n, 'f', int(how[2][0]-'0'), 64), true
	}
	return "", false
}

// awk evaluates expressions of awk: numbers, variables, parentheses, int(), signs and operators.
type awk struct {
	rest      string
	variables map[string]float64
	failed    bool
}

// take takes one of some characters; 0 where none stands there.
func (a *awk) take(of string) byte {
	a.rest = strings.TrimLeft(a.rest, " \t\n")
	if a.rest == "" || strings.IndexByte(of, a.rest[0]) < 0 {
		return 0
	}
	b := a.rest[0]
	a.rest = a.rest[1:]
	return b
}

func (a *awk) sum() float64 {
	n := a.product()
	for {
		switch a.take("+-") {
		case '+':
			n += a.product()
		case '-':
			n -= a.product()
		default:
			return n
		}
	}
}

func (a *awk) product() float64 {
	n := a.signed()
	for {
		switch op := a.take("*/%"); op {
		case '*':
			n *= a.signed()
		case '/', '%':
			by := a.signed()
			a.failed = a.failed || by == 0
			if op == '/' {
				n /= by
			} else {
				n = math.Mod(n, by)
			}
		default:
			return n
		}
	}
}

// signed binds less than a power, as in awk.
func (a *awk) signed() float64 {
	if a.take("-") != 0 {
		return -a.signed()
	}
	n := a.number()
	if a.take("^") != 0 {
		return math.Pow(n, a.signed())
	}
	return n
}

// awkNumber is a number as awk reads it, and awkName a variable or int.
var (
	awkNumber = regexp.MustCompile(`^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?`)
	awkName   = regexp.MustCompile(`^[A-Za-z_]\w*`)
)

func (a *awk) number() float64 {
	if a.take("(") != 0 {
		n := a.sum()
		a.failed = a.failed || a.take(")") == 0
		return n
	}
	if word := awkNumber.FindString(a.rest); word != "" {
		a.rest = a.rest[len(word):]
		n, err := strconv.ParseFloat(word, 64)
		a.failed = a.failed || err != nil
		return n
	}
	name := awkName.FindString(a.rest)
	a.rest = a.rest[len(name):]
	if name == "int" && strings.HasPrefix(a.rest, "(") {
		return math.Trunc(a.number())
	}
	n, ok := a.variables[name]
	a.failed = a.failed || !ok
	return n
}
