package shell

import (
	"maps"
	"slices"
	"strings"
)

// cell is one byte of a value, with what is known of it.
type cell struct {
	b                   byte
	quoted, open, maybe bool
	own                 bool // open, and of a variable that the script itself sets
	packed              bool // of a word of options, which a program is handed as one
	line                int32
	among               *[]string // of a variable that has one of these values
}

type text []cell

// known makes text of a string on a line.
func known(s string, line int) text { return made(s, cell{line: int32(line)}) }

// unknown is what stands for something that only a run knows.
func unknown(s string, line int) text {
	return made(s, cell{line: int32(line), open: true, quoted: true})
}

// computed is unknown for a variable that the script itself sets.
func computed(s string, line int) text {
	return unknown(s, line).with(func(c *cell) { c.own = true })
}

func made(s string, like cell) text {
	t := make(text, len(s))
	for i := range len(s) {
		t[i] = like
		t[i].b = s[i]
	}
	return t
}

func (t text) String() string {
	b := make([]byte, len(t))
	for i := range t {
		b[i] = t[i].b
	}
	return string(b)
}

func (t text) any(is func(cell) bool) bool { return slices.ContainsFunc(t, is) }

func (t text) isOpen() bool { return t.any(func(c cell) bool { return c.open || c.maybe }) }

func (t text) word() Word {
	w := Word{Text: t.String(), Open: t.any(func(c cell) bool { return c.open }), Maybe: t.any(func(c cell) bool { return c.maybe }), Own: t.any(func(c cell) bool { return c.own }), Packed: t.any(func(c cell) bool { return c.packed })}
	if len(t) > 0 {
		w.Line = int(t[0].line)
		if among := t[0].among; among != nil && !t.any(func(c cell) bool { return c.among != among }) {
			w.Among = *among
		}
	}
	return w
}

// with marks every cell.
func (t text) with(change func(*cell)) text {
	t = slices.Clone(t)
	for i := range t {
		change(&t[i])
	}
	return t
}

