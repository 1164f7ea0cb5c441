package torchtitan

import (
	"embed"
	"fmt"
	"math"
	"regexp"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

//go:embed templates
var templateFiles embed.FS

var templates = render.Embedded(templateFiles, "templates/*.tmpl")

// Names of the emitted Python files.
const (
	jobModule     = "ndc_job"     // the job: model, data and, for 0.3.0, the configuration
	runtimeModule = "ndc_runtime" // readers and clock, the same for every job
	modelName     = "ndc"         // what 0.2.2 registers the model as
)

// build is one emission: the job, its plan, and what is derived from both.
type build struct {
	v      *version
	j      *job.Job
	p      *plan.Plan
	family *family
	diags  diag.List
}

// launch is what torchrun starts.
type launch struct {
	program   []render.Word
	arguments []slurm.Argument
}

// Emit writes the framework's configuration, its Python modules and the Slurm
// scripts.
func (Backend) Emit(j *job.Job, p *plan.Plan) ([]backends.Artifact, diag.List) {
	v, diags := findVersion(j)
	if v == nil {
		return nil, diags
	}
	b := &build{v: v, j: j, p: p, family: v.find(&j.Model)}
	artifacts := v.emit(b)
	nameOrigins(artifacts, j)
	artifacts = append(artifacts, backends.Artifact{
		Path: runtimeModule + ".py", Content: mustRead("templates/" + runtimeModule + ".py"),
	})
	scripts, slurmDiags := slurm.Files(j, p, b.slurmLaunch())
	b.diags.Append(slurmDiags)
	if b.diags.HasErrors() {
		return nil, b.diags
	}
	return append(artifacts, scripts...), b.diags
}

func mustRead(name string) []byte {
	content, err := templateFiles.ReadFile(name)
	if err != nil {
		panic("torchtitan: " + err.Error())
	}
	return content
}

// latestStep prints the newest complete checkpoint: TorchTitan writes step-N,
// whose .metadata torch.distributed.checkpoint writes last. The last one of a run may
// be Hugging Face's files (exportOption), whose index stands for it.
const latestStep = `local metadata step newest=-1
for metadata in "$CHECKPOINT_PATH"/step-*/{.metadata,model.safetensors.index.json}; do
  [[ -f $metadata ]] || continue
  metadata=${metadata%/*}
  step=$(number "${metadata##*/step-}") || continue
  [[ $step -le $newest ]] || newest=$step
done
[[ $newest -lt 0 ]] || printf '%s\n' "$newest"`

// slurmLaunch says what the shared scripts start. The generated modules are
// found through PYTHONPATH; the end of the allocation is handed to the clock.
func (b *build) slurmLaunch() slurm.Launch {
	run := b.v.launch(b)
	return slurm.Launch{
		Title: "TorchTitan " + b.v.name, Torch: b.v.torch,
		Environment: b.environment(),
		Setup: []string{
			b.pythonPath(),
			`# The modules beside this script are complete; Python must not write into their folder.`,
			`export PYTHONDONTWRITEBYTECODE=1`,
			`# When the allocation ends, for checkpoints before the time limit.`,
			b.endTime(),
		},
		Program: run.program, Arguments: run.arguments, Shown: b.shown(), Notice: b.p.Time.StepSeconds * units.Seconds(b.checkEvery()),
		CheckpointPath: b.j.Training.Checkpoint.Path, LatestStep: latestStep,
		Steps: b.j.Training.Steps,
	}
}

// shown are the ranks that report: the first, which decides when to save and to
// stop, and the first of the last pipeline stage, which has the loss
// (torchtitan/components/metrics.py, _get_metrics_rank).
func (b *build) shown() []int {
	l := &b.p.Layout
	if last := l.GPUs() / l.PipelineParallel * (l.PipelineParallel - 1); last > 0 {
		return []int{0, last}
	}
	return []int{0}
}

// pythonPath makes the generated modules importable, and the framework where
// the job names a checkout of it.
func (b *build) pythonPath() string {
	checkout := ""
	if b.j.Backend.Path != "" {
		checkout = ":" + render.ExpandingPath(b.j.Backend.Path).String()
	}
	return `export PYTHONPATH="$NDC_DIR"` + checkout + `${PYTHONPATH:+:$PYTHONPATH}`
}

// endTime exports NDC_END_TIME. Slurm names the end of the job; where it does
// not, the limit counts from now.
func (b *build) endTime() string {
	if b.j.Slurm.Time == 0 {
		return `[[ -z ${SLURM_JOB_END_TIME:-} ]] || export NDC_END_TIME=$SLURM_JOB_END_TIME`
	}
	return fmt.Sprintf(`[[ -z ${SLURM_JOB_ID:-} ]] || export NDC_END_TIME=${SLURM_JOB_END_TIME:-$(($(date +%%s) + %d))}`, int(b.j.Slurm.Time))
}

// environment are the variables that TorchTitan and its dispatchers read.
func (b *build) environment() []slurm.Setting {
	settings := b.dispatch()
	w := b.j.Training.Logging.WandB
	if w == nil {
		return settings
	}
	settings = append(settings, slurm.Setting{Name: "WANDB_PROJECT", Value: render.Literal(w.Project), Why: "training.logging.wandb"})
	if w.Entity != "" {
		settings = append(settings, slurm.Setting{Name: "WANDB_TEAM", Value: render.Literal(w.Entity), Why: "training.logging.wandb"})
	}
	if w.Mode != "" {
		settings = append(settings, slurm.Setting{Name: "WANDB_MODE", Value: render.Literal(w.Mode), Why: "training.logging.wandb"})
	}
	settings = append(settings, slurm.Setting{Name: "WANDB_RUN_NAME", Value: render.Literal(b.j.Name), Why: "job"})
	return append(settings, slurm.ContinuedRun(b.j)...)
}

// dispatch are the variables of the library that moves tokens. DeepEP v2 wants
// nothing where there is a network, and to be told where there is none.
func (b *build) dispatch() []slurm.Setting {
	switch kind := b.p.Execution.MoEDispatcher; {
	case kind == "hybridep":
		return slurm.HybridEP(b.j, slurm.ExpertGroup(&b.p.Layout))
	case kind == "deepep" && b.v.secondDeepEP && b.j.Cluster.Nodes == 1 && b.j.Cluster.Network.NICsPerNode == 0:
		return []slurm.Setting{
			{Name: "EP_DISABLE_GIN", Value: render.Literal("1"), Why: "no network, which DeepEP would look for"},
			{Name: "EP_REUSE_NCCL_COMM", Value: render.Literal("0"), Why: "without a network NCCL's communicator has no device part to share"},
		}
	}
	return nil
}

// summary is one line on what the files configure.
func (b *build) summary() string {
	l := &b.p.Layout
	return fmt.Sprintf("%s: %s on TorchTitan %s, %s = tensor %d x context %d x pipeline %d x shard %d x replicate %d.",
		b.j.Name, b.j.Model.Name, b.v.name, units.Count(l.GPUs(), "GPU"), l.TensorParallel, l.ContextParallel, l.PipelineParallel, l.DataParallelShard, l.DataParallelReplicate)
}

// localBatch is training.local_batch_size: TorchTitan splits it into
// pipeline micro-batches; without a pipeline it accumulates gradients over
// global_batch_size / (local_batch_size × replicas).
func localBatch(l *plan.Layout) int {
	if l.PipelineParallel > 1 {
		return l.MicroBatchSize * l.MicroBatches
	}
	return l.MicroBatchSize
}

// stageModules are the modules of every chunk in pipeline order: embedding
// with the first, norm and head with the last.
func stageModules(l *plan.Layout, head string) [][]string {
	var stages [][]string
	layer := 0
	for c, n := range l.StageLayers {
		names := []string{}
		if c == 0 {
			names = append(names, "tok_embeddings")
		}
		for range n {
			names = append(names, fmt.Sprintf("layers.%d", layer))
			layer++
		}
		if c == len(l.StageLayers)-1 {
			names = append(names, "norm", head)
		}
		stages = append(stages, names)
	}
	return stages
}

// checkEvery is the number of steps between two looks at the clock: about ten
// seconds by the plan, at most 100 steps.
func (b *build) checkEvery() int {
	step := float64(b.p.Time.StepSeconds)
	if step <= 0 {
		return 1
	}
	return max(1, min(100, int(10/step)))
}

// saveEvery is the interval in seconds between checkpoints by time, and where
// it comes from; 0 for checkpoints by step.
func (b *build) saveEvery() (float64, string) {
	switch c := b.p.Run.Checkpoints; {
	case c == nil || c.Given == "steps":
		return 0, "by steps, see checkpoint.interval"
	case c.Given == "auto":
		return float64(c.IntervalSeconds), "default: " + c.Why
	}
	return float64(b.p.Run.Checkpoints.IntervalSeconds), "spec: training.checkpoint.interval"
}

// stopMargin is how long before the time limit the run saves and stops: five
// minutes (at most a fifth of the limit) for the checkpoint and the exit, or what
// the save takes on a storage that is known and a minute, one check of the clock,
// and two steps.
func (b *build) stopMargin() (float64, string) {
	exit := 300.0
	if limit := float64(b.j.Slurm.Time); limit > 0 {
		exit = min(exit, math.Ceil(limit/5))
	}
	if c := b.p.Run.Checkpoints; c != nil && b.j.Cluster.Storage.Bandwidth > 0 {
		exit = max(exit, math.Ceil(float64(c.SaveSeconds))+60)
	}
	between := float64(b.p.Time.StepSeconds) * float64(b.checkEvery()+2)
	if evaluation := float64(goodput.Evaluation(b.j, b.p.Time.StepSeconds)); evaluation > 0 { // which may begin between them
		if limit := float64(b.j.Slurm.Time); limit > 0 {
			evaluation = min(evaluation, limit/2)
		}
		return exit + math.Ceil(units.Rounded(between+evaluation)), fmt.Sprintf("%g to save and exit, the steps between two looks, and an evaluation", exit)
	}
	return exit + math.Ceil(between), fmt.Sprintf("%g to save and exit, and the steps between two looks", exit)
}

// nullable writes a number, or None for 0.
func nullable(v float64) string {
	if v == 0 {
		return "None"
	}
	return render.Python(v)
}

// text reports data that are tokenised on the fly.
func (b *build) text() bool {
	d := &b.j.Training.Data
	return d.Format == "jsonl" && !d.Mock
}

// data is the literal that the reader takes.
func (b *build) data() string {
	t := &b.j.Training
	var end any
	if id := t.Data.Tokenizer.EndOfDocumentID; id.Set {
		end = id.Value
	}
	format := t.Data.Format
	if t.Data.Mock {
		format = "mock"
	}
	var split any // all of the sources
	if shares, ok := job.Shares(t.Data.Split); ok {
		split = shares[:]
	}
	return pythonDict([]field{
		{"format", format, "spec: training.data"},
		{"sources", sources(t.Data.Sources), "name, path, weight"},
		{"validation_sources", validationSources(t.Data.Validation), ""},
		{"split", split, "training, validation, test"},
		{"sequence_length", b.j.Model.SequenceLength, "spec: model.sequence_length"},
		{"vocab_size", b.j.Model.VocabSize, "model.vocab_size"},
		{"end_of_document", end, "spec: training.data.tokenizer.end_of_document_id"},
		{"restart_positions", t.Data.DocumentMask || t.Data.ResetPositionIDs, "at documents"},
		{"seed", t.Seed, "spec: training.seed"},
		{"workers", t.Data.Workers, "processes that read ahead"},
	})
}

func sources(list []job.DataSource) [][]any {
	out := make([][]any, len(list))
	for i, s := range list {
		out[i] = []any{s.Name, s.Path, s.Weight}
	}
	return out
}

func validationSources(v *job.Validation) [][]any {
	if v == nil || v.Path == "" {
		return [][]any{}
	}
	return [][]any{{"validation", v.Path, 1.0}}
}

// expands reports a value with a reference of the form ${NAME}, which stands
// for the cluster's own environment.
func expands(v any) bool {
	s, ok := v.(string)
	return ok && reference.MatchString(s)
}

var reference = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
