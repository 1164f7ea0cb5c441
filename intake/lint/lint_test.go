package lint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/tools/golden"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// spell writes findings as the examples hold them.
func spell(list diag.List) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%d:%d %s %s: %s\n", d.Range.Start.Line, d.Range.Start.Column, d.Severity, d.ID, d.Detail)
	}
	return b.String()
}

// TestRules asks of every rule for a script that breaks it, and whose findings
// are of that rule alone, and for one that is right and breaks none.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(files) != len(Rules()) {
		t.Fatalf("%d examples of %d rules: %v", len(files), len(Rules()), err)
	}
	for _, r := range Rules() {
		t.Run(string(r.ID), func(t *testing.T) {
			name := filepath.Join("testdata", "rules", string(r.ID)+".txtar")
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var o Options
			if r.ID == LostCPUs {
				o.Slurm = "22.05"
			}
			found := Check("bad.sh", a.Files[0].Data, o)
			got := spell(found)
			a.Files[2].Data = []byte(got)
			golden.Compare(t, name, txtar.Format(a))
			if len(found) == 0 || slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.ID != r.ID || d.Severity != r.Severity || d.Range.IsZero() }) {
				t.Errorf("the bad script should break this rule alone:\n%s", got)
			}
			if right := Check("good.sh", a.Files[1].Data, o); len(right) > 0 {
				t.Errorf("the good script should break none:\n%s", spell(right))
			}
		})
	}
}

// TestFewOptions: a program of Megatron-LM's is known by its name, any other by its
// options.
func TestFewOptions(t *testing.T) {
	for program, want := range map[string]int{"pretrain_gpt.py": 1, "train.py": 0} {
		script := "#!/bin/bash\ntorchrun --nnodes 1 --nproc-per-node 8 " + program + " --num-layers 4 --hiden-size 512\n"
		if found := Check("run.sh", []byte(script), Options{}); len(found) != want {
			t.Errorf("%s: %d findings, want %d:\n%s", program, len(found), want, spell(found))
		}
	}
}

// TestOneRank: one of them is told as one.
func TestOneRank(t *testing.T) {
	const launch = "#!/bin/bash\ntorchrun --nnodes 1 --nproc-per-node 1 pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --micro-batch-size 2 "
	for options, want := range map[string]string{
		"--tensor-model-parallel-size 2": "starts 1 rank (1 node × 1 process), and",
		"--global-batch-size 1":          "1 sequence cannot be split evenly over 1 replica (1 rank: 1 node × 1 process), each",
	} {
		if found := spell(Check("run.sh", []byte(launch+options+"\n"), Options{})); !strings.Contains(found, want) {
			t.Errorf("%s: no %q in %s", options, want, found)
		}
	}
}

// TestLaunchers: a task of Slurm is a rank unless it starts a launcher, whatever the launcher is
// called by.
func TestLaunchers(t *testing.T) {
	const head = "#!/bin/bash\n#SBATCH --job-name=a\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\n#SBATCH --time=1:00:00\n#SBATCH --output=%x-%j.log\nset -e\n"
	const options = " pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64 --max-position-embeddings 64 --tensor-model-parallel-size 2 --global-batch-size 8\n"
	for starts, want := range map[string]bool{
		"python": true, "deepspeed": false, "python -m deepspeed.launcher.runner": false,
		"accelerate launch": false, "accelerate-launch": false, "python -m accelerate.commands.launch": false,
	} {
		found := Check("run.sh", []byte(head+"srun "+starts+options), Options{})
		if got := slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.ID == WorldSize }); got != want {
			t.Errorf("%s: %v: %v", starts, got, found)
		}
	}
}