// glob spells text as a pattern, of which what is quoted stands for itself.
func (t text) glob() string {
	var b strings.Builder
	for _, c := range t {
		if c.quoted && strings.IndexByte(`*?[]\`, c.b) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c.b)
	}
	return b.String()
}

// script is text as a script of its own. What only a run knows stands in it as it is written,
// and its quotes do not end those that it stands in.
func (t text) script() []byte {
	b := []byte(t.String())
	var quote byte // in which the text is
	for i, c := range t {
		switch {
		case c.open:
			if c.b == '\'' && quote == '\'' {
				b[i] = '"'
			}
		case c.b != '\'' && c.b != '"' || quote != '\'' && i > 0 && t[i-1].b == '\\':
		case quote == 0:
			quote = c.b
		case quote == c.b:
			quote = 0
		}
	}
	return b
}

// fields splits text where white space is not quoted.
func (t text) fields() []text { return t.fieldsAt(blank) }

// fieldsAt splits text at characters that are not quoted: white space as much as there is,
// and others one by one, between which a field may be empty.
func (t text) fieldsAt(separators string) []text {
	var all []text
	start, ended := -1, false // ended: by white space, behind which another may stand
	for i, c := range t {
		at := !c.quoted && strings.IndexByte(separators, c.b) >= 0
		white := at && strings.IndexByte(blank, c.b) >= 0
		switch {
		case !at && start < 0:
			start, ended = i, false
		case !at:
		case start >= 0:
			all, start, ended = append(all, t[start:i]), -1, white
		case !white && !ended:
			all = append(all, text{})
		case !white:
			ended = false
		}
	}
	if start >= 0 {
		all = append(all, t[start:])
	}
	return all
}

// variable is a value of the script: text, or a list of texts.
type variable struct {
	text     text
	list     []text
	keys     []string // of the list, where they are no numbers from 0 on
	isList   bool
	loose    bool // an element may be several, which only a run knows
	exported bool
	slurm    bool // set by Slurm, which tells what the script asked for
}

func sameText(a, b text) bool { return a.String() == b.String() && a.isOpen() == b.isOpen() }

func (v variable) equal(o variable) bool {
	return v.isList == o.isList && sameText(v.text, o.text) && slices.Equal(v.keys, o.keys) && slices.EqualFunc(v.list, o.list, sameText)
}

// state is what the script has computed.
type state struct {
	variables  map[string]variable
	functions  map[string]*function
	positional []text // nil: what the script is called with, which nobody knows
	given      bool   // positional is known
	over       bool   // nothing runs any more

	allExported bool // whatever is assigned
}

func newState() *state {
	return &state{variables: map[string]variable{}, functions: map[string]*function{}}
}

// called sets what a script or a function is called with: as of a variable's value, quotes end
// with the call.
func (s *state) called(words []text) {
	s.given, s.positional = true, make([]text, len(words))
	for i, w := range words {
		s.positional[i] = unquoted(w)
	}
}

func (s *state) clone() *state {
	return &state{variables: maps.Clone(s.variables), functions: maps.Clone(s.functions), positional: s.positional, given: s.given, allExported: s.allExported}
}

func (s *state) sameArguments(o *state) bool {
	same := func(a, b text) bool { return a.String() == b.String() }
	return s.given == o.given && slices.EqualFunc(s.positional, o.positional, same)
}

// merge joins what the branches of a condition computed that nobody knows the
// outcome of, from what stood before it.
func merge(before *state, branches []*state) *state {
	after := before.clone()
	names := map[string]bool{}
	for _, b := range branches {
		for name := range b.variables {
			names[name] = true
		}
		maps.Copy(after.functions, b.functions)
		if !b.sameArguments(branches[0]) {
			after.positional, after.given = nil, false
		}
	}
	if after.given {
		after.positional = branches[0].positional
	}
	for name := range names {
		values := make([]variable, len(branches))
		set := 0
		for i, b := range branches {
			v, ok := b.variables[name]
			if values[i] = v; ok {
				set++
			}
		}
		after.variables[name] = join(name, before.variables[name], values, set == len(branches))
	}
	return after
}

// join is the value of a variable of which branches say different things:
// options that some of them add may be there; another value is open.
func join(name string, before variable, values []variable, always bool) variable {
	equal := always
	for _, v := range values[1:] {
		equal = equal && v.equal(values[0])
	}
	if equal {
		return values[0]
	}
	out := variable{exported: before.exported}
	if keyed := func(v variable) bool { return v.keys != nil }; keyed(before) || slices.ContainsFunc(values, keyed) {
		out.text = computed("${"+name+"}", 0)
		return out
	}
	some := func(is func(variable) bool) bool { return slices.ContainsFunc(values, is) }
	if before.isList || some(func(v variable) bool { return v.isList }) && !some(func(v variable) bool { return !v.isList && v.text != nil }) {
		var front, behind []text
		for _, v := range values {
			if at := within(v.list, before.list); at >= 0 {
				front, behind = append(front, v.list[:at]...), append(behind, v.list[at+len(before.list):]...)
			} else {
				behind = append(behind, v.list...)
			}
		}
		out.isList, out.list = true, slices.Concat(maybe(front), before.list, maybe(behind))
		return out
	}
	if t, ok := around(before.text, values); ok {
		out.text = t
		return out
	}
	options := false
	added := slices.Clone(before.text)
	for _, v := range values {
		rest := v.text
		if strings.HasPrefix(rest.String(), before.text.String()) {
			rest = rest[len(before.text):]
		}
		options = options || strings.Contains(rest.String(), "-")
		added = append(append(added, cell{b: ' '}), rest.with(func(c *cell) { c.maybe = true })...)
	}
	if options && looksLikeOptions(added.String()) || before.text != nil && looksLikeOptions(before.text.String()) {
		out.text = added
		return out
	}
	line := 0
	for _, v := range values {
		if len(v.text) > 0 && line == 0 {
			line = int(v.text[0].line)
		}
	}
	if out.text = unknown("${"+name+"}", line); always {
		out.text = computed("${"+name+"}", line)
	}
	if always && !slices.ContainsFunc(values, func(v variable) bool {
		return v.isList || v.text.any(func(c cell) bool { return c.maybe || c.among != nil })
	}) {
		among := make([]string, len(values))
		for i, v := range values {
			among[i] = v.text.String()
		}
		out.text = out.text.with(func(c *cell) { c.among = &among })
	}
	return out
}

// maybe are texts of which each may be there.
func maybe(list []text) []text {
	all := make([]text, len(list))
	for i, t := range list {
		all[i] = t.with(func(c *cell) { c.maybe = true })
	}
	return all
}

// within is the place of a list at the beginning or the end of another; -1 where it stands at
// neither.
func within(list, part []text) int {
	for _, at := range []int{0, len(list) - len(part)} {
		if at >= 0 && at+len(part) <= len(list) && slices.EqualFunc(list[at:at+len(part)], part, sameText) {
			return at
		}
	}
	return -1
}

// around is a command to which branches add words in front, such as a profiler, and options
// behind, which may be there; false where they do more.
func around(before text, values []variable) (text, bool) {
	command := before.String()
	if !strings.Contains(strings.TrimSpace(command), " ") {
		return nil, false
	}
	var front, behind text
	for _, v := range values {
		s := v.text.String()
		at := strings.Index(s, command)
		if at < 0 || v.isList {
			return nil, false
		}
		if rest := s[at+len(command):]; strings.TrimSpace(rest) != "" && (!looksLikeOptions(rest) || !strings.ContainsAny(rest[:1], " \t\n")) {
			return nil, false
		}
		front = append(front, v.text[:at]...)
		behind = append(behind, v.text[at+len(command):]...)
	}
	maybe := func(c *cell) { c.maybe = true }
	return slices.Concat(front.with(maybe), before, behind.with(maybe)), true
}

// at is the element of a key; nothing where there is none.
func (v variable) at(key string) text {
	if i := slices.Index(v.keys, key); i >= 0 {
		return v.list[i]
	}
	return text{}
}

// put sets the element of a key.
func (v *variable) put(key string, t text) {
	if i := slices.Index(v.keys, key); i >= 0 {
		v.list[i] = t
		return
	}
	v.keys, v.list = append(v.keys, key), append(v.list, t)
}

func looksLikeOptions(s string) bool {
	return strings.HasPrefix(strings.TrimSpace(s), "-") && strings.Contains(s, "--")
}

func joined(words []text) text {
	var all text
	for i, w := range words {
		if i > 0 {
			all = append(all, cell{b: ' ', line: w.firstLine()})
		}
		all = append(all, w...)
	}
	return all
}

func (t text) firstLine() int32 {
	if len(t) == 0 {
		return 0
	}
	return t[0].line
}

// unquoted is a value as a variable holds it: quotes end with the assignment.
func unquoted(t text) text { return t.with(func(c *cell) { c.quoted = c.open }) }
