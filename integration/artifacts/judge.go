package artifacts

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/integration/environment"
	mcore "github.com/ndc-dev/ndc/integration/megatron"
)

// Depth is how far a framework takes a launch.
type Depth int

const (
	// Configured asks the configuration classes alone, many launches in a minute.
	Configured Depth = iota
	// Cheap stops before anything is built: Megatron-LM's arguments,
	// configuration and meshes for one rank, TorchTitan's configuration
	// manager and mesh, DeepSpeed's configuration classes and the model on
	// the meta device.
	Cheap
	// Deep builds ranks: Megatron-LM's model, buffers, optimizer and the entry
	// of its schedule for the first and last rank of every pipeline stage; a
	// step of TorchTitan's Trainer on fake tensors for the first and last rank.
	// DeepSpeed has nothing deeper short of training.
	Deep
)

// Verdict is a framework's answer to one launch.
type Verdict struct {
	Launch  *Launch
	Error   string // empty: accepted
	Skipped bool   // it asks for a package that is not installed, or a newer one
}

// ErrUnavailable marks that a framework cannot be asked here.
var ErrUnavailable = errors.New("cannot be had")

// Judge asks a framework about launches of one version. root is the
// repository, scratch an empty folder. An error that is ErrUnavailable says
// why the framework is not here; others are failures of the judge.
func Judge(launches []*Launch, depth Depth, root, scratch string) ([]Verdict, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return nil, err
	}
	switch launches[0].Framework {
	case "megatron":
		return judgeMegatron(launches, depth, root, scratch)
	case "torchtitan":
		return judgeTorchTitan(launches, depth, root, scratch)
	default:
		return judgeDeepSpeed(launches, depth, root, scratch)
	}
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// judgeMegatron asks for launches of one version.
func judgeMegatron(launches []*Launch, depth Depth, root, scratch string) ([]Verdict, error) {
	h, err := mcore.New(filepath.Join(root, "integration", "megatron"))
	if err != nil {
		return nil, err
	}
	complaints := make([]string, len(launches))
	if depth == Configured {
		if err := h.HasConfiguration(launches[0].Version); err != nil {
			return nil, unavailable(err)
		}
		err = configureMegatron(h, launches, scratch, complaints)
		return verdicts(launches, complaints), err
	}
	if _, _, err := h.Source(launches[0].Version); err != nil {
		return nil, unavailable(err)
	}
	err = askMegatron(h, launches, depth, scratch, complaints)
	return verdicts(launches, complaints), err
}

// configureMegatron fills in the complaints of the configuration classes.
func configureMegatron(h *mcore.Harness, launches []*Launch, scratch string, complaints []string) error {
	list := make([]mcore.Launch, len(launches))
	for i, l := range launches {
		list[i], complaints[i] = l.forMegatron(i, Configured), "no answer"
	}
	answers, err := h.Configure(list, scratch)
	for _, a := range answers {
		i, _ := strconv.Atoi(a.ID)
		if complaints[i] = ""; !a.Accepted {
			complaints[i] = cmp.Or(a.Error, "refused") + " (" + a.Stage + ")"
		}
	}
	return err
}

// askMegatron fills in the complaints. What can be built is built, for a deep
// look.
func askMegatron(h *mcore.Harness, launches []*Launch, depth Depth, scratch string, complaints []string) error {
	for _, built := range []bool{false, true} {
		var list []mcore.Launch
		for i, l := range launches {
			if built == (depth == Deep && !l.Execution.FullySharded) {
				list = append(list, l.forMegatron(i, depth))
			}
		}
		if len(list) == 0 {
			continue
		}
		answers, err := h.Judge(list, built, filepath.Join(scratch, strconv.FormatBool(built)))
		seen := map[string]bool{}
		for _, a := range answers {
			seen[a.ID] = true
			i, _ := strconv.Atoi(a.ID)
			if !a.Accepted {
				complaints[i] = cmp.Or(complaints[i], fmt.Sprintf("rank %d, %s: %s", a.Rank, a.Stage, a.Error))
			} else if l := launches[i]; l.Plan != nil {
				complaints[i] = cmp.Or(complaints[i], otherGradients(a, l.Execution.GradientDType), otherParameters(a, l), otherShard(a, l))
			}
		}
		for _, l := range list {
			if i, _ := strconv.Atoi(l.Name); !seen[l.Name] {
				complaints[i] = "no answer"
			}
		}
		if err != nil {
			return err
		}
	}
	for i, l := range launches {
		if depth == Deep && l.Execution.FullySharded {
			complaints[i] = cmp.Or(complaints[i], noMetaFSDP)
		}
	}
	return nil
}

