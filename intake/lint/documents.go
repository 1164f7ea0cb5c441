package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/intake/tree"
)

// checkDocuments checks the configurations of DeepSpeed that the script writes
// from here-documents.
func checkDocuments(s *script) {
	for _, d := range s.shell.Documents {
		if n, err := tree.JSON([]byte(d.Content)); err == nil && isEngine(n.Object()) {
			s.engine(n.Object(), d.Line-1)
		}
	}
}

// isEngine reports a configuration of DeepSpeed.
func isEngine(o tree.Object) bool {
	return slices.ContainsFunc(o, func(m tree.Member) bool {
		return slices.Contains([]string{"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"}, m.Key)
	})
}

// configurations are what files are that are named with scripts, by the end of their names.
var configurations = map[string]string{".json": "JSON", ".toml": "TOML", ".yaml": "YAML", ".yml": "YAML", ".py": "a program in Python", ".hcl": "a job of ndc, which `ndc validate` checks"}

// object is the beginning of a JSON object, which a file may be whatever its name.
var object = regexp.MustCompile(`^\s*\{\s*"[^"\\$]*"\s*:`)

// interpreter is what runs a script that is none for bash.
var interpreter = regexp.MustCompile(`^#![ \t]*(?:\S*/env[ \t]+(?:-S[ \t]+)?)?(?:\S*/)?(t?csh|fish|python[0-9.]*|perl|ruby|node|Rscript|julia|uv)\s`)

// isNoScript reports a file that bash does not read, of which the keys are checked where it is a
// configuration of DeepSpeed.
func (s *script) isNoScript() bool {
	if m := interpreter.FindSubmatchIndex(s.src); m != nil {
		s.report(Syntax, s.span(m[2], m[3]), fmt.Sprintf("%s runs it, and what is looked at are scripts for bash and sbatch.", s.src[m[2]:m[3]]))
		return true
	}
	what := configurations[path.Ext(s.name)]
	if what == "" && object.Match(s.src) {
		what = "JSON"
	}
	if what == "JSON" {
		if n, err := tree.JSON(s.src); err != nil {
			at, why, placed := strings.Cut(strings.TrimPrefix(err.Error(), "line "), ": ")
			line, _ := strconv.Atoi(at)
			if !placed {
				why = at
			}
			s.report(Syntax, s.line(line), fmt.Sprintf("It is no JSON: %s. DeepSpeed does not start with it.", why))
			return true
		} else if isEngine(n.Object()) {
			s.engine(n.Object(), 0)
			return true
		}
	}
	if what != "" {
		s.report(Syntax, s.span(0, 1), fmt.Sprintf("It is %s. What is looked at are scripts for bash and sbatch, and configurations of DeepSpeed.", what))
	}
	return what != ""
}

// engine checks a configuration of DeepSpeed that begins behind a line.
func (s *script) engine(o tree.Object, line int) {
	s.keys(o, "", line)
	on := func(block string) (at int) {
		for _, m := range o {
			if enabled, ok := m.Object().Find("enabled"); m.Key == block && ok && enabled.Value == true {
				at = m.Line
			}
		}
		return at
	}
	// DeepSpeed 0.16.4 to 0.19.8, deepspeed/runtime/config.py: DeepSpeedConfig._initialize_params
	if fp16, bf16 := on("fp16"), on("bf16"); fp16 > 0 && bf16 > 0 {
		s.report(Contradiction, s.find(line+bf16, "bf16"), fmt.Sprintf("bf16 and fp16, on line %d, are both enabled: every release of DeepSpeed ends with an AssertionError. Switch one off.", line+fp16))
	}
}

// closedBlock is a block of a configuration in which DeepSpeed ends at a key that it does not
// have, by the path of what it holds: every release, or those from one on.
type closedBlock struct{ Above, Since, Source string }

var closed = table[closedBlock]("closed")

// keys reports keys that no release of DeepSpeed has and at which it ends, or that are nearly
// one of their place. Programs keep keys of their own there, too, and what begins with
// another character than a letter is switched off.
func (s *script) keys(o tree.Object, above string, line int) {
	known := deepSpeedKeys()[above]
	at := slices.IndexFunc(closed(), func(c closedBlock) bool { return c.Above == above })
	ends := at >= 0
	for _, m := range o {
		if !ends && !strings.ContainsFunc(m.Key[:min(1, len(m.Key))], unicode.IsLetter) {
			continue
		}
		if near := closest(m.Key, known); (ends || near != "") && !slices.Contains(known, m.Key) {
			all := (deepspeed.Backend{}).Versions()
			text := fmt.Sprintf("No release of DeepSpeed from %s to %s has a key %s", all[0], all[len(all)-1], above+m.Key)
			if ends && closed()[at].Since != "" {
				text += fmt.Sprintf(", and those from %s on do not start with a key there that they do not have", closed()[at].Since)
			} else if ends {
				text += ", and none starts with a key there that it does not have"
			}
			if text += "."; near != "" {
				text += fmt.Sprintf(" Did you mean %s?", near)
			}
			s.report(UnknownKey, s.find(line+m.Line, m.Key), text)
		}
		s.keys(m.Object(), above+m.Key+".", line)
	}
}

// deepSpeedKeys are the keys of all releases by the path of what holds them,
// which ends in a dot.
var deepSpeedKeys = sync.OnceValue(func() map[string][]string {
	keys := map[string][]string{}
	for _, v := range (deepspeed.Backend{}).Versions() {
		t, _ := deepspeed.Tables(v)
		for _, name := range t.Names() {
			parts := strings.Split(name, ".")
			for i := range parts {
				above := strings.Join(parts[:i], ".")
				if i > 0 {
					above += "."
				}
				if !slices.Contains(keys[above], parts[i]) {
					keys[above] = append(keys[above], parts[i])
				}
			}
		}
	}
	return keys
})
