package intake

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/shell"
)

//go:embed containers.jsonl
var containersFile string

// containerProgram starts a command in an image: a line of containers.jsonl.
type containerProgram struct {
	Programs []string `json:"programs"` // its names
	Runtime  string   `json:"runtime"`  // of the language's; "": ndc writes no scripts for it
	Starts   []string `json:"starts"`   // commands of it that do
	Values   []string `json:"values"`   // options that have a value
	Homeless []string `json:"homeless"` // options that leave out the user's home
	Binds    []string `json:"binds"`    // variables that mount as its option does
	Source   string   `json:"source"`
}

var containerPrograms = sync.OnceValue(func() []containerProgram {
	return facts.Lines[containerProgram]("intake: containers.jsonl", containersFile)
})

// contains is what a word starts that starts a command in an image; nil for another word.
func contains(w shell.Word) *containerProgram {
	for i, p := range containerPrograms() {
		if slices.Contains(p.Programs, path.Base(w.Text)) {
			return &containerPrograms()[i]
		}
	}
	return nil
}

// apptainer keeps the image in which Apptainer, or Singularity, starts a command, and what it
// mounts; false where a command starts none. A script of ndc's own mounts what ndc mounts by
// itself, too.
func (in *intake) apptainer(file string, s *shell.Script, c shell.Command, own bool) bool {
	start := slices.IndexFunc(c.Words, func(w shell.Word) bool { p := contains(w); return p != nil && p.Runtime != "" })
	if start < 0 || start+2 >= len(c.Words) {
		return false
	}
	program := contains(c.Words[start])
	if !slices.Contains(program.Starts, c.Words[start+1].Text) {
		return false
	}
	open := func(w shell.Word, name, value string) {
		in.d.Find(draft.Finding{Place: megatron.Place(file, w), Name: name, Value: draft.Guarded("", value), Verdict: draft.Unknown, Why: draft.OnlyRunKnows})
	}
	unknown := func(text string) bool { return strings.ContainsAny(text, "$`(<") }
	words := c.Words[start+2:]
	var mounted []string
	bind := func(w shell.Word, name, value string) {
		for m := range strings.SplitSeq(value, ",") {
			whole := m
			if !strings.Contains(m, ":") {
				whole += ":" + m
			}
			switch {
			case unknown(m) && own, m == "", slices.Contains(mounted, whole):
			case unknown(m):
				open(w, name, m)
			default:
				mounted = append(mounted, whole)
			}
		}
	}
	for i, e := range s.Exports {
		again := slices.ContainsFunc(s.Exports[i+1:], func(o shell.Export) bool { return o.Name == e.Name })
		if !slices.Contains(program.Binds, e.Name) || again || e.Value.Maybe {
			continue
		}
		in.d.Correct(megatron.Place(file, e.Value), e.Name, draft.Mapped, "slurm.container.mounts", "")
		bind(e.Value, e.Name, e.Value.Text)
	}
	home, folder := true, ""
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		w := words[0]
		name, value, joined := strings.Cut(w.Text, "=")
		words = words[1:]
		if !joined && slices.Contains(program.Values, name) && len(words) > 0 {
			value, words = words[0].Text, words[1:]
		}
		switch {
		case slices.Contains(program.Homeless, name):
			home = false
		case name == "--bind" || name == "-B":
			bind(w, name, value)
		case (name == "--pwd" || name == "--cwd") && path.IsAbs(value) && !unknown(value):
			folder = value
		}
	}
	if len(words) == 0 {
		return false
	}
	image, at := words[0], megatron.Place(file, words[0])
	if image.Open || unknown(image.Text) {
		open(image, path.Base(c.Words[start].Text), image.Text)
		return true
	}
	in.d.Set(containerImage, image.Text, at)
	in.d.Set("slurm.container.runtime", program.Runtime, at)
	if home {
		in.d.Set("slurm.container.mount_home", true, at)
	}
	if folder != "" {
		in.d.Set("slurm.container.workdir", folder, at)
	}
	if mounted != nil {
		in.d.Set("slurm.container.mounts", mounted, at)
	}
	return true
}

