package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/intake/shell"
)

// verdict is what became of an option of a published launch.
type verdict string

const (
	same      verdict = "same"       // emitted with the same value
	byDefault verdict = "default"    // the value is what the release does without it
	absent    verdict = "absent"     // the release has no such option
	mapped    verdict = "mapped"     // said by another option, variable or file
	argument  verdict = "argument"   // the job could say it; this one does not
	chosen    verdict = "chosen"     // ndc chooses otherwise
	unwanted  verdict = "not wanted" // left out on purpose
	lacking   verdict = "lacking"    // ndc has no word for it
)

// difference is an option that a published launch sets, and what became of it.
type difference struct {
	name    string
	theirs  string
	ours    string // "" when it is not emitted
	set     bool   // it is emitted
	verdict verdict
	why     string
}

// compared is a launch beside what ndc emits for it.
type compared struct {
	*launch
	backend, version string
	options          []difference
	environment      []difference
}

type comparison struct {
	launches []compared
	// example is the launch of a vendor beside an example of this repository.
	example compared
	reasons []reason
}

// settings are options or variables with their values.
type settings map[string]string

const siteValue = "…"

func compareAll(root string) (*comparison, error) {
	launches, err := readLines[launch](root + "/" + launchesPath)
	if err != nil {
		return nil, err
	}
	c := &comparison{}
	if c.reasons, err = readLines[reason](root + "/" + reasonsPath); err != nil {
		return nil, err
	}
	for i := range launches {
		l := &launches[i]
		j, files, err := emitted(root, l)
		if err != nil {
			return nil, err
		}
		one, err := c.compare(l, j.Backend.Kind, j.Backend.Version, files)
		if err != nil {
			return nil, err
		}
		c.launches = append(c.launches, one)
	}
	return c, c.compareExample(root)
}

// exampleOf is the vendor's launch that an example of this repository stands
// beside, option by option.
const exampleName, exampleOf = "deepseek-v3-gb200", "deepseek-v3-gb200-256"

func (c *comparison) compareExample(root string) error {
	files, err := exampleFiles(root, exampleName, "megatron")
	if err != nil {
		return err
	}
	for i := range c.launches {
		if l := &c.launches[i]; l.Name == exampleOf {
			theirs := *l.launch
			theirs.Name = exampleName
			c.example, err = c.compare(&theirs, l.backend, l.version, files)
			return err
		}
	}
	return errors.New("no launch " + exampleOf)
}

func (c *comparison) compare(l *launch, backend, version string, files []backends.Artifact) (compared, error) {
	options, table, err := emittedOptions(backend, version, files)
	if err != nil {
		return compared{}, fmt.Errorf("%s: %w", l.Name, err)
	}
	environment, err := emittedEnvironment(files)
	if err != nil {
		return compared{}, fmt.Errorf("%s: %w", l.Name, err)
	}
	return compared{
		launch: l, backend: backend, version: version,
		options:     c.differences(l, l.Options, options, table),
		environment: c.differences(l, l.Environment, environment, nil),
	}, nil
}

// differences are the verdicts on all that a launch sets, by name. table is the
// release's table of options; nil for variables.
func (c *comparison) differences(l *launch, theirs, ours settings, table *schema.Table) []difference {
	var all []difference
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		d := difference{name: name, theirs: theirs[name]}
		d.ours, d.set = ours[name]
		var option schema.Option
		known := true
		if table != nil {
			option, known = table.Lookup(name)
		}
		switch r := c.reasonFor(l.Name, name); {
		case d.set && equal(d.theirs, d.ours):
			d.verdict = same
		case !d.set && known && option.Default != nil && equal(d.theirs, fmt.Sprint(option.Default)):
			d.verdict = byDefault
		case r != nil:
			r.used = true
			d.verdict, d.why = r.Verdict, r.Why
		case !known:
			d.verdict, d.why = absent, table.Version()+" has no such option"
		}
		all = append(all, d)
	}
	return all
}

