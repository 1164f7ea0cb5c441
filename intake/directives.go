package intake

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/shell"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/lang/units"
)

//go:embed batch.jsonl
var batchFile string

// batchSystem is one besides Slurm: a line of batch.jsonl.
type batchSystem struct {
	Begins string `json:"begins"` // a line that is a directive of it
	System string `json:"system"`
	Source string `json:"source"`
}

var batchSystems = sync.OnceValue(func() []batchSystem { return facts.Lines[batchSystem]("intake: batch.jsonl", batchFile) })

// queueDirective matches a directive of such a system, which has an option, unlike a comment.
var queueDirective = sync.OnceValue(func() *regexp.Regexp {
	var begins []string
	for _, b := range batchSystems() {
		begins = append(begins, regexp.QuoteMeta(b.Begins))
	}
	return regexp.MustCompile(`(?m)^(` + strings.Join(begins, "|") + `)[ \t]+-[a-zA-Z-]`)
})

// queued names the directives of another batch system than Slurm.
func (in *intake) queued(f File) {
	all := queueDirective().FindAllSubmatchIndex(f.Content, -1)
	if len(all) == 0 {
		return
	}
	begins := string(f.Content[all[0][2]:all[0][3]])
	system := slices.IndexFunc(batchSystems(), func(b batchSystem) bool { return b.Begins == begins })
	in.d.Find(draft.Finding{Place: draft.Place{File: f.Name, Line: 1 + bytes.Count(f.Content[:all[0][0]], []byte("\n"))}, Name: begins, Verdict: draft.Unknown,
		Why: fmt.Sprintf("%s of %s, which ndc does not read: --nodes and --gpus say on what the job runs, and its block slurm the rest", units.Count(len(all), "directive"), batchSystems()[system].System)})
}

// submitted reports an option that a command of sbatch gives the script that it
// starts, and that counts before the script's own.
func (in *intake) submitted(file, option string) bool {
	for _, s := range in.whole() {
		if slices.ContainsFunc(s.Submissions, func(o shell.Submission) bool { return o.Script == file && o.Name == option }) {
			return true
		}
	}
	return false
}

// directive reads an option of sbatch, by the table that ndc's own scripts are
// written by.
func (in *intake) directive(file string, d shell.Directive) {
	at := draft.Place{File: file, Line: d.Line}
	found := func(v draft.Verdict, to, why string) {
		value := d.Value
		switch {
		case d.Name == "export":
			value = guarded(value)
		case d.Open:
			value = draft.Guarded("", value)
		}
		in.d.Find(draft.Finding{Place: at, Name: "--" + d.Name, Value: value, Verdict: v, To: to, Why: why})
	}
	number, err := strconv.ParseInt(strings.TrimSpace(d.Value), 10, 64)
	owner := slurm.Owner(d.Name)
	switch {
	case d.Open:
		found(draft.Unknown, "", draft.OnlyRunKnows)
	case strings.ContainsAny(d.Value, "$`"):
		found(draft.Unknown, "", "sbatch expands nothing in its comments")
	case d.Name == "job-name":
		name := d.Value
		for _, kind := range schema.BackendKinds() {
			name = strings.TrimSuffix(name, "-"+kind)
		}
		in.d.Set("job", name, at)
		found(draft.Mapped, "job", "")
	case d.Name == "nodes" && err == nil && number > 0:
		in.d.Set("cluster.nodes", number, at)
		found(draft.Mapped, "cluster.nodes", "")
	case d.Name == "nodes":
		found(draft.Unknown, "", "cluster.nodes is one number")
	case d.Name == "gres" || d.Name == "gpus-per-node":
		in.gpus(d, at, found)
	case d.Name == "gpus" || d.Name == "gpus-per-task" || d.Name == "ntasks-per-node" || d.Name == "ntasks":
		count := d.Value[strings.LastIndexByte(d.Value, ':')+1:] // behind a type
		if n, err := strconv.ParseInt(count, 10, 64); err == nil && n > 0 {
			in.remember(d.Name, n, at)
		}
		in.owned(d, owner, at, found)
	case d.Name == "array" && strings.ContainsAny(d.Value, "-,"):
		n := turns(d.Value)
		if n == 0 || in.numbered(file) {
			found(draft.Unknown, "", "an array is several runs, and a job is one; what they have in common is read")
			return
		}
		in.remember("array", n, at)
		in.owned(d, owner, at, found)
	case owner == "":
		in.d.Add("slurm.directives", d.Name, d.Value, at)
		found(draft.Mapped, "slurm.directives", "")
	default:
		in.owned(d, owner, at, found)
	}
}

