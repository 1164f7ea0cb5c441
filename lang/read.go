package lang

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/budget"
)

// Limits on a file, far above any job's, so that a wrong or hostile file gets
// a message instead of all memory and stack.
const (
	maxFileSize  = 1 << 20
	maxLockSize  = 64 << 20 // of what ndc writes itself, with an entry for each plan of a folder
	maxNesting   = 100
	maxOperators = 20000
	maxMelding   = 1 << 29  // bytes that stand before the parts of texts in theirs, together
	maxFolder    = 16 << 20 // bytes of all files together
	maxBlocks    = 4096     // in one block, and jobs
	maxChain     = 1000     // definitions behind one another
	maxCompared  = 2000     // names that a misspelt one is compared with

	// Of many syntax errors most follow from the first ones.
	maxSyntaxErrors = 5
)

// sources are the parsed files of a folder, or one file alone.
type sources struct {
	folder        string
	alone         string            // the file, where it was read without the others of its folder
	others        map[string]string // what those define, once it was asked for, and in which of them
	bodies        []*hclsyntax.Body // of the *.hcl files, in the order of names
	autoVariables []string          // *.auto.ndcvars files
	ok            bool              // nothing was reported
}

// read reads and parses everything that name stands for.
func (l *loader) read(name string) *sources {
	name = path.Clean(name)
	info, err := fs.Stat(l.fsys, name)
	switch {
	case err != nil:
		l.report(unreadable(name, err))
		return &sources{}
	case info.IsDir():
		return l.readFolder(l.fsys, name, diag.Range{})
	}
	body := l.parse(l.fsys, name)
	return &sources{folder: path.Dir(name), alone: name, bodies: []*hclsyntax.Body{body}, ok: body != nil}
}

// ignored reports whether a file of a folder with jobs is for other commands.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || name == LockFile || strings.HasSuffix(name, testSuffix)
}

// readFolder reads a folder that is named at a place.
func (l *loader) readFolder(fsys fs.FS, name string, at diag.Range) *sources {
	entries, err := fs.ReadDir(fsys, name) // sorted
	if err != nil {
		l.report(unreadable(name, err))
		return &sources{}
	}
	s := &sources{folder: name, ok: true}
	for _, e := range entries {
		file := path.Join(name, e.Name())
		switch {
		case e.IsDir() || ignored(e.Name()):
		case strings.HasSuffix(e.Name(), ".auto.ndcvars"):
			s.autoVariables = append(s.autoVariables, file)
		case strings.HasSuffix(e.Name(), ".hcl"):
			body := l.parse(fsys, file)
			s.bodies = append(s.bodies, body)
			s.ok = s.ok && body != nil
		}
	}
	if len(s.bodies) == 0 {
		l.fail(NoFiles, at, "The folder %q has no *.hcl file.", name)
		s.ok = false
	}
	return s
}

// parse reads one file of HCL; nil after a report.
func (l *loader) parse(fsys fs.FS, name string) *hclsyntax.Body {
	src, ok := l.readFile(fsys, name)
	if !ok {
		return nil
	}
	body, diags := parseSource(src, name)
	if body != nil {
		checkKeys(body, &diags)
	}
	l.report(diags)
	return body
}

// readFile reads a file and keeps it for snippets. Together the files of a
// workspace are bounded, too.
func (l *loader) readFile(fsys fs.FS, name string) ([]byte, bool) {
	src, diags := ReadFile(fsys, name)
	if l.size += len(src); !diags.HasErrors() && l.size > maxFolder {
		diags.Error(FileTooLarge, fileStart(name), summaries[FileTooLarge],
			fmt.Sprintf("With %s the files have more than %d MiB, and no job needs that much. Is it the right folder?", name, maxFolder>>20))
	}
	if l.report(diags); diags.HasErrors() {
		return nil, false
	}
	l.files[name] = src
	return src, true
}

// ErrNoPlainFile says that a name stands for something that may have no end.
var ErrNoPlainFile = errors.New("it is a device, a pipe or a socket, and ndc reads plain files")

