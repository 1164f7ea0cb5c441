package render

// LineJSON writes v as JSON for people who compare two versions of it line by
// line: members of objects have lines of their own, and so have elements of
// lists, but what is inside an element stays on its line, as lists of mere
// values do.
func LineJSON(v any) ([]byte, error) {
	compact, err := marshal(v)
	if err != nil {
		return nil, err
	}
	b, _ := appendLines(make([]byte, 0, len(compact)+len(compact)/2), compact, "\n")
	return append(b, '\n'), nil
}

// appendLines appends the value that compact JSON begins with and returns the rest. What
// begins a line where the value stands is an end of line and its indent.
func appendLines(b, text []byte, line string) (out, rest []byte) {
	isObject := text[0] == '{'
	if !isObject && text[0] != '[' || text[1] == '}' || text[0] == '[' && text[1] != '[' && text[1] != '{' { // nothing, or mere values
		return appendSpaced(b, text)
	}
	inner := line + "  "
	b, text = append(b, text[0]), text[1:]
	for {
		b = append(b, inner...)
		if isObject {
			b, text = appendSpaced(b, text)
			b, text = append(b, ": "...), text[1:]
			b, text = appendLines(b, text, inner)
		} else {
			b, text = appendSpaced(b, text)
		}
		end := text[0]
		text = text[1:]
		if end != ',' {
			return append(append(b, line...), end), text
		}
		b = append(b, end)
	}
}

// appendSpaced appends the value that compact JSON begins with, with a space behind its
// commas and colons, and returns the rest.
func appendSpaced(b, text []byte) (out, rest []byte) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			b = append(b, c)
			i++
			c = text[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']'):
			return b, text[i:]
		case c == '}' || c == ']':
			depth--
		}
		b = append(b, c)
		if !quoted && (c == ',' || c == ':') {
			b = append(b, ' ')
		}
	}
	return b, nil
}
