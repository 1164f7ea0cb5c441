package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/output"
	"pgregory.net/rapid"
)

// The tests of this file run the emitted batch scripts without Slurm: the
// commands that they call are a few lines of shell.

// slurmCommands stand in for Slurm on one node, for the GPU's tool and for the
// program that starts the ranks, which runs what "ranks" in the folder says.
var slurmCommands = map[string]string{
	"scontrol": `if [[ $2 == hostnames ]]; then echo node1; else printf '   JobId=%s\n   Command=%s\n' "$3" "$SCRIPT"; fi`,
	"sbatch": `[[ " $* " != *" --test-only "* ]] || exit 0
left=$(cat "$FAKE/failures" 2>/dev/null || echo 0)
if ((left > 0)); then
  echo $((left - 1)) >"$FAKE/failures"
  echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2
  exit 1
fi
env >"$FAKE/queued"
printf '%s\n' "$@" >"$FAKE/submitted"
echo "sbatch: a remark of the site"
echo "$((SLURM_JOB_ID + 1));cluster"`,
	"srun":       `echo "${SRUN_CPUS_PER_TASK:-none}" >"$FAKE/cpus"; SLURM_NODEID=0 exec "${@: -2}"`,
	"scancel":    `echo "$1" >>"$FAKE/cancelled"`,
	"sleep":      `echo "$1" >>"$FAKE/slept"`,
	"nvidia-smi": `echo GPU 0`,
	"git":        `echo 0123456789abcdef0123456789abcdef01234567-dirty`,
	"torchrun":   `echo trained >>"$FAKE/trained"; env >"$FAKE/ranks.env"; printf '%s\n' "$@" >"$FAKE/arguments"; [[ ! -f $FAKE/ranks ]] || . "$FAKE/ranks"`,
}

// site is a folder with one built job and those commands.
type site struct {
	folder, job, out string
	script           string // as built
	spooled          []byte // as submitted
	backend          string
}

const siteJob = `
job "train" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 32
    steps             = 2000
    precision         = "bf16"
    seed              = 1234
    optimizer "adamw" {
      learning_rate = 1e-3
    }
    schedule "constant" {
      warmup_steps = 0
    }
    data {
      mock = true
    }
    checkpoint {
      path     = "FOLDER/checkpoints"
      interval = 100
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
    path    = "FOLDER"
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
  backend "deepspeed" {
    version = "0.19.8"
  }
  slurm {
    time        = "01:00:00"
    chain       = "until_done"
    env_file    = "FOLDER/secrets"
    environment = { LD_LIBRARY_PATH = "/opt/lib:$${LD_LIBRARY_PATH}" }
    setup       = SETUP
  }
}
`

// newSite builds the job for one backend. Lines of setup are HCL.
func newSite(t *testing.T, backend, setup string) *site {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the scripts run on Linux")
	}
	s := &site{folder: filepath.Join(t.TempDir(), "a site"), backend: backend}
	s.job, s.out = filepath.Join(s.folder, "job.hcl"), filepath.Join(s.folder, "out", "train", backend)
	s.script = filepath.Join(s.out, "train.sbatch")
	for name, text := range slurmCommands {
		s.write(t, "bin/"+name, "#!/bin/bash\n"+text+"\n")
	}
	s.write(t, "pretrain_gpt.py", "")
	s.write(t, "secrets", "set -eu -C\nWANDB_API_KEY=token-of-the-site\nIFS=,\n")
	s.write(t, "job.hcl", strings.NewReplacer("FOLDER", s.folder, "SETUP", setup).Replace(siteJob))
	s.build(t)
	s.submit(t)
	return s
}

func (s *site) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(s.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	content, _ := os.ReadFile(filepath.Join(s.folder, name))
	return string(content)
}

// build returns what ndc says on standard error.
func (s *site) build(t *testing.T, more ...string) string {
	t.Helper()
	var said bytes.Buffer
	args := append([]string{"build", s.job, "--backend", s.backend}, more...)
	if code := run(args, &said, &said); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, said.String())
	}
	return strings.Join(strings.Fields(said.String()), " ")
}

// submit spools the script as it is now.
func (s *site) submit(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(s.script)
	if err != nil {
		t.Fatal(err)
	}
	s.spooled = content
}

// start runs the spooled script as a job, and returns its exit code and log.
func (s *site) start(t *testing.T, id int, variables []string, args ...string) (int, string) {
	t.Helper()
	s.write(t, "slurm_script", string(s.spooled))
	_ = os.Remove(filepath.Join(s.folder, "trained"))
	_ = os.Remove(filepath.Join(s.folder, "submitted"))
	cmd := exec.Command("bash", append([]string{filepath.Join(s.folder, "slurm_script")}, args...)...)
	cmd.Dir = s.folder
	cmd.Env = append([]string{
		"PATH=" + s.folder + "/bin:" + os.Getenv("PATH"), "HOME=" + s.folder, "FAKE=" + s.folder, "SCRIPT=" + s.script, "MINE=set before",
		fmt.Sprint("SLURM_JOB_ID=", id), "SLURM_JOB_NAME=train/me", "SLURM_JOB_NODELIST=node1", "SLURM_JOB_NUM_NODES=1",
		"SLURM_JOB_CPUS_PER_NODE=112(x3),96", "SLURM_SUBMIT_DIR=" + s.folder,
	}, variables...)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out) + s.read(fmt.Sprintf("out/train/%s/logs/train_me-%d.log", s.backend, id))
}

// trains demands that a job ran the ranks.
func (s *site) trains(t *testing.T, id int, variables []string, args ...string) string {
	t.Helper()
	code, log := s.start(t, id, variables, args...)
	if code != 0 || s.read("trained") != "trained\n" {
		t.Fatalf("exit code %d, trained %q:\n%s", code, s.read("trained"), log)
	}
	return log
}

// refuses demands that a job ends before its ranks start, and says why.
func (s *site) refuses(t *testing.T, reason string, id int, variables []string, args ...string) {
	t.Helper()
	code, log := s.start(t, id, variables, args...)
	if code == 0 || s.read("trained") != "" || !strings.Contains(log, reason) {
		t.Errorf("exit code %d, trained %q; want %q:\n%s", code, s.read("trained"), reason, log)
	}
	if s.read("submitted") != "" {
		t.Error("a successor was submitted")
	}
}

func mustHold(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not hold %q:\n%s", what, part, text)
		}
	}
}

