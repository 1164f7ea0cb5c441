package outline

import "github.com/hashicorp/hcl/v2/hclsyntax"

// Reference is a name of several steps as an expression has it, such as
// module.base["a"].model.big.
type Reference struct {
	Steps []Text // without text where a step is computed
	Block *Block // around it; nil at the top
}

// References lists what the expressions of a file refer to. What a for expression
// names is its own affair.
func (f *File) References() []Reference {
	var list []Reference
	var scopes []scope
	for i := range f.tokens {
		t := &f.tokens[i]
		for len(scopes) > 0 && scopes[len(scopes)-1].end <= i {
			scopes = scopes[:len(scopes)-1]
		}
		if t.role != expression || t.kind != hclsyntax.TokenIdent || i > 0 && f.tokens[i-1].kind == hclsyntax.TokenDot {
			continue
		}
		root := f.text(i)
		if root.Text == "for" {
			scopes = append(scopes, f.scope(i))
			continue
		}
		if steps := f.follow(i + 1); len(steps) > 0 && !bound(scopes, root.Text) {
			list = append(list, Reference{append([]Text{root}, steps...), t.block})
		}
	}
	return list
}

// scope is what a for expression names, up to a token.
type scope struct {
	names []string
	end   int
}

func bound(scopes []scope, name string) bool {
	for _, s := range scopes {
		for _, n := range s.names {
			if n == name {
				return true
			}
		}
	}
	return false
}

// scope reads the names behind the word for, which hold up to the end of the bracket
// or brace that it stands in.
func (f *File) scope(i int) scope {
	s := scope{end: i}
	for i++; i < len(f.tokens) && (f.tokens[i].kind == hclsyntax.TokenIdent || f.tokens[i].kind == hclsyntax.TokenComma); i++ {
		if name := f.text(i).Text; name == "in" {
			break
		} else if name != "," {
			s.names = append(s.names, name)
		}
	}
	depth := 1
	for s.end = i; s.end < len(f.tokens) && depth > 0; s.end++ {
		switch f.tokens[s.end].kind {
		case hclsyntax.TokenOBrack, hclsyntax.TokenOBrace:
			depth++
		case hclsyntax.TokenCBrack, hclsyntax.TokenCBrace:
			depth--
		}
	}
	return s
}