// TestOldGPUs: the rules know the catalogue's GPUs before Blackwell by the names that jobs
// ask Slurm for them, and no later ones.
func TestOldGPUs(t *testing.T) {
	capability := regexp.MustCompile(`(?m)^\s*compute_capability\s*= "(\d+)\.`)
	for _, name := range catalog.Names("gpu") {
		source := catalog.Source("gpu", name)
		m := capability.FindSubmatch(source)
		if m == nil {
			t.Fatalf("%s says nothing of its compute capability", name)
		}
		generation, _ := strconv.Atoi(string(m[1]))
		family := strings.Split(name, "_")[0]
		if family == "rtx" {
			family = name
		}
		for _, value := range []string{"gpu:" + name + ":8", "gpu:" + family + ":8", "gpu:nvidia_" + family + "-80gb:4", strings.ToUpper(family), family + "&ib"} {
			if got := oldGPU.MatchString(value); got != (generation < 10) {
				t.Errorf("%s, of compute capability %d: before Blackwell is %v", value, generation, got)
			}
		}
	}
	for _, value := range []string{"gpu:gb200:4", "gpu:b200:8", "gpu:8", "gpu:xl40:1", "rtx5090"} {
		if m := oldGPU.FindString(value); m != "" {
			t.Errorf("%s is taken for %s", value, m)
		}
	}
}

// TestEmitted: what ndc writes breaks no rule, in the examples and in the
// goldens of all backends, and its launches are seen.
func TestEmitted(t *testing.T) {
	scripts := map[string][]byte{}
	examples, _ := filepath.Glob("../../examples/*/out/*/*/*.s*")
	for _, name := range examples {
		if ext := filepath.Ext(name); ext == ".sh" || ext == ".sbatch" {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			scripts[name] = src
		}
	}
	goldens, _ := filepath.Glob("../../backends/*/testdata/*.txtar")
	for _, golden := range goldens {
		a, err := txtar.ParseFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if ext := filepath.Ext(f.Name); ext == ".sh" || ext == ".sbatch" {
				scripts[golden+":"+f.Name] = f.Data
			}
		}
	}
	launches := 0
	for _, name := range sorted(scripts) {
		if found := Check(name, scripts[name], Options{Slurm: "22.05"}); len(found) > 0 {
			t.Errorf("%s:\n%s", name, spell(found))
		}
		s := &script{name: name, src: scripts[name]}
		if s.read() {
			launches += len(s.launches())
		}
	}
	if len(scripts) < 100 || launches < 50 {
		t.Errorf("%d scripts with %d launches are too few to tell", len(scripts), launches)
	}
}

// FuzzCheck: no script makes the rules panic, and every finding has a place in it.
func FuzzCheck(f *testing.F) {
	examples, _ := filepath.Glob("testdata/rules/*.txtar")
	for _, name := range examples {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			return
		}
		for _, d := range Check("x.sh", src, Options{}) {
			if d.Range.IsZero() || d.Range.End.Byte > len(src) || d.Range.Start.Byte > d.Range.End.Byte {
				t.Errorf("%v has no place in the script", d)
			}
		}
	})
}

// TestByteOrderMark: a mark before the script is told, and nothing that is wrong for
// its sake alone; what else is wrong stands at its place.
func TestByteOrderMark(t *testing.T) {
	found := Check("run.sh", []byte("\ufeff#!/bin/bash\n#SBATCH --nodes=2\nsrun hostname\n#SBATCH --time=1\n"), Options{})
	if len(found) != 2 || found[0].ID != NoShebang || !strings.Contains(found[0].Detail, "byte order mark") || found[1].ID != LateDirective || found[1].Range.Start.Line != 4 {
		t.Errorf("found:\n%s", spell(found))
	}
}

// TestDOSLines: what is wrong with a script for its line ends alone is told once, and what else
// is wrong stands at its place.
func TestDOSLines(t *testing.T) {
	found := Check("run.sh", []byte("#!/bin/bash\r\ntorchrun \\\r\n  --nproc-per-node 8 \\\r\n  train.py\r\nsrun hostname\r\n#SBATCH --time=1\r\n"), Options{})
	if len(found) != 2 || found[0].ID != DOSLines || found[1].ID != LateDirective || found[1].Range.Start.Line != 6 || found[1].Range.Start.Column != 1 {
		t.Errorf("found:\n%s", spell(found))
	}
}

