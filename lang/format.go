package lang

import (
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
)

// Format returns src in the canonical layout of spaces and alignment. A file
// that does not parse comes back as it is, with its diagnostics.
func Format(src []byte, filename string) ([]byte, diag.List) {
	if _, diags := parseSource(src, filename); diags.HasErrors() {
		return src, diags
	}
	return hclwrite.Format(src), nil
}

// Quote spells a text as a string of the language, in which ${ and %{ would
// begin a template.
func Quote(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}
