package slurm

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	_ "github.com/ndc-dev/ndc/tools/draws"
	"github.com/ndc-dev/ndc/tools/golden"
)

// example is a job with everything the scripts react to.
func example() (*job.Job, *plan.Plan, Launch) {
	j := &job.Job{
		Name:    "llama3-70b",
		Backend: job.Backend{Kind: "megatron", Version: "core_v0.18.2", Environment: []job.Variable{{Name: "NVTE_DEBUG", Value: "1"}}},
		Cluster: job.Cluster{GPU: job.GPU{Name: "h100_sxm", Catalog: "h100_sxm", ComputeCapability: "9.0", PeakFLOPS: job.PeakFLOPS{BF16: 989.4e12}, MemoryBandwidth: 3.35e12},
			Nodes: 32, GPUsPerNode: 8, CPUsPerNode: 112, NVLink: job.NVLink{Domain: 8, Bandwidth: 450e9},
			Network: job.Network{Kind: "infiniband", NICsPerNode: 8, Bandwidth: 50e9, Environment: []job.Variable{{Name: "NCCL_IB_HCA", Value: "mlx5_0,mlx5_1"}}}},
		Slurm: job.Slurm{
			Account: "llm", Partition: "h100", Time: 24 * 3600, Memory: "0", CPUsPerTask: 112,
			Chain: job.Chain{UntilDone: true}, EnvFile: "${HOME}/ndc.env", Segment: 16,
			Directives: []job.Variable{{Name: "comment", Value: "a run; of ours"}},
			Setup:      []string{"source /opt/site/setup.sh"}, Modules: []string{"cuda/12.8"},
			NodeCheck: &job.NodeCheck{Command: "/opt/site/check --fast", Timeout: 120},
			Container: job.Container{Image: "/images/megatron.sqsh", Mounts: []string{"/data:/data:ro", "/lustre/ckpt:/checkpoints"}},
			LogPath:   "/logs",
		},
	}
	p := &plan.Plan{Layout: plan.Layout{TensorParallel: 4, ContextParallel: 1, PipelineParallel: 4, DataParallelReplicate: 1, DataParallelShard: 16}}
	l := Launch{
		Title: "Megatron-LM core_v0.18.2", Torch: "2.8", Steps: 1000,
		Environment:    []Setting{{"CUDA_DEVICE_MAX_CONNECTIONS", render.Literal("1"), "tensor parallelism before Blackwell"}},
		Setup:          []string{`cd "$MEGATRON_PATH"`},
		Program:        []render.Word{render.Shell("pretrain_gpt.py")},
		Arguments:      []Argument{Option("spec", "--num-layers", "80"), Option("", "--bf16")},
		Shown:          []int{0, 255},
		CheckpointPath: "/checkpoints/llama3-70b/megatron",
		LatestStep:     `cat "$CHECKPOINT_PATH/latest_checkpointed_iteration.txt" 2>/dev/null || true`,
	}
	return j, p, l
}

// files emits and fails on diagnostics.
func files(t testing.TB, j *job.Job, p *plan.Plan, l Launch) *txtar.Archive {
	t.Helper()
	artifacts, diags := Files(j, p, l)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	var a txtar.Archive
	for _, f := range artifacts {
		a.Files = append(a.Files, txtar.File{Name: f.Path, Data: f.Content})
	}
	return &a
}

// TestGolden: the scripts of each case are those of its golden.
func TestGolden(t *testing.T) {
	cases := map[string]func(*job.Job, *Launch){
		"pyxis_chain": func(*job.Job, *Launch) {},
		"bare": func(j *job.Job, l *Launch) {
			j.Slurm = job.Slurm{GPUsDirective: "none", Exclusive: job.Some(false)}
			l.CheckpointPath = ""
		},
		"apptainer": func(j *job.Job, l *Launch) {
			j.Slurm.Chain = job.Chain{Count: 3}
			j.Slurm.Container.Runtime, j.Slurm.Container.WorkDir = "apptainer", "/workspace"
		},
		"srun": func(j *job.Job, l *Launch) {
			j.Slurm.Container, j.Slurm.Chain = job.Container{}, job.Chain{}
			j.Slurm.Launcher, j.Slurm.Bind, j.Slurm.Signal = "srun", "socket", "auto"
			j.Slurm.HangTimeout = job.Silence{Learned: true}
			j.Training.Logging.Profile = &job.Profile{StartStep: 1, EndStep: 2, Ranks: []int{0, 9}, Tool: "nsys"}
		},
		"spares_chain": func(j *job.Job, l *Launch) {
			j.Slurm.SpareNodes, j.Cluster.NVLink.Domain, j.Slurm.Exclude = 2, 144, "n[7-8]"
		},
		"spares_alone": func(j *job.Job, l *Launch) {
			j.Slurm.SpareNodes, j.Slurm.Segment, j.Slurm.Chain, j.Slurm.NodeCheck = 1, 0, job.Chain{}, nil
			j.Slurm.Launcher, j.Slurm.HangTimeout, j.Slurm.Time = "srun", job.Silence{Time: 1200}, 0
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			j, p, l := example()
			change(j, &l)
			got := files(t, j, p, l)
			golden.Compare(t, filepath.Join("testdata", name+".txtar"), txtar.Format(got))
			for _, f := range got.Files {
				checkShell(t, f.Name, f.Data)
			}
		})
	}
}

