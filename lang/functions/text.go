package functions

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

var textParameter = function.Parameter{Name: "str", Type: cty.String}

// textFunc wraps a total function on strings.
func textFunc(f func(string) string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{textParameter},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.StringVal(f(args[0].AsString())), nil
		},
	})
}

// partialTextFunc wraps a function on strings that may fail.
func partialTextFunc(f func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{textParameter},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := f(args[0].AsString())
			if err != nil {
				return cty.UnknownVal(cty.String), function.NewArgError(0, err)
			}
			return cty.StringVal(s), nil
		},
	})
}

// matchFunc wraps a predicate on a string and a second one.
func matchFunc(second string, f func(s, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{textParameter, {Name: second, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(f(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

func hasPrefix(s, part string) bool { return strings.HasPrefix(s, part) }
func hasSuffix(s, part string) bool { return strings.HasSuffix(s, part) }
func contains(s, part string) bool  { return strings.Contains(s, part) }

func baseName(s string) string { return path.Base(s) }
func dirName(s string) string  { return path.Dir(s) }

func base64Encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func base64SHA256(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func base64SHA512(s string) string {
	sum := sha512.Sum512([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func hexMD5(s string) string    { sum := md5.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }
func hexSHA1(s string) string   { sum := sha1.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }
func hexSHA256(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }
func hexSHA512(s string) string { sum := sha512.Sum512([]byte(s)); return hex.EncodeToString(sum[:]) }

func urlEncode(s string) string { return url.QueryEscape(s) }

var urlDecodeFunc = partialTextFunc(url.QueryUnescape)

var base64DecodeFunc = partialTextFunc(func(s string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", fmt.Errorf("not valid base64: %w", err)
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("the decoded bytes are not UTF-8 text")
	}
	return string(b), nil
})

// replaceFunc replaces a substring, or a regular expression when it stands
// between slashes.
var replaceFunc = function.New(&function.Spec{
	Params: []function.Parameter{textParameter, {Name: "substr", Type: cty.String}, {Name: "replace", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		s, old, by := args[0].AsString(), args[1].AsString(), args[2].AsString()
		if len(old) > 1 && old[0] == '/' && old[len(old)-1] == '/' {
			re, err := regexp.Compile(old[1 : len(old)-1])
			if err != nil {
				return cty.UnknownVal(cty.String), function.NewArgError(1, err)
			}
			return cty.StringVal(re.ReplaceAllString(s, by)), nil
		}
		return cty.StringVal(strings.ReplaceAll(s, old, by)), nil
	},
})

// timeCmpFunc compares two RFC 3339 times: -1, 0 or 1.
var timeCmpFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "timestamp_a", Type: cty.String}, {Name: "timestamp_b", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var at [2]time.Time
		for i, a := range args {
			t, err := time.Parse(time.RFC3339, a.AsString())
			if err != nil {
				return cty.UnknownVal(cty.Number), function.NewArgErrorf(i, "not a valid RFC 3339 time")
			}
			at[i] = t
		}
		return cty.NumberIntVal(int64(at[0].Compare(at[1]))), nil
	},
})
