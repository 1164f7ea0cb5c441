package tree

import (
	"errors"
	"strings"
	"testing"
)

// TestBounds: a configuration that lists 100,000 quantised modules is read, one that is made
// to be large is not.
func TestBounds(t *testing.T) {
	list := func(n int) []byte { return []byte("[" + strings.Repeat("1,", n-2) + "1]") }
	if _, err := JSON(list(100_000)); err != nil {
		t.Error(err)
	}
	if _, err := JSON(list(MaxNodes + 1)); !errors.Is(err, ErrBounds) {
		t.Errorf("%v", err)
	}
}

// TestTruths: words of YAML are truth values where PyYAML takes them for such.
func TestTruths(t *testing.T) {
	n, err := YAML([]byte("a: yes\nb: On\nc: \"no\"\nd: NO\ne: y\nf: true\ng: !!str no\nh: 'off'\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := n.String(), `{"a": true, "b": true, "c": "no", "d": false, "e": "y", "f": true, "g": "no", "h": "off"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