// TestNoScript: of files that bash does not read the configurations of DeepSpeed are checked.
func TestNoScript(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"ds.json", "{\n  \"zero_optimization\": {\n    \"stage\": 2\n  }\n}\n", ""},
		{"ds.json", "{\n  \"zero_optimization\": {\n    \"overlap_com\": true\n  }\n}\n", "Did you mean overlap_comm?"},
		{"ds.json", "{\n  \"zero_optimization\": {\"stage\": 2},\n  \"#flops_profiler\": {\"enable\": true},\n  \"_flops_profiler\": {}\n}\n", ""},
		{"ds.json", "{\r\n  \"zero_optimization\": {\"stage\": 2}\r\n}\r\n", ""},
		{"ds.json", "{\n  \"train_batch_size\": GBS\n}\n", "It is no JSON: invalid character 'G' looking for beginning of value. DeepSpeed does not start"},
		{"config.json", "{\"hidden_size\": 8}\n", "It is JSON. "},
		{"ds_zero_stage_2.config", "{\n\n  \"zero_optimization\": {\n    \"overlap_com\": true\n  }\n}\n", "Did you mean overlap_comm?"},
		{"ds_zero_stage_2.config", "{\n  \"train_batch_size\" : 8,\n}\n", "It is no JSON: "},
		{"args", "{ \"hidden_size\": 8}\n", "It is JSON. "},
		{"ds.json", "{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": true},\n  \"bf16\": {\"enabled\": true}\n}\n", "bf16 and fp16, on line 3, are both enabled: "},
		{"ds.json", "{\n  \"train_batch_size\": 8,\n  \"fp16\": {\"enabled\": \"auto\"},\n  \"bf16\": {\"enabled\": true}\n}\n", ""},
		{"ds.json", "{\"train_batch_size\": 8, \"fp16\": {\"enabled\": false}, \"bf16\": {\"enabled\": true}}\n", ""},
		{"run.sh", "{ \"$RUN\" : ; } > log\n", ""},
		{"llama3.toml", "[training]\nsteps = 10\n", "It is TOML. "},
		{"job.hcl", "job \"a\" {\n}\n", "It is a job of ndc, which `ndc validate` checks. "},
		{"train.py", "print(os.environ[\"A\"])\n", "It is a program in Python. "},
		{"train.sbatch", "#!/usr/bin/env python3\n#SBATCH --nodes=2\nprint(1)\n", "python3 runs it"},
		{"run.job", "#!/bin/tcsh -f\nif ($x == 1) then\nendif\n", "tcsh runs it"},
		{"run.sh", "#!/bin/bash -l\npython3 x.py\n", ""},
	} {
		var got []string
		for _, d := range Check(c.name, []byte(c.content), Options{}) {
			got = append(got, d.Detail)
		}
		if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: %q\n got %q\nwant %q", c.name, c.content, got, c.want)
		}
	}
}

// TestSubstitution: what bash refuses in ${…} ends a command and no script, as bash says.
func TestSubstitution(t *testing.T) {
	for word, goesOn := range map[string]bool{"${that NAME}": true, "${(f)x}": true, "${${x}}": true, "${#a b}": true, "${}": true, "${a!}": true, "${a": false, "${x:-b": false, "$(echo": false} {
		text := "#!/bin/bash\necho " + word + "\necho after\n"
		found := Check("run.sh", []byte(text), Options{})
		if len(found) != 1 || found[0].ID != Syntax || strings.Contains(found[0].Detail, "bad substitution") != goesOn {
			t.Errorf("%s: found:\n%s", word, spell(found))
		}
		if bash, err := exec.LookPath("bash"); err == nil {
			c := exec.Command(bash)
			c.Stdin = strings.NewReader(text)
			if out, _ := c.Output(); strings.Contains(string(out), "after") != goesOn {
				t.Errorf("%s: bash prints %q", word, out)
			}
		}
	}
}

