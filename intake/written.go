package intake

import (
	"bytes"
	"encoding/base64"
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/settings"
	"github.com/ndc-dev/ndc/intake/shell"
)

// written are the configurations that scripts write before they start a framework with
// them, or give it in base64, as files that stand beside the scripts. Of several it is those that a command or
// another of them names, and of one path what was written last.
func (in *intake) written() (all []File) {
	for f, s := range in.whole() {
		var own, named []File
		for i, d := range s.Documents {
			later := slices.ContainsFunc(s.Documents[i+1:], func(o shell.Document) bool { return o.Path.Text == d.Path.Text })
			doc := File{Name: f.Name + ":" + d.Path.Text, Content: []byte(d.Content)}
			if later || !isTorchTitan(doc) && !isDeepSpeed(doc) && !isAccelerate(doc) {
				continue
			}
			own = append(own, doc)
			if names(s, d) {
				named = append(named, doc)
			}
		}
		if doc, ok := encoded(f.Name, s.Commands); ok {
			named = append(named, doc)
		}
		if len(named) > 0 {
			own = named
		}
		_, other := launched(s)
		if _, engine := in.engine(); !other || engine {
			all = append(all, own...)
		}
	}
	return all
}

// encoded is the configuration of DeepSpeed that the first of a script's commands with one
// gives in base64, where the name of a file belongs (DeepSpeed 0.19.8, runtime/config.py:
// DeepSpeedConfig.__init__).
func encoded(script string, commands []shell.Command) (File, bool) {
	for _, c := range commands {
		for i, w := range c.Words {
			name, value, joined := strings.Cut(w.Text, "=")
			switch settings.Underscored(name) {
			case "--deepspeed", "--deepspeed_config", "--deepspeed_config_file":
			default:
				continue
			}
			if !joined && i+1 < len(c.Words) {
				value = c.Words[i+1].Text
			}
			content, err := base64.URLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(value))
			if doc := (File{Name: script + ":" + name, Content: content}); err == nil && isDeepSpeed(doc) {
				return doc, true
			}
		}
	}
	return File{}, false
}

// rewritten are the files with the configurations that scripts write, which stand for
// files of these names: a run reads what its script has written last.
func (in *intake) rewritten(written []File) []File {
	var all []File
	for _, f := range in.files {
		i := slices.IndexFunc(written, func(w File) bool {
			_, to, _ := strings.Cut(w.Name, ":")
			one, other := "/"+path.Clean(to), "/"+path.Clean(f.Name)
			return strings.HasSuffix(one, other) || strings.HasSuffix(other, one)
		})
		if i < 0 {
			all = append(all, f)
			continue
		}
		script, _, _ := strings.Cut(written[i].Name, ":")
		found := draft.Finding{Place: draft.Place{File: f.Name, Line: 1}, Name: path.Base(f.Name), Verdict: draft.Left, Why: script + " writes it, and what it writes is read"}
		if !bytes.Equal(bytes.TrimSpace(f.Content), bytes.TrimSpace(written[i].Content)) {
			found.Verdict, found.Why = draft.Unknown, script+" writes it before it starts the launch, and writes something else, which is read"
		}
		in.d.Find(found)
	}
	return append(all, written...)
}

// names reports a file that a script writes and that one of its commands, or another file
// that it writes, goes by.
func names(s *shell.Script, d shell.Document) bool {
	is := func(w shell.Word) bool {
		_, value, joined := strings.Cut(w.Text, "=")
		return path.Clean(w.Text) == path.Clean(d.Path.Text) || joined && path.Clean(value) == path.Clean(d.Path.Text)
	}
	return slices.ContainsFunc(append(slices.Clip(s.Commands), s.Lists...), func(c shell.Command) bool {
		return path.Base(c.Words[0].Text) != "tee" && slices.ContainsFunc(c.Words, is)
	}) || slices.ContainsFunc(s.Documents, func(o shell.Document) bool {
		return o.Path.Text != d.Path.Text && strings.Contains(o.Content, path.Base(d.Path.Text))
	})
}
