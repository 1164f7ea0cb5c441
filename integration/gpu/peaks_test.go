//go:build conformance

package gpu

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ndc-dev/ndc/integration/environment"
)

// deviceTorch is a torch with a GPU of a thousand bytes, of which a program uses
// seven hundred in its first step.
const deviceTorch = `class memory: pass
class cuda:
    memory, peak = memory, 0
    is_available = is_initialized = staticmethod(lambda: True)
    max_memory_allocated = staticmethod(lambda: cuda.peak)
    max_memory_reserved = staticmethod(lambda: cuda.peak + 50)
    mem_get_info = staticmethod(lambda: (400, 1000))
    @staticmethod
    def reset_peak_memory_stats(device=None):
        cuda.peak = 100
`

// TestCap: a process is left as much of the GPU as it is told, once it has chosen
// one, under the allocator setting that it is told.
func TestCap(t *testing.T) {
	python, err := environment.Python()
	if err != nil {
		t.Skip("skipped: ", err)
	}
	folder := t.TempDir()
	torch := deviceTorch + "    set_device = staticmethod(lambda device: None)\n"
	if err := os.WriteFile(filepath.Join(folder, "torch.py"), []byte(torch), 0o644); err != nil {
		t.Fatal(err)
	}
	for grow, want := range map[string]string{"True": "0.75 expandable_segments:True\n", "False": "0.75 expandable_segments:False\n"} {
		cmd := exec.Command(python, "-c", "import os, torch; torch.cuda.set_per_process_memory_fraction = lambda f: print(f, os.environ['PYTORCH_ALLOC_CONF']); torch.cuda.set_device(0)")
		cmd.Env = append(os.Environ(), "RANK=0", "MEASURED="+filepath.Join(folder, "measured.json"), "PYTHONPATH=python:"+folder, "CAP=750", "EXPANDABLE="+grow,
			"PYTORCH_ALLOC_CONF=expandable_segments:True")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%q, %v; want %q", out, err, want)
		}
	}
}

// TestPeaks: a program that resets the peaks, as TorchTitan does after every line
// of its log, is measured by the largest of them.
func TestPeaks(t *testing.T) {
	python, err := environment.Python()
	if err != nil {
		t.Skip("skipped: ", err)
	}
	folder, measured := t.TempDir(), filepath.Join(t.TempDir(), "measured.json")
	if err := os.WriteFile(filepath.Join(folder, "torch.py"), []byte(deviceTorch), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", "import torch; torch.cuda.peak = 700; torch.cuda.reset_peak_memory_stats(); torch.cuda.peak = 300")
	cmd.Env = append(os.Environ(), "RANK=0", "MEASURED="+measured, "PYTHONPATH=python:"+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(measured)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Allocated, Reserved, Device int64 }
	if err := json.Unmarshal(content, &got); err != nil || got.Allocated != 700 || got.Reserved != 750 || got.Device != 600 {
		t.Errorf("%s, %v", content, err)
	}
}
