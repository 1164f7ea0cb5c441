package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// Limits on a template of a user, far above what scripts need. Work is counted
// in steps: one for each action of a template, each time it is carried out, and
// for each KiB that a function makes.
const (
	maxTemplate = 64 << 10 // bytes of a template
	maxOverride = 64 << 10 // bytes of what it makes
	maxSteps    = 20000

	maxValue = 64 << 10 // bytes of what a function makes
)

// OverrideError says what is wrong with a template of a user.
type OverrideError struct {
	Line    int // of the template, from 1; 0: of no line
	Problem string
}

// Error implements error.
func (e *OverrideError) Error() string { return e.Problem }

// Override executes a template of a user on values, which are those of
// JSON: maps, lists, texts, numbers, truth values. A key that is missing, a
// null, and a text that the shell would read as more than one plain word are
// errors; the function quote makes one word of any text, which must not stand
// inside of quotes. With shell, what comes out must be a complete script.
// Templates may not define others. Work and output are bounded.
func Override(text string, values map[string]any, shell bool) (string, error) {
	o := &override{shell: shell, token: "NDCQUOTED"}
	for strings.Contains(text, o.token) {
		o.token += "Z"
	}
	t, err := o.parse(text)
	if err != nil {
		return "", err
	}
	var out bounded
	if err := t.Execute(&out, plainValues(values)); err != nil {
		return "", templateError(err, values)
	}
	made := out.String()
	if made != "" && !strings.HasSuffix(made, "\n") {
		made += "\n"
	}
	if !shell {
		return made, nil
	}
	return o.script(made)
}

// CheckOverride reports what is wrong with a template of a user whatever its
// values, as an OverrideError.
func CheckOverride(text string) error {
	_, err := (&override{}).parse(text)
	return err
}

// templateName stands in the messages of text/template.
const templateName = "t"

var templatePlace = regexp.MustCompile(`(?s)^template: t:(\d+)(?::\d+)?: (.*)$`)

var (
	missingKey  = regexp.MustCompile(`map has no entry for key "([^"]*)"`)
	unknownFunc = regexp.MustCompile(`function "([^"]*)" not defined`)
	insideOut   = regexp.MustCompile(`(?s)^executing "t" at <(.*?)>: (.*)$`)
)

// templateError turns a message of text/template into a place and a sentence.
func templateError(err error, values map[string]any) *OverrideError {
	var own *OverrideError
	if errors.As(err, &own) && own.Line > 0 {
		return own
	}
	text := err.Error()
	e := &OverrideError{Problem: text}
	if m := templatePlace.FindStringSubmatch(text); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Problem = m[2]
	}
	if m := insideOut.FindStringSubmatch(e.Problem); m != nil {
		e.Problem = m[2]
		if own == nil {
			e.Problem = m[1] + ": " + m[2]
		}
	}
	switch {
	case own != nil:
		e.Problem = own.Problem
	case errors.Is(err, errTooLong):
		e.Problem = errTooLong.Error()
	}
	if m := missingKey.FindStringSubmatch(e.Problem); m != nil {
		e.Problem = fmt.Sprintf("there is no %q in the values%s", m[1], near(m[1], names(values)))
	}
	if m := unknownFunc.FindStringSubmatch(e.Problem); m != nil {
		e.Problem = fmt.Sprintf("there is no function %q; there are %s", m[1], strings.Join(overrideFunctions(), ", "))
	}
	return e
}

// near names the one of some words that is a word but for case and signs, or
// that it begins; the rest is not worth a guess.
func near(word string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(strings.ReplaceAll(k, "_", ""), strings.ReplaceAll(word, "_", "")) || len(word) > 2 && strings.HasPrefix(k, word) {
			return fmt.Sprintf("; did you mean %q?", k)
		}
	}
	return ""
}

// names are the keys of values, at all levels.
func names(v any) []string {
	found := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				found[k] = true
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return slices.Sorted(maps.Keys(found))
}

// override is one template on its way.
type override struct {
	shell  bool
	steps  int
	token  string   // begins the place of a quoted text
	quoted []string // texts that need quotes, by place
}

func (o *override) parse(text string) (*template.Template, error) {
	if len(text) > maxTemplate {
		return nil, &OverrideError{Problem: fmt.Sprintf("it has more than %d KiB, and no script needs that", maxTemplate>>10)}
	}
	t, err := template.New(templateName).Option("missingkey=error").Funcs(o.functions()).Parse(text)
	if err != nil {
		return nil, templateError(err, nil)
	}
	return t, o.instrument(t)
}

// builtins of text/template that stay. The others make text out of anything,
// or call what they are given.
var builtins = []string{"and", "eq", "ge", "gt", "index", "le", "len", "lt", "ne", "not", "or"}

// overrideFunctions lists what a template of a user may call.
func overrideFunctions() []string {
	list := slices.Concat(builtins, allowedSprig, []string{"comment"})
	slices.Sort(list)
	return list
}

// Functions that the instrumented template calls.
const (
	stepFunction = "ndc_step"
	outFunction  = "ndc_out"
)

func (o *override) functions() template.FuncMap {
	table := template.FuncMap{stepFunction: o.step, outFunction: o.out, "quote": o.quote}
	for name, f := range functions() {
		if name != "quote" {
			table[name] = o.limited(name, f)
		}
	}
	return table
}