// TestBiasedExperts: experts with biases are told where the releases assert that they have
// none, and nowhere else.
func TestBiasedExperts(t *testing.T) {
	const launch = "#!/bin/bash\ntorchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --sequence-parallel --num-experts 8 "
	for options, want := range map[string]string{
		"--tensor-model-parallel-size 2":                                                                  "over 2 tensor ranks, as the other layers",
		"--tensor-model-parallel-size 4 --expert-tensor-parallel-size 2":                                  "over 2 tensor ranks:",
		"--tensor-model-parallel-size 2 --expert-tensor-parallel-size 1 --moe-grouped-gemm":               "in groups",
		"--tensor-model-parallel-size 1 --moe-shared-expert-intermediate-size 1024":                       "beside shared experts",
		"--tensor-model-parallel-size 2 --expert-tensor-parallel-size 1":                                  "",
		"--tensor-model-parallel-size 2 --expert-tensor-parallel-size $ETP":                               "",
		"--tensor-model-parallel-size 2 --disable-bias-linear --moe-grouped-gemm":                         "",
		"--tensor-model-parallel-size 2 $MORE":                                                            "",
		"--tensor-model-parallel-size 1 --moe-grouped-gemm --no-bias-dropout-fusion":                      "",
		"--tensor-model-parallel-size 1 --moe-grouped-gemm --transformer-impl local":                      "",
		"--tensor-model-parallel-size 1 --moe-grouped-gemm --spec my.spec of":                             "",
		"--tensor-model-parallel-size 2 --use-checkpoint-args":                                            "",
		"--tensor-model-parallel-size 2 --expert-tensor-parallel-size 1 --moe-grouped-gemm --frobnicates": "",
	} {
		got := ""
		for _, d := range Check("a.sh", []byte(launch+options+"\n"), Options{}) {
			if d.ID == Contradiction {
				got += d.Detail
			}
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", options, got, want)
		}
	}
}

// TestExpertBiases: biases of experts are told where Megatron-core's own layers have them
// and tensor ranks hold different experts, and nowhere else.
func TestExpertBiases(t *testing.T) {
	const launch = "#!/bin/bash\ntorchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --tensor-model-parallel-size 2 --num-experts 8 "
	const wrong = "--sequence-parallel --expert-tensor-parallel-size 1 --expert-model-parallel-size 2 --transformer-impl "
	for options, want := range map[string]int{
		wrong + "local":                       1,
		wrong + "transformer_engine":          0,
		wrong + "local --disable-bias-linear": 0,
		wrong + "local --moe-grouped-gemm":    0,
		wrong + "local --spec a b":            0,
		wrong + "local $MORE":                 0,
		strings.Replace(wrong, "parallel-size 2", "parallel-size 1", 1) + "local":   0,
		strings.Replace(wrong, "--sequence-parallel", "--swiglu", 1) + "local":      0,
		strings.Replace(wrong, "--expert-tensor-parallel-size 1", "", 1) + "local ": 0,
	} {
		found := Check("run.sh", []byte(launch+options+"\n"), Options{})
		found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.ID == Contradiction }) // TestBiasedExperts
		if len(found) != want || want > 0 && found[0].ID != ExpertBiases {
			t.Errorf("%s: found:\n%s", options, spell(found))
		}
	}
}

// TestFirstNode: a script of the first node alone may call that localhost.
func TestFirstNode(t *testing.T) {
	for launch, want := range map[string]int{
		"torchrun --nnodes 2 --nproc-per-node 8 --node-rank 0 --master-addr 127.0.0.1 train.py":      0,
		"torchrun --nnodes 2 --nproc-per-node 8 --node-rank 1 --master-addr 127.0.0.1 train.py":      1,
		"torchrun --nnodes 2 --nproc-per-node 8 --node-rank $RANK --master-addr 127.0.0.1 train.py":  1,
		"srun torchrun --nnodes 2 --nproc-per-node 8 --node-rank 0 --master-addr localhost train.py": 1,
	} {
		found := Check("run.sh", []byte("#!/bin/bash\n"+launch+"\n"), Options{})
		if len(found) != want || want > 0 && found[0].ID != LocalAddress {
			t.Errorf("%s: found:\n%s", launch, spell(found))
		}
	}
}

// TestFunctionName: what the parser calls foo is named as what it is.
func TestFunctionName(t *testing.T) {
	found := Check("run.sh", []byte("#!/bin/bash\nupdate()\n"), Options{})
	if len(found) != 1 || strings.Contains(found[0].Detail, "foo") {
		t.Errorf("found:\n%s", spell(found))
	}
}

// TestKept: a variable that the environment may set is not read before it is set.
func TestKept(t *testing.T) {
	for value, want := range map[string]int{"${MODEL:-a}": 0, "\"x/${MODEL-a}\"": 0, "a": 1, "${OTHER:-a}": 1} {
		found := Check("run.sh", []byte("#!/bin/bash\nNAME=run-${MODEL}\nMODEL="+value+"\ntorchrun --nproc-per-node 8 train.py $NAME $MODEL\n"), Options{})
		if len(found) != want || want > 0 && found[0].ID != LateVariable {
			t.Errorf("%s: found:\n%s", value, spell(found))
		}
	}
}
