package lsp

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/lang"
)

// roots are the folders, or files, of which the open documents are parts: those
// that no other folder of the workspace calls as a module.
func (l *looker) roots() []string {
	var list []string
	var callers map[string][]string
	for _, d := range sorted(l.generation.documents) {
		switch {
		case !d.isJob() || isCatalog(d):
			continue
		case l.Alone && strings.HasSuffix(d.path, ".hcl"):
			if l.Program.FetchedFor(d.path) == "" {
				list = append(list, d.path)
			}
			continue
		case callers == nil:
			callers = l.callers()
		}
		list = append(list, callersOf(l.home(d.path), callers)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// home is the folder that a file is read with, but for those that call it: its
// own, and that of the jobs for a file of a module that was fetched for them.
func (s *server) home(file string) string {
	return cmp.Or(s.Program.FetchedFor(file), path.Dir(file))
}

// callersOf walks from a folder to those that call it and that nobody calls.
func callersOf(folder string, callers map[string][]string) []string {
	var roots []string
	seen, waiting := map[string]bool{folder: true}, []string{folder}
	for len(waiting) > 0 {
		f := waiting[0]
		waiting = waiting[1:]
		if len(callers[f]) == 0 {
			roots = append(roots, f)
		}
		for _, c := range callers[f] {
			if !seen[c] {
				seen[c] = true
				waiting = append(waiting, c)
			}
		}
	}
	if len(roots) == 0 {
		return []string{folder} // they call one another in a circle
	}
	return roots
}

// Bounds on the search for callers in the folders of the editor. A folder with
// files to read counts for several.
const (
	maxFolders = 5000
	withFiles  = 10
	maxDepth   = 8
)

// called is which folders each folder of the workspace calls as modules.
type called struct {
	epoch   int
	folders map[string][]string
}

// callers maps the folders that are modules to the folders that call them. The
// workspace is searched when files that are not open may have changed.
func (l *looker) callers() map[string][]string {
	if l.called == nil || l.called.epoch != l.generation.epoch {
		l.called = &called{l.generation.epoch, map[string][]string{}}
		left := maxFolders
		for _, f := range l.workspace() {
			l.walk(f, maxDepth, &left)
		}
	}
	for _, d := range l.generation.documents {
		l.note(path.Dir(d.path))
	}
	callers := map[string][]string{}
	for _, folder := range slices.Sorted(maps.Keys(l.called.folders)) {
		for _, inner := range l.called.folders[folder] {
			if !slices.Contains(callers[inner], folder) {
				callers[inner] = append(callers[inner], folder)
			}
		}
	}
	return callers
}

// callers are those of the folders as the documents are now.
func (s *server) callers() map[string][]string {
	s.loading.Lock()
	defer s.loading.Unlock()
	s.mu.Lock()
	g := s.current
	s.mu.Unlock()
	return (&looker{server: s, lookup: s.lookupIn(g.documents), generation: g}).callers()
}

// note lists what a folder calls.
func (l *looker) note(folder string) {
	calls, _ := lang.Calls(l.lookup.files, folder) // what is wrong is told where it is loaded
	l.called.folders[folder] = nil
	for _, c := range calls {
		if c.IsFolder() {
			inner, _ := c.Folder(l.lookup.files, folder)
			l.called.folders[folder] = append(l.called.folders[folder], inner)
		}
	}
}

// workspace lists the folders of the editor, by the paths by which it has documents of
// them open: a link may lead to a folder, and either name the other's files.
func (l *looker) workspace() []string {
	l.mu.Lock()
	list := slices.Clone(l.folders)
	l.mu.Unlock()
	for _, folder := range slices.Clone(list) {
		real := l.Program.Real(folder)
		for _, d := range sorted(l.generation.documents) {
			inner, below := strings.CutPrefix(l.Program.Real(path.Dir(d.path)), real)
			below = below && (inner == "" || inner[0] == '/')
			if other, ok := strings.CutSuffix(path.Dir(d.path), inner); below && ok && !slices.Contains(list, other) {
				list = append(list, other)
			}
		}
	}
	return list
}

// walk notes the folders with jobs below one.
func (l *looker) walk(folder string, depth int, left *int) {
	if *left--; *left < 0 || depth < 0 {
		return
	}
	entries, err := fs.ReadDir(l.lookup.files, folder)
	if err != nil {
		return
	}
	jobs := false
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case e.IsDir():
			l.walk(path.Join(folder, name), depth-1, left)
		case strings.HasSuffix(name, ".hcl"):
			jobs = true
		}
	}
	if jobs {
		*left -= withFiles
		l.note(folder)
	}
}
