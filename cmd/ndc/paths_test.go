package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pathsJob names ${HOME} wherever a path may stand.
const pathsJob = `
job "paths" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100
    optimizer "adamw" {
      learning_rate = 1e-3
    }
    data {
      format = "megatron"
      CACHE
      source "a" {
        path = "$${HOME}/data/a"
      }
      validation {
        path     = "$${HOME}/data/held-out"
        interval = 10
        steps    = 1
      }
      tokenizer "huggingface" {
        path = "$${HOME}/tokenizer"
      }
    }
    start {
      from            = "checkpoint"
      path            = "$${HOME}/start"
      reset_optimizer = true
      reset_schedule  = true
      reset_data      = true
    }
    checkpoint {
      path     = "$${HOME}/checkpoints"
      interval = 10
    }
    logging {
      tensorboard_path = "$${HOME}/tensorboard"
    }
  }

  backend "KIND" {
    version = "VERSION"
    path    = "$${HOME}/framework"
  }
  slurm {
    time     = "01:00:00"
    chain    = 2
    log_path = "$${HOME}/logs"
    env_file = "$${HOME}/env"
    container {
      image  = "$${HOME}/image.sqsh"
      mounts = ["$${HOME}:$${HOME}"]
    }
  }
}
`

// stubs stand in for Slurm and torchrun. srun enters what it takes for a
// container: another HOME, and the variables that it is told to pass.
var stubs = map[string]string{
	"scontrol": `[[ $1 == show && $2 == hostnames ]] && echo node1; exit 0`,
	"sbatch":   `echo 2`,
	"srun": `printf 'srun %s\n' "$@" >>"$SEEN"
while [[ $1 == -* ]]; do shift; done
export HOME=/root
exec "$@"`,
	"torchrun": `printf 'torchrun %s\n' "$@" >>"$SEEN"
case $KIND in
deepspeed) python3 "$ASK" deepspeed "$NDC_DIR" >>"$SEEN" ;;
torchtitan) python3 "$ASK" torchtitan "$NDC_DIR" >>"$SEEN" ;;
esac`,
}

// ask prints the paths as the emitted programs see them, without frameworks.
const ask = `
import ast, os, sys
from unittest import mock
sys.dont_write_bytecode = True
kind, folder = sys.argv[1:]
sys.path.insert(0, folder)
for name in ("numpy", "torch", "torch.distributed"):
    sys.modules[name] = mock.MagicMock()
if kind == "deepspeed":
    from trainer import run
    values = run.load(folder)
    for place in (values.checkpoint, values.start, values.data.sources[0], values.data.tokenizer, values.validation):
        print("path", place.path)
    print("path", values.data.cache_path)
    print("path", values.logging.tensorboard_path)
else:
    import ndc_runtime
    for node in ast.walk(ast.parse(open(os.path.join(folder, "ndc_job.py"), encoding="utf-8").read())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "ndc_runtime.expand":
            print("path", ndc_runtime.expand(node.args[0].value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "${" in node.value:
            print("path", ndc_runtime.expand(node.value))
`

// TestPathsAgree builds one job for every backend, and runs its batch script
// with stand-ins: ${HOME} is the batch script's in every path, although HOME is
// another in the container.
func TestPathsAgree(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	for _, c := range []struct{ kind, version string }{{"megatron", "core_v0.18.2"}, {"torchtitan", "0.2.2"}, {"torchtitan", "0.3.0"}, {"deepspeed", "0.19.8"}} {
		t.Run(c.kind+" "+c.version, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			seen := launchStubbed(t, root, c.kind, c.version)
			want := []string{"checkpoints/" + c.kind, "tokenizer", "start", "data/a", "data/held-out", "tensorboard/" + c.kind}
			if c.kind != "torchtitan" {
				want = append(want, "cache")
			}
			for _, p := range want {
				if !strings.Contains(seen, filepath.Join(root, "home", p)) {
					t.Errorf("no %s below the batch script's HOME", p)
				}
			}
			for _, wrong := range []string{"${HOME}", "/root/"} {
				if i := strings.Index(seen, wrong); i >= 0 {
					t.Errorf("%s remains in %q", wrong, seen[max(0, i-40):min(len(seen), i+60)])
				}
			}
			if !strings.Contains(seen, "NDC_HOST_HOME") {
				t.Error("the container is not told what HOME is outside")
			}
			if t.Failed() {
				t.Log(seen)
			}
		})
	}
}

// TestMountsAreChecked: every backend says so when a path of the job is not
// shared with its container.
func TestMountsAreChecked(t *testing.T) {
	for kind, version := range map[string]string{"megatron": "core_v0.18.2", "torchtitan": "0.3.0", "deepspeed": "0.19.8"} {
		name := filepath.Join(t.TempDir(), "job.hcl")
		text := strings.NewReplacer("KIND", kind, "VERSION", version, "CACHE", "", `"$${HOME}/checkpoints"`, `"/elsewhere"`, `["$${HOME}:$${HOME}"]`, `["/data:/data"]`).Replace(pathsJob)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if code := run([]string{"validate", name}, &out, &out); code != 1 || !strings.Contains(out.String(), "[path-outside-mounts]") || !strings.Contains(out.String(), `path     = "/elsewhere"`) {
			t.Errorf("%s: exit code %d\n%s", kind, code, out.Bytes())
		}
	}
}

// launchStubbed builds the job, runs its batch script, and returns what the
// stand-ins saw.
func launchStubbed(t *testing.T, root, kind, version string) string {
	t.Helper()
	home, bin := filepath.Join(root, "home"), filepath.Join(root, "bin")
	cache := `cache_path = "$${HOME}/cache"`
	if kind == "torchtitan" { // which keeps no index
		cache = ""
	}
	files := map[string]string{
		filepath.Join(root, "job.hcl"):                   strings.NewReplacer("KIND", kind, "VERSION", version, "CACHE", cache).Replace(pathsJob),
		filepath.Join(root, "ask.py"):                    ask,
		filepath.Join(home, "env"):                       "",
		filepath.Join(home, "framework/pretrain_gpt.py"): "",
	}
	for name, body := range stubs {
		files[filepath.Join(bin, name)] = "#!/bin/bash\n" + body + "\n"
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if code := run([]string{"build", filepath.Join(root, "job.hcl"), "-o", filepath.Join(root, "out")}, &out, &out); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out.Bytes())
	}
	folder, seen := filepath.Join(root, "out/paths", kind), filepath.Join(root, "seen")
	cmd := exec.Command("bash", filepath.Join(folder, "paths.sbatch"))
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "SEEN=" + seen, "KIND=" + kind, "ASK=" + filepath.Join(root, "ask.py"),
		"SLURM_JOB_ID=1", "SLURM_SUBMIT_DIR=" + folder, "SLURM_JOB_NAME=paths", "SLURM_JOB_NODELIST=node1", "SLURM_JOB_NUM_NODES=1", "TMPDIR=" + root, "NDC_GPUS_PER_NODE=1"}
	if output, err := cmd.CombinedOutput(); err != nil {
		logs, _ := filepath.Glob(filepath.Join(home, "logs/*/*.log"))
		said := fmt.Sprint(logs)
		for _, name := range logs {
			content, _ := os.ReadFile(name)
			said += "\n" + string(content)
		}
		t.Fatalf("%v\n%s\n%s", err, output, said)
	}
	content, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
