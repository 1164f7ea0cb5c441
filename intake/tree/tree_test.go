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