// ReadFile reads a job or variable file. A device, a pipe or a file larger than
// any job is reported and never read.
func ReadFile(fsys fs.FS, name string) ([]byte, diag.List) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case info.IsDir():
		return nil, unreadable(name, errors.New("is a directory"))
	case !info.Mode().IsRegular():
		return nil, unreadable(name, ErrNoPlainFile)
	case info.Size() > limitOf(name):
		return nil, fileTooLarge(name)
	}
	return Read(f, name)
}

// Read reads a stream of a name, such as standard input, to its end or, with a
// report, to what a file may have at most.
func Read(r io.Reader, name string) ([]byte, diag.List) {
	src, err := io.ReadAll(io.LimitReader(r, limitOf(name)+1))
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case int64(len(src)) > limitOf(name):
		return nil, fileTooLarge(name)
	}
	return src, nil
}

func fileTooLarge(name string) diag.List {
	return diag.List{{ID: FileTooLarge, Range: fileStart(name), Summary: summaries[FileTooLarge],
		Detail: fmt.Sprintf("%s is larger than %d KiB, and no job needs that much. Is it the right file?", name, limitOf(name)>>10)}}
}

// limitOf is how many bytes a file of a name may have.
func limitOf(name string) int64 {
	if path.Base(name) == LockFile {
		return maxLockSize
	}
	return maxFileSize
}

func unreadable(name string, err error) diag.List {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return diag.List{{ID: UnreadableFile, Summary: summaries[UnreadableFile], Detail: fmt.Sprintf("Reading %q failed: %s.", name, err)}}
}

// parseSource parses HCL after checking that it is text of a sane size. The
// body is nil when there are errors.
func parseSource(src []byte, name string) (*hclsyntax.Body, diag.List) {
	diags := checkText(src, name)
	if diags.HasErrors() {
		return nil, diags
	}
	file, problems := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if at := mergeMark.FindIndex(src); problems.HasErrors() && at != nil {
		diags.Error(SyntaxError, byteRange(src, name, at[0]), "Unsettled merge", "The file has the marks of a merge that was not settled.")
		return nil, diags
	}
	for i, p := range problems[:min(len(problems), maxSyntaxErrors)] {
		if !consequence(problems[:i]) {
			diags.Error(SyntaxError, subject(p), p.Summary, sentence(explanation(p, src)))
		}
	}
	if diags.HasErrors() {
		return nil, diags
	}
	body := file.Body.(*hclsyntax.Body)
	unixLines(body, src)
	return body, diags
}

// unixLines takes the carriage returns off the lines of here-documents. A file that a
// clone or an editor gave the ends of lines of Windows says the same, and bash would
// count them as part of a value.
func unixLines(body *hclsyntax.Body, src []byte) {
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		if text, ok := n.(*hclsyntax.LiteralValueExpr); ok && text.Val.Type() == cty.String && bytes.Contains(text.Range().SliceBytes(src), []byte("\r\n")) {
			text.Val = cty.StringVal(strings.ReplaceAll(text.Val.AsString(), "\r\n", "\n"))
		}
		return nil
	})
}

// checkKeys reports keys that stand twice in a map that is written out. HCL takes the value
// of the last one: a job of for_each, or a variable of the environment, would be missing
// without a word.
func checkKeys(node hclsyntax.Node, diags *diag.List) {
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		object, ok := n.(*hclsyntax.ObjectConsExpr)
		if !ok || len(*diags) >= maxSyntaxErrors {
			return nil
		}
		first := map[string]hcl.Range{}
		for _, item := range object.Items {
			key := literalKey(item.KeyExpr)
			if before, twice := first[key]; twice && key != "" {
				diags.Error(DuplicateBlock, rangeOf(item.KeyExpr.Range()), summaries[DuplicateBlock],
					fmt.Sprintf("The key %q already stands at %s:%d in these braces, and only one of the two values would be used.", key, before.Filename, before.Start.Line))
				continue
			}
			first[key] = item.KeyExpr.Range()
		}
		return nil
	})
}

// mergeMark begins what git leaves where two branches changed the same lines.
var mergeMark = regexp.MustCompile(`(?m)^<{7} `)

