package slurm

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// directives lists the #SBATCH options in a fixed order.
func directives(j *job.Job, p *plan.Plan, l Launch, diags *diag.List) []string {
	s := &j.Slurm
	d := directiveList{j: j, diags: diags}
	d.always("job-name", j.Name+"-"+j.Backend.Kind)
	d.text("account", "account", s.Account)
	d.text("partition", "partition", listed(s.Partition))
	d.text("qos", "qos", s.QOS)
	d.text("reservation", "reservation", listed(s.Reservation))
	d.always("nodes", fmt.Sprint(j.AllocatedNodes()))
	if s.SpareNodes > 0 {
		d.flag("no-kill")
	}
	d.always("ntasks-per-node", fmt.Sprint(tasksPerNode(j)))
	d.gpus()
	d.cpus()
	d.memory(p)
	if s.Exclusive.Or(true) {
		d.flag("exclusive")
	}
	if s.Time > 0 {
		d.always("time", clock(s.Time))
	}
	d.text("nodelist", "nodelist", s.NodeList, unfitNodes)
	d.text("exclude", "exclude", s.Exclude, unfitNodes)
	d.text("constraint", "constraint", s.Constraint, unfitConstraint)
	if s.Segment > 0 {
		d.always("segment", fmt.Sprint(s.Segment+s.SpareNodes))
	}
	d.requeue()
	d.signal(p, l)
	d.always("wait-all-nodes", "1")
	d.always("output", "%x-%j.out") // beside the submission: always writable; the log folder follows
	d.always("open-mode", "append")
	for _, v := range s.Directives {
		d.other(v)
	}
	return d.lines
}

// listed is a list of names without spaces behind its commas, which Slurm takes for a part
// of the names.
func listed(names string) string { return strings.ReplaceAll(names, ", ", ",") }

type directiveList struct {
	j     *job.Job
	diags *diag.List
	lines []string
}

func (d *directiveList) flag(name string)          { d.lines = append(d.lines, "--"+name) }
func (d *directiveList) always(name, value string) { d.lines = append(d.lines, "--"+name+"="+value) }

// Summaries of diagnostics that several places give.
const (
	valueSummary    = "Value cannot stand in an #SBATCH line" // Slurm would not read it, or would read something else
	nameSummary     = "Invalid directive name"
	reservedSummary = "Directive is set elsewhere"
	shortSummary    = "Time limit leaves no time to train"
)

// text adds a directive whose value the user wrote at slurm.ARGUMENT. What is unfit
// for it says why a value that can stand in a line is none that sbatch takes, or "".
func (d *directiveList) text(name, argument, value string, unfit ...func(string) string) {
	if value == "" {
		return
	}
	for _, unfit := range append([]func(string) string{unfitDirective}, unfit...) {
		if why := unfit(value); why != "" {
			d.diags.Error(IDDirectiveValue, d.j.Sources.Range("slurm."+argument), valueSummary,
				fmt.Sprintf("The value %q of %s %s", value, argument, why))
			return
		}
	}
	if strings.ContainsAny(value, " #;") { // Slurm knows double quotes, and breaks words at spaces
		value = `"` + value + `"`
	}
	d.always(name, value)
}

// expansion is what a shell would put something in place of.
var expansion = regexp.MustCompile(`\$[A-Za-z_{(]`)

// unfitDirective says why a value cannot stand in an #SBATCH line, which is a comment
// that Slurm's own parser reads and reviewers see; "" if it can.
func unfitDirective(value string) string {
	switch {
	case strings.ContainsAny(value, "\n\r\"\\'`"):
		return "holds a line break, a quote or a backslash. Slurm reads directives from comment lines with rules of its own; use a plain value."
	case strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "holds a character that cannot be seen, or that turns the direction of a line. Use a plain value."
	case expansion.MatchString(value):
		return "holds a variable, and sbatch expands none in its comments. Write the value, or give the option to sbatch: on its command line, or, for all links of a chain, in a variable such as SBATCH_PARTITION."
	}
	return ""
}

// unfitNodes says why a value is no list of nodes.
func unfitNodes(value string) string {
	if _, err := job.Hosts(value); err != nil {
		return fmt.Sprintf("is no list of nodes that sbatch takes: %v. Write such as \"node[0001-0016,0042],login1\", or the path of a file of names.", err)
	}
	return ""
}

// memorySyntax is what --mem takes of 22.05 to 25.05, whose units are powers of two.
var memorySyntax = regexp.MustCompile(`^\+?([0-9]+)(?:([KMGTkmgt])[Bb]?)?$`)

func unfitMemory(value string) string {
	if memorySyntax.MatchString(value) {
		return ""
	}
	return "is no size that sbatch takes. Write \"0\" for all memory of a node, or a whole number with K, M, G or T such as \"1500G\", which are powers of two."
}

// unfitConstraint says why a value is no expression over features of nodes. Which
// features there are, and how they may be nested, is the cluster's and its release's to say.
func unfitConstraint(value string) string {
	var open []rune // brackets whose end is still to come, as it is
	for _, r := range value {
		switch n := len(open); {
		case r == '(':
			open = append(open, ')')
		case r == '[':
			open = append(open, ']')
		case n > 0 && r == open[n-1]:
			open = open[:n-1]
		case r == ')' || r == ']':
			return "has brackets that do not match, so that sbatch refuses it."
		}
	}
	if len(open) > 0 {
		return "has brackets that do not match, so that sbatch refuses it."
	}
	for feature := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune("&|,()[]", r) }) {
		if strings.TrimSpace(feature) != feature {
			return "has spaces, which sbatch takes for a part of a feature's name. Write it without, such as \"a100&ib\"."
		}
	}
	return ""
}

