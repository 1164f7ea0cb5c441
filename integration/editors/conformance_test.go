//go:build conformance

package editors

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndc-dev/ndc/integration/environment"
)

// job is what is edited.
const job = `model "llama3" {
  base            = catalog.model.llama3_8b
  sequence_length = 8192
}

cluster "h100" {
  base  = catalog.cluster.dgx_h100
  nodes = 1
}

job "demo" {
  model   = model.llama3
  cluster = cluster.h100

  training {
    global_batch_size = 64
    steps             = 1000
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 3e-4
    }
    data {
      mock = true
    }
  }
  constraints {
    layout {
      tensor_parallel   = 8
      pipeline_parallel = 1
      micro_batch_size  = 1
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  slurm {
    account   = "llm"
    partition = "h100"
    time      = "1:00:00"
  }
}
`

// desk is a folder with a job, and a home with ndc in its path.
type desk struct{ folder, home string }

func newDesk(t *testing.T, program, packages string) *desk {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if err := environment.Debian(strings.Fields(packages)...); err != nil {
			t.Skipf("skipped: %s is not here and cannot be installed: %v", program, err)
		}
	}
	d := &desk{t.TempDir(), t.TempDir()}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(d.home, "ndc"), "../../cmd/ndc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(d.folder, "job.hcl"), []byte(job), 0o666); err != nil {
		t.Fatal(err)
	}
	return d
}

// setup is the piece of docs/editors.md in a language, as a file.
func (d *desk) setup(t *testing.T, language, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatalf("docs/editors.md has no setup in %s", language)
	}
	path := filepath.Join(d.home, name)
	if err := os.WriteFile(path, m[1], 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs an editor and returns what it says, by step.
func (d *desk) run(t *testing.T, name string, args ...string) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = d.folder
	c.Env = append(os.Environ(), "HOME="+d.home, "XDG_CACHE_HOME="+d.home+"/cache", "PATH="+d.home+":"+os.Getenv("PATH"))
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out.Bytes(), errs.Bytes())
	}
	said := map[string]any{}
	for line := range bytes.Lines(out.Bytes()) {
		var s struct {
			Step  string
			Shown any
		}
		if json.Unmarshal(line, &s) == nil {
			said[s.Step] = s.Shown
		}
	}
	if len(said) == 0 {
		t.Fatalf("%s says nothing\n%s%s", name, out.Bytes(), errs.Bytes())
	}
	return said
}

// lens is how a prediction reads.
var lens = regexp.MustCompile(`^megatron: \d+(\.\d+)? m?s per step, \d+\.\d GiB of \d+\.\d GiB, MFU \d+\.\d %$`)

// TestNeovim: Neovim, set up as the documentation says, shows what the server answers.
func TestNeovim(t *testing.T) {
	d := newDesk(t, "nvim", "neovim")
	script, err := filepath.Abs("neovim.lua")
	if err != nil {
		t.Fatal(err)
	}
	said := d.run(t, "nvim", "--headless", "--clean", "-c", "luafile "+d.setup(t, "lua", "init.lua"), "-c", "luafile "+script)
	lenses, _ := said["lens"].([]any)
	if len(lenses) != 1 || !lens.MatchString(lenses[0].(string)) {
		t.Errorf("above the job stands %q", lenses)
	}
	if text, _ := said["hover"].(string); !strings.Contains(text, "Sequences per optimizer step.") {
		t.Errorf("hover: %s", text)
	}
	offered, _ := said["completion"].([]any)
	if !slices.Contains(offered, any("mxfp8")) {
		t.Errorf("offered: %v", offered)
	}
	for step, want := range map[string]any{
		"definition": 0.0,
		"entry":      `model "llama3_8b" {`,
		"mistake":    []any{map[string]any{"line": 17.0, "from": 4.0, "to": 12.0, "code": "unknown-argument"}},
		"mended":     `    precision = "bf16"`,
		"well":       []any{},
		"formatted":  `    precision         = "bf16" # 𝛁`,
		"stopped":    true,
	} {
		if !reflect.DeepEqual(said[step], want) {
			t.Errorf("%s: got %v, want %v", step, said[step], want)
		}
	}
}

// TestEmacs: Emacs, set up as the documentation says, shows what the server answers.
func TestEmacs(t *testing.T) {
	d := newDesk(t, "emacs", "emacs-nox elpa-eglot")
	script, err := filepath.Abs("emacs.el")
	if err != nil {
		t.Fatal(err)
	}
	said := d.run(t, "emacs", "--batch", "--no-init-file", "--load", d.setup(t, "elisp", "init.el"), "--load", script)
	if text, _ := said["hover"].(string); !strings.Contains(text, "Sequences per optimizer step.") {
		t.Errorf("hover: %s", text)
	}
	offered, _ := said["completion"].([]any)
	if !slices.Contains(offered, any("mxfp8")) {
		t.Errorf("offered: %v", offered)
	}
	for step, want := range map[string]any{
		"mode":       "ndc-mode",
		"definition": 1.0,
		"mistake":    []any{"precison"},
		"formatted":  `    precision         = "bf16" # 𝛁`,
	} {
		if !reflect.DeepEqual(said[step], want) {
			t.Errorf("%s: got %v, want %v", step, said[step], want)
		}
	}
}
