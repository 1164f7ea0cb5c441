package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

type fsys = fs.FS

// repositoryURL is where links to files that are no pages lead.
const repositoryURL = "https://github.com/ndc-dev/ndc/blob/main/"

//go:embed pages.txt
var pagesFile string

//go:embed page.html
var pageFile string

var layout = template.Must(template.New("page").Parse(pageFile))

// page is one page of the site.
type page struct {
	Source string // in the repository
	Name   string // of the file, with .html
	Title  string // its first heading
	Body   template.HTML
}

// section is a heading of the list of pages with what stands under it.
type section struct {
	Title string
	Pages []*page
}

// sections reads the list: a line without indent is a heading, one with it a
// page of the repository.
func sections() []section {
	var all []section
	lines := bufio.NewScanner(strings.NewReader(pagesFile))
	for lines.Scan() {
		line := lines.Text()
		source := strings.TrimSpace(line)
		switch {
		case source == "":
		case source == line:
			all = append(all, section{Title: line})
		default:
			last := &all[len(all)-1]
			last.Pages = append(last.Pages, &page{Source: source, Name: target(source)})
		}
	}
	return all
}

func target(source string) string {
	if source == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(path.Base(source), ".md") + ".html"
}

var converter = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(links{}, 100))),
)

// sourceKey is the page of a parse, and picturesKey what it shows.
var sourceKey, picturesKey, pagesKey = parser.NewContextKey(), parser.NewContextKey(), parser.NewContextKey()

// render makes the files of the site by their names.
func render(repository fs.FS) (map[string][]byte, error) {
	all := sections()
	names := map[string]string{}
	for _, s := range all {
		for _, p := range s.Pages {
			names[p.Source] = p.Name
		}
	}
	files, pictures := map[string][]byte{}, map[string]bool{}
	for _, s := range all {
		for _, p := range s.Pages {
			if err := p.read(repository, names, pictures); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range all {
		for _, p := range s.Pages {
			var b bytes.Buffer
			if err := layout.Execute(&b, map[string]any{"Sections": all, "Page": p}); err != nil {
				return nil, err
			}
			files[p.Name] = b.Bytes()
		}
	}
	for source := range pictures {
		b, err := fs.ReadFile(repository, source)
		if err != nil {
			return nil, err
		}
		files[path.Base(source)] = b
	}
	return files, nil
}

var heading = regexp.MustCompile(`(?m)^# (.+)$`)

func (p *page) read(repository fs.FS, names map[string]string, pictures map[string]bool) error {
	src, err := fs.ReadFile(repository, p.Source)
	if err != nil {
		return err
	}
	m := heading.FindSubmatch(src)
	if m == nil {
		return fmt.Errorf("%s has no heading", p.Source)
	}
	p.Title = strings.ReplaceAll(string(m[1]), "`", "")
	context := parser.NewContext(parser.WithIDs(anchors{}))
	context.Set(sourceKey, p.Source)
	context.Set(picturesKey, pictures)
	context.Set(pagesKey, names)
	var b bytes.Buffer
	if err := converter.Convert(src, &b, parser.WithContext(context)); err != nil {
		return fmt.Errorf("%s: %w", p.Source, err)
	}
	p.Body = template.HTML(wide.Replace(b.String())) //nolint:gosec // the repository's own text
	return nil
}

// anchors names headings as code hosts do, so that links among pages are the same
// in the repository and on the site.
type anchors map[string]int

// Generate implements parser.IDs.
func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(string(heading)))
	a[name]++
	if n := a[name]; n > 1 {
		name = fmt.Sprintf("%s-%d", name, n-1)
	}
	return []byte(name)
}

// Put implements parser.IDs.
func (a anchors) Put(name []byte) { a[string(name)]++ }

// wide lets a table scroll by itself where it is wider than the screen.
var wide = strings.NewReplacer("<table>", `<div class="wide" tabindex="0"><table>`, "</table>", "</table></div>")

// links leads links among pages to pages, pictures to their copies, and all
// others to the repository.
type links struct{}

// Transform implements parser.ASTTransformer.
func (links) Transform(node *ast.Document, _ text.Reader, context parser.Context) {
	source := context.Get(sourceKey).(string)
	pictures := context.Get(picturesKey).(map[string]bool)
	names := context.Get(pagesKey).(map[string]string)
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(leads(source, string(n.Destination), names))
		case *ast.Image:
			if file := path.Join(path.Dir(source), string(n.Destination)); !strings.Contains(string(n.Destination), "://") {
				pictures[file] = true
				n.Destination = []byte(path.Base(file))
			}
		}
		return ast.WalkContinue, nil
	})
}

// leads is where a link of a page leads on the site.
func leads(source, link string, names map[string]string) string {
	file, anchor, anchored := strings.Cut(link, "#")
	if file == "" || strings.Contains(file, ":") {
		return link
	}
	file = path.Join(path.Dir(source), file)
	to, ok := names[file]
	if !ok {
		to = repositoryURL + file
	}
	if anchored {
		to += "#" + anchor
	}
	return to
}