const allBackends = "megatron torchtitan deepspeed"

// TestUserCodeAndSecrets: lines of the user run under bash's own rules, and
// what they set reaches the ranks and no queued job.
func TestUserCodeAndSecrets(t *testing.T) {
	for _, backend := range strings.Fields(allBackends) {
		t.Run(backend, func(t *testing.T) {
			s := newSite(t, backend, `["false", "grep -q no-such-line /dev/null | cat", "export SEEN=\"x$UNSET\"", "set -f -C", "IFS=:"]`)
			log := s.trains(t, 100, nil)
			mustHold(t, "the ranks' environment", s.read("ranks.env"), "WANDB_API_KEY=token-of-the-site\n", "LD_LIBRARY_PATH=/opt/lib:", "SEEN=x\n", "MINE=set before\n")
			queued := s.read("queued")
			mustHold(t, "the queued job's environment", queued, "MINE=set before\n")
			for _, foreign := range []string{"token-of-the-site", "WANDB", "LD_LIBRARY_PATH", "NCCL", "NDC_", "OMP_NUM_THREADS"} {
				if strings.Contains(queued, foreign) {
					t.Errorf("%s is stored with the queued job:\n%s", foreign, queued)
				}
			}
			mustHold(t, "the log", log, "git revision 0123456789abcdef0123456789abcdef01234567-dirty", "from slurm.setup, ended with status 1\n", "ndc "+version, "configuration "+s.hash(t), "at step 0; next is job 101")
			if got := s.read("cpus"); got != "96\n" {
				t.Errorf("the task of a node gets %q CPUs, want the fewest of a node", got)
			}
			s.asksForCPUs(t)
			s.trains(t, 200, []string{"SLURM_CPUS_PER_TASK=64"})
			if got := s.read("cpus"); got != "64\n" {
				t.Errorf("the task of a node gets %q CPUs, want those asked for", got)
			}
		})
	}
}

// asksForCPUs builds and submits the job anew, with CPUs of its own.
func (s *site) asksForCPUs(t *testing.T) {
	t.Helper()
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), "  slurm {\n", "  slurm {\n    cpus_per_task = 64\n", 1))
	s.build(t)
	s.submit(t)
}

// TestSubmittedFromAnAllocation: sbatch hands on what Slurm set in an allocation
// that it is called in. None of it reaches the job's own steps.
func TestSubmittedFromAnAllocation(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "bin/srun", "#!/bin/bash\n"+`env | grep ^SLURM_ >"$FAKE/step.env"`+"\n"+slurmCommands["srun"]+"\n")
	s.trains(t, 100, []string{
		"SLURM_CPUS_PER_TASK=2", "SLURM_CPUS_PER_GPU=2", "SLURM_MEM_PER_CPU=100", "SLURM_MEM_PER_NODE=1000", "SLURM_GPUS=1", "SLURM_GPUS_PER_NODE=1",
		"SLURM_CPU_BIND=quiet,mask_cpu:0x3", "SLURM_CPU_BIND_TYPE=mask_cpu:", "SLURM_TRES_PER_TASK=cpu=2", "SLURM_MPI_TYPE=none",
	})
	if got := s.read("cpus"); got != "96\n" {
		t.Errorf("the task of a node gets %q CPUs, want all", got)
	}
	env := s.read("step.env")
	for _, foreign := range []string{"_PER_TASK", "_PER_GPU", "MEM_PER", "SLURM_GPUS", "_BIND"} {
		if strings.Contains(strings.ReplaceAll(env, "SLURM_JOB_CPUS_PER_NODE", ""), foreign) {
			t.Errorf("srun sees %s of another allocation:\n%s", foreign, env)
		}
	}
	mustHold(t, "srun's environment", env, "SLURM_JOB_ID=100\n", "SLURM_MPI_TYPE=none\n") // what no allocation sets is the user's
}

// TestGPUsOfANode: a driver that does not answer is told of, and GPUs that Slurm
// gave to others are not counted.
func TestGPUsOfANode(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "bin/nvidia-smi", "#!/bin/bash\necho 'Unable to determine the device handle for GPU0000:18:00.0: Unknown Error'\nexit 255\n")
	code, log := s.start(t, 100, nil)
	if code != 255 && code != 1 || s.read("trained") != "" {
		t.Errorf("exit code %d, trained %q", code, s.read("trained"))
	}
	mustHold(t, "the log", log, "ndc: nvidia-smi ended with status 255 on ", ": Unable to determine the device handle for GPU0000:18:00.0: Unknown Error\n")
	s.write(t, "bin/nvidia-smi", "#!/bin/bash\nprintf 'GPU %s: NVIDIA H100 80GB HBM3 (UUID: x)\\n' {0..7}\n")
	code, log = s.start(t, 200, nil)
	if code == 0 || s.read("trained") != "" {
		t.Errorf("exit code %d, trained %q", code, s.read("trained"))
	}
	mustHold(t, "the log", log, "needs 1 GPU; this launch has 1 nodes with 8 GPUs each")
	s.trains(t, 300, []string{"CUDA_VISIBLE_DEVICES=5"})
	code, log = s.start(t, 400, []string{"CUDA_VISIBLE_DEVICES=4,5"})
	if code == 0 || s.read("trained") != "" {
		t.Errorf("exit code %d, trained %q", code, s.read("trained"))
	}
	mustHold(t, "the log", log, "needs 1 GPU; this launch has 1 nodes with 2 GPUs each")
}

// TestBindToTheJobsGPU: the GPU that a rank is bound beside is its own where
// others' are seen, too.
func TestBindToTheJobsGPU(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), "  slurm {\n", "  slurm {\n    launcher = \"srun\"\n    bind = \"node\"\n", 1))
	s.build(t)
	s.submit(t)
	s.write(t, "bin/nvidia-smi", "#!/bin/bash\n"+`case $1 in --id=*) echo "$1" >>"$FAKE/asked"; exit 1 ;; esac; printf 'GPU %s\n' {0..7}`+"\n")
	s.write(t, "bin/python3", "#!/bin/bash\n"+slurmCommands["torchrun"]+"\n")
	s.trains(t, 100, []string{"CUDA_VISIBLE_DEVICES=5"})
	if got := s.read("asked"); got != "--id=5\n" {
		t.Errorf("nvidia-smi was asked for %q", got)
	}
}