// inside reads the container in which a launch is started by Apptainer, and names another one.
func (in *intake) inside(file string, s *shell.Script, c shell.Command) {
	i := slices.IndexFunc(in.files, func(f File) bool { return f.Name == file })
	own := i >= 0 && generated.Match(in.files[i].Content)
	for _, o := range around(s, c) {
		if in.apptainer(file, s, o, own) {
			return
		}
		for _, w := range o.Words {
			if strings.HasSuffix(w.Text, ".py") {
				break
			}
			if p := contains(w); p != nil && p.Runtime == "" {
				in.d.Find(draft.Finding{Place: megatron.Place(file, w), Name: path.Base(w.Text), Verdict: draft.Unknown, Why: "it starts the launch in a container: slurm.container.image names its image, for pyxis or Apptainer"})
				return
			}
		}
	}
}

// lost takes back where a run writes what it logs to a path that is relative in a
// container that starts in its image's own working folder: that ends with the container,
// and a job with such a path is refused.
func (in *intake) lost() {
	if !in.d.Has(containerImage) || in.d.Has("slurm.container.workdir") {
		return
	}
	for _, p := range in.d.Paths() {
		if to := in.d.Text(p); strings.HasPrefix(p, "training.logging.") && strings.HasSuffix(p, "path") && to != "" && !path.IsAbs(to) && !strings.HasPrefix(to, "$") {
			in.d.Withdraw(p, "it is relative to the working folder of the image, and what is written there ends with the container: write the whole path, below a mount")
		}
	}
}

// containerImage is the argument of the image that a job runs in.
const containerImage = "slurm.container.image"

// container keeps the image of pyxis and what it mounts. Mounts alone make no
// container, so that they are named where the image is not known. A script of
// ndc's own mounts what ndc mounts by itself, too.
func (in *intake) container(file string, s *shell.Script, own bool) {
	const mounts = "slurm.container.mounts"
	told := map[draft.Finding]bool{} // a list of options stands in a command, too
	found := func(w shell.Word, name, value string, v draft.Verdict, to, why string) {
		f := draft.Finding{Place: megatron.Place(file, w), Name: name, Value: value, Verdict: v, To: to, Why: why}
		if !told[f] {
			in.d.Find(f)
		}
		told[f] = true
	}
	var mounted []string
	var at shell.Word
	for _, c := range append(s.Commands, s.Lists...) {
		for i, w := range c.Words {
			name, value, joined := strings.Cut(w.Text, "=")
			if !joined && i+1 < len(c.Words) {
				value = c.Words[i+1].Text
			}
			switch {
			case name == "--container-image" && strings.ContainsAny(value, "$`(<"):
				found(w, name, value, draft.Unknown, "", draft.OnlyRunKnows)
			case name == "--container-image":
				in.d.Set(containerImage, value, megatron.Place(file, w))
			case name == "--container-workdir" && path.IsAbs(value) && !strings.ContainsAny(value, "$`(<"):
				in.d.Set("slurm.container.workdir", value, megatron.Place(file, w))
			case name == "--container-workdir":
				found(w, name, value, draft.Unknown, "", draft.OnlyRunKnows)
			case name == "--container-mounts":
				at, mounted = w, nil
				for _, m := range strings.Split(value, ",") {
					switch known := !strings.ContainsAny(m, "$`(<"); {
					case known && strings.Contains(m, ":"):
						mounted = append(mounted, m)
					case known && path.IsAbs(m): // pyxis mounts it at its own place
						mounted = append(mounted, m+":"+m)
					case m != "" && !own:
						found(w, name, m, draft.Unknown, "", draft.OnlyRunKnows)
					}
				}
			}
		}
	}
	switch list := strings.Join(mounted, ","); {
	case len(mounted) == 0:
	case in.d.Has(containerImage):
		in.d.Set(mounts, mounted, megatron.Place(file, at))
	default:
		found(at, "--container-mounts", list, draft.Unknown, "", "slurm.container.mounts takes it, beside an image")
	}
}
