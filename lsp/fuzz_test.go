package lsp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/creachadair/jrpc2"

	"github.com/ndc-dev/ndc/lang/outline"
)

// questions asks everything about a place of a document and looks at the file.
func questions(t *testing.T, s *server, p position) {
	t.Helper()
	ctx := context.Background()
	where := &positionParams{TextDocument: documentID{uriOf(jobFile)}, Position: p}
	document := &documentParams{TextDocument: where.TextDocument}
	list, err := s.completion(ctx, where)
	if err != nil {
		t.Fatal(err)
	}
	text := s.documents[jobFile].text
	for _, i := range list.Items {
		if r := i.TextEdit.Range; text.offset(r.Start) > text.offset(p) || text.offset(r.End) < text.offset(p) {
			t.Fatalf("at %v the range %v is replaced", p, r)
		}
	}
	if _, err := s.hover(ctx, where); err != nil {
		t.Fatal(err)
	}
	if _, err := s.definition(ctx, where); err != nil {
		t.Fatal(err)
	}
	if found, err := s.prepareRename(ctx, where); err != nil {
		t.Fatal(err)
	} else if found != nil {
		_, _ = s.rename(ctx, &renameParams{*where, "y"}) // or refused, since something is wrong already
	}
	if _, err := s.symbols(ctx, document); err != nil {
		t.Fatal(err)
	}
	if _, err := s.formatting(ctx, document); err != nil {
		t.Fatal(err)
	}
	actions := &actionParams{TextDocument: where.TextDocument}
	actions.Context.Diagnostics = []diagnostic{{Range: textRange{position{}, p}, Source: "ndc", Message: `Did you mean "x"?`}}
	if _, err := s.actions(ctx, actions); err != nil {
		t.Fatal(err)
	}
}

// silent is a server that looks at nothing by itself.
func silent() *server {
	s := newServer(Options{Files: absolute{fstest.MapFS{}}, Program: program{}, Delay: time.Hour})
	return s
}

// FuzzEdits makes changes at any positions and asks at any positions.
func FuzzEdits(f *testing.F) {
	f.Add(sample, "x\n𝛁", 3, 7, 4, 2)
	f.Add("", "\r\n", -1, 1<<30, 0, -5)
	f.Add("a\r\n\"b", "\"", 1, 1, 1, 0)
	f.Fuzz(func(t *testing.T, content, inserted string, line, character, lines, characters int) {
		if !utf8.ValidString(content) || !utf8.ValidString(inserted) {
			return // JSON holds none
		}
		s := silent()
		defer s.current.cancel()
		s.put(newDocument(uriOf(jobFile), jobFile, 1, newText(content)))
		from := position{line, character}
		to := position{line + lines, character + characters}
		change := &changeParams{ContentChanges: []contentChange{{Range: &textRange{from, to}, Text: inserted}}}
		change.TextDocument.URI = uriOf(jobFile)
		if _, err := s.didChange(context.Background(), change); err != nil {
			t.Fatal(err)
		}
		text := s.documents[jobFile].text
		if !utf8.ValidString(text.content) {
			t.Fatalf("a change between %v and %v cuts a character of %q", from, to, content)
		}
		for at := range len(text.content) + 1 {
			if p := text.position(at); utf8.RuneStart(byteAt(text.content, at)) && text.offset(p) != at && byteAt(text.content, at) != '\n' {
				t.Fatalf("byte %d of %q is at %v, which is byte %d", at, text.content, p, text.offset(p))
			}
		}
		questions(t, s, from)
		questions(t, s, to)
	})
}

func byteAt(s string, i int) byte {
	if i >= len(s) {
		return 'x'
	}
	return s[i]
}

// TestTyped types a job letter by letter, and asks at each.
func TestTyped(t *testing.T) {
	s := silent()
	defer s.current.cancel()
	for i := range len(sample) + 1 {
		text := newText(sample[:i])
		s.put(newDocument(uriOf(jobFile), jobFile, i, text))
		questions(t, s, text.position(i))
	}
}

// TestDrawn makes many random changes one after the other, and looks at what
// came of some of them as an editor would be told.
func TestDrawn(t *testing.T) {
	s := silent()
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"\"", "{", "}", "[", "\n", "${", "job \"x\" {\n", " = ", ".", "𝛁", "<<A\n", "#", "model", "\r\n", ",", ""}
	s.put(newDocument(uriOf(jobFile), jobFile, 0, newText(sample)))
	for i := range 400 {
		text := s.documents[jobFile].text
		p := position{random.IntN(len(text.lines) + 1), random.IntN(40)}
		end := position{p.Line, p.Character + random.IntN(6)}
		change := &changeParams{ContentChanges: []contentChange{{Range: &textRange{p, end}, Text: parts[random.IntN(len(parts))]}}}
		change.TextDocument.URI = uriOf(jobFile)
		if _, err := s.didChange(context.Background(), change); err != nil {
			t.Fatal(err)
		}
		questions(t, s, p)
		if i%20 == 0 {
			s.look(s.current)
			if s.current.failed != nil {
				t.Fatal(s.current.failed)
			}
		}
		if i%50 == 49 {
			s.put(newDocument(uriOf(jobFile), jobFile, i, newText(sample)))
		}
	}
}

// TestPanic: what fails in an answer is an error, and the next one comes.
func TestPanic(t *testing.T) {
	s := silent()
	h := request(s, func(context.Context, *documentParams) (*nothing, error) { panic("so") })
	requests, err := jrpc2.ParseRequests([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h(context.Background(), requests[0].ToRequest()); err == nil {
		t.Error("a panic is no error")
	}
}

// BenchmarkPlace: what stands in the middle of a file of 200 jobs.
func BenchmarkPlace(b *testing.B) {
	big := ""
	for i := range 200 {
		big += fmt.Sprintf("# %d\n%s", i, sample)
	}
	for b.Loop() {
		outline.Read(jobFile, []byte(big)).At(len(big) / 2)
	}
}