// TestTemporaryFolder: TMPDIR of the host may not be in the container.
func TestTemporaryFolder(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.trains(t, 100, []string{"TMPDIR=" + s.folder + "/not/here"})
	mustHold(t, "the ranks' environment", s.read("ranks.env"), "TMPDIR=/tmp\n", "TRITON_CACHE_DIR=/tmp/ndc-")
	if err := os.Mkdir(filepath.Join(s.folder, "scratch"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.trains(t, 200, []string{"TMPDIR=" + s.folder + "/scratch"})
	mustHold(t, "the ranks' environment", s.read("ranks.env"), "TMPDIR="+s.folder+"/scratch\n", "TRITON_CACHE_DIR="+s.folder+"/scratch/ndc-")
}

// TestStrictSetup: a user's own set -e ends the node where a line fails.
func TestStrictSetup(t *testing.T) {
	s := newSite(t, "megatron", `["set -e", "false", "export SEEN=1"]`)
	if code, log := s.start(t, 100, nil); code == 0 || s.read("trained") != "" {
		t.Errorf("exit code %d:\n%s", code, log)
	}
}

// TestUserLinesThatExit: a line of the user that ends the script, with success too, fails the job,
// and the log says whose line it was: nothing was trained.
func TestUserLinesThatExit(t *testing.T) {
	for setup, want := range map[string]string{`["[[ -n $NOTHING ]] || exit 0"]`: "slurm.setup ended this script with status 0", `["exit 7"]`: "slurm.setup ended this script with status 7", `["set -e", "false"]`: "slurm.setup ended this script with status 1"} {
		s := newSite(t, "megatron", setup)
		if code, log := s.start(t, 100, nil); code == 0 || s.read("trained") != "" || !strings.Contains(log, want) {
			t.Errorf("%s: exit code %d, trained %q; want %q:\n%s", setup, code, s.read("trained"), want, log)
		}
	}
	s := newSite(t, "megatron", "[]")
	s.write(t, "secrets", "[[ -n $NOTHING ]] || exit 0\n")
	if code, log := s.start(t, 100, nil); code == 0 || s.read("trained") != "" || !strings.Contains(log, "env_file ended this script with status 0") {
		t.Errorf("env_file: exit code %d, trained %q:\n%s", code, s.read("trained"), log)
	}
}

// artifacts are the files that plan.json lists.
func (s *site) artifacts(t *testing.T) []string {
	t.Helper()
	var f file.File
	if err := json.Unmarshal([]byte(s.read("out/train/"+s.backend+"/plan.json")), &f); err != nil {
		t.Fatal(err)
	}
	return names(f.Artifacts, func(a file.Artifact) string { return a.Path })
}

// hash is the plan's own.
func (s *site) hash(t *testing.T) string {
	t.Helper()
	content := s.read("out/train/" + s.backend + "/plan.json")
	for line := range strings.Lines(content[strings.LastIndex(content, `"plan.json"`):]) {
		_, rest, _ := strings.Cut(line, `"sha256": "`)
		if own, _, _ := strings.Cut(rest, `"`); own != "" && output.Hash(output.WithoutOwnHash([]byte(content), own)) == own {
			return own
		}
	}
	t.Fatal("plan.json does not know its hash")
	return ""
}

// arguments are those of the successor's script.
func (s *site) arguments(t *testing.T) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(s.read("submitted"), "\n"), "\n")
	if len(lines) < 4 {
		t.Fatalf("submitted: %q", lines)
	}
	return lines[len(lines)-3:]
}

// hostile are contents of a checkpoint folder, by backend: files with their
// content, and the step that they tell. They are made when they are asked for: every
// command that a test starts is this binary, too, and one of them has megabytes.
func hostile() map[string][]hostileCase {
	return map[string][]hostileCase{
		"megatron": {
			{map[string]string{"latest_checkpointed_iteration.txt": "100"}, "100"},
			{map[string]string{"latest_checkpointed_iteration.txt": "0000090\n"}, "90"},
			{map[string]string{"latest_checkpointed_iteration.txt": "release"}, "0"},
			{map[string]string{"latest_checkpointed_iteration.txt": "hosts[$(>pwned)]"}, "0"},
			{map[string]string{"latest_checkpointed_iteration.txt": "100.bak"}, "0"},
			{map[string]string{"latest_checkpointed_iteration.txt": ""}, "0"},
			{map[string]string{"latest_checkpointed_iteration.txt": "99999999999999999999999"}, "0"},
			{map[string]string{"latest_checkpointed_iteration.txt": "\x00\xff100"}, "0"},
			{map[string]string{"latest_checkpointed_iteration.txt/100": "a folder"}, "0"},
			{map[string]string{"latest_checkpointed_iteration.txt": strings.Repeat("1\n", 1<<20)}, "1"},
		},
		"torchtitan": {
			{map[string]string{"step-100/.metadata": "", "step-90/.metadata": "", "step-200/unfinished": ""}, "100"},
			{map[string]string{"step-hosts[$(>pwned)]/.metadata": "", "step-100/.metadata": ""}, "100"},
			{map[string]string{"step-150.bak/.metadata": "", "step-160-old/.metadata": "", "step-/.metadata": "", "step-008/.metadata": ""}, "8"},
			{map[string]string{"step-99999999999999999999999/.metadata": "", "step-1 00/.metadata": "", "step-*/.metadata": "", "step-\n7/.metadata": ""}, "0"},
		},
		"deepspeed": {
			{map[string]string{"latest": "step-100"}, "100"},
			{map[string]string{"latest": "step-090\n"}, "90"},
			{map[string]string{"latest": "global_step100"}, "0"},
			{map[string]string{"latest": "step-150.bak"}, "0"},
			{map[string]string{"latest": "step-100-old"}, "0"},
			{map[string]string{"latest": "step-hosts[$(>pwned)]"}, "0"},
			{map[string]string{"latest": "hosts[$(>pwned)]"}, "0"},
			{map[string]string{"latest": ""}, "0"},
		},
	}
}

// hostileCase is one such folder.
type hostileCase struct {
	files map[string]string
	step  string
}

