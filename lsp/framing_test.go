package lsp

import (
	"strings"
	"testing"
)

// TestRecv reads messages as their headers frame them, and no message that has none or
// says a length that no memory has.
func TestRecv(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Content-Length: 2\r\n\r\n{}rest", "{}"},
		{"content-length:2\nContent-Type: x\n\n[]", "[]"},
		{"Content-Length: 0\r\n\r\n", ""},
		{"Content-Length: 9223372036854775807\r\n\r\n{}", "error"},
		{"Content-Length: 99999999999\r\n\r\n{}", "error"},
		{"Content-Length: -5\r\n\r\n{}", "error"},
		{"Content-Length: x\r\n\r\n{}", "error"},
		{"Content-Length: 5\r\n\r\n{}", "error"},
		{"Length 2\r\n\r\n{}", "error"},
		{"\r\n{}", "error"},
		{strings.Repeat("x", 100000), "error"},
		{"", "error"},
	} {
		got, err := newBounded(strings.NewReader(c.in), nil).Recv()
		if text := string(got); err != nil != (c.want == "error") || err == nil && text != c.want {
			t.Errorf("%.40q: %q, %v; want %s", c.in, text, err, c.want)
		}
	}
}
