package megatron

import (
	"embed"
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/backends/schema"
)

//go:embed schema/*.jsonl
var tables embed.FS

//go:generate sh -c "python3 ../../tools/schema-megatron/dump.py > schema/core_v0.19.0.jsonl"

// version is one supported release of Megatron-LM.
type version struct {
	name         string // the tag, such as core_v0.18.2
	minor, patch int    // of 0.minor.patch
	table        string // the release whose option table it shares
	// torch is the release in the oldest container image that the version's
	// docker/.ngc_version files name; it decides the allocator variable.
	torch string
	// engine is the minor release of Transformer Engine 2 that the version's
	// pyproject.toml and uv.lock name.
	engine int
	// python is the oldest CPython that the version's metadata accepts.
	python string

	options *schema.Table
}

// versions lists the supported releases, oldest first. A patch release shares
// the table of its .0, except 0.17.1, which added options: the tables were
// dumped from every tag and compared.
var versions = load([]version{
	{name: "core_v0.15.0", minor: 15, patch: 0, torch: "2.7", engine: 9, python: "3.10"},
	{name: "core_v0.15.1", minor: 15, patch: 1, torch: "2.7", engine: 9, python: "3.10", table: "core_v0.15.0"},
	{name: "core_v0.15.2", minor: 15, patch: 2, torch: "2.7", engine: 9, python: "3.10", table: "core_v0.15.0"},
	{name: "core_v0.15.3", minor: 15, patch: 3, torch: "2.7", engine: 9, python: "3.10", table: "core_v0.15.0"},
	{name: "core_v0.16.0", minor: 16, patch: 0, torch: "2.9", engine: 12, python: "3.10"},
	{name: "core_v0.16.1", minor: 16, patch: 1, torch: "2.9", engine: 12, python: "3.10", table: "core_v0.16.0"},
	{name: "core_v0.17.0", minor: 17, patch: 0, torch: "2.9", engine: 14, python: "3.12"},
	{name: "core_v0.17.1", minor: 17, patch: 1, torch: "2.9", engine: 14, python: "3.12"},
	{name: "core_v0.18.0", minor: 18, patch: 0, torch: "2.9", engine: 16, python: "3.12"},
	{name: "core_v0.18.2", minor: 18, patch: 2, torch: "2.9", engine: 16, python: "3.12", table: "core_v0.18.0"},
	{name: "core_v0.19.0", minor: 19, patch: 0, torch: "2.9", engine: 17, python: "3.12"},
	{name: "core_v0.19.2", minor: 19, patch: 2, torch: "2.9", engine: 17, python: "3.12", table: "core_v0.19.0"},
})

func load(list []version) []version {
	parsed := map[string]*schema.Table{}
	for i := range list {
		v := &list[i]
		if v.table == "" {
			v.table = v.name
		}
		if parsed[v.table] == nil {
			parsed[v.table] = schema.Embedded("Megatron-LM "+v.table, tables, "schema/"+v.table+".jsonl")
		}
		v.options = parsed[v.table].Named("Megatron-LM " + v.name)
	}
	return list
}

// find returns the release of this name; a missing "core_v" is forgiven.
func find(name string) (*version, bool) {
	for i := range versions {
		if v := &versions[i]; v.name == name || strings.TrimPrefix(v.name, "core_v") == name {
			return v, true
		}
	}
	return nil, false
}

// atLeast reports whether the release is 0.minor.patch or newer.
func (v *version) atLeast(minor, patch int) bool {
	return v.minor > minor || v.minor == minor && v.patch >= patch
}

// since names the oldest supported release whose table has the option, or
// whose choices include value when that is not empty; "" when none has.
func since(option, value string) string {
	for i := range versions {
		v := &versions[i]
		if v.options.Has(option) && (value == "" || v.options.Offers(option, value)) {
			return v.name
		}
	}
	return ""
}

// sinceSentence says which release has an option, for the end of a message.
func sinceSentence(option, value string) string {
	if s := since(option, value); s != "" {
		return fmt.Sprintf("Megatron-LM has it from %s on.", s)
	}
	return "No supported version of Megatron-LM has it."
}