// TestHostileCheckpoints: what lies in the checkpoint folder is data. Nothing
// of it is executed, and nothing of it ends the chain.
func TestHostileCheckpoints(t *testing.T) {
	all := hostile()
	for _, backend := range slices.Sorted(maps.Keys(all)) {
		t.Run(backend, func(t *testing.T) {
			s := newSite(t, backend, "[]")
			for i, c := range all[backend] {
				folder := filepath.Join("checkpoints", backend)
				if err := os.RemoveAll(filepath.Join(s.folder, folder)); err != nil {
					t.Fatal(err)
				}
				for name, content := range c.files {
					s.write(t, filepath.Join(folder, name), content)
				}
				log := s.trains(t, 100*(i+1), nil)
				mustHold(t, fmt.Sprintf("case %d: the log", i), log, "at step "+c.step+"; next")
				if matches, _ := filepath.Glob(filepath.Join(s.folder, "pwned*")); len(matches) > 0 {
					t.Fatalf("case %d: a name was executed", i)
				}
			}
		})
	}
}

// TestHostileWords: numbers from the environment and from arguments are
// matched before they are computed with.
func TestHostileWords(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	const word = "a[$(>pwned)]"
	for _, variable := range []string{"SLURM_JOB_ID=" + word, "NDC_GPUS_PER_NODE=" + word} {
		if code, log := s.start(t, 100, []string{variable}); code == 0 {
			t.Errorf("%s was accepted:\n%s", variable, log)
		}
	}
	for _, args := range [][]string{{word}, {"100", word}} {
		s.refuses(t, "submit it without any", 100, nil, args...)
	}
	s.asksForCPUs(t)
	s.trains(t, 200, []string{"SLURM_RESTART_COUNT=" + word, "SLURM_CPUS_PER_TASK=" + word})
	if s.read("cpus") != "none\n" || s.read("pwned") != "" {
		t.Errorf("%q CPUs", s.read("cpus"))
	}
	if _, err := os.Stat(filepath.Join(s.folder, "pwned")); err == nil {
		t.Error("a word was executed")
	}
}

// TestChainState: the chain's state is data as well. One that is not whole
// tells of no progress, which one link may have and two may not.
func TestChainState(t *testing.T) {
	const whole = "link=1\njob=100\nsuccessor=101\nprevious=50\nstalled=1\nfailed=9\nended=yes\nover=no\n"
	for _, c := range []struct{ name, state, want string }{
		{"whole: progress", whole, "stalled=0\nfailed=0\n"},
		{"ended by Slurm", strings.Replace(whole, "ended=yes", "ended=cut", 1), "stalled=0\nfailed=9\n"},
		{"failed", strings.Replace(strings.Replace(whole, "ended=yes", "ended=no", 1), "failed=9", "failed=8", 1), "stalled=0\nfailed=9\n"},
		{"cut in a number", whole[:strings.Index(whole, "50")+1], "stalled=1\nfailed=1\n"},
		{"cut before the end", whole[:len(whole)-2], "stalled=1\nfailed=1\n"},
		{"empty", "", "stalled=1\nfailed=1\n"},
		{"code", strings.Replace(whole, "50", "$(>pwned)", 1), "stalled=1\nfailed=1\n"},
		{"arithmetic", strings.Replace(whole, "50", "a[$(>pwned)]", 1), "stalled=1\nfailed=1\n"},
		{"commands", "touch pwned\n; touch pwned\n" + whole, "stalled=0\nfailed=0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, "megatron", "[]")
			s.write(t, "checkpoints/megatron/latest_checkpointed_iteration.txt", "60")
			s.write(t, "ranks", `cp "$NDC_DIR/chain.state" "$FAKE/during"`)
			s.trains(t, 100, nil)
			mustHold(t, "the state while the ranks work", s.read("during"), "ended=cut\nover=no\n")
			args := s.arguments(t)
			s.write(t, "out/train/megatron/runs/100/chain.state", c.state)
			s.trains(t, 101, nil, args...)
			mustHold(t, "the state", s.read("out/train/megatron/runs/100/chain.state"), c.want)
			if _, err := os.Stat(filepath.Join(s.folder, "pwned")); err == nil {
				t.Error("the state was executed")
			}
		})
	}
}

// TestSubmissionIsTriedAgain: a controller that does not answer costs neither
// the chain nor the link.
func TestSubmissionIsTriedAgain(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "failures", "2")
	mustHold(t, "the log", s.trains(t, 100, nil), "Socket timed out", "next is job 101")
	if s.read("slept") != "5\n15\n" {
		t.Errorf("it waited %q seconds", s.read("slept"))
	}
	s.write(t, "failures", "99")
	code, log := s.start(t, 200, nil)
	if code != 1 || s.read("trained") == "" {
		t.Errorf("exit code %d, trained %q", code, s.read("trained"))
	}
	mustHold(t, "the log", log, "next is job none", "this was the last link of the chain, which ends at step 0 of 2000")
	if again := s.build(t); !strings.Contains(again, "runs/100/chain.state") || strings.Contains(again, "runs/200/") {
		t.Errorf("the chain of job 100 goes on, that of 200 has ended:\n%s", again)
	}
}

// TestLastTaskOfAnArray: its number is that of the array, of which Slurm tells
// all tasks. The folder of submission is another one.
func TestLastTaskOfAnArray(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "bin/scontrol", "#!/bin/bash\n"+strings.ReplaceAll(slurmCommands["scontrol"], `"$SCRIPT"`, `"$SCRIPT" 99 "$SCRIPT"`)+"\n")
	s.trains(t, 100, []string{"SLURM_SUBMIT_DIR=/"})
}

// TestLogCannotBeWritten: a job that has no room for its log says so where Slurm
// puts its output.
func TestLogCannotBeWritten(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	log := filepath.Join(s.out, "logs", "full-100.log")
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o755), os.Symlink("/dev/full", log)); err != nil {
		t.Fatal(err)
	}
	s.refuses(t, "No space left on device\nndc: cannot write "+log, 100, []string{"SLURM_JOB_NAME=full"})
}

// again is what a link that cannot begin is submitted with: it begins later and elsewhere, or is held.
func (s *site) again(t *testing.T, id int, why, how string, args ...string) []string {
	t.Helper()
	code, log := s.start(t, id, []string{"SLURMD_NODENAME=n7"}, args...)
	if code == 0 || s.read("trained") != "" {
		t.Errorf("exit code %d, trained %q:\n%s", code, s.read("trained"), log)
	}
	mustHold(t, "the log", log, why, fmt.Sprintf("ndc: this link cannot begin on n7; job %d is in its place\n", id+1))
	lines := strings.Split(strings.TrimSuffix(s.read("submitted"), "\n"), "\n")
	script := slices.Index(lines, filepath.Join(s.folder, "slurm_script"))
	if want := fmt.Sprintf("--parsable --output=/dev/null --chdir=%s %s --exclude=n7", s.folder, how); script < 0 || strings.Join(lines[:script], " ") != want {
		t.Fatalf("submitted %q, want %q", lines, want)
	}
	return lines[script+1:]
}

