package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Archive unpacks an archive in memory. The name tells its kind: .tar, .tar.gz,
// .tgz or .zip.
func Archive(name string, content []byte) (*Files, error) {
	f := &Files{}
	var err error
	switch {
	case strings.HasSuffix(name, ".zip"):
		err = f.unzip(content)
	case strings.HasSuffix(name, ".tar"):
		err = f.untar(bytes.NewReader(content))
	default:
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(content)); err == nil {
			// Headers and padding count, too: they cost time.
			err = f.untar(&bounded{r, 2 * MaxBytes, fmt.Errorf("it unpacks to more than %d MiB", 2*MaxBytes>>20)})
		}
	}
	if err == nil && len(f.Content) == 0 {
		err = errors.New("it has no files")
	}
	return f, err
}

func (f *Files) untar(r io.Reader) error {
	t := tar.NewReader(r)
	for entries := 0; ; entries++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case entries > 2*MaxFiles:
			return fmt.Errorf("it has more than %d entries", 2*MaxFiles)
		case h.Typeflag == tar.TypeReg:
			err = f.add(h.Name, t)
		case h.Typeflag == tar.TypeDir, h.Typeflag == tar.TypeXGlobalHeader:
		default:
			f.LeftOut = append(f.LeftOut, h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (f *Files) unzip(content []byte) error {
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	if len(z.File) > 2*MaxFiles {
		return fmt.Errorf("it has more than %d entries", 2*MaxFiles)
	}
	for _, entry := range z.File {
		switch {
		case entry.Mode().IsDir():
		case !entry.Mode().IsRegular():
			f.LeftOut = append(f.LeftOut, entry.Name)
		default:
			r, err := entry.Open()
			if err != nil {
				return err
			}
			err = f.add(entry.Name, r)
			_ = r.Close()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// bounded fails where a stream goes on beyond what was left of it.
type bounded struct {
	io.Reader
	left   int64
	beyond error
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.beyond
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
