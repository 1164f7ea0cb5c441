package shell

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// blanks are places that the reader of an example shall fill in, such as
// NAME=<path>, which bash would refuse.
var blanks = regexp.MustCompile(`=(<[^<>\n|&;"'$]*>)`)

// places are those behind an option, such as --save <path to checkpoints>, which
// bash would take for redirections of the command: also in text that a script runs
// later.
var places = regexp.MustCompile(`(?m)\B--?[A-Za-z][\w-]*[ \t]+["']?(<[A-Za-z](?:[^<>\n|&;"'$]*[^\s<>|&;"'$])?>)(?:[\s\\"']|$)`)

// Parsed is a script as bash reads it. Its places are those of the script.
type Parsed struct {
	File   *syntax.File
	Blanks [][2]int // offsets of what has to be filled in, which was read as a word; nil where bash reads the script as it is
}

// Parse reads a script as bash does, and where bash does not, as it would with
// its blanks filled in. What stands behind an option to be filled in is a word in
// any case. The error is that of the script as it is.
func Parse(src []byte) (*Parsed, error) {
	found := places.FindAllSubmatchIndex(src, -1)
	if found != nil {
		src = bytes.Clone(src)
		for _, m := range found {
			fill(src[m[2]:m[3]])
		}
	}
	file, err := asBash(src)
	if err == nil {
		return &Parsed{File: file, Blanks: bare(file, src, found)}, nil
	}
	p := &Parsed{}
	var given [][2]int
	filled := bytes.Clone(src)
	for _, m := range blanks.FindAllSubmatchIndex(src, -1) {
		line := src[bytes.LastIndexByte(src[:m[0]], '\n')+1 : m[0]]
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			continue
		}
		given = append(given, [2]int{m[2], m[3]})
		fill(filled[m[2]:m[3]])
	}
	var again error
	if p.File, again = asBash(filled); again != nil {
		return nil, err
	}
	open := outside(p.File, len(src))
	p.Blanks = slices.DeleteFunc(given, func(b [2]int) bool { return !open[b[0]] })
	p.Blanks = append(p.Blanks, bare(p.File, src, found)...)
	return p, nil
}

// bare are the places of a script that stand neither in quotes nor in comments, and behind
// which no name of a file makes them redirections.
func bare(file *syntax.File, src []byte, found [][]int) (all [][2]int) {
	open := outside(file, len(src))
	for _, m := range found {
		rest := bytes.TrimLeft(src[m[3]:], " \t")
		if open[m[2]] && (len(rest) == 0 || bytes.IndexByte([]byte("\\\n-#|&;)"), rest[0]) >= 0) {
			all = append(all, [2]int{m[2], m[3]})
		}
	}
	return all
}

// outside are the places of so many of a script where its words stand neither in quotes nor
// in comments.
func outside(file *syntax.File, places int) []bool {
	open := make([]bool, places)
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DblQuoted, *syntax.SglQuoted, *syntax.Comment:
			return false
		case *syntax.Redirect:
			return n.Hdoc == nil
		case *syntax.Word:
			for _, part := range n.Parts {
				if l, ok := part.(*syntax.Lit); ok {
					for i := l.Pos().Offset(); i < l.End().Offset(); i++ {
						open[i] = true
					}
				}
			}
		}
		return true
	})
	return open
}

// fill makes one word of a blank.
func fill(blank []byte) {
	for i, b := range blank {
		blank[i] = plain(b)
	}
}

// special are characters that the parser may take for more than themselves.
// Where they are no more, control characters from firstPlain on stand for them
// while the script is parsed, which keeps every place as it was.
const (
	special    = "[<>(){}#*?~`\\!.="
	firstPlain = 0x0e
)

func plain(b byte) byte {
	if b == ' ' || b == '\t' {
		return '_' // one word, where it is used
	}
	if i := strings.IndexByte(special, b); i >= 0 {
		return byte(firstPlain + i)
	}
	return b
}

// written is the character that a plain one stands for.
func written(b byte) (byte, bool) {
	if b < firstPlain || b >= firstPlain+byte(len(special)) {
		return b, false
	}
	return special[b-firstPlain], true
}

// asBash parses, where the parser reads otherwise than bash does, as bash does:
// an element of a list that begins with [ is a word unless ]= follows, one may have = behind
// quotes, a key of one may have dots, and a comment ends with its line, whether or not a backslash stands there.
func asBash(src []byte) (*syntax.File, error) {
	for range 100 {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(bytes.NewReader(src), "")
		changed := bytes.Clone(src)
		bad, ok := err.(syntax.ParseError)
		var foreign syntax.LangError
		switch {
		case err == nil:
			endComments(file, changed)
		case ok && strings.HasPrefix(bad.Text, "`[x]` must be followed by"):
			if at := bytes.LastIndexByte(src[:min(int(bad.Pos.Offset())+1, len(src))], '['); at >= 0 {
				changed[at] = plain('[')
			}
		case ok && strings.HasPrefix(bad.Text, "array element values must be words"): // behind quotes: ("a"=$b)
			if at := int(bad.Pos.Offset()); at < len(src) && src[at] == '=' {
				changed[at] = plain('=')
			}
		case errors.As(err, &foreign): // the key of a list: ${a[b.c]}
			if at := int(foreign.Pos.Offset()); at < len(src) && src[at] == '.' {
				changed[at] = plain('.')
			}
		}
		if bytes.Equal(changed, src) {
			return file, err
		}
		src = changed
	}
	return nil, errors.New("it cannot be followed")
}

// endComments takes away the backslashes at the ends of comments, other than of those in
// backticks, which end there.
func endComments(file *syntax.File, src []byte) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			from := int(c.Pos().Offset())
			if end := bytes.IndexByte(src[from:], '\n'); end > 0 && int(c.End().Offset()) >= from+end-1 && src[from+end-1] == '\\' {
				src[from+end-1] = ' '
			}
		}
		return true
	})
}
