package gpu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/environment"
)

// Runner starts launches on this machine.
type Runner struct {
	Python   string        // interpreter with torch and the framework
	Drivers  string        // the folder integration of this repository
	Megatron string        // folder of pretrain_gpt.py
	Patience time.Duration // for one run
	More     []string      // arguments behind those of the launch
	CPU      bool          // start the programs without a GPU: nothing is measured
	Crowd    *Crowd        // nil: as emitted
	Kernels  string        // file for the kernels of two steps; "": none are looked at
}

// Crowd narrows what a run has of the GPU.
type Crowd struct {
	Cap        int64 // bytes that torch may reserve; 0: all
	Expandable bool  // its segments can grow
}

// torchrun stands in for the program of that name. It starts torch's own
// launcher from the interpreter at hand, or, with FAKE_RANK, one process that
// takes part in a fake process group; on a CPU, TorchTitan and Megatron-LM by
// drivers that pretend a GPU.
const torchrun = `#!/bin/bash
set -euo pipefail
options=()
while [[ ${1-} == --* ]]; do options+=("$1"); shift; done
if [[ -n ${ON_CPU-} ]]; then
  case ${1-} in
  -m) shift 2; set -- "$TITAN_ON_CPU" "$@" ;;
  *pretrain_gpt.py) set -- "$MEGATRON_ON_CPU" "$@" ;;
  esac
fi
if [[ -n ${FAKE_RANK-} ]]; then
  export RANK=$FAKE_RANK WORLD_SIZE=$FAKE_WORLD LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1
  exec "$PYTHON" "$@" @more
fi
exec "$PYTHON" -m torch.distributed.run "${options[@]}" "$@" @more
`

// Run starts launch.sh as it was emitted, as one real process, or as rank of
// its planned world under a fake process group.
func (r *Runner) Run(l *artifacts.Launch, rank int, folder string) (*Measurement, error) {
	var more []string
	for _, word := range r.More {
		more = append(more, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
	}
	if l.World() > 1 && l.Framework == "megatron" { // what a fake group brings need not be numbers
		more = append(more, "--no-check-for-nan-in-loss-and-grad")
	}
	program := strings.ReplaceAll(torchrun, "@more", strings.Join(more, " "))
	if err := write(folder, map[string][]byte{"bin/torchrun": []byte(program)}, l.Files); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(folder, "launch.sh"))
	cmd.Env, cmd.WaitDelay = append(os.Environ(), r.environment(l, rank, folder)...), 10*time.Second
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	err := cmd.Run()
	if err := os.WriteFile(filepath.Join(folder, "log.txt"), log.Bytes(), 0o644); err != nil {
		return nil, err
	}
	return read(l, folder, log.String(), errors.Join(err, ctx.Err()))
}

// write puts files into a folder.
func write(folder string, sets ...map[string][]byte) error {
	for _, files := range sets {
		for name, content := range files {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, content, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Runner) environment(l *artifacts.Launch, rank int, folder string) []string {
	env := []string{
		"PYTHON=" + r.Python, "PATH=" + filepath.Join(folder, "bin") + ":" + filepath.Dir(r.Python) + ":" + os.Getenv("PATH"), // ninja is beside the interpreter
		"PYTHONPATH=" + filepath.Join(r.Drivers, "gpu", "python"), "PYTHONDONTWRITEBYTECODE=1", "MEGATRON_PATH=" + r.Megatron,
		"NDC_NODES=" + strconv.Itoa(l.Nodes), "NDC_GPUS_PER_NODE=" + strconv.Itoa(l.PerNode), "MEASURED=" + filepath.Join(folder, "measured.json"),
		"MASTER_PORT=" + strconv.Itoa(environment.Port()),
	}
	if l.World() > 1 {
		env = append(env, "FAKE_RANK="+strconv.Itoa(rank), "FAKE_WORLD="+strconv.Itoa(l.World()))
	}
	if r.Kernels != "" {
		env = append(env, "KERNELS="+r.Kernels)
	}
	if c := r.Crowd; c != nil {
		grow := "False"
		if c.Expandable {
			grow = "True"
		}
		env = append(env, "CAP="+strconv.FormatInt(c.Cap, 10), "EXPANDABLE="+grow)
	}
	if r.CPU {
		titan := filepath.Join(r.Drivers, "torchtitan")
		env = append(env, "ON_CPU=1", "DS_ACCELERATOR=cpu", "TORCHDYNAMO_DISABLE=1", "TITAN_ON_CPU="+filepath.Join(titan, "train.py"),
			"MEGATRON_ON_CPU="+filepath.Join(r.Drivers, "megatron", "on_cpu.py"))
	}
	return env
}

// stepTime finds a step's time in the log of a framework: milliseconds,
// seconds, or tokens per second. torchrun names the rank before every line.
var stepTime = map[string]*regexp.Regexp{
	"megatron":   regexp.MustCompile(`elapsed time per iteration \(ms\): ([0-9.]+)`),
	"deepspeed":  regexp.MustCompile(`(?m)^(?:\[default\d+\]:)?step \d+/\d+ loss .* seconds ([0-9.]+)`),
	"torchtitan": regexp.MustCompile(`step: +\d+ .* tps: +([0-9,]+)`),
}

// steps are the times of the steps in seconds. tokens are those of a step on one
// GPU.
func steps(framework, log string, tokens int) []float64 {
	var seconds []float64
	for _, match := range stepTime[framework].FindAllStringSubmatch(log, -1) {
		v, err := strconv.ParseFloat(strings.ReplaceAll(match[1], ",", ""), 64)
		if err != nil || v == 0 {
			continue
		}
		switch framework {
		case "megatron":
			v /= 1000
		case "torchtitan":
			v = float64(tokens) / v
		}
		seconds = append(seconds, v)
	}
	return seconds
}

// later is the median over the later half of the steps; 0 where there are none.
func later(seconds []float64) float64 {
	if len(seconds) == 0 {
		return 0
	}
	half := slices.Sorted(slices.Values(seconds[len(seconds)/2:]))
	return half[len(half)/2]
}

var outOfMemory = regexp.MustCompile(`OutOfMemoryError|CUDA out of memory`)

// read puts together what the process wrote and what it logged.
func read(l *artifacts.Launch, folder, log string, failed error) (*Measurement, error) {
	p := l.Plan
	v := &Measurement{When: time.Now(), Steps: steps(l.Framework, log, p.Input.GlobalBatchSize*p.Input.SequenceLength/p.Input.GPUs)}
	v.StepSeconds = later(v.Steps)
	if failed != nil && outOfMemory.MatchString(log) {
		return &Measurement{When: time.Now(), OutOfMemory: true}, nil
	}
	if failed != nil {
		return nil, fmt.Errorf("%w\n%s", failed, log[max(0, len(log)-3000):])
	}
	content, err := os.ReadFile(filepath.Join(folder, "measured.json"))
	if err != nil {
		return nil, fmt.Errorf("the program ended without saying what it used: %w\n%s", err, log[max(0, len(log)-3000):])
	}
	var said struct{ Allocated, Reserved, Device int64 }
	if err := json.Unmarshal(content, &said); err != nil {
		return nil, err
	}
	v.Allocated, v.Reserved, v.Device = said.Allocated, said.Reserved, said.Device
	return v, nil
}
