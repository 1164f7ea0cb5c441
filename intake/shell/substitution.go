package shell

import (
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// substitution evaluates the commands whose output is known: echo of words, and cat of a
// here-document.
func (e *evaluator) substitution(c *syntax.CmdSubst) text {
	if len(c.Stmts) == 0 { // `# a comment`
		return nil
	}
	if len(c.Stmts) == 1 && len(c.Stmts[0].Redirs) == 1 {
		if call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr); ok && len(call.Args) == 1 && call.Args[0].Lit() == "cat" {
			if t, ok := e.fed(c.Stmts[0]); ok {
				for len(t) > 0 && t[len(t)-1].b == '\n' {
					t = t[:len(t)-1]
				}
				return t
			}
		}
	}
	if t, ok := e.printed(c.Stmts); ok {
		return t
	}
	if t, ok := e.written(c.Stmts); ok {
		return t
	}
	if t, ok := e.readBack(c.Stmts); ok {
		return t
	}
	e.submitted(c)
	return unknown(source(c), e.line(c.Pos()))
}

// submitted runs the calls of sbatch of which a script wants the output, the number of
// the job.
func (e *evaluator) submitted(c *syntax.CmdSubst) {
	if e.certain || e.depth >= maxDepth {
		return
	}
	syntax.Walk(c, func(n syntax.Node) bool {
		s, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		call, ok := s.Cmd.(*syntax.CallExpr)
		if ok && len(call.Args) > 0 && call.Args[0].Lit() == "sbatch" {
			e.depth++
			e.apartFrom(func() { e.stmt(s) })
			e.depth--
		}
		return true
	})
}

// printed is the output of statements that do nothing but print what is known: one
// command, behind assignments.
func (e *evaluator) printed(stmts []*syntax.Stmt) (out text, ok bool) {
	last := stmts[len(stmts)-1]
	if pipe, ok := last.Cmd.(*syntax.BinaryCmd); ok && len(stmts) == 1 && len(last.Redirs) == 0 && !last.Negated && !last.Background {
		in, ok := e.printed([]*syntax.Stmt{pipe.X})
		if !ok || pipe.Op != syntax.Pipe || len(pipe.Y.Redirs) > 0 {
			return nil, false
		}
		if scale, ok := e.isCalculator(pipe.Y); ok {
			return e.calculated(in, scale, e.line(pipe.Y.Pos()))
		}
		return e.cutField(in, pipe.Y)
	}
	if scale, ok := e.isCalculator(last); ok && len(stmts) == 1 && len(last.Redirs) == 1 && last.Redirs[0].Op == syntax.WordHdoc && !last.Negated && !last.Background {
		return e.calculated(e.word(last.Redirs[0].Word), scale, e.line(last.Pos()))
	}
	call, isCall := last.Cmd.(*syntax.CallExpr)
	if !isCall || len(call.Args) < 2 || len(call.Assigns) > 0 || len(last.Redirs) > 0 || last.Negated || last.Background {
		return nil, false
	}
	program := call.Args[0].Lit()
	switch program {
	case "echo", "printf", "dirname", "basename", "realpath", "expr", "seq", "awk":
	default:
		return nil, false
	}
	if e.state.functions[program] != nil {
		return nil, false
	}
	for _, s := range stmts[:len(stmts)-1] {
		if c, ok := s.Cmd.(*syntax.CallExpr); !ok || len(c.Args) > 0 || len(s.Redirs) > 0 {
			return nil, false
		}
	}
	if len(stmts) > 1 {
		before := e.state
		e.state = e.copied()
		defer func() { e.state = before }()
		e.run(stmts[:len(stmts)-1])
	}
	words := e.words(call.Args[1:])
	if len(words) == 0 {
		return nil, false
	}
	switch program {
	case "echo":
		if words[0].String() == "-n" {
			words = words[1:]
		}
		out = joined(words)
		ok = !out.isOpen() && !(len(words) > 0 && strings.HasPrefix(words[0].String(), "-e"))
	case "printf":
		out, ok = e.formatted(words, e.line(call.Pos()))
		ok = ok && !out.isOpen()
	case "expr":
		out, ok = e.expression(words, e.line(call.Pos()))
	case "seq":
		out, ok = e.sequence(words, e.line(call.Pos()))
	case "awk":
		out, ok = e.awkPrints(words, e.line(call.Pos()))
	default:
		out, ok = ofPath(program, words)
	}
	for len(out) > 0 && out[len(out)-1].b == '\n' {
		out = out[:len(out)-1]
	}
	return out.with(func(c *cell) { c.quoted = c.open }), ok
}

// fieldOptions are the options of cut for one field of a line, and what stands between fields.
var fieldOptions = regexp.MustCompile(`^(?:-d ?(.) -f ?([1-9])|-f ?([1-9]) -d ?(.))$`)

// cutField is what cut prints of a line that is known.
func (e *evaluator) cutField(in text, s *syntax.Stmt) (text, bool) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 3 || call.Args[0].Lit() != "cut" || len(call.Assigns) > 0 || e.state.functions["cut"] != nil {
		return nil, false
	}
	options := joined(e.words(call.Args[1:]))
	said := fieldOptions.FindStringSubmatch(options.String())
	if said == nil || options.isOpen() || in.isOpen() || strings.Contains(in.String(), "\n") {
		return nil, false
	}
	fields := strings.Split(in.String(), said[1]+said[4])
	n, _ := strconv.Atoi(said[2] + said[3])
	switch {
	case len(fields) == 1:
		return in, true
	case n > len(fields):
		return nil, true
	}
	return known(fields[n-1], e.line(call.Pos())), true
}