// otherGradients says if no buffer of a rank holds gradients in the planned type;
// those of parameters in fp32 are in fp32 always.
func otherGradients(a mcore.Answer, planned string) string {
	built := map[string]string{"fp32": "float32", "bf16": "bfloat16"}[planned]
	if a.Buffers == nil || slices.ContainsFunc(a.Buffers, func(b mcore.Buffer) bool { return b.Gradient == built }) {
		return ""
	}
	return fmt.Sprintf("rank %d has gradients in %s, the plan in %s", a.Rank, a.Buffers[0].Gradient, planned)
}

// otherParameters says if a rank has not as many parameters as the plan has gradients
// for its stage.
func otherParameters(a mcore.Answer, l *Launch) string {
	if a.Buffers == nil || l.Layout.ZeroStage > 1 {
		return ""
	}
	width := map[string]int64{"fp32": 4, "bf16": 2}[l.Execution.GradientDType]
	for _, line := range l.Plan.Memory.Stages[a.Rank*l.Layout.PipelineParallel/l.Layout.GPUs()].Ledger {
		if line.ID == "gradients" && int64(line.Bytes) != width*a.Parameters {
			return fmt.Sprintf("rank %d has %d parameters, the plan %d", a.Rank, a.Parameters, int64(line.Bytes)/width)
		}
	}
	return ""
}

// otherShard says if a rank's part of the optimizer has not as many elements as the plan has
// for its stage; the padding of buckets may lie in it. A precision-aware optimizer, which may
// keep of the fp32 copies the half alone that bf16 parameters lack, is not judged.
func otherShard(a mcore.Answer, l *Launch) string {
	aware := bytes.Contains(l.Files["launch.sh"], []byte("--use-precision-aware-optimizer"))
	if a.Buffers == nil || l.Layout.ZeroStage > 1 || l.Execution.OffloadOptimizer || aware {
		return ""
	}
	planned, padding := int64(0), -a.Parameters
	for _, line := range l.Plan.Memory.Stages[a.Rank*l.Layout.PipelineParallel/l.Layout.GPUs()].Ledger {
		if line.ID == "master_parameters" {
			planned += int64(line.Bytes) / 4
		}
	}
	for _, b := range a.Buffers {
		padding += b.Elements
	}
	if d := planned - a.Optimizer; planned > 0 && max(d, -d) > padding {
		return fmt.Sprintf("rank %d updates %d elements, the plan %d (padding %d)", a.Rank, a.Optimizer, planned, padding)
	}
	return ""
}

// forMegatron names the launch by its number.
func (l *Launch) forMegatron(number int, depth Depth) mcore.Launch {
	return mcore.Launch{Name: strconv.Itoa(number), Version: l.Version, Capability: l.Capability, Files: l.Files,
		Nodes: l.Nodes, PerNode: l.PerNode, Ranks: l.ranks(depth)}
}

// ranks are those that are played: the first, and for a deep look the first
// and last one of every pipeline stage.
func (l *Launch) ranks(depth Depth) []int {
	if depth != Deep || l.Layout == nil {
		return []int{0}
	}
	var list []int
	stage := l.World() / l.Layout.PipelineParallel
	for first := 0; first < l.World(); first += stage {
		list = append(list, first, first+stage-1)
	}
	return slices.Compact(list)
}

// noMetaFSDP says why a launch was accepted as emitted but not built.
const noMetaFSDP = "Megatron-FSDP reads values of its meshes, and the meta device has none"

// absent are the frameworks' own words for what a machine without a GPU does
// not have: packages that stay out of the environments (kernels that no CPU
// runs, optional optimizers), float8 units, and pinned memory of fake tensors.
var absent = regexp.MustCompile(`torchao is not installed|emerging-optimizers package is required|Emerging Optimizers is not installed|No module named 'deep_ep'|` +
	`float8 is only supported on SM89 or later|NYI: aten\._pin_memory|` + noMetaFSDP)

func verdicts(launches []*Launch, complaints []string) []Verdict {
	list := make([]Verdict, len(launches))
	for i, l := range launches {
		list[i] = Verdict{Launch: l, Error: complaints[i], Skipped: absent.MatchString(complaints[i])}
	}
	return list
}