// checkShell holds a script to two independent parsers.
func checkShell(t testing.TB, name string, script []byte) {
	t.Helper()
	if strings.HasSuffix(name, ".py") {
		return // TestCheckSpeed runs it
	}
	if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(script), name); err != nil {
		t.Errorf("mvdan.cc/sh: %v", err)
	}
	cmd := exec.Command("bash", "-n")
	cmd.Stdin = bytes.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("bash -n %s: %v\n%s", name, err, out)
	}
}

// TestValuesNeverBecomeCode puts hostile text into every free-form value and
// looks for commands that the scripts did not have before.
func TestValuesNeverBecomeCode(t *testing.T) {
	j, p, l := example()
	base := commands(t, files(t, j, p, l))
	rapid.Check(t, func(r *rapid.T) {
		evil := rapid.SampledFrom([]string{"$(touch pwned)", "`touch pwned`", "'; touch pwned; '", "\"; touch pwned; \"", "a\ntouch pwned", "&& touch pwned", "${x:-$(touch pwned)}", "\\", "é 💥", "# x"}).Draw(r, "value")
		j, p, l := example()
		j.Slurm.EnvFile, j.Slurm.LogPath = evil, "/"+evil
		j.Slurm.Modules = []string{evil}
		j.Slurm.Environment = []job.Variable{{Name: "X", Value: evil}}
		j.Slurm.Container.Image, j.Slurm.Container.WorkDir = evil, evil
		j.Slurm.Container.Mounts = []string{evil + ":/checkpoints"}
		j.Slurm.NodeCheck.Command = "check " + strings.Join(strings.Fields(evil), "")
		l.Title, l.CheckpointPath = evil, evil
		l.Arguments = []Argument{Option(evil, "--save", evil), Option("", "--bf16")}
		got := commands(t, files(t, j, p, l))
		for c := range got {
			if !base[c] {
				r.Errorf("the value %q made a new command %q", evil, c)
			}
		}
	})
}

// matched are the variables of the scripts that hold what number printed, or
// that the scripts count themselves.
var matched = map[string]bool{
	"SLURM_JOB_ID": true, "link": true, "now": true, "size": true, "grown": true, "last": true, "longest": true, "reports": true, "pause": true, "limit": true,
	"NDC_NODES": true, "cpus": true, "step": true, "previous": true, "stalled": true, "failed": true, "status": true, "newest": true,
	"nodes": true, "node_rank": true, "gpus_per_node": true, "1": true, "date": true, // a command, which prints seconds
	"rank": true, "local_rank": true, "node": true, "said": true, "tries": true, "when": true, "most": true, "later": true,
}

// TestNothingElseIsComputed: bash executes what stands in the brackets of a
// word that it computes with. Whatever the scripts put between $(( and )), or
// compare as numbers, was matched before; and nothing but environment.sh and
// the user's env_file is read as shell.
func TestNothingElseIsComputed(t *testing.T) {
	j, p, l := example()
	scripts := files(t, j, p, l).Files
	for _, pattern := range []string{"*.sbatch", "launch.sh", "environment.sh"} { // of all backends
		names, _ := filepath.Glob("../../examples/*/out/*/*/" + pattern)
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			scripts = append(scripts, txtar.File{Name: name, Data: content})
		}
	}
	if len(scripts) < 60 {
		t.Fatalf("only %d scripts", len(scripts))
	}
	for _, f := range scripts {
		tree, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(f.Data), f.Name)
		if err != nil {
			t.Fatal(err)
		}
		syntax.Walk(tree, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.ArithmExp:
				onlyMatched(t, f, n.X)
			case *syntax.ArithmCmd:
				onlyMatched(t, f, n.X)
			case *syntax.BinaryTest:
				if slices.Contains(numeric, n.Op) {
					onlyMatched(t, f, n.X)
					onlyMatched(t, f, n.Y)
				}
			case *syntax.CallExpr:
				noOtherCode(t, f, n)
			}
			return true
		})
	}
}

