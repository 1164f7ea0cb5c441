package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign sets a variable.
func (e *evaluator) assign(a *syntax.Assign, export bool) {
	if a.Name == nil { // an option of declare, or a word that is expanded to a name and its value
		if a.Value == nil {
			return
		}
		for _, t := range e.fieldsOf(a.Value) {
			name, _, ok := strings.Cut(t.String(), "=")
			if ok && syntax.ValidName(name) && !t[:len(name)].isOpen() && e.spend(0, len(t)) {
				e.state.variables[name] = variable{text: unquoted(t[len(name)+1:]), exported: export || e.state.variables[name].exported || e.state.allExported}
			}
		}
		return
	}
	name := a.Name.Value
	old, set := e.state.variables[name]
	if a.Append && !set && slices.ContainsFunc(e.script.Sources, func(w Word) bool { return !IsEnvironment(w) }) {
		old = begun(name, a.Array != nil, e.line(a.Pos()))
	}
	v := variable{exported: old.exported || export || e.state.allExported}
	switch {
	case a.Naked:
		v.text, v.list, v.keys, v.isList, v.loose = old.text, old.list, old.keys, old.isList, old.loose
		if _, ok := e.state.variables[name]; !ok {
			return
		}
	case a.Array != nil && (old.keys != nil || slices.ContainsFunc(a.Array.Elems, func(el *syntax.ArrayElem) bool { return el.Index != nil })):
		v = e.keyedList(a, old, v)
	case a.Array != nil:
		v.isList = true
		if a.Append {
			v.list, v.loose = slices.Clone(old.list), old.loose
		}
		for _, el := range a.Array.Elems {
			if el.Value != nil {
				for _, t := range e.fieldsOf(el.Value) {
					v.list = append(v.list, unquoted(t))
					v.loose = v.loose || t.isOpen() && splits(el.Value)
				}
			}
		}
	case a.Index != nil:
		v = e.element(a, old)
	default:
		var t text
		if a.Value != nil {
			t = e.word(a.Value)
		}
		if a.Append {
			t = append(slices.Clone(old.text), t...)
		}
		if len(t) > maxValue {
			e.spend(maxSteps+1, 0)
			t = nil
		}
		v.text = unquoted(t)
	}
	if e.spend(0, len(v.text)) {
		e.state.variables[name] = v
	}
}

// environments are the names of files that set up an environment, and no list of options.
var environments = regexp.MustCompile(`(^|/)(activate|bash|sh|profile|(conda|mamba|micromamba|modules?|lmod|set_?env|setvars|vars)\.sh|\.?bash(rc|_profile)|\.profile)$`)

// IsEnvironment reports a file that sets up an environment, as conda's does, and no run.
func IsEnvironment(source Word) bool { return environments.MatchString(source.Text) }

// begun is what such a file may have set.
func begun(name string, isList bool, line int) variable {
	if isList {
		return variable{isList: true, loose: true, list: []text{unknown("${"+name+"[@]}", line)}}
	}
	return variable{text: unknown("$"+name, line)}
}

// splits reports a word with an expansion outside quotes, which may be several words.
func splits(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		switch p.(type) {
		case *syntax.CmdSubst, *syntax.ParamExp:
			return true
		}
		return false
	})
}

// element sets one element of a list.
func (e *evaluator) element(a *syntax.Assign, old variable) variable {
	v := variable{isList: true, loose: old.loose, list: slices.Clone(old.list), keys: slices.Clone(old.keys), exported: old.exported}
	if !old.isList && old.text.isOpen() {
		return unknownList(a, e.line(a.Pos()))
	}
	if old.keys != nil {
		key, ok := e.key(a.Index)
		if !ok || len(v.list) > mostKeys {
			return unknownList(a, e.line(a.Pos()))
		}
		value := unquoted(e.word(a.Value))
		if a.Append {
			value = append(slices.Clone(v.at(key)), value...)
		}
		v.put(key, value)
		return v
	}
	n, ok := e.arithmetic(a.Index)
	if !ok || n < 0 || n > 4096 || a.Value == nil {
		return v
	}
	for len(v.list) <= n {
		v.list = append(v.list, nil)
	}
	v.list[n] = unquoted(e.word(a.Value))
	return v
}

// mostKeys are more keys than a list of a launch script has.
const mostKeys = 4096

// unknownList is a list of which a run alone knows the keys.
func unknownList(a *syntax.Assign, line int) variable {
	return variable{text: computed("${"+a.Name.Value+"}", line)}
}

// keyedList is a list whose elements say their keys, or that has keys.
func (e *evaluator) keyedList(a *syntax.Assign, old, v variable) variable {
	v.isList, v.keys = true, []string{}
	if a.Append {
		v.keys, v.list = append(v.keys, old.keys...), slices.Clone(old.list)
	}
	for _, el := range a.Array.Elems {
		if el.Value == nil {
			continue
		}
		key, ok := e.key(el.Index)
		if el.Index == nil || !ok || len(v.keys) > mostKeys {
			return unknownList(a, e.line(a.Pos()))
		}
		v.put(key, unquoted(e.word(el.Value)))
	}
	return v
}

// key is what stands in brackets, as the key of a list.
func (e *evaluator) key(x syntax.ArithmExpr) (string, bool) {
	w, ok := x.(*syntax.Word)
	if !ok {
		n, ok := e.arithmetic(x)
		return strconv.Itoa(n), ok
	}
	t := e.word(w)
	return t.String(), !t.isOpen()
}