// reasonFor is the reason for an option, one for the launch alone before one
// for all.
func (c *comparison) reasonFor(launch, option string) *reason {
	for _, of := range []string{launch, ""} {
		for i := range c.reasons {
			if r := &c.reasons[i]; r.Launch == of && slices.Contains(r.Options, option) {
				return r
			}
		}
	}
	return nil
}

// unexplained are the differences without a reason, and the reasons that
// nothing needs.
func (c *comparison) unexplained() []string {
	var all []string
	for _, l := range append(slices.Clone(c.launches), c.example) {
		for _, d := range slices.Concat(l.options, l.environment) {
			if d.verdict == "" {
				all = append(all, fmt.Sprintf("%s: %s %s (emitted: %q)", l.Name, d.name, d.theirs, d.ours))
			}
		}
	}
	for _, r := range c.reasons {
		if !r.used {
			all = append(all, fmt.Sprintf("nothing: %v", r.Options))
		}
	}
	return all
}

// equal compares values as words, of which some are numbers; what a site sets
// equals whatever is emitted.
func equal(a, b string) bool {
	if a == siteValue {
		return true
	}
	x, y := strings.Fields(strings.Trim(a, "()")), strings.Fields(strings.Trim(b, "()"))
	slices.Sort(x) // of lists such as those of modules, the order says nothing
	slices.Sort(y)
	return slices.EqualFunc(x, y, func(a, b string) bool {
		p, err := strconv.ParseFloat(a, 64)
		q, wrong := strconv.ParseFloat(b, 64)
		return strings.EqualFold(a, b) || err == nil && wrong == nil && p == q
	})
}

// emittedOptions reads what ndc wrote: the command line of Megatron-LM, the
// configurations of the others.
func emittedOptions(backend, version string, files []backends.Artifact) (settings, *schema.Table, error) {
	switch backend {
	case "megatron":
		table, _ := megatron.Tables(version)
		s, err := commandLine(content(files, "launch.sh"))
		return s, table, err
	case "torchtitan":
		table, _ := torchtitan.Tables(version)
		var tree map[string]any
		err := toml.Unmarshal(content(files, "train.toml"), &tree)
		return flatten(tree), table, err
	default:
		table, _ := deepspeed.Tables(version)
		var tree map[string]any
		err := json.Unmarshal(content(files, "ds_config.json"), &tree)
		return flatten(tree), table, err
	}
}

// commandLine are the options behind the program that torchrun starts.
func commandLine(script []byte) (settings, error) {
	read, err := shell.Read(script, shell.Call{})
	if err != nil {
		return nil, err
	}
	s, name := settings{}, ""
	for _, command := range read.Commands {
		started := false
		for _, w := range command.Words {
			switch text := w.Text; {
			case strings.HasSuffix(text, ".py"):
				started = true
			case !started:
			case strings.HasPrefix(text, "--"):
				option, value, _ := strings.Cut(text, "=")
				name, s[option] = option, value
			case name != "":
				s[name] = strings.TrimSpace(s[name] + " " + text)
			}
		}
	}
	if len(s) == 0 {
		return nil, errors.New("launch.sh starts no program with options")
	}
	return s, nil
}

// emittedEnvironment are the variables that environment.sh sets.
func emittedEnvironment(files []backends.Artifact) (settings, error) {
	read, err := shell.Read(content(files, "environment.sh"), shell.Call{})
	if err != nil {
		return nil, err
	}
	s := settings{}
	for _, e := range read.Exports {
		s[e.Name] = e.Value.Text
	}
	return s, nil
}

// flatten names every value of a configuration by its path.
func flatten(tree map[string]any) settings {
	s := settings{}
	for key, value := range tree {
		if inner, ok := value.(map[string]any); ok {
			for path, v := range flatten(inner) {
				s[key+"."+path] = v
			}
			continue
		}
		s[key] = words(value)
	}
	return s
}

// words writes a value as launches.jsonl does: lists as JSON.
func words(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	b, err := json.Marshal(value)
	if err != nil {
		panic("launches: " + err.Error()) // TOML and JSON have nothing else
	}
	return string(b)
}
