package functions

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
)

// base64Gzip compresses text. Nothing of it knows when: the header has no time.
var base64Gzip = partialTextFunc(func(s string) (string, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		return "", err
	}
	if err := w.Flush(); err != nil { // as Terraform does, which shows in the bytes
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
})

// textEncodeBase64Func and textDecodeBase64Func have text in a character encoding by its IANA
// name in between.
var (
	textEncodeBase64Func = encodedFunc("string", func(e encoding.Encoding, s string) (string, error) {
		b, err := e.NewEncoder().Bytes([]byte(s))
		if err != nil {
			return "", function.NewArgErrorf(0, "has a character that this encoding has not")
		}
		return base64.StdEncoding.EncodeToString(b), nil
	})
	textDecodeBase64Func = encodedFunc("source", func(e encoding.Encoding, s string) (string, error) {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return "", function.NewArgErrorf(0, "not valid base64: %s", err)
		}
		text, err := e.NewDecoder().Bytes(b)
		if err != nil || bytes.ContainsRune(text, '�') {
			return "", function.NewArgErrorf(0, "the decoded bytes are no text in this encoding")
		}
		return string(text), nil
	})
)

// encodedFunc wraps a function on a string and a character encoding.
func encodedFunc(parameter string, f func(e encoding.Encoding, s string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: parameter, Type: cty.String}, {Name: "encoding", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			e, err := ianaindex.IANA.Encoding(args[1].AsString())
			if err != nil || e == nil {
				return cty.UnknownVal(cty.String), function.NewArgErrorf(1, "%q is not a character encoding that is known here", args[1].AsString())
			}
			s, err := f(e, args[0].AsString())
			if err != nil {
				return cty.UnknownVal(cty.String), err
			}
			return cty.StringVal(s), nil
		},
	})
}
