package intake

import (
	"cmp"
	_ "embed"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/launcher"
	"github.com/ndc-dev/ndc/intake/megatron"
	"github.com/ndc-dev/ndc/intake/settings"
	"github.com/ndc-dev/ndc/intake/shell"
)

//go:embed processes.jsonl
var processesFile string

// multiplier is a family of commands that start a program on several nodes: a line of
// processes.jsonl, with the options that say how many processes there are.
type multiplier struct {
	Programs []string `json:"programs"`
	Ranks    []string `json:"ranks"`
	Nodes    []string `json:"nodes"`
	OfNode   []string `json:"of_node"` // processes on a node
	Hosts    []string `json:"hosts"`   // a list of NAME:PROCESSES
	Files    []string `json:"files"`   // a file of such a list
	Map      []string `json:"map"`     // ppr:PROCESSES:node
	GPUs     []string `json:"gpus"`    // [KIND:]GPUS of a node

	// Resource sets, of processes.
	Sets       []string `json:"sets"`
	SetsOfNode []string `json:"sets_of_node"`
	OfSet      []string `json:"of_set"`

	Source string `json:"source"`
}

var multipliers = sync.OnceValue(func() []multiplier { return facts.Lines[multiplier]("intake: processes.jsonl", processesFile) })

// multiplies is the family that a word starts; nil for another word.
func multiplies(w shell.Word) *multiplier {
	for i, m := range multipliers() {
		if !w.Open && slices.Contains(m.Programs, path.Base(w.Text)) {
			return &multipliers()[i]
		}
	}
	return nil
}

var (
	perNode = regexp.MustCompile(`^ppr:(\d+):node\b`)
	counted = regexp.MustCompile(`(?:^|:)(\d+)$`)
	host    = regexp.MustCompile(`^[^:]+:(\d+)$`)
)

// processes reads on how many nodes and GPUs a command runs, where it or the command that
// starts it says how many processes there are. Each has a GPU, but for those that start
// processes themselves, of which a node has one.
func (in *intake) processes(file string, s *shell.Script, c shell.Command) {
	in.inside(file, s, c)
	m, words, layered := in.multiplied(file, s, c)
	if m == nil && alone(file, s, c) {
		in.d.Default("cluster.nodes", int64(1), megatron.Place(file, c.Words[0]))
	}
	if m == nil || slices.ContainsFunc(words, func(w shell.Word) bool { return w.Text == ":" }) { // several programs
		return
	}
	count := func(options []string) int64 {
		n, _ := strconv.ParseInt(said(words, options), 10, 64)
		return max(n, 0)
	}
	nodes, ranks, each := count(m.Nodes), count(m.Ranks), count(m.OfNode)
	if a := max(count(m.OfSet), 1); m.Sets != nil {
		each = count(m.SetsOfNode) * a
		if sets := count(m.Sets); sets > 0 {
			ranks = sets * a
		}
	}
	if p := perNode.FindStringSubmatch(said(words, m.Map)); p != nil {
		each, _ = strconv.ParseInt(p[1], 10, 64)
	}
	if list := said(words, m.Hosts); list != "" && each == 0 {
		nodes, each = hosts(list)
		if ranks > 0 && ranks != nodes*each {
			nodes, each = 0, 0
		}
	}
	if said(words, m.Files) != "" && !layered {
		listed, slots := together(in.hostfile())
		each = cmp.Or(each, slots)
		if ranks == 0 && nodes == 0 {
			nodes = listed
		}
	}
	place := megatron.Place(file, words[0])
	if m.Nodes != nil && ranks == 0 && each == 0 { // a step of Slurm's, which has what its job has
		ranks, each = in.asked["ntasks"].n, in.asked["ntasks-per-node"].n
	}
	if nodes == 0 {
		nodes = in.d.Int("cluster.nodes")
	}
	if each == 0 && nodes > 0 && ranks%nodes == 0 {
		each = ranks / nodes
	}
	if each > 0 && !layered {
		in.d.Default("cluster.gpus_per_node", each, place)
	}
	if g := counted.FindStringSubmatch(said(words, m.GPUs)); g != nil {
		n, _ := strconv.ParseInt(g[1], 10, 64)
		in.d.Default("cluster.gpus_per_node", n, place)
	}
	if each == 0 && !layered {
		each = cmp.Or(int64(in.o.GPUs), in.d.Int("cluster.gpus_per_node"))
		if in.o.Cluster != "" && each == 0 {
			each = int64(clusterOf(in.o.Cluster).GPUsPerNode)
		}
	}
	if nodes == 0 && each > 0 && ranks%each == 0 {
		nodes = ranks / each
	}
	if nodes > 0 {
		in.d.Default("cluster.nodes", nodes, place)
	}
}

