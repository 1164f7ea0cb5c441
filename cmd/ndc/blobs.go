package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// blobs are the contents of files in a git repository, which one git process prints as
// it is asked for them: a folder of jobs has hundreds of files.
type blobs struct {
	mutex   sync.Mutex
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    bytes.Buffer // of what went wrong, once it has ended
}

// openBlobs starts the process.
func openBlobs(ctx context.Context, dir string) (*blobs, error) {
	b := &blobs{command: gitCommand(ctx, dir, "cat-file", "--batch")}
	b.command.Stderr = &b.said
	var err error
	if b.in, err = b.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := b.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.out = bufio.NewReader(out)
	return b, b.command.Start()
}

// read is the content of an object.
func (b *blobs) read(object string) ([]byte, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if _, err := fmt.Fprintln(b.in, object); err != nil {
		return nil, b.failed(err)
	}
	head, err := b.out.ReadString('\n')
	if err != nil {
		return nil, b.failed(err)
	}
	var size int64
	if _, err := fmt.Sscanf(head, object+" blob %d\n", &size); err != nil {
		return nil, fmt.Errorf("git cat-file: %s", strings.TrimSpace(head))
	}
	if size > largestFile {
		if _, err := io.CopyN(io.Discard, b.out, size+1); err != nil {
			return nil, b.failed(err)
		}
		return nil, fmt.Errorf("it has more than %d MiB", largestFile>>20)
	}
	content := make([]byte, size+1) // a line ends behind it
	if _, err := io.ReadFull(b.out, content); err != nil {
		return nil, b.failed(err)
	}
	return content[:size], nil
}

// failed is why the process has ended.
func (b *blobs) failed(err error) error {
	b.close()
	if said := strings.TrimSpace(b.said.String()); said != "" {
		return errors.New(said)
	}
	return err
}

// close ends the process.
func (b *blobs) close() {
	b.in.Close()
	b.command.Wait()
}