// TestLinkCannotBegin: a link on a node without the run's folder, or without the env_file, has no
// successor. It is submitted again, is told why, and the next links do not get that node. The seventh
// is held.
func TestLinkCannotBegin(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "bin/scontrol", strings.Replace(s.read("bin/scontrol"), "\n", "\n[[ $1 != update ]] || { printf '%s\\n' \"$*\" >>\"$FAKE/updated\"; exit; }\n", 1))
	s.trains(t, 100, nil)
	args := s.arguments(t)
	if err := errors.Join(os.Rename(s.out, s.out+" gone"), os.Rename(filepath.Join(s.folder, "secrets"), filepath.Join(s.folder, "away"))); err != nil {
		t.Fatal(err)
	}
	args = s.again(t, 101, "launch.sh is neither beside", "--begin=now+600", args...)
	if err := os.Rename(s.out+" gone", s.out); err != nil {
		t.Fatal(err)
	}
	for id := 102; id < 107; id++ {
		args = s.again(t, id, "/secrets cannot be read on ", "--begin=now+600", args...)
	}
	held := s.again(t, 107, "/secrets cannot be read on ", "--hold", args...)
	if err := os.Rename(filepath.Join(s.folder, "away"), filepath.Join(s.folder, "secrets")); err != nil {
		t.Fatal(err)
	}
	mustHold(t, "the log", s.trains(t, 108, nil, held...), "ndc: this link could not begin on n7, as job 107: env_file "+s.folder+"/secrets cannot be read on ", "link 2 of chain 100 at step 0; next is job 109")
	mustHold(t, "what Slurm is told", s.read("updated"), "update JobId=109 ExcNodeList=n7\n")
}

// TestModuleCannotBeLoaded: a link on a node that lacks a module is submitted again, before it has a successor:
// two in a row would end the chain.
func TestModuleCannotBeLoaded(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), "  slurm {\n", "  slurm {\n    modules = [\"cuda\", \"nccl\"]\n", 1))
	s.write(t, "bin/module", "#!/bin/bash\n[[ $1 == load && ! -e $FAKE/without-$2 ]]\n")
	s.build(t)
	s.submit(t)
	s.trains(t, 100, nil)
	args := s.arguments(t)
	s.write(t, "without-nccl", "")
	args = s.again(t, 101, "ndc: cannot load the module nccl\nndc: a module cannot be loaded on ", "--begin=now+600", args...)
	if err := os.Remove(filepath.Join(s.folder, "without-nccl")); err != nil {
		t.Fatal(err)
	}
	mustHold(t, "the log", s.trains(t, 102, nil, args...), "ndc: this link could not begin on n7, as job 101: a module cannot be loaded on ", "link 2 of chain 100 at step 0; next is job 103")
}

// TestLineEndsOfTheSite: an env_file of another system's editor would set values with a CR behind them.
func TestLineEndsOfTheSite(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "secrets", "WANDB_API_KEY=token-of-the-site\r\n")
	s.refuses(t, "secrets end with CR LF", 100, nil)
}

// TestBadNode: a node that fails its check, whose driver does not answer or that lacks a GPU
// ends a link. The next one does not get it; where the others are too few it does, since
// it would wait for ever.
func TestBadNode(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), "  slurm {\n", "  slurm {\n    exclude = \"n9\"\n    node_check {\n      command = \"site-check $${HOME}\"\n    }\n", 1))
	s.write(t, "bin/scontrol", strings.Replace(s.read("bin/scontrol"), "\n", "\n[[ $1 != update ]] || { printf '%s\\n' \"$*\" >>\"$FAKE/updated\"; exit; }\n", 1))
	s.write(t, "bin/srun", "#!/bin/bash\nexport SLURMD_NODENAME=node1 SLURM_NODEID=0\nwhile [[ $1 == -* ]]; do shift; done\n\"$@\"\n")
	s.write(t, "bin/site-check", "#!/bin/bash\n[[ $1 == \"$HOME\" && ! -f $FAKE/fails ]]\n")
	s.build(t)
	s.submit(t)
	s.trains(t, 100, nil)
	if got := s.read("updated"); got != "" {
		t.Errorf("a good node: %q", got)
	}
	smi := "#!/bin/bash\n" + slurmCommands["nvidia-smi"] + "\n"
	for i, c := range []struct{ name, content, why string }{
		{"fails", "", "node_check ended with status 1"},
		{"bin/nvidia-smi", "#!/bin/bash\necho No devices were found\nexit 6\n", "nvidia-smi ended with status 6 on "},
		{"bin/nvidia-smi", "#!/bin/bash\n", "needs 1 GPU; this launch has 1 nodes with 0 GPUs each"},
	} {
		id := 200 + 100*i
		s.write(t, c.name, c.content)
		s.write(t, "updated", "")
		code, log := s.start(t, id, nil)
		if code == 0 || s.read("trained") != "" || s.read("submitted") == "" {
			t.Errorf("%s: exit code %d, trained %q, submitted %q", c.name, code, s.read("trained"), s.read("submitted"))
		}
		mustHold(t, "the log", log, "ndc: node node1 is bad: ", c.why, fmt.Sprintf("ndc: job %d will not have the nodes n9,node1\n", id+1))
		if got, want := s.read("updated"), fmt.Sprintf("update JobId=%d ExcNodeList=n9,node1\n", id+1); got != want {
			t.Errorf("Slurm is told %q, want %q", got, want)
		}
		_ = os.Remove(filepath.Join(s.folder, "fails"))
		s.write(t, "bin/nvidia-smi", smi)
	}
	s.write(t, "fails", "")
	s.write(t, "updated", "")
	s.write(t, "bin/sbatch", strings.Replace(s.read("bin/sbatch"), "\n", "\n[[ \" $* \" != *\" --test-only --exclude=\"* ]] || exit 1\n", 1))
	_, log := s.start(t, 600, nil)
	mustHold(t, "the log", log, "ndc: without the nodes n9,node1 there are too few for job 601\n")
	if got := s.read("updated"); got != "" {
		t.Errorf("there are too few nodes: %q", got)
	}
}