// multiplied is what starts the processes of a command, with the words behind it, and whether
// these start others on all GPUs of a node: the command itself, one that it stands in, or one
// of the same line. On the way it reads which GPUs DeepSpeed's launcher takes.
func (in *intake) multiplied(file string, s *shell.Script, c shell.Command) (m *multiplier, words []shell.Word, layered bool) {
	for _, o := range around(s, c) {
		end := programOf(file, o)
		for k, w := range o.Words[:end] {
			layered = layered || launcher.Starts(w.Text)
			if path.Base(w.Text) == "deepspeed" {
				in.taken(file, w, o.Words[k+1:end])
			}
			if f := multiplies(w); f != nil && m == nil {
				m, words = f, o.Words[k+1:end]
			}
		}
		if k := slices.IndexFunc(o.Words, func(w shell.Word) bool { return multiplies(w) != nil }); end == 0 && k >= 0 && k < 3 && m == nil {
			m, words = multiplies(o.Words[k]), o.Words[k+1:]
		}
	}
	return m, words, layered
}

// programOf is the place of the program that a command starts; 0 where it starts none.
func programOf(file string, c shell.Command) int {
	if i := slices.IndexFunc(c.Words, func(w shell.Word) bool { return strings.HasSuffix(w.Text, ".py") }); i >= 0 {
		return i
	}
	return max(settings.Program(commandLine(file, c)), 0) // a module
}

// alone reports a command that PyTorch's launcher starts on one node: it is told how many
// processes that has, and of no other, be it in its environment (torch/distributed/run.py:
// get_args_parser).
func alone(file string, s *shell.Script, c shell.Command) bool {
	told := false
	for _, o := range around(s, c) {
		words := o.Words[:programOf(file, o)]
		k := slices.IndexFunc(words, func(w shell.Word) bool { return launcher.Of(w.Text) == launcher.Torch })
		for i := k + 1; k >= 0 && i < len(words); i++ {
			name, _, _ := strings.Cut(words[i].Text, "=")
			option := strings.HasPrefix(name, "-")
			value := strings.HasPrefix(words[i-1].Text, "-") && !strings.Contains(words[i-1].Text, "=")
			if name == "--nnodes" || words[i].Open && !option && !value { // any options
				return false
			}
			told = told || strings.ReplaceAll(name, "_", "-") == "--nproc-per-node"
		}
	}
	return told && !slices.ContainsFunc(s.Exports, func(e shell.Export) bool { return e.Name == "PET_NNODES" })
}

// around are a command of a script, those that it stands in, and those of the same line behind
// one of these, in whose words it stands.
func around(s *shell.Script, c shell.Command) (all []shell.Command) {
	at := slices.IndexFunc(s.Commands, func(o shell.Command) bool { return len(o.Words) > 0 && &o.Words[0] == &c.Words[0] })
	for i, o := range s.Commands {
		sameLine := func(a shell.Command) bool { return o.Offset == a.Offset && o.File == a.File }
		if i == at || i < at && i+o.Inner >= at || i > at && slices.ContainsFunc(all, sameLine) {
			all = append(all, o)
		}
	}
	return all
}

// said is the value of the first of some options among words: -N 4, -N4, -N=4; "" where
// none stands there.
func said(words []shell.Word, options []string) string {
	for i, w := range words {
		for _, o := range options {
			rest, ok := strings.CutPrefix(w.Text, o)
			_, err := strconv.Atoi(rest)
			switch {
			case !ok:
			case rest == "" && i+1 < len(words):
				return words[i+1].Text
			case strings.HasPrefix(rest, "="):
				return rest[1:]
			case len(o) == 2 && err == nil:
				return rest
			}
		}
	}
	return ""
}

// hosts is how many nodes a list names, and how many processes each has; 0 where they differ.
func hosts(list string) (nodes, each int64) {
	for h := range strings.SplitSeq(list, ",") {
		p := host.FindStringSubmatch(h)
		if p == nil {
			return 0, 0
		}
		n, _ := strconv.ParseInt(p[1], 10, 64)
		if nodes > 0 && n != each {
			return 0, 0
		}
		nodes, each = nodes+1, n
	}
	return nodes, each
}