// unclosedText is HCL's name for text without its closing quote. The quotes of
// all lines below it seem to open text, too.
const unclosedText = "Invalid multi-line string"

func consequence(earlier hcl.Diagnostics) bool {
	return slices.ContainsFunc(earlier, func(e *hcl.Diagnostic) bool { return e.Summary == unclosedText })
}

// unquotedQuantity is a number with a unit behind it, or a time, as it is
// written without its quotes.
var unquotedQuantity = regexp.MustCompile(`[0-9][0-9.]*[A-Za-z_:][A-Za-z0-9_/:]*`)

// explanation is what HCL says of a mistake, or where that leads astray what is
// most likely meant.
func explanation(p *hcl.Diagnostic, src []byte) string {
	switch p.Summary {
	case unclosedText:
		return "Text in quotes ends on the line on which it begins, so a closing quote is missing here. For text of several lines write \\n, or a heredoc (<<END … END)."
	case "Missing key/value separator":
		return p.Detail + " Braces behind an equals sign hold keys and values alone. If a block is meant, write it without the equals sign: training { … }."
	case "Invalid expression":
		if at := p.Subject.Start.Byte; at < len(src) && strings.IndexByte("/~'", src[at]) >= 0 || at > 0 && src[at-1] == '%' {
			return p.Detail + " Text, and a number with a unit, are written in quotes."
		}
	case "Invalid character":
		if at := p.Subject.Start.Byte; at < len(src) && src[at] == '$' {
			return p.Detail + " An expression stands alone outside of quotes: write var.NAME, not ${var.NAME}."
		}
	case "Missing newline after argument":
		for _, m := range unquotedQuantity.FindAllIndex(src, -1) {
			if at := p.Subject.Start.Byte; m[0] < at && at < m[1] {
				return fmt.Sprintf("A quantity with a unit is written in quotes: %q. A count is a number alone, such as 4096 or 2e12.", src[m[0]:m[1]])
			}
		}
	}
	return p.Detail
}

func subject(d *hcl.Diagnostic) diag.Range {
	if d.Subject == nil {
		return diag.Range{}
	}
	return rangeOf(*d.Subject)
}

// checkText reports what would make parsing useless or dangerous.
func checkText(src []byte, name string) diag.List {
	var diags diag.List
	if int64(len(src)) > limitOf(name) {
		return fileTooLarge(name)
	}
	if i, what := badText(src); what != "" {
		diags.Error(InvalidText, byteRange(src, name, i), summaries[InvalidText],
			fmt.Sprintf("%s holds %s, at byte %d. Job files are UTF-8 text.", name, what, i))
		return diags
	}
	checkNesting(src, name, &diags)
	return diags
}

// fileStart is the range of a file's first place.
func fileStart(name string) diag.Range {
	start := diag.Position{Line: 1, Column: 1}
	return diag.Range{Filename: name, Start: start, End: start}
}

// badText finds what is no text that people can review: bytes that are not
// UTF-8, NUL, characters that show the text in another order than it is read
// in (Unicode's bidirectional controls), those that end a line for editors and
// not here, so that an argument can stand in a comment unseen, and those that
// terminals obey.
func badText(src []byte) (at int, what string) {
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		switch {
		case r == 0:
			return i, "a NUL byte"
		case r == utf8.RuneError && n == 1:
			return i, fmt.Sprintf("the byte 0x%02x, which is not UTF-8", src[i])
		case r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return i, fmt.Sprintf("the character %U, which shows what follows in another order than it is read in", r)
		case r == '\r' && !bytes.HasPrefix(src[i+n:], []byte("\n")):
			return i, "a carriage return alone, which editors show as the end of a line and ndc does not read as one"
		case r == '\u2028' || r == '\u2029':
			return i, fmt.Sprintf("the character %U, which editors show as the end of a line and ndc does not read as one", r)
		case r < ' ' && strings.IndexByte("\t\r\n", byte(r)) < 0 || r >= 0x7f && r < 0xa0:
			return i, fmt.Sprintf("the control character %U, which terminals do not show", r)
		}
		i += n
	}
	return 0, ""
}