// TestStateCannotBeWritten: what a link cannot count, as on a full disk, nothing
// ends; so it queues no successor, and is tried again itself.
func TestStateCannotBeWritten(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.trains(t, 100, nil)
	args := s.arguments(t)
	s.write(t, "out/train/megatron/runs/100/chain.state.new/file", "in the way")
	args = s.again(t, 101, "cannot write", "--begin=now+600", args...)
	if err := os.RemoveAll(filepath.Join(s.out, "runs", "100", "chain.state.new")); err != nil {
		t.Fatal(err)
	}
	mustHold(t, "the log", s.trains(t, 102, nil, args...), "link 2 of chain 100 at step 0; next is job 103")
}

// TestOneJobIsALink: a submission whose answer was lost makes two jobs of one
// link. The second leaves; a link that Slurm starts again goes on, with the
// successor that it has.
func TestOneJobIsALink(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.trains(t, 100, nil)
	args := s.arguments(t)
	s.trains(t, 101, nil, args...)
	code, log := s.start(t, 102, nil, args...)
	if code != 0 || s.read("trained")+s.read("submitted") != "" {
		t.Errorf("exit code %d, trained %q, submitted %q", code, s.read("trained"), s.read("submitted"))
	}
	mustHold(t, "the log", log, "link 2 of chain 100 is job 101; this job is one too many and ends")
	s.write(t, "checkpoints/megatron/latest_checkpointed_iteration.txt", "100")
	mustHold(t, "the log", s.trains(t, 101, []string{"SLURM_RESTART_COUNT=1"}, args...), "link 2 of chain 100 at step 100; next is job 102")
	if s.read("submitted") != "" {
		t.Error("a second successor was submitted")
	}
}

// TestLinkIsRequeuedAfterItsEnd: one whose successor waits still makes it wait again; one
// whose successor has begun leaves, since both would train.
func TestLinkIsRequeuedAfterItsEnd(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "bin/scontrol", strings.Replace(s.read("bin/scontrol"), "\n", "\n[[ $1 != update ]] || { printf '%s\\n' \"$*\" >>\"$FAKE/updated\"; exit; }\n", 1))
	s.trains(t, 100, nil)
	args := s.arguments(t)
	mustHold(t, "the log", s.trains(t, 200, []string{"SLURM_RESTART_COUNT=3"}), "start-3\n")
	if queued := s.read("queued"); !strings.Contains(queued, "SLURM_JOB_ID=200\n") || strings.Contains(queued, "SLURM_RESTART_COUNT") {
		t.Errorf("the successor of job 200 is queued with\n%s", queued)
	}
	s.trains(t, 100, []string{"SLURM_RESTART_COUNT=1"})
	if s.read("updated") != "update JobId=101 Dependency=afterany:100\n" {
		t.Errorf("what waits for what: %q", s.read("updated"))
	}
	s.trains(t, 101, nil, args...)
	code, log := s.start(t, 100, []string{"SLURM_RESTART_COUNT=2"})
	if code != 0 || s.read("trained")+s.read("submitted") != "" {
		t.Errorf("exit code %d, trained %q, submitted %q", code, s.read("trained"), s.read("submitted"))
	}
	mustHold(t, "the log", log, "link 2 of chain 100 has begun; this one, link 1, was started again after its end, and ends")
}

// TestRequeueWaitsForALostNode: srun gives up on a dead node before Slurm notices it, and
// Slurm requeues no job that has failed.
func TestRequeueWaitsForALostNode(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), `chain       = "until_done"`, "requeue     = true", 1))
	s.build(t)
	s.submit(t)
	s.write(t, "ranks", "exit 3")
	if code, log := s.start(t, 100, nil); code != 3 || s.read("slept") != "" {
		t.Errorf("exit code %d, slept %q:\n%s", code, s.read("slept"), log)
	}
	s.write(t, "ranks", "echo 'srun: error: Timed out waiting for job step to complete' >&2; exit 3")
	code, log := s.start(t, 101, nil)
	if code != 3 || s.read("slept") != "900\n" {
		t.Errorf("exit code %d, slept %q:\n%s", code, s.read("slept"), log)
	}
	mustHold(t, "the log", log, "ndc: a node does not answer; this job waits until Slurm has lost it")
}

// TestNumbersBeginAnew: Slurm gives the number of an earlier job to another one
// when its state is lost. The new job runs its own files, with a successor of its
// own; a chain that goes on elsewhere keeps its copy.
func TestNumbersBeginAnew(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "ranks", `mkdir -p "$NDC_RANK_LOGS" && echo old >"$NDC_RANK_LOGS/line"; mkdir -p "$FAKE/checkpoints/megatron" && echo 2000 >"$FAKE/checkpoints/megatron/latest_checkpointed_iteration.txt"`)
	mustHold(t, "the log", s.trains(t, 100, nil), "the chain ends at step 2000")
	for _, name := range []string{"ranks", "checkpoints/megatron/latest_checkpointed_iteration.txt"} {
		if err := os.Remove(filepath.Join(s.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), "1234", "4321", 1))
	s.build(t)
	s.submit(t)
	mustHold(t, "the log", s.trains(t, 100, nil), "runs/100 was the copy of another run of this number, and is moved aside", "link 1 of chain 100 at step 0; next is job 101")
	mustHold(t, "the ranks' arguments", s.read("arguments"), "\n4321\n")
	if s.read("submitted") == "" {
		t.Error("no successor was submitted")
	}
	if s.read("out/train/megatron/logs/train_me-100.ranks/start-0/line") != "" {
		t.Error("the lines of the earlier job's ranks are among this one's")
	}
	mustHold(t, "the build", s.build(t), "[chain-alive]", "link 1 runs as job 100")

	s.refuses(t, "runs/100 is the copy of another run of this number, whose chain has not ended; submit again", 100, nil)
	s.trains(t, 100, []string{"SLURM_RESTART_COUNT=1"})
}