var numeric = []syntax.BinTestOperator{syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr}

// noOtherCode refuses commands that read text as code.
func noOtherCode(t *testing.T, f txtar.File, n *syntax.CallExpr) {
	t.Helper()
	if len(n.Args) < 2 {
		return
	}
	text := func(w *syntax.Word) string { return string(f.Data[w.Pos().Offset():w.End().Offset()]) }
	argument := text(n.Args[1])
	switch text(n.Args[0]) {
	case "eval", "let", "declare":
		t.Errorf("%s:%s: %s", f.Name, n.Pos(), text(n.Args[0]))
	case ".", "source":
		before := string(f.Data[:n.Pos().Offset()])
		inSetup := strings.Contains(before, "# slurm.setup of the job") && !strings.Contains(before, "# End of slurm.setup.")
		if !inSetup && argument != `"$env_file"` && argument != `"$NDC_DIR/environment.sh"` {
			t.Errorf("%s:%s reads %s as shell", f.Name, n.Pos(), argument)
		}
	case "printf":
		if argument[0] != '\'' || strings.Contains(argument, "$") {
			t.Errorf("%s:%s: %s is a format that is not written out", f.Name, n.Pos(), argument)
		}
	}
}

func onlyMatched(t *testing.T, f txtar.File, n syntax.Node) {
	t.Helper()
	syntax.Walk(n, func(n syntax.Node) bool {
		if e, ok := n.(*syntax.ParamExp); ok && !matched[e.Param.Value] {
			t.Errorf("%s:%s computes with $%s, which nobody matched", f.Name, e.Pos(), e.Param.Value)
		}
		if w, ok := n.(*syntax.Word); ok {
			if name := w.Lit(); render.IsName(name) && !matched[name] {
				t.Errorf("%s:%s computes with %s, which nobody matched", f.Name, w.Pos(), name)
			}
		}
		return true
	})
}

// TestThreads: the threads of a rank are its share of the node's cores where
// its optimizer runs there, and one elsewhere.
func TestThreads(t *testing.T) {
	for _, c := range []struct {
		name         string
		offload      bool
		cores, asked int
		want         string
		warnings     int
	}{
		{"on the GPU", false, 112, 0, "1 # torchrun's own choice", 0},
		{"on the host", true, 112, 0, "14 # the optimizer runs on the host: 112 cores over 8 ranks", 0},
		{"fewer asked for", true, 112, 64, "8 # the optimizer runs on the host: 64 cores over 8 ranks", 0},
		{"hardware threads asked for", true, 112, 224, "14 # ", 0},
		{"fewer cores than ranks", true, 4, 0, "1 # ", 0},
		{"unknown", true, 0, 0, "1 # the optimizer runs on the host; its cores are not known", 1},
	} {
		j, p, l := example()
		j.Cluster.CPUsPerNode, j.Slurm.CPUsPerTask, p.Execution.OffloadOptimizer = c.cores, c.asked, c.offload
		artifacts, diags := Files(j, p, l)
		if len(diags) != c.warnings || c.warnings > 0 && diags[0].ID != IDHostCoresUnknown {
			t.Errorf("%s: %v", c.name, diags)
		}
		if text := string(artifacts[2].Content); !strings.Contains(text, "export OMP_NUM_THREADS="+c.want) {
			t.Errorf("%s: want %s in\n%s", c.name, c.want, text)
		}
	}
}