// byteRange is the range of one byte.
func byteRange(src []byte, name string, i int) diag.Range {
	line := 1 + strings.Count(string(src[:i]), "\n")
	column := 1 + i - (1 + strings.LastIndex(string(src[:i]), "\n"))
	start := diag.Position{Line: line, Column: column, Byte: i}
	end := diag.Position{Line: line, Column: column + 1, Byte: i + 1}
	return diag.Range{Filename: name, Start: start, End: end}
}

// checkNesting reports brackets within brackets, operators, texts of many parts and numbers
// beyond what the recursive parser and evaluator can take. Parts are the lines of a
// here-document, and what $ and % without a bracket cut a text into: the parser copies what
// stands before one for each.
func checkNesting(src []byte, name string, diags *diag.List) {
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	depth, operators, melding := 0, 0, 0
	var texts []int // where those that are open begin
	for _, t := range tokens {
		depth += nesting[t.Type]
		if deepening[t.Type] {
			operators++
		}
		switch n := len(texts); t.Type {
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			texts = append(texts, t.Range.Start.Byte)
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			texts = texts[:max(0, n-1)]
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
			if n > 0 {
				melding += t.Range.Start.Byte - texts[n-1]
			}
		}
		switch {
		case t.Type == hclsyntax.TokenNumberLit && budget.BeyondNumbers(string(t.Bytes)):
			diags.Error(OutOfRange, rangeOf(t.Range), summaries[OutOfRange], "This number is beyond everything that can be counted. It has at most a thousand digits, and its exponent at most three.")
			return
		case depth > maxNesting:
			diags.Error(FileTooLarge, rangeOf(t.Range), summaries[FileTooLarge],
				fmt.Sprintf("Brackets stand more than %d deep in one another here. Name the parts as locals.", maxNesting))
			return
		case operators > maxOperators:
			diags.Error(FileTooLarge, rangeOf(t.Range), summaries[FileTooLarge],
				fmt.Sprintf("%s has more than %d operators up to here, and no job needs that many.", name, maxOperators))
			return
		case melding > maxMelding:
			diags.Error(FileTooLarge, rangeOf(t.Range), summaries[FileTooLarge], "This text, or several, has more lines up to here than any job needs. Keep it in a file on the cluster, and name that.")
			return
		}
	}
}

// nesting is what a token adds to the depth of brackets.
var nesting = map[hclsyntax.TokenType]int{
	hclsyntax.TokenOBrace: 1, hclsyntax.TokenCBrace: -1,
	hclsyntax.TokenOBrack: 1, hclsyntax.TokenCBrack: -1,
	hclsyntax.TokenOParen: 1, hclsyntax.TokenCParen: -1,
	hclsyntax.TokenTemplateInterp: 1, hclsyntax.TokenTemplateControl: 1, hclsyntax.TokenTemplateSeqEnd: -1,
	hclsyntax.TokenOQuote: 1, hclsyntax.TokenCQuote: -1,
	hclsyntax.TokenOHeredoc: 1, hclsyntax.TokenCHeredoc: -1,
}

// deepening holds the tokens of which a chain makes a deep expression without
// any nesting, such as !!!a, a+b+c, a?b:c?d:e and a[0][0].
var deepening = map[hclsyntax.TokenType]bool{
	hclsyntax.TokenBang: true, hclsyntax.TokenMinus: true, hclsyntax.TokenPlus: true, hclsyntax.TokenStar: true,
	hclsyntax.TokenSlash: true, hclsyntax.TokenPercent: true, hclsyntax.TokenAnd: true, hclsyntax.TokenOr: true,
	hclsyntax.TokenEqualOp: true, hclsyntax.TokenNotEqual: true, hclsyntax.TokenLessThan: true, hclsyntax.TokenLessThanEq: true,
	hclsyntax.TokenGreaterThan: true, hclsyntax.TokenGreaterThanEq: true, hclsyntax.TokenQuestion: true,
	hclsyntax.TokenOBrack: true, hclsyntax.TokenTemplateControl: true,
}
