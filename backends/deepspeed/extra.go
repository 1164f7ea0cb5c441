package deepspeed

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

//go:embed options.jsonl
var optionClasses string

// extra says of every key of every release's configuration what it does as an
// extra argument.
var extra = schema.Extra{Classes: schema.EmbeddedClasses(optionClasses), Repeated: PlannedOption, Unplanned: UnplannedOption, Uncounted: UncountedOption}

// checkExtraArguments passes extra_args through the release's table, and says
// what they do to the plan.
func checkExtraArguments(j *job.Job, v version, diags *diag.List) {
	for i, argument := range j.Backend.ExtraArgs {
		at := j.Sources.Range(fmt.Sprintf("backend.extra_args[%d]", i))
		path, text, ok := strings.Cut(argument, "=")
		if !ok {
			diags.Error(UnknownOption, at, "Extra argument without a value",
				fmt.Sprintf("Extra arguments of DeepSpeed are keys of ds_config.json with a value, such as zero_optimization.round_robin_gradients=true; %q has no \"=\".", argument))
			continue
		}
		if p := check(v.options, path, decode(text)); p != nil {
			diags.Error(UnknownOption, at, "Extra argument not available in this version", p.Error())
			continue
		}
		option, _ := v.options.Lookup(path)
		extra.Report(option, path, at, diags)
	}
}

// extraArguments adds the backend block's extra_args, each KEY.PATH=VALUE with
// a JSON value (a bare word is a string), in place of what ndc chose.
func (e *emitter) extraArguments(config render.Object) render.Object {
	for _, argument := range e.job.Backend.ExtraArgs {
		path, text, _ := strings.Cut(argument, "=")
		config = insert(config, e.place(config, path), decode(text))
	}
	return config
}

// place is where a key stands in a configuration that has it under another of
// its names, or else the key itself.
func (e *emitter) place(config render.Object, path string) []string {
	option, _ := e.version.options.Lookup(path)
	for _, name := range option.Names {
		if _, ok := lookUp(config, strings.Split(name, ".")); ok {
			path = name
		}
	}
	return strings.Split(path, ".")
}

// origins are comments on the keys of ds_config.json, which has no place for
// any, that come from extra_args.
func (e *emitter) origins(config render.Object) []string {
	var lines []string
	for _, argument := range e.job.Backend.ExtraArgs {
		path, _, _ := strings.Cut(argument, "=")
		line := "# ds_config.json, spec: backend.extra_args: " + oneLine(argument)
		if value, ok := lookUp(config, e.place(config, path)); ok {
			line += fmt.Sprintf(", in place of %v", value)
		}
		lines = append(lines, line)
	}
	return lines
}

// oneLine keeps a comment in its line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// lookUp is the value at a path of an object.
func lookUp(o render.Object, path []string) (any, bool) {
	for _, m := range o {
		if m.Key != path[0] {
			continue
		}
		if inner, ok := m.Value.(render.Object); ok && len(path) > 1 {
			return lookUp(inner, path[1:])
		}
		return m.Value, len(path) == 1
	}
	return nil, false
}