// TestOne: one node and one GPU are not told in the plural.
func TestOne(t *testing.T) {
	j, p, l := example()
	j.Cluster.Nodes, j.Cluster.GPUsPerNode, j.Slurm.Segment = 1, 1, 0
	p.Layout = plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, DataParallelReplicate: 1, DataParallelShard: 1}
	text := string(txtar.Format(files(t, j, p, l)))
	for _, want := range []string{"the layout needs 1 node, the allocation has", "needs 1 GPU; this launch has"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestListed: Slurm looks for a partition or reservation " b" where a space stands in the list.
func TestListed(t *testing.T) {
	j, p, l := example()
	j.Slurm.Partition, j.Slurm.Reservation = "a, b", "c, d"
	if script := string(files(t, j, p, l).Files[0].Data); !strings.Contains(script, "\n#SBATCH --partition=a,b\n#SBATCH --reservation=c,d\n") {
		t.Error(script[:600])
	}
}

// TestCPUs: a job asks for the CPUs of a node's task where Slurm would not
// give all of them by itself.
func TestCPUs(t *testing.T) {
	for _, c := range []struct {
		name         string
		exclusive    bool
		cores, asked int
		directives   []job.Variable
		want         string
		warnings     int
	}{
		{"alone on its nodes", true, 112, 0, nil, "", 0},
		{"as asked", true, 112, 56, nil, "--cpus-per-task=56\n", 0},
		{"shared", false, 112, 0, nil, "--cpus-per-task=112\n", 0},
		{"shared, as asked", false, 112, 56, nil, "--cpus-per-task=56\n", 0},
		{"shared, for each GPU", false, 112, 0, []job.Variable{{Name: "cpus-per-gpu", Value: "14"}}, "--cpus-per-gpu=14\n", 0},
		{"shared, unknown", false, 0, 0, nil, "", 1},
	} {
		j, p, l := example()
		j.Cluster.CPUsPerNode, j.Slurm.CPUsPerTask, j.Slurm.Exclusive, j.Slurm.Directives = c.cores, c.asked, job.Some(c.exclusive), c.directives
		artifacts, diags := Files(j, p, l)
		if len(diags) != c.warnings || c.warnings > 0 && diags[0].ID != IDCPUsNotAsked {
			t.Errorf("%s: %v", c.name, diags)
		}
		text := string(artifacts[0].Content)
		if !strings.Contains(text, c.want) || strings.Count(text, "#SBATCH --cpus-per") != min(1, len(c.want)) {
			t.Errorf("%s: want %q in\n%s", c.name, c.want, text)
		}
	}
}

// TestMemory: a job that asks for less memory than its plan counts on a node is told of it.
func TestMemory(t *testing.T) {
	for asked, short := range map[string]bool{"": false, "0": false, "37888": false, "37887": true, "+37G": false, "36GB": true, "37000000k": true, "1t": false} {
		j, p, l := example()
		j.Slurm.Memory, p.Memory.Host.BytesPerNode = asked, 37*units.GiB
		_, diags := Files(j, p, l)
		if short != (len(diags) == 1 && diags[0].ID == IDHostMemoryShort) || !short && len(diags) > 0 {
			t.Errorf("%q: %v", asked, diags)
		}
	}
}

// commands collects the first words of all simple commands.
func commands(t testing.TB, a *txtar.Archive) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, f := range a.Files {
		tree, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(f.Data), f.Name)
		if err != nil {
			t.Fatalf("%v in\n%s", err, f.Data)
		}
		syntax.Walk(tree, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				found[c.Args[0].Lit()] = true
			}
			return true
		})
	}
	return found
}

// TestSetup: lines of setup that would take in those of the script are an error at the
// element in which that shows; several elements may make one command.
func TestSetup(t *testing.T) {
	for _, c := range []struct {
		setup []string
		at    int // the element; -1: no error
	}{
		{[]string{"if [[ -e /opt/x ]]; then", ". /opt/x", "fi", "cat <<'EOF'", "it's", "EOF", "echo 'a", "b'", "true \\", "true"}, -1},
		{[]string{"true", "echo 'a"}, 1},
		{[]string{"if true; then"}, 0},
		{[]string{"true\ntrue", "cat <<EOF", "x"}, 1},
		{[]string{"true", "fi"}, 1},
		{[]string{"true", "module load x \\"}, 1},
		{[]string{"}; rm -rf /"}, 0},
	} {
		j, _, l := example()
		j.Training.Checkpoint.Path, j.Slurm.Setup, j.Sources = l.CheckpointPath, c.setup, job.Sources{}
		for i := range c.setup {
			j.Sources[fmt.Sprintf("slurm.setup[%d]", i)] = job.Source{Range: diag.Range{Filename: "job.hcl", Start: diag.Position{Line: i}}}
		}
		diags := Check(j)
		if c.at < 0 {
			if len(diags) > 0 {
				t.Errorf("%q: %v", c.setup, diags)
			}
		} else if len(diags) != 1 || diags[0].ID != IDSetup || diags[0].Range.Start.Line != c.at {
			t.Errorf("%q: %v, want %s at element %d", c.setup, diags, IDSetup, c.at)
		}
	}
}

