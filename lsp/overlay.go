package lsp

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// overlay is a file system in which documents of the editor stand in the place
// of files. Its names are absolute paths, or below a folder as Sub makes them.
type overlay struct {
	files     fs.FS
	root      string           // that names are below; "" for absolute ones
	documents map[string]*text // by absolute path
}

// absolute is the path that a name stands for.
func (o overlay) absolute(name string) string {
	if o.root == "" {
		return path.Clean(name)
	}
	return path.Join(o.root, name)
}

// Open implements fs.FS.
func (o overlay) Open(name string) (fs.File, error) {
	p := o.absolute(name)
	if t := o.documents[p]; t != nil {
		info := docInfo{name: path.Base(p), size: int64(len(t.content))}
		return &docFile{info, strings.NewReader(t.content)}, nil
	}
	return o.files.Open(name)
}

// Stat implements fs.StatFS.
func (o overlay) Stat(name string) (fs.FileInfo, error) {
	p := o.absolute(name)
	if t := o.documents[p]; t != nil {
		return docInfo{name: path.Base(p), size: int64(len(t.content))}, nil
	}
	info, err := fs.Stat(o.files, name)
	if err != nil && o.holds(p) {
		return docInfo{name: path.Base(p), folder: true}, nil
	}
	return info, err
}

// holds reports whether a document is in a folder, which may not be on the disk
// yet.
func (o overlay) holds(folder string) bool {
	for doc := range o.documents {
		if path.Dir(doc) == folder {
			return true
		}
	}
	return false
}

// ReadDir implements fs.ReadDirFS: documents that are not on the disk yet are in
// their folders.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.files, name)
	p := o.absolute(name)
	for doc, t := range o.documents {
		base := path.Base(doc)
		if path.Dir(doc) == p && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == base }) {
			entries, err = append(entries, docInfo{name: base, size: int64(len(t.content))}), nil
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// ReadLink implements fs.ReadLinkFS: no document is a link.
func (o overlay) ReadLink(name string) (string, error) { return fs.ReadLink(o.files, name) }

// Lstat implements fs.ReadLinkFS.
func (o overlay) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(o.files, name) }

// Sub implements fs.SubFS: what is below a folder, as the file system beneath
// confines it.
func (o overlay) Sub(dir string) (fs.FS, error) {
	inner, err := fs.Sub(o.files, dir)
	if s, ok := o.files.(fs.SubFS); ok {
		inner, err = s.Sub(dir)
	}
	return overlay{inner, o.absolute(dir), o.documents}, err
}

// docInfo describes a document as a file, or a folder of documents.
type docInfo struct {
	name   string
	size   int64
	folder bool
}

func (i docInfo) Name() string               { return i.name }
func (i docInfo) Size() int64                { return i.size }
func (i docInfo) ModTime() time.Time         { return time.Time{} }
func (i docInfo) IsDir() bool                { return i.folder }
func (i docInfo) Sys() any                   { return nil }
func (i docInfo) Type() fs.FileMode          { return i.Mode().Type() }
func (i docInfo) Info() (fs.FileInfo, error) { return i, nil }

// Mode implements fs.FileInfo.
func (i docInfo) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

// docFile is a document that is read as a file.
type docFile struct {
	info docInfo
	io.Reader
}

// Stat implements fs.File.
func (f *docFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements fs.File.
func (f *docFile) Close() error { return nil }