// step pays for work.
func (o *override) step(n int) (string, error) {
	if o.steps += n; o.steps > maxSteps {
		return "", &OverrideError{Problem: fmt.Sprintf("it takes more than %d steps, and no script needs that", maxSteps)}
	}
	return "", nil
}

// limited bounds what a function of text makes, before and after the call.
func (o *override) limited(name string, f any) func(args ...any) (string, error) {
	call := reflect.ValueOf(f)
	return func(args ...any) (made string, err error) {
		defer func() {
			if r := recover(); r != nil {
				made, err = "", fmt.Errorf("%s cannot take these arguments", name)
			}
		}()
		if call.Type().NumIn() != len(args) {
			return "", fmt.Errorf("%s takes %d arguments, not %d", name, call.Type().NumIn(), len(args))
		}
		in := make([]reflect.Value, len(args))
		for i, a := range args {
			if call.Type().In(i).Kind() == reflect.String {
				if a, err = written(a); err != nil {
					return "", err
				}
			}
			if in[i] = reflect.ValueOf(a); !in[i].IsValid() {
				return "", errors.New("null: nobody wrote this value")
			}
			if n, whole := a.(int64); whole && call.Type().In(i).Kind() == reflect.Int {
				in[i] = reflect.ValueOf(int(n))
			}
		}
		if size := estimate(name, in); size > maxValue {
			return "", &OverrideError{Problem: fmt.Sprintf("%s makes more than %d KiB, and no script needs that", name, maxValue>>10)}
		}
		made = call.Call(in)[0].String()
		_, err = o.step(1 + len(made)>>10)
		return made, err
	}
}

// estimate bounds the bytes that a call makes.
func estimate(name string, in []reflect.Value) float64 {
	text := func(i int) string { return in[i].String() }
	times := func(n int64, of int) float64 {
		if n < 0 {
			return maxValue + 1 // strings.Repeat would panic
		}
		return float64(n) * float64(of)
	}
	switch name {
	case "repeat":
		return times(in[0].Int(), len(text(1)))
	case "indent", "nindent":
		return times(in[0].Int(), 1+strings.Count(text(1), "\n")) + float64(len(text(1)))
	case "replace":
		return times(int64(strings.Count(text(2), text(0))), len(text(1))) + float64(len(text(2)))
	case "join":
		n := 0.0
		if list, ok := in[1].Interface().([]any); ok {
			for _, e := range list {
				s, _ := written(e)
				n += float64(len(text(0)) + len(s))
			}
		}
		return n
	}
	return 0
}

// decimal is a number with a fraction, which prints as Number does.
type decimal float64

// String implements fmt.Stringer.
func (d decimal) String() string { return Number(float64(d)) }

// plainValues makes values of JSON fit for templates: whole numbers are integers.
func plainValues(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = plainValues(e)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plainValues(e)
		}
		return list
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return plainValues(f)
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
		return decimal(v)
	}
	return v
}

// written is the text of a simple value.
func written(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", errors.New("null: nobody wrote this value; ask with {{if …}} first")
	case string:
		return v, nil
	case bool, int, int64, decimal:
		return fmt.Sprint(v), nil
	}
	return "", errors.New("a list or an object is no text; name one of its parts, or join a list")
}

// plainText is what the shell reads as it stands.
var plainText = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]*$`)

// word is a text that was quoted: a place that is filled in at the end.
type word struct{ place string }

// quote makes one shell word of a value.
func (o *override) quote(v any) (any, error) {
	text, err := written(v)
	if err != nil {
		return nil, err
	}
	if text != "" && plainText.MatchString(text) {
		return text, nil
	}
	if !o.shell {
		return nil, &OverrideError{Problem: fmt.Sprintf("%s cannot stand in an #SBATCH line or a comment as one word, and quote is for the shell", strconv.Quote(text))}
	}
	o.quoted = append(o.quoted, text)
	return word{fmt.Sprintf("%s%dX", o.token, len(o.quoted)-1)}, nil
}

// out is what stands in the script for a value that a line of the template names.
func (o *override) out(line int, v any) (string, error) {
	if w, ok := v.(word); ok {
		return w.place, nil
	}
	text, err := written(v)
	switch {
	case err != nil:
		return "", &OverrideError{Line: line, Problem: err.Error()}
	case strings.Contains(text, o.token) || !o.shell && strings.ContainsFunc(text, inLine):
		return "", &OverrideError{Line: line, Problem: fmt.Sprintf("the value %s has signs that cannot stand in an #SBATCH line or a comment", strconv.Quote(text))}
	case o.shell && !plainText.MatchString(text):
		return "", &OverrideError{Line: line, Problem: fmt.Sprintf("the shell would not read the value %s as one plain word; write {{… | quote}}, outside of quotes", strconv.Quote(text))}
	}
	return text, nil
}

// inLine reports a sign that ends a line or that Slurm's parser reads as more
// than itself.
func inLine(r rune) bool {
	return r < ' ' || r == 0x7f || strings.ContainsRune("\u0085\u2028\u2029\"'`\\", r)
}

// errTooLong ends a template that writes too much.
var errTooLong = fmt.Errorf("it makes more than %d KiB, and no script needs that", maxOverride>>10)

// bounded is a buffer that fails when it is full.
type bounded struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOverride {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