// asked is a number that a directive asks for.
type asked struct {
	n  int64
	at draft.Place
}

// remember keeps the number of a directive until all that it goes with is read.
func (in *intake) remember(name string, n int64, at draft.Place) {
	if in.asked == nil {
		in.asked = map[string]asked{}
	}
	in.asked[name] = asked{n, at}
}

// settle sets an argument of the job to what a directive asks for.
func (in *intake) settle(to, name string, n int64) {
	in.d.Set(to, n, in.asked[name].at)
	for i := range in.d.Findings {
		if f := &in.d.Findings[i]; f.Place == in.asked[name].at && f.Name == "--"+name {
			f.Verdict, f.To, f.Why = draft.Mapped, to, ""
		}
	}
}

var arrayTasks = regexp.MustCompile(`^(\d{1,7})(?:-(\d{1,7})(?::([1-9]\d{0,6}))?)?$`)

// turns is how many tasks an array has whose tasks run one at a time; 0 where several may.
func turns(array string) int64 {
	list, one := strings.CutSuffix(array, "%1")
	n := int64(0)
	for part := range strings.SplitSeq(list, ",") {
		m := arrayTasks.FindStringSubmatch(part)
		if m == nil || !one {
			return 0
		}
		first, _ := strconv.ParseInt(m[1], 10, 64)
		last, step := first, int64(1)
		if m[2] != "" {
			last, _ = strconv.ParseInt(m[2], 10, 64)
		}
		if m[3] != "" {
			step, _ = strconv.ParseInt(m[3], 10, 64)
		}
		if last < first {
			return 0
		}
		n += (last-first)/step + 1
	}
	return n
}

// numbered reports whether a script asks which task of an array it is, as one whose tasks
// are different runs.
func (in *intake) numbered(file string) bool {
	return slices.ContainsFunc(in.files, func(f File) bool {
		return f.Name == file && bytes.Contains(f.Content, []byte("SLURM_ARRAY_TASK"))
	})
}

// succession makes a chain of tasks that run one at a time, each from the checkpoint of the
// one before.
func (in *intake) succession() {
	path, saves := in.d.Get("training.checkpoint.path")
	if n := in.asked["array"].n; n > 1 && saves && !strings.Contains(fmt.Sprint(path.Value), "://") {
		in.settle("slurm.chain", "array", n)
	}
}

// share settles how many GPUs a node has, of what the directives ask for the tasks of a
// node or for all nodes together.
func (in *intake) share() {
	const to = "cluster.gpus_per_node"
	nodes, tasks := in.d.Int("cluster.nodes"), in.asked["ntasks-per-node"].n
	if in.d.Has(to) || in.o.GPUs > 0 {
		return
	}
	if all := in.asked["ntasks"].n; tasks == 0 && nodes > 0 && all%nodes == 0 {
		tasks = all / nodes
	}
	n, name := in.asked["gpus-per-task"].n*tasks, "gpus-per-task"
	if all := in.asked["gpus"].n; n == 0 && nodes > 0 && all%nodes == 0 {
		n, name = all/nodes, "gpus"
	}
	if n == 0 {
		return
	}
	in.settle(to, name, n)
}

// gpuType is how a site may call its GPUs.
var gpuType = regexp.MustCompile(`^[\w.-]+$`)

