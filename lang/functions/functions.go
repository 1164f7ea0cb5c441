// Package functions holds the functions of the job language: those of
// Terraform that are pure, under Terraform's names and with its semantics.
// Nothing here reads a clock, a random source, a file or the environment.
// Package lang offers the table to expressions.
package functions

import (
	"slices"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Table maps names to functions. The map is shared: callers must not change it.
func Table() map[string]function.Function { return table }

// Names lists the functions in alphabetical order.
func Names() []string {
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Impure says why a function that Terraform has is missing here: what it
// would read, or hide, and what to do. It returns "" for any other name.
func Impure(name string) string { return impure[name] }

var table = map[string]function.Function{
	// Numbers.
	"abs":      stdlib.AbsoluteFunc,
	"ceil":     stdlib.CeilFunc,
	"floor":    stdlib.FloorFunc,
	"log":      agreed(stdlib.LogFunc),
	"max":      stdlib.MaxFunc,
	"min":      stdlib.MinFunc,
	"parseint": stdlib.ParseIntFunc,
	"pow":      agreed(stdlib.PowFunc),
	"signum":   stdlib.SignumFunc,
	"sum":      sumFunc,

	// Text.
	"basename":    textFunc(baseName),
	"chomp":       stdlib.ChompFunc,
	"dirname":     textFunc(dirName),
	"endswith":    matchFunc("suffix", hasSuffix),
	"format":      stdlib.FormatFunc,
	"formatlist":  stdlib.FormatListFunc,
	"indent":      stdlib.IndentFunc,
	"join":        stdlib.JoinFunc,
	"lower":       stdlib.LowerFunc,
	"regex":       stdlib.RegexFunc,
	"regexall":    stdlib.RegexAllFunc,
	"replace":     replaceFunc,
	"split":       stdlib.SplitFunc,
	"startswith":  matchFunc("prefix", hasPrefix),
	"strcontains": matchFunc("substr", contains),
	"strrev":      stdlib.ReverseFunc,
	"substr":      stdlib.SubstrFunc,
	"title":       stdlib.TitleFunc,
	"trim":        stdlib.TrimFunc,
	"trimprefix":  stdlib.TrimPrefixFunc,
	"trimspace":   stdlib.TrimSpaceFunc,
	"trimsuffix":  stdlib.TrimSuffixFunc,
	"upper":       stdlib.UpperFunc,

	// Collections.
	"alltrue":         truthFunc(true),
	"anytrue":         truthFunc(false),
	"chunklist":       stdlib.ChunklistFunc,
	"coalesce":        coalesceFunc,
	"coalescelist":    stdlib.CoalesceListFunc,
	"compact":         stdlib.CompactFunc,
	"concat":          stdlib.ConcatFunc,
	"contains":        stdlib.ContainsFunc,
	"distinct":        stdlib.DistinctFunc,
	"element":         stdlib.ElementFunc,
	"flatten":         stdlib.FlattenFunc,
	"index":           indexFunc,
	"keys":            stdlib.KeysFunc,
	"length":          lengthFunc,
	"lookup":          lookupFunc,
	"matchkeys":       matchKeysFunc,
	"merge":           stdlib.MergeFunc,
	"one":             oneFunc,
	"range":           stdlib.RangeFunc,
	"reverse":         stdlib.ReverseListFunc,
	"setintersection": stdlib.SetIntersectionFunc,
	"setproduct":      stdlib.SetProductFunc,
	"setsubtract":     stdlib.SetSubtractFunc,
	"setunion":        stdlib.SetUnionFunc,
	"slice":           stdlib.SliceFunc,
	"sort":            stdlib.SortFunc,
	"transpose":       transposeFunc,
	"values":          stdlib.ValuesFunc,
	"zipmap":          stdlib.ZipmapFunc,

	// Encodings and hashes.
	"base64decode":     base64DecodeFunc,
	"base64encode":     textFunc(base64Encode),
	"base64gzip":       base64Gzip,
	"base64sha256":     textFunc(base64SHA256),
	"base64sha512":     textFunc(base64SHA512),
	"csvdecode":        stdlib.CSVDecodeFunc,
	"jsondecode":       stdlib.JSONDecodeFunc,
	"jsonencode":       stdlib.JSONEncodeFunc,
	"md5":              textFunc(hexMD5),
	"sha1":             textFunc(hexSHA1),
	"sha256":           textFunc(hexSHA256),
	"sha512":           textFunc(hexSHA512),
	"textdecodebase64": textDecodeBase64Func,
	"textencodebase64": textEncodeBase64Func,
	"urldecode":        urlDecodeFunc,
	"urlencode":        textFunc(urlEncode),
	"yamldecode":       yaml.YAMLDecodeFunc,
	"yamlencode":       yaml.YAMLEncodeFunc,

	// Given dates; none of these asks for the present one.
	"formatdate": stdlib.FormatDateFunc,
	"timeadd":    stdlib.TimeAddFunc,
	"timecmp":    timeCmpFunc,

	// Networks.
	"cidrhost":    cidrHostFunc,
	"cidrnetmask": cidrNetmaskFunc,
	"cidrsubnet":  cidrSubnetFunc,
	"cidrsubnets": cidrSubnetsFunc,

	// Types.
	"can":      tryfunc.CanFunc,
	"try":      tryfunc.TryFunc,
	"tobool":   convertFunc(cty.Bool),
	"tolist":   convertFunc(cty.List(cty.DynamicPseudoType)),
	"tomap":    convertFunc(cty.Map(cty.DynamicPseudoType)),
	"tonumber": convertFunc(cty.Number),
	"toset":    convertFunc(cty.Set(cty.DynamicPseudoType)),
	"tostring": convertFunc(cty.String),
}

const (
	asVariable  = ". Pass what you need as a variable."
	readsClock  = "it reads the clock, and the same files must always give the same result" + asVariable
	readsRandom = "it is random, and the same files must always give the same result" + asVariable
	readsFiles  = "it reads the machine that ndc runs on, and the same files must give the same result everywhere" + asVariable
	unplaced    = "an error in a template that is a value has no place to point at. Write the template where it is used."
	hides       = "nothing of a job is hidden, for its files are for everybody to read. Leave it out."
)

var impure = map[string]string{
	"timestamp": readsClock, "plantimestamp": readsClock,
	"uuid": readsRandom, "bcrypt": readsRandom,
	"file": readsFiles, "fileexists": readsFiles, "fileset": readsFiles, "filebase64": readsFiles,
	"templatefile": readsFiles, "abspath": readsFiles, "pathexpand": readsFiles,
	"filemd5": readsFiles, "filesha1": readsFiles, "filesha256": readsFiles, "filesha512": readsFiles,
	"filebase64sha256": readsFiles, "filebase64sha512": readsFiles,
	"sensitive": hides, "nonsensitive": hides, "issensitive": hides, "ephemeralasnull": hides, "rsadecrypt": hides,
	"templatestring": unplaced,
	"env":            readsFiles, "getenv": readsFiles, "get_env": readsFiles,
}
