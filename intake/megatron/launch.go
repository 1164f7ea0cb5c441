package megatron

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/launcher"
	"github.com/ndc-dev/ndc/intake/shell"
)

// Command finds the launch of Megatron-LM among the commands of a script: the
// one with the most options of the newest release, and of these the one with the
// fewest others, as a tool that converts checkpoints has. A script that starts
// nothing, and is read by others, has its lists of options for one.
func Command(s *shell.Script) (shell.Command, bool) {
	versions := megatron.Backend{}.Versions()
	table, _ := megatron.Tables(versions[len(versions)-1])
	best, most, fewest, part, other := shell.Command{}, 0, 0, -1, false
	for i, c := range s.Commands {
		if k := behind(c); k > 0 && strings.HasPrefix(path.Base(c.Words[k-1].Text), "pretrain_") {
			part = i
		}
		switch n, others := known(table, c); {
		case n >= enough && part != i && strange(c.Words, n, others):
			other = true
		case n > most || n == most && others < fewest:
			best, most, fewest = c, n, others
		}
	}
	if most >= enough || other {
		return best, most >= enough
	}
	var all shell.Command
	for _, c := range s.Lists {
		all.Words = append(all.Words, c.Words...)
		all.Line = c.Line
	}
	n, others := known(table, all)
	if part >= 0 && n >= enough { // the lists are what it does not say itself
		all.Words = append(all.Words, s.Commands[part].Words[behind(s.Commands[part]):]...)
	}
	return all, n >= enough && (part >= 0 || !strange(all.Words, n, others))
}

// strange reports the options of a program that has some of Megatron-LM's names, as many have a
// learning rate and a seed, beside more than twice as many of its own. Forks have fewer, and of
// programs on top of it those that ndc knows may have more.
func strange(words []shell.Word, known, others int) bool {
	return others > 2*known && !slices.ContainsFunc(words, func(w shell.Word) bool {
		for _, p := range programs() {
			if p.Option != "" && p.Option == w.Text {
				return true
			}
		}
		return false
	})
}

// module is the name of a module of Python in a package.
var module = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$`)

// behind is where a command's words behind its program begin; 0 where it has none. Of several
// Python files, and modules behind -m, the last is the program, which others start, but for those that stand behind an
// option of Megatron-LM, as the file of --spec does. Of a program that is installed with a name
// of its own none is.
func behind(c shell.Command) (start int) {
	if installed(c.Words) {
		return 0
	}
	versions := megatron.Backend{}.Versions()
	table, _ := megatron.Tables(versions[len(versions)-1])
	for i, w := range c.Words {
		name, _, _ := strings.Cut(w.Text, "=")
		switch isOption := strings.HasPrefix(name, "-"); {
		case !isOption && strings.HasSuffix(name, ".py"),
			i > 0 && (c.Words[i-1].Text == "-m" || c.Words[i-1].Text == "--module") && module.MatchString(name) && launcher.OfModule(name) == "":
			start = i + 1
		case isOption && start > 0 && table.Has(dashed(name)):
			return start
		}
	}
	return cmp.Or(start, unnamed(table, c.Words))
}

// unnamed is where the words behind a program begin whose name only a run knows: one that
// stands behind options of a launcher, and is no value of one; 0 where there is none.
func unnamed(table *schema.Table, words []shell.Word) int {
	k := slices.IndexFunc(words, func(w shell.Word) bool { return launcher.Of(w.Text) != "" })
	for i := k + 2; k >= 0 && i < len(words); i++ {
		name, _, _ := strings.Cut(words[i].Text, "=")
		before := words[i-1].Text
		switch isOption := strings.HasPrefix(name, "-"); {
		case isOption && table.Has(dashed(name)):
			return 0
		case !isOption && words[i].Open && (!strings.HasPrefix(before, "-") || strings.Contains(before, "=")):
			return i + 1
		}
	}
	return 0
}

// Other is a launch of a script beside the one that is read: where they differ first.
type Other struct{ Program, Word, Read shell.Word }

// Others are the launches of a script besides one of its commands, which say something else.
func Others(s *shell.Script, read shell.Command) (all []Other) {
	at := slices.IndexFunc(s.Commands, func(c shell.Command) bool { return len(c.Words) > 0 && &c.Words[0] == &read.Words[0] })
	versions := megatron.Backend{}.Versions()
	table, _ := megatron.Tables(versions[len(versions)-1])
	for i, c := range s.Commands {
		if at < 0 || i == at || at > i && at <= i+c.Inner || i > at && i <= at+read.Inner || behind(c) == 0 {
			continue
		}
		program := c.Words[behind(c)-1]
		n, others := known(table, c)
		if name := path.Base(program.Text); n < enough || others > 0 && !strings.HasPrefix(name, "pretrain_") && behind(read) > 0 && name != path.Base(read.Words[behind(read)-1].Text) {
			continue // a tool, such as one that converts checkpoints
		}
		if word, other, differ := Differ(c.Words[behind(c):], read.Words[behind(read):]); differ {
			all = append(all, Other{program, word, other})
		}
	}
	return all
}

// Differ is where the words of two commands differ first.
func Differ(a, b []shell.Word) (shell.Word, shell.Word, bool) {
	for i := range min(len(a), len(b)) {
		if a[i].Text != b[i].Text {
			return a[i], b[i], true
		}
	}
	if len(a) == len(b) || len(a) == 0 || len(b) == 0 {
		return shell.Word{}, shell.Word{}, false
	}
	last := min(len(a), len(b))
	return a[min(last, len(a)-1)], b[min(last, len(b)-1)], true
}

// enough options of Megatron-LM make a launch.
const enough = 5

// known counts the options of a command that a release has, and those behind its
// program that it does not have.
func known(t *schema.Table, c shell.Command) (n, others int) {
	underscores, start := underscored(c.Words), behind(c)
	for i, w := range c.Words {
		name, _, _ := strings.Cut(w.Text, "=")
		if underscores {
			name = dashed(name)
		}
		switch {
		case !strings.HasPrefix(name, "--"):
		case t.Has(name):
			n++
		case i >= start:
			others++
		}
	}
	return n, others
}

// Started reads on how many nodes and GPUs torchrun or DeepSpeed's launcher starts a
// program. Ranks that meet on the node itself have no other.
func Started(d *draft.Draft, file string, words []shell.Word) {
	alone, many := false, false
	for i, w := range words {
		name, value, joined := strings.Cut(w.Text, "=")
		if !joined && i+1 < len(words) {
			value = words[i+1].Text
		}
		n, err := strconv.ParseInt(value, 10, 64)
		switch strings.ReplaceAll(name, "_", "-") {
		case "--nnodes", "--num-nodes":
			if err == nil && n > 0 {
				d.Default("cluster.nodes", n, Place(file, w))
			}
			many = true
		case "--nproc-per-node", "--num-gpus":
			if err == nil && n > 0 {
				d.Default("cluster.gpus_per_node", n, Place(file, w))
			}
		case "--standalone":
			alone = true
		case "--rdzv-endpoint":
			host, _, _ := strings.Cut(value, ":")
			alone = alone || host == "localhost" || host == "127.0.0.1"
		}
	}
	if alone && !many {
		d.Default("cluster.nodes", int64(1), draft.Place{})
	}
}

// Place is where a word stands that was read in a script, of which file is the name.
func Place(file string, w shell.Word) draft.Place {
	return draft.Place{File: cmp.Or(w.File, file), Line: w.Line}
}