// gpus reads what a node is asked for: [TYPE:]NUMBER of GPUs, and in a list of
// --gres anything else, too.
func (in *intake) gpus(d shell.Directive, at draft.Place, found func(draft.Verdict, string, string)) {
	var n int64
	var types, others []string
	for _, resource := range strings.Split(d.Value, ",") {
		resource, _, _ = strings.Cut(resource, "(") // (S:0-1), of sockets
		parts := strings.Split(strings.TrimPrefix(resource, "gres/"), ":")
		if d.Name == "gres" {
			if parts[0] != "gpu" {
				others = append(others, resource)
				continue
			}
			parts = parts[1:]
		}
		count := int64(1) // as Slurm counts
		if last := len(parts) - 1; last >= 0 {
			if k, err := strconv.ParseInt(parts[last], 10, 64); err == nil {
				count, parts = k, parts[:last]
			}
		}
		if slices.ContainsFunc(parts, func(t string) bool { return !gpuType.MatchString(t) }) { // what a template fills in
			found(draft.Unknown, "", "no number of GPUs")
			return
		}
		n += count
		types = append(types, parts...)
	}
	if n > 0 {
		in.d.Set("cluster.gpus_per_node", n, at)
		if d.Name == "gpus-per-node" {
			in.d.Set("slurm.gpus_directive", "gpus_per_node", at)
		}
		found(draft.Mapped, "cluster.gpus_per_node", "")
	}
	for _, t := range types {
		in.d.Find(draft.Finding{Place: at, Name: "--" + d.Name, Value: t, Verdict: draft.Left, Why: "the type of the GPUs, which the cluster says; slurm.constraint or slurm.partition picks nodes of it"})
	}
	for _, o := range others {
		in.d.Find(draft.Finding{Place: at, Name: "--" + d.Name, Value: o, Verdict: draft.Unknown, Why: "ndc asks a node for GPUs alone"})
	}
	if n < 1 && len(others) == 0 {
		found(draft.Unknown, "", "no number of GPUs")
	}
}

// guarded is a list of variables as --export takes it, without secrets.
func guarded(list string) string {
	variables := strings.Split(list, ",")
	for i, v := range variables {
		if name, value, ok := strings.Cut(v, "="); ok {
			variables[i] = name + "=" + draft.Guarded(name, value)
		}
	}
	return strings.Join(variables, ",")
}

// owned reads an option of sbatch that an argument of the job sets.
func (in *intake) owned(d shell.Directive, owner string, at draft.Place, found func(draft.Verdict, string, string)) {
	name, isSlurm := strings.CutPrefix(owner, "slurm.")
	a := schema.File.Block("job").Block("slurm").Argument(name)
	switch {
	case d.Name == "mem-per-cpu" || d.Name == "mem-per-gpu":
		found(draft.Unknown, "", "slurm.memory is that of a node")
		return
	case d.Name == "nodefile":
		found(draft.Unknown, "", "slurm.nodelist names the nodes themselves")
		return
	case d.Name == "exclusive" && d.Value != "":
		found(draft.Unknown, "", "slurm.exclusive takes nodes for the job alone, or shares them with all")
		return
	case !isSlurm || a == nil || d.Name == "output" || d.Name == "error" || d.Name == "export":
		found(draft.Left, "", "ndc sets it: "+owner)
		return
	}
	value := any(d.Value)
	switch a.Type {
	case schema.Count:
		n, err := strconv.ParseInt(d.Value, 10, 64)
		if err != nil || !a.Limits.Allows(float64(n)) {
			found(draft.Unknown, "", "no value of "+owner)
			return
		}
		value = n
	case schema.Bool:
		value = !strings.HasPrefix(d.Name, "no-") && d.Name != "oversubscribe" && d.Name != "share"
	case schema.Duration:
		t, ok := duration(d.Value)
		if !ok {
			found(draft.Unknown, "", "no time that ndc reads")
			return
		}
		value = t
	}
	in.d.Set(owner, value, at)
	found(draft.Mapped, owner, "")
}

var times = regexp.MustCompile(`^(?:(\d{1,3})-)?(\d{1,4})(?::(\d{1,2}))?(?::(\d{1,2}))?$`)

// duration spells a time of Slurm in the language: minutes, minutes:seconds,
// hours:minutes:seconds, days-hours and so on.
func duration(text string) (string, bool) {
	m := times.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	switch {
	case m[1] != "" && m[4] != "", m[1] == "" && m[4] != "":
		return text, true
	case m[1] != "":
		days, _ := strconv.Atoi(m[1])
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi(m[3])
		return strconv.Itoa((days*24+hours)*60+minutes) + "m", true
	case m[3] != "" && m[3] != "00" && m[3] != "0":
		minutes, _ := strconv.Atoi(m[2])
		seconds, _ := strconv.Atoi(m[3])
		return strconv.Itoa(minutes*60+seconds) + "s", true
	}
	return m[2] + "m", true
}
