package gpu

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// Machine is what a measurement was taken on.
type Machine struct {
	GPU         string // as the driver names it
	Driver      string
	MemoryMiB   int // of the GPU, as the driver reports it
	Catalog     string
	Torch       string
	CUDA        string // that torch was built for
	TorchMemory int64  // bytes, as torch sees them
	Container   string // image, where the environment names it
	Idle        bool   // nothing else has memory on the GPU
}

// query asks nvidia-smi for the fields that ParseSMI reads.
var query = []string{"--query-gpu=name,driver_version,memory.total,memory.used", "--format=csv,noheader,nounits"}

// ParseSMI reads the first GPU of nvidia-smi's answer to query.
func ParseSMI(out string) (Machine, error) {
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	fields := strings.Split(line, ",")
	if len(fields) != 4 {
		return Machine{}, fmt.Errorf("nvidia-smi says %q", line)
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	total, err := strconv.Atoi(fields[2])
	used, err2 := strconv.Atoi(fields[3])
	if err := errors.Join(err, err2); err != nil {
		return Machine{}, fmt.Errorf("nvidia-smi says %q: %w", line, err)
	}
	m := Machine{GPU: fields[0], Driver: fields[1], MemoryMiB: total, Idle: used < 1024}
	if m.Catalog = catalogEntry(m.GPU, total); m.Catalog == "" {
		return m, fmt.Errorf("the catalogue has no GPU like %q with %d MiB", m.GPU, total)
	}
	return m, nil
}

// names lead from the driver's name of a GPU to its catalogue entry: the first
// whose part occurs, with at least so much memory in MiB.
var names = []struct {
	part   string
	memory int
	entry  string
}{
	{"GB300", 0, "gb300"}, {"GB200", 0, "gb200"}, {"GH200", 0, "gh200"}, {"B300", 0, "b300"}, {"B200", 0, "b200"},
	{"H200", 0, "h200"}, {"H800", 0, "h800"}, {"H100", 90_000, "h100_96gb_500w"}, {"H100 80GB HBM3", 0, "h100_sxm"},
	{"A100", 60_000, "a100_80gb"}, {"A100", 0, "a100_40gb"}, {"V100", 30_000, "v100_32gb"}, {"V100", 0, "v100_16gb"},
}

func catalogEntry(name string, memory int) string {
	for _, n := range names {
		if strings.Contains(name, n.part) && memory >= n.memory {
			return n.entry
		}
	}
	return ""
}

// Driver describes this machine as far as the driver knows it.
func Driver() (Machine, error) {
	out, err := exec.Command("nvidia-smi", query...).Output()
	if err != nil {
		return Machine{}, fmt.Errorf("no NVIDIA GPU: nvidia-smi: %w", err)
	}
	return ParseSMI(string(out))
}

// Find describes this machine, with torch as an interpreter sees it. The error
// says why nothing can be measured here.
func Find(python string) (Machine, error) {
	m, err := Driver()
	if err != nil {
		return m, err
	}
	return m, m.askTorch(python)
}

// asking is a program that prints what torch knows.
const asking = `
import json, torch
there = torch.cuda.is_available()
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "available": there,
                  "memory": torch.cuda.mem_get_info()[1] if there else 0}))`

func (m *Machine) askTorch(python string) error {
	out, err := exec.Command(python, "-c", asking).Output()
	if err != nil {
		return fmt.Errorf("%s has no torch: %w", python, err)
	}
	var answer struct {
		Torch, CUDA string
		Available   bool
		Memory      int64
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return err
	}
	if !answer.Available {
		return fmt.Errorf("torch %s of %s sees no GPU (driver %s, torch for CUDA %s)", answer.Torch, python, m.Driver, answer.CUDA)
	}
	m.Torch, m.CUDA, m.TorchMemory = answer.Torch, answer.CUDA, answer.Memory
	for _, name := range []string{"NDC_CONTAINER", "NVIDIA_PYTORCH_VERSION"} {
		if v := os.Getenv(name); v != "" {
			m.Container = strings.TrimSpace(name + " " + v)
			break
		}
	}
	return nil
}

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

// Slug names the machine in file names and ids: GPU, driver and torch, which
// are what a measurement depends on.
func (m *Machine) Slug() string {
	gpu := strings.TrimPrefix(strings.ToLower(m.GPU), "nvidia ")
	torch, _, _ := strings.Cut(m.Torch, "+")
	return strings.Trim(notWord.ReplaceAllString(gpu+"_driver"+m.Driver+"_torch"+torch, "_"), "_")
}
