package settings

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/ndc-dev/ndc/intake/tree"
)

// opaque is a string or comment of TOML, whose brackets and dots are text. Quotes
// at the end of a long string are its own as long as there are more.
var opaque = regexp.MustCompile(`(?s)^(?:"""(?:[^\\]|\\.)*?"{3,}|'''.*?'{3,}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*)`)

// mostNodes are more values than a configuration in TOML has, of which none lists layers.
const mostNodes = 1 << 16

// bounded refuses TOML with more values than a tree may have, or deeper ones,
// before its decoder reads it: that makes a table of every part of a dotted key
// and keeps the whole key with each, and it calls itself for every bracket. So a
// part counts as many values as it is deep. A file that is no TOML is left to the
// decoder, which says what is wrong. The dot of a number counts as one of a key's.
func bounded(src []byte) error {
	levels := []int{0} // how deep the section stands, and each open value in it
	depth, nodes := 1, 0
	value := false // the line is behind its equals sign
	for i := 0; i < len(src); i++ {
		top := len(levels) - 1
		switch src[i] {
		case '"', '\'', '#':
			text := opaque.Find(src[i:])
			if text == nil {
				return nil
			}
			i += len(text) - 1
		case '\n':
			if top == 0 {
				depth, value = levels[0]+1, false
			}
		case '.':
			depth++
			nodes += depth
		case '=':
			value = true
			nodes += depth
		case ',':
			depth = levels[top] + 1
			nodes += depth
		case '[', '{':
			if value {
				levels = append(levels, depth)
			} else {
				levels[0] = 0 // a section begins
			}
			depth = levels[len(levels)-1] + 1
			nodes += depth
		case ']', '}':
			if top > 0 {
				levels = levels[:top]
			} else {
				levels[0] = depth
			}
		}
		if depth > tree.MaxDepth || nodes > mostNodes {
			return fmt.Errorf("line %d: %w", 1+bytes.Count(src[:i], []byte("\n")), tree.ErrBounds)
		}
	}
	return nil
}