// expression is what expr prints of two numbers.
func (e *evaluator) expression(words []text, line int) (text, bool) {
	op, known3 := map[string]syntax.BinAritOperator{"+": syntax.Add, "-": syntax.Sub, "*": syntax.Mul, "/": syntax.Quo, "%": syntax.Rem}[words[min(1, len(words)-1)].String()]
	if len(words) != 3 || !known3 {
		return nil, false
	}
	a, err := strconv.Atoi(words[0].String())
	b, err2 := strconv.Atoi(words[2].String())
	n, ok := operated(op, a, b)
	if err != nil || err2 != nil || !ok || joined(words).isOpen() {
		return nil, false
	}
	return known(strconv.Itoa(n), line), true
}

// sequence is what seq prints of whole numbers.
func (e *evaluator) sequence(words []text, line int) (text, bool) {
	bounds := []int{1, 1, 0} // first, step, last
	for i, w := range words {
		n, err := strconv.Atoi(w.String())
		if err != nil || w.isOpen() || len(words) > 3 {
			return nil, false
		}
		switch {
		case i == len(words)-1:
			bounds[2] = n
		default:
			bounds[i] = n
		}
	}
	first, step, last := bounds[0], bounds[1], bounds[2]
	if step == 0 || (last-first)/step > mostTurns || first > 1<<31 || first < -1<<31 || last > 1<<31 || last < -1<<31 {
		return nil, false
	}
	var out text
	for n := first; step > 0 && n <= last || step < 0 && n >= last; n += step {
		out = append(out, known(strconv.Itoa(n)+"\n", line)...)
	}
	return out, e.spend(0, len(out))
}

// The directives of printf that are followed, and those with a width.
var (
	directive = regexp.MustCompile(`%[-+ ]?[0-9]{0,2}[sdi]|%%`)
	wide      = regexp.MustCompile(`%[-+ ]?[0-9]`)
)

// formatted is what printf makes of its words; false for what is not followed: other
// letters than s, d and i, and values of a number or in a width that only a run knows.
// Values that only a run knows are marked by NUL and their place, which no word has.
func (e *evaluator) formatted(words []text, line int) (text, bool) {
	if len(words) == 0 || words[0].isOpen() {
		return nil, false
	}
	format := words[0].String()
	if strings.Contains(directive.ReplaceAllString(format, ""), "%") {
		return nil, false
	}
	var values []string
	open := 0
	for i, w := range words[1:] {
		value := w.String()
		switch {
		case strings.Contains(value, "\x00"):
			return nil, false
		case w.isOpen():
			open++
			value = "\x00" + strconv.Itoa(i+1) + "\x00"
		}
		values = append(values, value)
	}
	var printed strings.Builder
	for {
		s, n, err := expand.Format(nil, format, values)
		if err != nil || printed.Len()+len(s) > maxValue || !e.spend(1, len(s)) {
			return nil, false
		}
		printed.WriteString(s)
		if values = values[n:]; n == 0 || len(values) == 0 {
			break
		}
	}
	parts := strings.Split(printed.String(), "\x00")
	if len(parts) != 1+2*open || open > 0 && wide.MatchString(format) {
		return nil, false
	}
	var out text
	for i, part := range parts {
		if i%2 == 0 {
			out = append(out, known(part, line)...)
			continue
		}
		place, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		out = append(out, words[place]...)
	}
	return out, true
}

// ofPath is what dirname, basename and realpath print of a path, as far as the path
// is known where they cut it.
func ofPath(program string, words []text) (text, bool) {
	for len(words) > 0 && (words[0].String() == "--" || program == "realpath" && strings.HasPrefix(words[0].String(), "-")) {
		if s := words[0].String(); s != "--" && strings.Trim(s, "-emsqzLP") != "" {
			return nil, false
		}
		words = words[1:]
	}
	suffixed := program == "basename" && len(words) == 2
	if len(words) == 0 || len(words) > 1 && !suffixed {
		return nil, false
	}
	p := words[0]
	cut := strings.LastIndexByte(p.String(), '/')
	s := p.String()
	switch {
	case len(p) == 0 || strings.HasPrefix(s, "-") || p.any(func(c cell) bool { return c.maybe }):
		return nil, false
	case program == "realpath":
		// A relative path is one of the folder that the script runs in.
		if s[0] != '/' || p.isOpen() || strings.Contains(s, "..") {
			return nil, false
		}
		for len(p) > 1 && p[len(p)-1].b == '/' {
			p = p[:len(p)-1]
		}
		return p, !strings.Contains(p.String(), "//") && !strings.Contains(p.String()+"/", "/./")
	case p[max(cut, 0):].isOpen() || cut == len(p)-1:
		return nil, false
	case program == "dirname" && cut < 0:
		return known(".", int(p.firstLine())), true
	case program == "dirname":
		return p[:max(cut, 1)], cut == 0 || p[cut-1].b != '/'
	}
	base := p[cut+1:]
	if suffixed {
		end := words[1].String()
		if words[1].isOpen() {
			return nil, false
		}
		if rest := strings.TrimSuffix(base.String(), end); rest != "" {
			base = base[:len(rest)]
		}
	}
	return base, true
}