// TestDiagnostics: what sbatch or a run would fail at is refused with an id.
func TestDiagnostics(t *testing.T) {
	cases := map[string]struct {
		change func(*job.Job, *Launch)
		want   string
	}{
		"chain":     {func(j *job.Job, l *Launch) { l.CheckpointPath = "" }, "chain-without-checkpoint"},
		"segment":   {func(j *job.Job, l *Launch) { j.Slurm.Segment = 5 }, "segment-does-not-divide"},
		"name":      {func(j *job.Job, l *Launch) { j.Slurm.Environment = []job.Variable{{Name: "A B"}} }, "variable-name"},
		"own":       {func(j *job.Job, l *Launch) { j.Slurm.Environment = []job.Variable{{Name: "MASTER_ADDR"}} }, "reserved-variable"},
		"log":       {func(j *job.Job, l *Launch) { j.Slurm.Environment = []job.Variable{{Name: "log", Value: "7"}} }, "reserved-variable"},
		"read-only": {func(j *job.Job, l *Launch) { j.Backend.Environment = []job.Variable{{Name: "UID", Value: "7"}} }, "reserved-variable"},
		"directive": {func(j *job.Job, l *Launch) { j.Slurm.Directives = []job.Variable{{Name: "nodes", Value: "4"}} }, "reserved-directive"},
		"variable":  {func(j *job.Job, l *Launch) { j.Slurm.Partition = "${PROJECT}" }, "directive-value"},
		"command":   {func(j *job.Job, l *Launch) { j.Slurm.Directives = []job.Variable{{Name: "comment", Value: "$(id)"}} }, "directive-value"},
		"nodes":     {func(j *job.Job, l *Launch) { j.Slurm.Exclude = "node[0017; rm -rf ~]" }, "directive-value"},
		"home":      {func(j *job.Job, l *Launch) { j.Slurm.NodeList = "~/nodes" }, "directive-value"},
		"unit":      {func(j *job.Job, l *Launch) { j.Slurm.Memory = "2TiB" }, "directive-value"},
		"fraction":  {func(j *job.Job, l *Launch) { j.Slurm.Memory = "1.5T" }, "directive-value"},
		"brackets":  {func(j *job.Job, l *Launch) { j.Slurm.Constraint = "[rack1|rack2" }, "directive-value"},
		"crossed":   {func(j *job.Job, l *Launch) { j.Slurm.Constraint = "([a100)&ib]" }, "directive-value"},
		"spaces":    {func(j *job.Job, l *Launch) { j.Slurm.Constraint = "a100 & ib" }, "directive-value"},
		"direction": {func(j *job.Job, l *Launch) { j.Slurm.NodeList = "a\u202etxt\u2066" }, "directive-value"},
		"unseen":    {func(j *job.Job, l *Launch) { j.Slurm.Constraint = "a\u200bb" }, "directive-value"},
		"escape":    {func(j *job.Job, l *Launch) { j.Slurm.QOS = "a\x1b[2J" }, "directive-value"},
		"newline":   {func(j *job.Job, l *Launch) { j.Slurm.Account = "a\n#SBATCH --x" }, "directive-value"},
		"runtime":   {func(j *job.Job, l *Launch) { j.Slurm.Container.Runtime = "docker" }, "container-runtime"},
		"time":      {func(j *job.Job, l *Launch) { j.Slurm.Time = 30 }, "time-limit-too-short"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			j, p, l := example()
			c.change(j, &l)
			_, diags := Files(j, p, l)
			if len(diags) != 1 || string(diags[0].ID) != c.want {
				t.Errorf("got %v, want one %s", diags, c.want)
			}
		})
	}
}

