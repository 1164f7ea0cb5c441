package torchtitan

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

//go:embed options.jsonl
var optionClasses string

// extra says of every option of both releases what it does as an extra argument.
var extra = schema.Extra{Classes: schema.EmbeddedClasses(optionClasses), Repeated: RepeatedOption, Unplanned: UnplannedOption, Uncounted: UncountedOption}

// userSetting is one of extra_args, written as for the framework's command
// line: --section.key=value.
type userSetting struct{ word, path, value string }

func userSettings(j *job.Job) []userSetting {
	var all []userSetting
	for _, word := range j.Backend.ExtraArgs {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		all = append(all, userSetting{word, strings.ReplaceAll(name, "-", "_"), value})
	}
	return all
}

// checkExtraArgs passes extra_args through the same table as emitted options,
// and says what they do to the plan.
func (v *version) checkExtraArgs(j *job.Job, diags *diag.List) {
	for i, u := range userSettings(j) {
		at := j.Sources.Range(fmt.Sprintf("backend.extra_args[%d]", i))
		option, _ := v.options.Lookup(u.path)
		words := []string{u.value}
		if option.Count.Max != 1 { // a list, as the framework's command line splits it
			words = strings.Split(u.value, ",")
		}
		if p := v.options.Check(u.path, words...); p != nil {
			diags.Error(InvalidOption, at, "Argument that TorchTitan does not take",
				p.Error()+" extra_args are written as \"--section.key=value\".")
			continue
		}
		extra.Report(option, u.path, at, diags)
	}
}

// withoutReplaced leaves out what extra_args set in ndc's place.
func (b *build) withoutReplaced(all []setting) []setting {
	var kept []setting
	for _, s := range all {
		if _, replaced := b.replaced(s.path); !replaced {
			kept = append(kept, s)
		}
	}
	return kept
}

func (b *build) replaced(path string) (userSetting, bool) {
	for _, u := range userSettings(b.j) {
		if u.path == path {
			return u, true
		}
	}
	return userSetting{}, false
}

// spelled is an extra argument as the framework's command line takes it: there a switch
// has no value, and is turned off by another name.
func (v *version) spelled(u userSetting) string {
	option, _ := v.options.Lookup(u.path)
	if option.Type != "bool" {
		return u.word
	}
	if u.value == "true" {
		return "--" + u.path
	}
	dot := strings.LastIndexByte(u.path, '.')
	return "--" + u.path[:dot+1] + "no_" + u.path[dot+1:]
}

// extra are extra_args as words of the command line, each with what it stands
// in place of among ndc's settings.
func (b *build) extra(all []setting) []slurm.Argument {
	var arguments []slurm.Argument
	for _, u := range userSettings(b.j) {
		why := "spec: extra_args"
		for _, s := range all {
			if s.path == u.path {
				why += fmt.Sprintf(", in place of %s", strings.Join(values(s.value), " "))
			}
		}
		arguments = append(arguments, slurm.Option(why, b.v.spelled(u)))
	}
	return arguments
}
