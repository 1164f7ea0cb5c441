package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const repository = "../.."

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	anchorID  = regexp.MustCompile(`<h[1-6] id="([^"]+)"`)
)

// TestSite: every page of docs is on the site, and every link of a page leads to a
// file of the site or of the repository, and to a heading that is there.
func TestSite(t *testing.T) {
	files, err := render(os.DirFS(repository))
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string][]string{}
	for name, content := range files {
		anchors[name] = []string{"main"}
		for _, m := range anchorID.FindAllSubmatch(content, -1) {
			anchors[name] = append(anchors[name], string(m[1]))
		}
	}
	links := 0
	for name, content := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range reference.FindAllSubmatch(content, -1) {
			links++
			file, anchor, anchored := strings.Cut(string(m[1]), "#")
			if inside, ok := strings.CutPrefix(file, repositoryURL); ok {
				if _, err := os.Stat(filepath.Join(repository, filepath.FromSlash(inside))); err != nil {
					t.Errorf("%s leads to %s, which the repository does not have", name, inside)
				}
				continue
			}
			if strings.Contains(file, "://") {
				continue
			}
			if file == "" {
				file = name
			}
			if files[file] == nil {
				t.Errorf("%s leads to %s, which the site does not have", name, file)
			} else if anchored && !slices.Contains(anchors[file], anchor) {
				t.Errorf("%s leads to %s#%s, and no heading is called that", name, file, anchor)
			}
		}
	}
	if links < 1000 {
		t.Errorf("%d links were looked at", links)
	}
}

// TestPages: the list of pages has every page of docs, each once.
func TestPages(t *testing.T) {
	var listed []string
	for _, s := range sections() {
		for _, p := range s.Pages {
			if slices.Contains(listed, p.Source) {
				t.Errorf("%s is listed twice", p.Source)
			}
			listed = append(listed, p.Source)
		}
	}
	there, err := filepath.Glob(repository + "/docs/*.md")
	if err != nil || len(there) == 0 {
		t.Fatal("no pages: ", err)
	}
	for _, p := range there {
		if !slices.Contains(listed, "docs/"+filepath.Base(p)) {
			t.Errorf("tools/site/pages.txt does not list docs/%s", filepath.Base(p))
		}
	}
}