// TestValuesOfSlurm: what sbatch 22.05 took is no error.
func TestValuesOfSlurm(t *testing.T) {
	for argument, values := range map[string][]string{
		"exclude":    {"n1,n[01-03]", "n[00][01-03],m", "n1, n2", "r-ib[0-1].x", "./no nodes", "/etc/nodes", "switch{s[1-2]}", "n[3-]", ","},
		"memory":     {"0", "64", "64G", "64g", "64GB", "64Gb", "1500M", "5KB", "1T"},
		"constraint": {"a100", "a100&ib", "a100|ib", "[a100|rack1]", "a100*1", "(a100&ib)|rack1", "a100&", "a100,ib", "[(a100&ib)*1]", "a100&(ib|rack1)", "[a100*1&ib*1]", "[a100]&ib"},
	} {
		for _, value := range values {
			j, p, l := example()
			*map[string]*string{"exclude": &j.Slurm.Exclude, "memory": &j.Slurm.Memory, "constraint": &j.Slurm.Constraint}[argument] = value
			if _, diags := Files(j, p, l); len(diags) > 0 {
				t.Errorf("%s = %q: %v", argument, value, diags)
			}
		}
	}
}

// TestMPIType: how srun starts MPI is the site's to say; what an allocation sets is not.
func TestMPIType(t *testing.T) {
	j, p, l := example()
	j.Slurm.Environment = append(j.Slurm.Environment, job.Variable{Name: "SLURM_MPI_TYPE", Value: "pmix"})
	if text := string(files(t, j, p, l).Files[2].Data); !strings.Contains(text, "\nexport SLURM_MPI_TYPE=pmix # slurm.environment\n") {
		t.Errorf("%s", text)
	}
	j.Slurm.Environment = []job.Variable{{Name: "SLURM_NTASKS", Value: "1"}}
	if _, diags := Files(j, p, l); len(diags) != 1 || diags[0].ID != IDReservedVariable {
		t.Errorf("SLURM_NTASKS: %v", diags)
	}
}

// TestLiveVariables: they are those that some batch script sets before the last lines
// of a job or a site, and reads after them or in a function.
func TestLiveVariables(t *testing.T) {
	live := map[string]bool{}
	goldens, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, golden := range goldens {
		a, err := txtar.ParseFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if strings.HasSuffix(f.Name, ".sbatch") {
				liveIn(t, string(f.Data), live)
			}
		}
	}
	for _, name := range ownVariables {
		delete(live, name)
	}
	want := slices.DeleteFunc(slices.Sorted(maps.Keys(live)), func(name string) bool { return strings.HasPrefix(name, "SLURM_") })
	if d := cmp.Diff(want, liveVariables); d != "" {
		t.Errorf("-of the scripts +listed:\n%s", d)
	}
}