func (d *directiveList) gpus() {
	n := fmt.Sprint(d.j.Cluster.GPUsPerNode)
	switch d.j.Slurm.GPUsDirective {
	case "none":
	case "gpus_per_node":
		d.always("gpus-per-node", n)
	default:
		d.always("gres", "gpu:"+n)
	}
}

// cpus asks for the CPUs of a node, which its tasks share. A job that has its
// nodes for itself has all of theirs without asking; their number is Slurm's to say.
func (d *directiveList) cpus() {
	s := &d.j.Slurm
	perGPU := slices.ContainsFunc(s.Directives, func(v job.Variable) bool { return v.Name == "cpus-per-gpu" })
	switch {
	case s.CPUsPerTask > 0:
		d.always("cpus-per-task", fmt.Sprint(max(1, s.CPUsPerTask/tasksPerNode(d.j))))
	case perGPU || s.Exclusive.Or(true):
	case d.j.Cluster.CPUsPerNode > 0:
		d.always("cpus-per-task", fmt.Sprint(max(1, d.j.Cluster.CPUsPerNode/tasksPerNode(d.j))))
	default:
		d.diags.Warn(IDCPUsNotAsked, d.j.Sources.Range("slurm.exclusive"), "No CPUs are asked for",
			fmt.Sprintf("The job shares its nodes, and neither slurm.cpus_per_task nor cluster.cpus_per_node says how many CPUs the task of a node gets. Most sites then give one, for %s and their loaders. Set one of the two.", units.Count(d.j.Cluster.GPUsPerNode, "rank")))
	}
}

// memory asks for the memory of a node as the job says it, which its ranks need as
// much of as the plan counts.
func (d *directiveList) memory(p *plan.Plan) {
	asked := d.j.Slurm.Memory
	d.text("mem", "memory", asked, unfitMemory)
	if all := memoryAsked(asked); all > 0 && all < p.Memory.Host.BytesPerNode {
		d.diags.Warn(IDHostMemoryShort, d.j.Sources.Range("slurm.memory"), "Too little memory is asked for",
			fmt.Sprintf("A node needs %s beside its GPUs, and slurm.memory = %q asks for less: Slurm ends what takes more. Ask for as much, or for \"0\", which is all of the node's.", p.Memory.Host.BytesPerNode.Human(), asked))
	}
}

// memoryAsked is what a value of --mem asks for; 0 where that is all of a node's, or not known.
func memoryAsked(value string) units.Bytes {
	m := memorySyntax.FindStringSubmatch(value)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0
	}
	unit := map[string]units.Bytes{"": units.MiB, "k": units.KiB, "m": units.MiB, "g": units.GiB, "t": units.TiB}[strings.ToLower(m[2])]
	return units.Bytes(n * float64(unit))
}

// requeue follows the user; a chain resumes by its own successor, so Slurm's
// requeue is switched off unless asked for.
func (d *directiveList) requeue() {
	r := d.j.Slurm.Requeue
	switch {
	case r.Set && r.Value:
		d.flag("requeue")
	case r.Set || d.j.Slurm.Chain.IsSet():
		d.flag("no-requeue")
	}
}

func (d *directiveList) other(v job.Variable) {
	path := fmt.Sprintf("directives[%q]", v.Name)
	at := d.j.Sources.Range("slurm." + path)
	if v == singleton {
		d.always(v.Name, v.Value)
		return
	}
	if v.Name == "no-kill" && d.j.Slurm.SpareNodes > 0 {
		d.diags.Error(IDReservedDirective, at, reservedSummary, "The directive \"no-kill\" follows from slurm.spare_nodes; change it there.")
		return
	}
	if !isOption(v.Name) {
		d.diags.Error(IDDirectiveValue, at, nameSummary,
			fmt.Sprintf("%q is not the name of an sbatch option; write it without dashes in front, such as \"comment\".", v.Name))
		return
	}
	if option, owner := ownedBy(v.Name); option != "" {
		what := fmt.Sprintf("The directive %q", v.Name)
		if option != v.Name {
			what += fmt.Sprintf(" begins like %q, and sbatch would read it as that, which", option)
		}
		d.diags.Error(IDReservedDirective, at, reservedSummary, fmt.Sprintf("%s %s.", what, elsewhere(option, owner)))
		return
	}
	why := refused(v.Name, v.Value)
	if limit := d.j.Slurm.Time; why == "" && v.Name == "time-min" && above(v.Value, limit) {
		why = fmt.Sprintf("is %q, which for Slurm is more than slurm.time (%s), so that it refuses the job. Write less, or raise slurm.time.", v.Value, clock(limit))
	}
	if why != "" {
		d.diags.Error(IDDirectiveValue, at, valueSummary, fmt.Sprintf("The directive %q %s", v.Name, why))
		return
	}
	if v.Value == "" || v.Value == "true" && optionOf()[v.Name].Argument != "required" {
		d.flag(v.Name)
		return
	}
	d.text(v.Name, path, v.Value)
}

// isOption reports whether s looks like a long option without its dashes.
func isOption(s string) bool {
	for _, r := range s {
		if r != '-' && (r < 'a' || r > 'z') {
			return false
		}
	}
	return s != "" && s[0] != '-'
}

// singleton lets one job of a name run at a time, beside what a chain says.
var singleton = job.Variable{Name: "dependency", Value: "singleton"}

// clock writes a limit as sbatch reads it. Parts of a second are left out: a limit is
// never longer than the job says.
func clock(limit units.Seconds) string {
	return units.Seconds(math.Floor(float64(limit))).Clock()
}
