package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// output is what statements write to their standard output, as far as they are followed.
type output struct {
	text    text
	maybe   int  // conditions of unknown outcome around the call
	unknown bool // something else is written, too
}

var echoOption = regexp.MustCompile(`^-[neE]+$`)

// written is what statements write, where that is echo or printf of words and cat of here-documents, in
// functions of the script, too. They run in a shell of their own, and start nothing.
func (e *evaluator) written(stmts []*syntax.Stmt) (text, bool) {
	says := false
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				name := call.Args[0].Lit()
				says = says || name == "echo" || name == "printf" || e.state.functions[name] != nil
			}
			return !says
		})
	}
	if !says || e.depth >= maxDepth {
		return nil, false
	}
	script, around, outer, frames, guarded := *e.script, e.output, e.state, e.frames, e.guarded
	out := &output{maybe: e.maybe}
	e.state, e.output, e.frames, e.guarded = e.copied(), out, nil, 0
	e.depth++
	e.run(stmts)
	e.depth--
	problems := e.script.Problems
	*e.script = script
	e.script.Problems = problems
	e.state, e.output, e.frames, e.guarded = outer, around, frames, guarded
	for len(out.text) > 0 && out.text[len(out.text)-1].b == '\n' {
		out.text = out.text[:len(out.text)-1]
	}
	return out.text.with(func(c *cell) { c.quoted = c.open }), !out.unknown
}

// writes keeps what a statement writes of those that are followed.
func (e *evaluator) writes(s *syntax.Stmt, name string, words []text) {
	for _, r := range s.Redirs {
		if (r.N == nil || r.N.Value == "1") && (name == "echo" || name == "printf") {
			switch r.Op {
			case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.DplOut, syntax.RdrAll, syntax.AppAll:
				return // elsewhere
			}
		}
	}
	fed, isFed := e.fed(s)
	switch {
	case e.maybe > e.output.maybe:
		e.output.unknown = true
	case name == "echo" && (len(words) == 0 || !echoOption.MatchString(words[0].String())):
		e.output.text = append(append(e.output.text, joined(words)...), cell{b: '\n'})
	case name == "printf":
		if len(words) > 0 && words[0].String() == "--" {
			words = words[1:]
		}
		printed, ok := e.formatted(words, e.line(s.Pos()))
		e.output.text, e.output.unknown = append(e.output.text, printed...), e.output.unknown || !ok || printed.isOpen()
	case name == "cat" && len(words) == 0 && isFed:
		e.output.text = append(e.output.text, fed...)
	default:
		e.output.unknown = true
	}
}

// readBack is what cat prints of a file that the script has written, where all of that is known.
func (e *evaluator) readBack(stmts []*syntax.Stmt) (text, bool) {
	call, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if len(stmts) > 1 || !ok || len(call.Args) != 2 || len(call.Assigns) > 0 || len(stmts[0].Redirs) > 0 || stmts[0].Negated || call.Args[0].Lit() != "cat" || e.state.functions["cat"] != nil {
		return nil, false
	}
	name := e.word(call.Args[1]).String()
	for _, d := range slices.Backward(e.script.Documents) {
		if d.Path.Text != name {
			continue
		}
		content := strings.TrimRight(d.Content, "\n")
		if d.Behind || d.Unsure || strings.ContainsAny(content, "$`") {
			return nil, false
		}
		var t text
		for i, line := range strings.Split(content, "\n") {
			if i > 0 {
				t = append(t, known("\n", d.Line+i)...)
			}
			t = append(t, known(line, d.Line+i)...)
		}
		return t, true
	}
	return nil, false
}

// document keeps what cat or tee write from a here-document, and echo of its words.
func (e *evaluator) document(s *syntax.Stmt) {
	var to *syntax.Word
	var content *syntax.Redirect
	appends := false
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.RdrClob, syntax.AppOut:
			to, appends = r.Word, r.Op == syntax.AppOut
		case syntax.Hdoc, syntax.DashHdoc:
			content = r
		}
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if ok && to == nil && len(call.Args) > 1 && call.Args[0].Lit() == "tee" {
		to, appends = call.Args[len(call.Args)-1], call.Args[1].Lit() == "-a"
		ok = len(call.Args) == 2 || len(call.Args) == 3 && appends
	}
	if to == nil || !ok && s.Cmd != nil {
		return
	}
	var body text
	line := e.line(s.Pos())
	switch {
	case content != nil && content.Hdoc != nil:
		body, line = e.heredoc(content), e.line(content.Hdoc.Pos())
	case content != nil:
		return
	case s.Cmd == nil || call.Args[0].Lit() == ":" || call.Args[0].Lit() == "true": // nothing
	case len(call.Args) > 1 && call.Args[0].Lit() == "echo" && !strings.HasPrefix(call.Args[1].Lit(), "-"):
		for i, a := range call.Args[1:] {
			if i > 0 {
				body = append(body, known(" ", line)...)
			}
			body = append(body, e.word(a)...)
		}
		body = append(body, known("\n", line)...)
	default: // which another program writes
		for i, o := range e.script.Documents {
			if name := e.word(to); o.Path.Text == name.String() {
				e.script.Documents[i].Unsure = true
			}
		}
		return
	}
	d := Document{Path: e.word(to).word(), Content: body.String(), Line: line, Behind: appends, Unsure: e.maybe > 0}
	documents, last := e.script.Documents, -1
	for i, o := range documents {
		if appends && o.Path.Text == d.Path.Text {
			last = i
		}
	}
	if last < 0 {
		e.script.Documents = append(documents, d)
	} else {
		documents[last].Content += d.Content
		documents[last].Unsure = documents[last].Unsure || d.Unsure
	}
	if isScript(d) && !e.certain {
		e.shellOf(body, true)
		e.directed(body)
	}
}