// liveIn adds the variables of one batch script.
func liveIn(t *testing.T, script string, live map[string]bool) {
	t.Helper()
	before, _, ok := strings.Cut(script, "\nlaunch=(")
	if !ok {
		t.Fatal("the script has no launch")
	}
	tree, err := render.ParseShell([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	read, local := map[string]bool{}, map[string]bool{}
	inFunction := uint(0) // where the last function ends
	syntax.Walk(tree, func(n syntax.Node) bool {
		if n == nil {
			return true
		}
		at := n.Pos().Offset()
		reads := at < inFunction || at > uint(len(before)+1)
		switch n := n.(type) {
		case *syntax.FuncDecl:
			inFunction = n.End().Offset()
		case *syntax.ParamExp:
			read[n.Param.Value] = read[n.Param.Value] || reads
		case *syntax.ArithmExp: // where names stand alone
			syntax.Walk(n.X, func(n syntax.Node) bool {
				if w, ok := n.(*syntax.Word); ok {
					read[w.Lit()] = read[w.Lit()] || reads
				}
				return true
			})
		case *syntax.DeclClause:
			for _, a := range n.Args {
				if a.Name != nil {
					local[a.Name.Value] = local[a.Name.Value] || at < inFunction
				}
			}
		}
		return true
	})
	for _, name := range render.SetByShell(before) {
		if read[name] && !local[name] && name != "_" {
			live[name] = true
		}
	}
}

// TestShortLimit: a limit below a minute is told as it was written.
func TestShortLimit(t *testing.T) {
	j, p, l := example()
	j.Slurm.Time = 30
	_, diags := Files(j, p, l)
	if want := "Start-up and the last checkpoint need 1m, and the limit is 30s. Ask for more time."; len(diags) != 1 || diags[0].Detail != want {
		t.Errorf("%v, want %s", diags, want)
	}
}

// TestHostPath: a path in the container is that of the longest mount above it.
func TestHostPath(t *testing.T) {
	mounts := []string{"/a:/x", "/b:/x/y:ro", "odd"}
	for in, want := range map[string]string{"/x/z": "/a/z", "/x/y/z": "/b/z", "/xx": "/xx", "/x": "/a"} {
		if got := hostPath(mounts, in); got != want {
			t.Errorf("hostPath(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestSaves: jobs list themselves beside a folder that the batch script can see.
func TestSaves(t *testing.T) {
	for path, want := range map[string]string{
		"/checkpoints/x/megatron": "\nsaves=/lustre/ckpt/x/megatron\n",
		"${HOME}/x/megatron":      "",
		"s3://bucket/x/megatron":  "",
		"":                        "",
	} {
		j, p, l := example()
		j.Slurm.Chain, j.Slurm.Container.Mounts = job.Chain{}, []string{"/lustre/ckpt:/checkpoints"}
		l.CheckpointPath = path
		script := string(batchScript(j, p, l, nil, nil, nil))
		if has := strings.Contains(script, "\nsaves="); has != (want != "") || !strings.Contains(script, want) {
			t.Errorf("%q: want %q in\n%s", path, want, script)
		}
	}
}

// TestAllocatorSettingName: the allocator's variable has the name that the release of torch reads.
func TestAllocatorSettingName(t *testing.T) {
	for torch, want := range map[string]string{"2.8": "PYTORCH_CUDA_ALLOC_CONF", "2.9": "PYTORCH_ALLOC_CONF", "2.14.0": "PYTORCH_ALLOC_CONF"} {
		if got := AllocatorSetting(torch).Name; got != want {
			t.Errorf("torch %s reads %s, got %s", torch, want, got)
		}
	}
}

// TestTraced: Nsight Systems starts the ranks that are traced, and where it is
// missing they start without it.
func TestTraced(t *testing.T) {
	j, p, l := example()
	j.Training.Logging.Profile = &job.Profile{StartStep: 1, EndStep: 2, Ranks: []int{3}, Tool: "nsys"}
	_, script, _ := strings.Cut(string(launchScript(j, p, l)), "traced='\n")
	script, _, _ = strings.Cut(script, "'\n")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "nsys"), []byte("#!/bin/bash\nprintf 'nsys %s\\n' \"$*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ rank, path, want string }{
		{"3", folder + ":/usr/bin:/bin", "--output=/logs/rank-3 echo trained\n"},
		{"30", folder + ":/usr/bin:/bin", "trained\n"},
		{"3", "/usr/bin:/bin", "trained\n"},
	} {
		run := exec.Command("bash", "-c", script, "traced", "echo", "trained")
		run.Env = []string{"RANK=" + c.rank, "PATH=" + c.path, "NDC_RANK_LOGS=/logs"}
		if out, err := run.Output(); err != nil || !strings.HasSuffix(string(out), c.want) || strings.Contains(string(out), "nsys") != strings.Contains(c.want, "output") {
			t.Errorf("rank %s: %q, %v", c.rank, out, err)
		}
	}
}

// TestCaps: a chain outlasts the failures that its GPUs have anyway. 16,384 of them fail every
// 3.09 h, which hardly a submission of a week survives, and one in seven that fail has saved nothing.
func TestCaps(t *testing.T) {
	const day = 24 * 3600
	for _, c := range []struct {
		nodes           int
		run, limit      units.Seconds
		stalled, failed int
	}{
		{2, 30 * day, day, 2, 10},
		{32, 80 * day, day, 3, 10},
		{2048, 54 * day, 7 * day, 7, 838},
		{2048, 54 * day, 3600, 7, 10},
		{2048, 54 * day, 0, 7, 838}, // no limit
		{2048, 0, 7 * day, 2, 10},
	} {
		j, p, _ := example()
		j.Cluster.Nodes, j.Cluster.GPUsPerNode, j.Cluster.Reliability, j.Slurm.Time = c.nodes, 8, nil, c.limit
		p.Run.Seconds, p.Run.Checkpoints = c.run, &plan.Checkpoints{IntervalSeconds: 1140}
		if stalled, failed := caps(j, &p.Run); stalled != c.stalled || failed != c.failed {
			t.Errorf("%d nodes, %v of %v: %d and %d, want %d and %d", c.nodes, c.run, c.limit, stalled, failed, c.stalled, c.failed)
		}
	}
}