// TestTwoRunsSaveIntoOneFolder: of two jobs that save into one folder, from whichever
// folders they are submitted, the later one ends while the first runs or is suspended, waits
// while it is ending, and else says whose checkpoints it goes on with.
func TestTwoRunsSaveIntoOneFolder(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "bin/squeue", "#!/bin/bash\n[[ -f $FAKE/later ]]\nlast=$?\ncat \"$FAKE/running\" # whose reader may end before this does\n((last)) || mv \"$FAKE/later\" \"$FAKE/running\"\n")
	s.write(t, "running", "")
	copied := filepath.Join(s.folder, "a copy", "train", "megatron")
	if err := os.CopyFS(copied, os.DirFS(s.out)); err != nil {
		t.Fatal(err)
	}
	out, script := s.out, s.script
	s.out, s.script = copied, filepath.Join(copied, "train.sbatch")
	s.write(t, "ranks", `mkdir -p "$FAKE/checkpoints/megatron" && echo 100 >"$FAKE/checkpoints/megatron/latest_checkpointed_iteration.txt"`)
	s.trains(t, 100, nil)
	s.trains(t, 101, []string{"SLURM_JOB_NAME=other"}, "100", "2", copied)
	s.out, s.script = out, script

	for _, other := range []string{"100|train/me", "101|other"} {
		s.write(t, "running", "RUNNING|2026-01-01T00:00:00|"+other+"\n")
		number, _, _ := strings.Cut(other, "|")
		s.refuses(t, "job "+number+" of "+copied+" runs since 2026-01-01T00:00:00, and both would save into "+s.folder+"/checkpoints/megatron; this one ends", 200, nil)
	}
	s.write(t, "running", "SUSPENDED|2026-01-01T00:00:00|101|other\n")
	s.refuses(t, "job 101 of "+copied+" runs since", 200, nil)
	s.write(t, "running", "COMPLETING|2026-01-01T00:00:00|101|other\n")
	s.write(t, "later", "")
	mustHold(t, "the log", s.trains(t, 204, nil), "waiting for job 101, which is ending and may still save into "+s.folder+"/checkpoints/megatron\n")
	if s.read("slept") != "5\n" {
		t.Errorf("the run waited %q seconds", s.read("slept"))
	}
	s.write(t, "running", "RUNNING|2026-01-01T00:00:00|100|of another name\nRUNNING|2026-01-01T00:00:00|201|train/me\nx[$(touch harm)]|w|y|z\n")
	s.write(t, "checkpoints/megatron.jobs", "x[$(touch harm)]|0|$(touch harm)\n"+s.read("checkpoints/megatron.jobs"))
	if log := s.trains(t, 201, nil); strings.Contains(log, "saved into") {
		t.Errorf("job 200 of the same folder is told of:\n%s", log)
	}
	s.write(t, "checkpoints/megatron.jobs", "100|0|100|train/me|"+copied+"\n")
	mustHold(t, "the log", s.trains(t, 202, nil), "job 100 of "+copied+" saved into "+s.folder+"/checkpoints/megatron before; this run goes on with what lies there", "at step 100;")
	if s.read("harm") != "" {
		t.Error("a word became code")
	}
	list := filepath.Join(s.folder, "checkpoints", "megatron.jobs")
	if err := errors.Join(os.Remove(list), os.Mkdir(list, 0o755)); err != nil {
		t.Fatal(err)
	}
	mustHold(t, "the log", s.trains(t, 203, nil), list+" cannot be written")
}

// TestChainEnds: with the last step trained the successor is taken back, and
// a build no longer speaks of the chain.
func TestChainEnds(t *testing.T) {
	s := newSite(t, "deepspeed", "[]")
	s.trains(t, 100, nil)
	mustHold(t, "the build", s.build(t), "[chain-alive]", "link 1 runs as job 100, followed by job 101")
	args := s.arguments(t)
	s.write(t, "ranks", `mkdir -p "$FAKE/checkpoints/deepspeed" && echo step-2000 >"$FAKE/checkpoints/deepspeed/latest"`)
	mustHold(t, "the log", s.trains(t, 101, nil, args...), "the chain ends at step 2000")
	if s.read("cancelled") != "102\n" {
		t.Errorf("cancelled: %q", s.read("cancelled"))
	}
	if said := s.build(t); strings.Contains(said, "chain-alive") || strings.Contains(said, "chain.state") {
		t.Errorf("after the end the build says:\n%s", said)
	}
}

// TestChainKeepsItsFiles: a folder that is built anew changes no link of a
// running chain; a later submission runs the new files.
func TestChainKeepsItsFiles(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.trains(t, 100, nil)
	args := s.arguments(t)
	mustHold(t, "the ranks' arguments", s.read("arguments"), "\n1234\n")
	was := s.spooled
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), "1234", "4321", 1))
	s.build(t)
	s.trains(t, 101, nil, args...)
	mustHold(t, "the ranks' arguments", s.read("arguments"), "\n1234\n")
	s.submit(t)
	s.trains(t, 200, nil)
	mustHold(t, "the ranks' arguments", s.read("arguments"), "\n4321\n")
	mustHold(t, "the ranks' environment", s.read("ranks.env"), "NDC_JOB_DIR="+s.out+"\n", "NDC_DIR="+s.out+"/runs/200\n", "NDC_LOG_DIR="+s.out+"/logs\n")

	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), "01:00:00", "02:00:00", 1))
	s.build(t)
	s.spooled = was
	s.refuses(t, "was built anew after this job was submitted", 300, nil)
	s.trains(t, 300, []string{"NDC_ALLOW_EDITED=yes"})
}

// TestChainOutlivesItsFiles: a run that has begun goes on when the files that it was
// submitted with are removed, as `ndc clean` does for a job that is called otherwise; a
// run that has not does not start.
func TestChainOutlivesItsFiles(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.trains(t, 100, nil)
	args := s.arguments(t)
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), `job "train"`, `job "renamed"`, 1))
	var said bytes.Buffer
	if code := run([]string{"clean", s.folder, "-o", filepath.Join(s.folder, "out")}, &said, &said); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, said.String())
	}
	if _, err := os.Stat(filepath.Join(s.out, "launch.sh")); !os.IsNotExist(err) {
		t.Fatalf("launch.sh was not removed: %v", err)
	}
	s.trains(t, 100, []string{"SLURM_RESTART_COUNT=1"})
	s.trains(t, 101, nil, args...)
	s.refuses(t, "launch.sh is neither beside", 300, nil)
}