// judgeTorchTitan asks the configuration manager, or the Trainer.
func judgeTorchTitan(launches []*Launch, depth Depth, root, scratch string) ([]Verdict, error) {
	python, err := environment.TorchTitan(launches[0].Version).Python()
	if err != nil {
		return nil, unavailable(err)
	}
	var list bytes.Buffer
	complaints := make([]string, len(launches))
	for i, l := range launches {
		folder := filepath.Join(scratch, strconv.Itoa(i))
		if err := l.Write(folder); err != nil {
			return nil, err
		}
		complaints[i] = "no answer"
		fmt.Fprintln(&list, folder, l.World(), 0)
		if depth == Deep && l.World() > 1 {
			fmt.Fprintln(&list, folder, l.World(), l.World()-1)
		}
	}
	path := filepath.Join(scratch, "list")
	if err := os.WriteFile(path, list.Bytes(), 0o644); err != nil {
		return nil, err
	}
	drivers := filepath.Join(root, "integration", "torchtitan")
	program, mode := filepath.Join(drivers, "parse.py"), "--many"
	switch depth {
	case Configured:
		mode = "--configure"
	case Deep:
		program = filepath.Join(drivers, "dryrun.py")
	}
	out, err := environment.Ask(len(launches), nil, []string{"PYTHONPATH=" + drivers, "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", "USER=ndc"}, python, program, mode, path)
	for line := range strings.Lines(out) {
		var answer struct{ Folder, Rank, Error string }
		if json.Unmarshal([]byte(line), &answer) != nil || answer.Folder == "" {
			continue
		}
		i, _ := strconv.Atoi(filepath.Base(answer.Folder))
		if complaints[i] == "no answer" {
			complaints[i] = ""
		}
		if answer.Error != "" && complaints[i] == "" {
			complaints[i] = fmt.Sprintf("rank %s: %s", answer.Rank, answer.Error)
		}
	}
	return verdicts(launches, complaints), err
}

// judgeDeepSpeed asks the configuration classes of DeepSpeed and transformers.
func judgeDeepSpeed(launches []*Launch, depth Depth, root, scratch string) ([]Verdict, error) {
	if !environment.HasDeepSpeed(launches[0].Version) {
		return nil, unavailable(fmt.Errorf("DeepSpeed %s is not among the releases that are asked", launches[0].Version))
	}
	python, err := environment.DeepSpeed(launches[0].Version).Python()
	if err != nil {
		return nil, unavailable(err)
	}
	complaints, tooNew := make([]string, len(launches)), make([]bool, len(launches))
	for i, l := range launches {
		if tooNew[i] = depth > Configured && l.asksFor().newerThan(environment.Transformers(l.Version)); tooNew[i] {
			continue
		}
		about, _ := json.Marshal(map[string]int64{"parameters": l.Parameters})
		files := map[string][]byte{"case.json": about}
		for name, content := range l.Files {
			files[name] = content
		}
		if err := (&Launch{Files: files}).Write(filepath.Join(scratch, strconv.Itoa(i))); err != nil {
			return nil, err
		}
		complaints[i] = "no answer"
	}
	args := []string{filepath.Join(root, "integration", "deepspeed", "accept.py"), scratch}
	if depth == Configured {
		args = append(args, "--configure")
	}
	out, err := environment.Ask(len(launches), nil, []string{"DS_ACCELERATOR=cpu", "HF_HUB_OFFLINE=1", "OMP_NUM_THREADS=1"}, python, args...)
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		name, complaint, _ := strings.Cut(lines.Text(), ": ")
		if i, err := strconv.Atoi(name); err == nil {
			complaints[i] = complaint
		}
	}
	if err != nil && !slices.Contains(complaints, "no answer") {
		err = nil // the exit code tells of complaints, which are known
	}
	list := verdicts(launches, complaints)
	for i := range list {
		list[i].Skipped = list[i].Skipped || tooNew[i]
	}
	return list, err
}

// release is a version of transformers, such as 4.51.0.
type release string

// asksFor is the oldest transformers that the emitted program accepts.
func (l *Launch) asksFor() release {
	var run struct {
		Requires struct{ Transformers struct{ Minimum string } }
	}
	_ = json.Unmarshal(l.Files["run.json"], &run)
	return release(run.Requires.Transformers.Minimum)
}

func (r release) newerThan(installed string) bool {
	ours, theirs := strings.Split(string(r), "."), strings.Split(installed, ".")
	for i := range min(len(ours), len(theirs)) {
		a, _ := strconv.Atoi(ours[i])
		b, _ := strconv.Atoi(theirs[i])
		if a != b {
			return a > b
		}
	}
	return false
}
