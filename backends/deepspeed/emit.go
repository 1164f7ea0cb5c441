package deepspeed

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// The training program is the same for every job, so that it can be read and
// tested as it stands; run.json holds what differs.
//
//go:embed all:templates
var program embed.FS

// Emit writes the configuration, the model, the program and the scripts that
// start it.
func (Backend) Emit(j *job.Job, p *plan.Plan) ([]backends.Artifact, diag.List) {
	r, diags := findVersion(j)
	if diags.HasErrors() {
		return nil, diags
	}
	e := &emitter{job: j, plan: p, version: r, family: familyOf(&j.Model)}
	var refused diag.List
	if checkExtraArguments(j, r, &refused); refused.HasErrors() { // Target has told of the warnings
		return nil, refused
	}
	chosen := e.dsConfig()
	launch := e.launch()
	launch.Setup = append(e.origins(chosen), launch.Setup...)
	config := e.extraArguments(chosen)
	scripts, more := slurm.Files(j, p, launch)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	files := append(scripts,
		jsonFile("ds_config.json", config),
		jsonFile("model/config.json", e.modelConfig()),
		jsonFile("run.json", e.run(config)))
	return append(files, programFiles()...), diags
}

// emitter carries what the files are made from.
type emitter struct {
	job     *job.Job
	plan    *plan.Plan
	version version
	family  *family
}

func jsonFile(name string, v any) backends.Artifact {
	content, err := render.JSON(v)
	if err != nil {
		panic("deepspeed: " + name + ": " + err.Error())
	}
	return backends.Artifact{Path: name, Content: content}
}

// programFiles are the Python files, as they are in the repository.
func programFiles() []backends.Artifact {
	var files []backends.Artifact
	err := fs.WalkDir(program, "templates", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".py" {
			return err
		}
		content, err := program.ReadFile(name)
		files = append(files, backends.Artifact{Path: strings.TrimPrefix(name, "templates/"), Content: content})
		return err
	})
	if err != nil {
		panic("deepspeed: " + err.Error())
	}
	return files
}

// modelConfig is config.json with the precision that parameters are made in.
func (e *emitter) modelConfig() render.Object {
	return append(e.family.config(&e.job.Model, e.family),
		render.Member{Key: "torch_dtype", Value: torchDType[e.job.Training.Precision]})
}

var torchDType = map[string]string{"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}

// latestStep prints the step of the newest complete checkpoint.
const latestStep = `local latest=$CHECKPOINT_PATH/latest tag=
[[ ! -f $latest ]] || read -r -n 64 tag <"$latest" || true
[[ $tag != step-* ]] || number "${tag#step-}" || true`

// launch is what the scripts need to know.
func (e *emitter) launch() slurm.Launch {
	return slurm.Launch{
		Title:          "DeepSpeed " + e.version.String(),
		Torch:          e.version.torch,
		Environment:    e.environment(),
		Setup:          setup(e.version.String()),
		Program:        []render.Word{render.Shell(`"$NDC_DIR/train.py"`)},
		Shown:          []int{0},
		Notice:         e.plan.Time.StepSeconds,
		CheckpointPath: e.job.Training.Checkpoint.Path,
		LatestStep:     latestStep,
		Steps:          e.job.Training.Steps,
	}
}

// setup says where kernels are built, and clears the lock of a build that was
// killed: torch's extension builder waits for it for ever and in silence.
func setup(version string) []string {
	return []string{
		"# DeepSpeed builds its kernels when it first needs them, per node; versions must not share a folder.",
		"export TORCH_EXTENSIONS_DIR=${TORCH_EXTENSIONS_DIR:-$private/deepspeed-" + version + "}",
		"# A build that was killed leaves a lock behind, on which later runs would wait for ever.",
		`[[ ! -d $TORCH_EXTENSIONS_DIR ]] || find "$TORCH_EXTENSIONS_DIR" -name lock -mmin +15 -delete`,
	}
}

func (e *emitter) environment() []slurm.Setting {
	settings := []slurm.Setting{
		e.timeout(),
		{Name: "TOKENIZERS_PARALLELISM", Value: render.Literal("false"), Why: "tokenisers must not fork threads in every rank"},
		{Name: "PYTHONUNBUFFERED", Value: render.Literal("1"), Why: "lines appear in the log when they are written"},
	}
	if e.localFilesOnly() {
		settings = append(settings, slurm.Setting{Name: "HF_HUB_OFFLINE", Value: render.Literal("1"), Why: "all files are local; nothing is fetched"})
	}
	if p := e.job.Backend.Path; p != "" {
		settings = append(settings, slurm.Setting{Name: "PYTHONPATH",
			Value: render.Shell(render.ExpandingPath(p).String() + `"${PYTHONPATH:+:$PYTHONPATH}"`), Why: "spec: backend.path"})
	}
	return append(settings, slurm.ContinuedRun(e.job)...)
}

// timeout is the one limit that DeepSpeed has for collectives.
func (e *emitter) timeout() slurm.Setting {
	minutes, why := timeoutMinutes(e.job.Cluster.Nodes), "minutes that a collective may take; the first ones wait for the slowest node to load its model"
	if t := e.job.Training.Timeout.Collective; t > 0 {
		minutes, why = int(t/60), "spec: training.timeout.collective, in minutes"
	}
	return slurm.Setting{Name: "DEEPSPEED_TIMEOUT", Value: render.Literal(fmt.Sprint(minutes)), Why: why}
}

// timeoutMinutes is how long a collective may take: half an hour, and a minute
// more for every 16 nodes.
func timeoutMinutes(nodes int) int { return 30 + nodes/16 }

// localFilesOnly reports whether tokenizer and weights are given as paths.
func (e *emitter) localFilesOnly() bool {
	t := &e.job.Training
	local := func(p string) bool {
		return p == "" || strings.HasPrefix(p, "/") || strings.HasPrefix(p, ".") || strings.HasPrefix(p, "$")
	}
	return local(t.Data.Tokenizer.Path) && (t.Start.From != "huggingface" || local(t.Start.Path))
}
