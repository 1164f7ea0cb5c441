package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/creachadair/jrpc2/channel"
)

// largestMessage is how long a message of an editor may be, in bytes: a document of
// the size that ndc reads is far shorter.
const largestMessage = 64 << 20

// bounded is a channel to an editor that takes no message for which there is no
// memory; the library's would end the program.
type bounded struct {
	channel.Channel
	in *bufio.Reader
}

func newBounded(in io.Reader, out io.WriteCloser) *bounded {
	r := bufio.NewReader(in)
	return &bounded{Channel: channel.LSP(r, out), in: r}
}

// Recv implements channel.Channel: the header of a message, and as many bytes as it
// says.
func (b *bounded) Recv() ([]byte, error) {
	size := -1
	for {
		line, err := b.in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, errors.New("a line of a header without a colon")
		}
		if strings.EqualFold(name, "Content-Length") {
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 || size > largestMessage {
				return nil, fmt.Errorf("a message of %q bytes", value)
			}
		}
	}
	if size < 0 {
		return nil, errors.New("a message without its length")
	}
	message := make([]byte, size)
	_, err := io.ReadFull(b.in, message)
	return message, err
}
