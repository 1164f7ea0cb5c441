// Package tree reads configuration files as trees of keys that know their lines
// and their order, which encoding/json forgets: what an import says of a key
// names its line. It reads JSON and YAML; package settings makes such trees of TOML. It
// knows nothing of what keys mean.
package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds of a file, far above any configuration.
const (
	MaxBytes = 8 << 20
	MaxDepth = 64      // values in one another
	MaxNodes = 1 << 18 // values; lists of quantised layers of a mixture have 100,000
)

// ErrBounds is what a file with more nodes, or deeper ones, is refused with.
var ErrBounds = errors.New("too many values, or too deep")

// Node is a value and where it stands.
type Node struct {
	Line int
	// Value is nil, a bool, string, json.Number, []Node or Object.
	Value any
}

// Member is one key of an object with its value.
type Member struct {
	Key string
	Node
}

// Object lists its members in the order of the file.
type Object []Member

// JSON reads one JSON value. A byte order mark and Python's Infinity and NaN are
// forgiven; comments and anything after the value are not.
func JSON(src []byte) (Node, error) {
	if len(src) > MaxBytes {
		return Node{}, fmt.Errorf("it has %d bytes, more than %d", len(src), MaxBytes)
	}
	src = plain(bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")))
	r := &reader{src: src, d: json.NewDecoder(bytes.NewReader(src)), line: 1}
	r.d.UseNumber()
	n, err := r.value(0)
	if err != nil {
		return Node{}, fmt.Errorf("line %d: %w", r.at(), err)
	}
	if _, err := r.d.Token(); err != io.EOF {
		return Node{}, fmt.Errorf("line %d: something follows the value", r.at())
	}
	return n, nil
}

// plain puts numbers of JSON in the place of those that Python writes and JSON
// lacks, at the same length.
func plain(src []byte) []byte {
	if !bytes.Contains(src, []byte("Infinity")) && !bytes.Contains(src, []byte("NaN")) {
		return src
	}
	src = bytes.Clone(src)
	quoted := false
	for i := 0; i < len(src); i++ {
		switch {
		case quoted && src[i] == '\\':
			i++
		case src[i] == '"':
			quoted = !quoted
		case quoted:
		case bytes.HasPrefix(src[i:], []byte("Infinity")):
			copy(src[i:], "1e999   ")
		case bytes.HasPrefix(src[i:], []byte("NaN")):
			copy(src[i:], "0  ")
		}
	}
	return src
}

type reader struct {
	src   []byte
	d     *json.Decoder
	line  int // at offset
	past  int64
	nodes int
}

// at is the line that the decoder has come to.
func (r *reader) at() int {
	now := min(r.d.InputOffset(), int64(len(r.src)))
	r.line += bytes.Count(r.src[r.past:now], []byte("\n"))
	r.past = now
	return r.line
}

func (r *reader) value(depth int) (Node, error) {
	if r.nodes++; depth > MaxDepth || r.nodes > MaxNodes {
		return Node{}, ErrBounds
	}
	token, err := r.d.Token()
	if err == io.EOF {
		return Node{}, io.ErrUnexpectedEOF
	}
	if err != nil {
		return Node{}, err
	}
	n := Node{Line: r.at(), Value: token}
	switch token {
	case json.Delim('{'):
		n.Value, err = r.object(depth)
	case json.Delim('['):
		n.Value, err = r.list(depth)
	}
	return n, err
}

func (r *reader) object(depth int) (Object, error) {
	o := Object{}
	for r.d.More() {
		key, err := r.d.Token()
		if err != nil {
			return nil, err
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		o = append(o, Member{Key: key.(string), Node: v})
	}
	_, err := r.d.Token()
	return o, err
}

func (r *reader) list(depth int) ([]Node, error) {
	l := []Node{}
	for r.d.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		l = append(l, v)
	}
	_, err := r.d.Token()
	return l, err
}

// Find is the last member of a key, as readers of JSON take it.
func (o Object) Find(key string) (Node, bool) {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].Key == key {
			return o[i].Node, true
		}
	}
	return Node{}, false
}

// Object is the value as an object; nil when it is none.
func (n Node) Object() Object { o, _ := n.Value.(Object); return o }

// Text is the value as a string; "" when it is none.
func (n Node) Text() string { s, _ := n.Value.(string); return s }

// Int is the value as a whole number. 4096.0 is one.
func (n Node) Int() (int64, bool) {
	number, ok := n.Value.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := number.Int64(); err == nil {
		return i, true
	}
	f, err := number.Float64()
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -(1<<53) {
		return 0, false
	}
	return int64(f), true
}

// Float is the value as a number.
func (n Node) Float() (float64, bool) {
	number, ok := n.Value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	return f, err == nil
}

// Truth is the value as a truth value.
func (n Node) Truth() (value, ok bool) { value, ok = n.Value.(bool); return value, ok }

// String spells the value on one line, as JSON does.
func (n Node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n Node) write(b *strings.Builder) {
	switch v := n.Value.(type) {
	case Object:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "%q: ", m.Key)
			m.write(b)
		}
		b.WriteByte('}')
	case []Node:
		b.WriteByte('[')
		for i, m := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			m.write(b)
		}
		b.WriteByte(']')
	case string:
		fmt.Fprintf(b, "%q", v)
	case nil:
		b.WriteString("null")
	default:
		fmt.Fprint(b, v)
	}
}
