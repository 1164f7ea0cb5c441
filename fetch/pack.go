package fetch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// guarded stores what a server sends once it is known to unpack to no more than
// memory has: go-git makes each object of a pack in memory, and a few bytes of
// zlib or of a delta stand for as many as somebody likes.
type guarded struct {
	*filesystem.Storage
	dir string
}

// PackfileWriter implements storer.PackfileWriter.
func (g *guarded) PackfileWriter() (io.WriteCloser, error) {
	f, err := os.CreateTemp(g.dir, "received-")
	return &received{file: f, into: g.Storage}, err
}

// received is a pack that comes from a server.
type received struct {
	file  *os.File
	into  *filesystem.Storage
	bytes int64
}

// Write implements io.Writer.
func (r *received) Write(p []byte) (int, error) {
	if r.bytes += int64(len(p)); r.bytes > MaxTransfer {
		return 0, fmt.Errorf("it sends more than %d MiB", MaxTransfer>>20)
	}
	return r.file.Write(p)
}

// Close hands the pack on.
func (r *received) Close() error {
	defer os.Remove(r.file.Name())
	defer r.file.Close()
	if err := r.check(); err != nil || r.bytes == 0 {
		return err
	}
	w, err := r.into.PackfileWriter()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r.file)
	return errors.Join(err, w.Close())
}

// check looks at what each object unpacks to, and leaves the file at its beginning.
func (r *received) check() error {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil || r.bytes == 0 {
		return err
	}
	s := packfile.NewScanner(r.file)
	_, count, err := s.Header()
	for total := int64(0); err == nil && count > 0; count-- {
		var size int64
		if size, err = next(s); err == nil && total > MaxUnpacked-size {
			err = errBomb
		}
		total += size
	}
	if err != nil {
		return err
	}
	_, err = r.file.Seek(0, io.SeekStart)
	return err
}

// next is the size of the next object, or of what its delta makes.
func next(s *packfile.Scanner) (int64, error) {
	h, err := s.NextObjectHeader()
	if err != nil {
		return 0, err
	}
	if uint64(h.Length) > MaxTransfer {
		return 0, errBomb
	}
	var b beginning
	if _, _, err := s.NextObject(&b); err != nil { // no more than h.Length
		return 0, err
	}
	if h.Type != plumbing.OFSDeltaObject && h.Type != plumbing.REFDeltaObject {
		return h.Length, nil
	}
	_, n := binary.Uvarint(b) // the size of what it is a delta of
	size, _ := binary.Uvarint(b[max(0, n):])
	if size > MaxTransfer {
		return 0, errBomb
	}
	return int64(size), nil
}

var errBomb = fmt.Errorf("it unpacks to more than %d GiB, or has an object of more than %d MiB", MaxUnpacked>>30, MaxTransfer>>20)

// beginning is where a delta says its sizes.
type beginning []byte

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), 2*binary.MaxVarintLen64-len(*b))]...)
	return len(p), nil
}
