package intake

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/settings"
	"github.com/ndc-dev/ndc/intake/shell"
)

// node is a line of a hostfile.
type node struct {
	name string
	gpus int64
}

var slots = regexp.MustCompile(`^(\S+)\s+slots=(\d{1,4})(?:\s|$)`)

// listed are the nodes of a hostfile, as DeepSpeed's launcher and Open MPI take it; nil of
// another file (DeepSpeed 0.19.8, launcher/runner.py: _parse_hostfile; Open MPI 4.1.8,
// orte_hosts(7)).
func listed(f File) (all []node) {
	for line := range strings.Lines(string(f.Content)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := slots.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		n, _ := strconv.ParseInt(m[2], 10, 64)
		all = append(all, node{m[1], n})
	}
	return all
}

func isHostfile(f File) bool { return listed(f) != nil }

// hostfile are the nodes of the first among the files, or of one that a script writes and
// names; nil without one.
func (in *intake) hostfile() []node {
	for _, f := range in.files {
		if all := listed(f); all != nil {
			return all
		}
	}
	for _, s := range in.whole() {
		for i, d := range s.Documents {
			again := slices.ContainsFunc(slices.Delete(slices.Clone(s.Documents), i, i+1), func(o shell.Document) bool { return o.Path.Text == d.Path.Text })
			if all := listed(File{Content: []byte(d.Content)}); all != nil && !again && !d.Unsure && (!d.Behind || removed(s, d)) && !strings.ContainsAny(d.Content, "$`") && names(s, d) {
				return all
			}
		}
	}
	return nil
}

// removed reports a file that a script removes before it writes to its end.
func removed(s *shell.Script, d shell.Document) bool {
	return slices.ContainsFunc(s.Commands, func(c shell.Command) bool {
		return path.Base(c.Words[0].Text) == "rm" && c.Line < d.Line && slices.ContainsFunc(c.Words, func(w shell.Word) bool { return path.Clean(w.Text) == path.Clean(d.Path.Text) })
	})
}

// together is how many nodes there are, and how many GPUs each has; 0 where these differ.
func together(all []node) (nodes, gpus int64) {
	for _, n := range all {
		if nodes++; nodes > 1 && n.gpus != gpus {
			return 0, 0
		}
		gpus = n.gpus
	}
	return nodes, gpus
}

// filtered are the nodes that NAME[:SLOT,SLOT]@… includes or leaves out
// (launcher/runner.py: parse_resource_filter).
func filtered(all []node, include, exclude string) (kept []node) {
	named := map[string]int64{} // how many GPUs of a node; 0: all
	for spec := range strings.SplitSeq(include+exclude, "@") {
		name, slots, some := strings.Cut(spec, ":")
		if named[name] = 0; some {
			named[name] = int64(strings.Count(slots, ",") + 1)
		}
	}
	for _, n := range all {
		some, is := named[n.name]
		switch {
		case include != "" && some > 0:
			n.gpus = some
		case include != "" && !is, exclude != "" && is && some == 0:
			n.gpus = 0
		case exclude != "":
			n.gpus -= some
		}
		if n.gpus > 0 {
			kept = append(kept, n)
		}
	}
	return kept
}

// taken reads which GPUs of which nodes DeepSpeed's launcher takes, of which the words before
// its program are given: those that it names, or those of a hostfile.
func (in *intake) taken(file string, launcher shell.Word, words []shell.Word) {
	at, all := megatron.Place(file, launcher), in.hostfile()
	var said []draft.Finding
	filter := map[string]string{}
	for i, w := range words {
		name, value, joined := strings.Cut(w.Text, "=")
		open := w.Open
		if !joined && i+1 < len(words) {
			value, open = words[i+1].Text, words[i+1].Open
		}
		switch name {
		case "--include", "-i", "--exclude", "-e":
			if open {
				in.unsure = true
				return
			}
			filter[strings.Trim(name, "-")[:1]] = value
		case "--hostfile", "-H":
		default:
			continue
		}
		said = append(said, draft.Finding{Place: megatron.Place(file, w), Name: name})
	}
	nodes, gpus := settings.Included(filter["i"])
	if all != nil {
		nodes, gpus = together(filtered(all, filter["i"], filter["e"]))
	}
	if gpus == 0 {
		in.unsure = true
		return
	}
	in.d.Default("cluster.nodes", nodes, at)
	in.d.Default("cluster.gpus_per_node", gpus, at)
	if all != nil {
		for _, f := range said {
			in.d.Correct(f.Place, f.Name, draft.Mapped, "cluster.nodes, gpus_per_node", "")
		}
	}
}

// readHostfile takes the nodes of a hostfile for the run's where what starts it says nothing
// of them.
func readHostfile(in *intake, f File) error {
	found := draft.Finding{Place: draft.Place{File: f.Name, Line: 1}, Name: path.Base(f.Name), Verdict: draft.Mapped, To: "cluster.nodes, gpus_per_node"}
	nodes, gpus := together(listed(f))
	switch {
	case in.unsure || nodes == 0:
		found.Verdict, found.To, found.Why = draft.Unknown, "", "which of its nodes and GPUs the run takes is not one number: --nodes and --gpus say it"
	default:
		in.d.Default("cluster.nodes", nodes, found.Place)
		in.d.Default("cluster.gpus_per_node", gpus, found.Place)
	}
	in.d.Find(found)
	return nil
}