// TestMixedFolderDoesNotStart: every file of a build is held to its hash in
// plan.json, at the first link and at later ones.
func TestMixedFolderDoesNotStart(t *testing.T) {
	s := newSite(t, "deepspeed", "[]")
	names := s.artifacts(t)
	if len(names) < 8 {
		t.Fatalf("only %q", names)
	}
	for i, name := range names {
		path := "out/train/deepspeed/" + name
		was := s.read(path)
		s.write(t, path, was+"\n")
		s.refuses(t, "are not as one build wrote them", 100+i, nil)
		s.write(t, path, was)
	}
	s.write(t, "out/train/deepspeed/train.py", "print('mine')")
	s.trains(t, 200, []string{"NDC_ALLOW_EDITED=yes"})
	s.build(t, "--force")
	s.trains(t, 300, nil)
	s.write(t, "out/train/deepspeed/runs/300/run.json", "{}")
	s.refuses(t, "are not those that the run began with", 301, nil, "300", "2", s.out)
	if left, _ := filepath.Glob(filepath.Join(s.out, "runs", "*.new-*")); len(left) > 0 {
		t.Errorf("copies that never ran are left: %q", left)
	}
}

// TestPathOfVariables: a checkpoint path may name variables that env_file and
// environment.sh set. The chain sees its progress there, and the successor
// still gets none of them.
func TestPathOfVariables(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	s.write(t, "secrets", "TEAM='"+s.folder+"/of the team'\n")
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), s.folder+"/checkpoints", "$${TEAM}/checkpoints", 1))
	s.build(t)
	s.submit(t)
	s.write(t, "of the team/checkpoints/megatron/latest_checkpointed_iteration.txt", "70")
	mustHold(t, "the log", s.trains(t, 100, nil), "link 1 of chain 100 at step 70; next is job 101")
	if queued := s.read("queued"); strings.Contains(queued, "of the team") || strings.Contains(queued, "OMP_NUM_THREADS") {
		t.Errorf("the queued job's environment:\n%s", queued)
	}
	s.write(t, "secrets", "")
	s.refuses(t, "the path of the checkpoints cannot be told", 200, nil)
}

// TestContainerIsNamed: the log says which image runs, and when a later link
// finds another one.
func TestContainerIsNamed(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	image := func(name string) {
		text := s.read("job.hcl")
		if i := strings.Index(text, "    container {"); i >= 0 {
			text = text[:i] + text[strings.Index(text, "    # end\n")+len("    # end\n"):]
		}
		block := fmt.Sprintf("    container {\n      image  = %q\n      mounts = [%q]\n    }\n    # end\n", name, s.folder+":"+s.folder)
		s.write(t, "job.hcl", strings.Replace(text, "    time        =", block+"    time        =", 1))
		s.build(t)
		s.submit(t)
	}
	file, digest := s.folder+"/image.sqsh", strings.Repeat("0a", 32)
	s.write(t, "image.sqsh", "four")
	image(file)
	mustHold(t, "the log", s.trains(t, 100, nil), "ndc: container "+file+": 4 bytes, changed 2")
	s.write(t, "image.sqsh", "larger")
	mustHold(t, "the log", s.trains(t, 101, nil, s.arguments(t)...), ": 6 bytes, changed 2", "the container changed since the first link, where it was 4 bytes, changed 2")
	s.write(t, "image.sqsh.sha256", digest+"  image.sqsh\n")
	mustHold(t, "the log", s.trains(t, 200, nil), "sha256:"+digest+", says "+file+".sha256")
	image("nvcr.io#nvidia/nemo@sha256:" + digest)
	mustHold(t, "the log", s.trains(t, 300, nil), "ndc: container nvcr.io#nvidia/nemo@sha256:"+digest+": sha256:"+digest)
	image("nvcr.io#nvidia/nemo:26.04")
	log := s.trains(t, 400, nil)
	mustHold(t, "the log", log, "unknown; a name without a digest can change its meaning")
	if strings.Contains(log, "changed since") {
		t.Errorf("nothing changed:\n%s", log)
	}
	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), "  slurm {\n", "  slurm {\n    log_path = \""+s.folder+"/a,b\"\n", 1))
	s.build(t)
	s.submit(t)
	s.refuses(t, "/a,b/megatron has a comma or a colon, at which the container's runtime cuts mounts", 500, nil)
}

// TestAnyCheckpointFolder draws names and contents at random: what the scripts
// read of them is a number, and nothing happens besides.
func TestAnyCheckpointFolder(t *testing.T) {
	piece := rapid.SampledFrom([]string{"step-", "100", "7", "0", "$(>pwned)", "`>pwned`", "hosts[", "]", "\n", " ", "*", "?", "-old", ".bak", ";", "&", "'", `"`, `\`, "\xff", "=", "-n", "%s", "é"})
	text := rapid.Custom(func(r *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(r, "pieces"), "") })
	for _, backend := range strings.Fields(allBackends) {
		t.Run(backend, func(t *testing.T) {
			s := newSite(t, backend, "[]")
			functions := cutFunctions(t, string(s.spooled))
			rapid.Check(t, func(r *rapid.T) {
				folder := filepath.Join(t.TempDir(), "checkpoints")
				files := map[string]string{"latest": text.Draw(r, "latest"), "latest_checkpointed_iteration.txt": text.Draw(r, "tracker")}
				for range 3 {
					files[filepath.Join("step-"+text.Draw(r, "folder"), ".metadata")] = ""
				}
				for name, content := range files {
					path := filepath.Join(folder, name)
					if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
						r.Fatal(err)
					}
				}
				cmd := exec.Command("bash", "-c", "own_rules() { set -euo pipefail; }; own_rules\n"+functions+"\nnewest_step")
				cmd.Dir, cmd.Env = folder, append(os.Environ(), "CHECKPOINT_PATH="+folder)
				out, err := cmd.CombinedOutput()
				if err != nil || !regexp.MustCompile(`^[0-9]+\n$`).Match(out) {
					r.Errorf("%v: %q of %q", err, out, files)
				}
				if _, err := os.Stat(filepath.Join(folder, "pwned")); err == nil {
					r.Errorf("executed: %q", files)
				}
			})
		})
	}
}

// cutFunctions takes those that read a checkpoint folder out of a script.
func cutFunctions(t *testing.T, script string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^number\(\) .*$|(?s:^latest_step\(\) \{\n.*?\n\}\n)|^newest_step\(\) .*$`).FindAllString(script, -1)
	if len(found) != 3 {
		t.Fatalf("functions: %q", found)
	}
	return strings.Join(found, "\n")
}
