// Package estimate predicts one training step: from a job, a target, a layout
// and the resolved execution options it makes the step time with a breakdown,
// the memory peak, the exposed communication and the throughput.
//
// It composes its siblings and holds what none of them can know: which kernels
// and collectives a step runs and what overlaps with what, per runtime and
// option. Package program counts shapes, compute times kernels, collective
// times communication, schedule runs the pipeline, memory counts bytes.
// Choosing among layouts is package search's. Every formula, with its source,
// is in docs/time.md; the parameters are in data/*.json.
package estimate

import (
	"cmp"
	"math"

	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/memory"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Evaluator evaluates layouts of one job on one target. It remembers terms
// that layouts share, so it is not safe for concurrent use: every worker of
// the search makes its own with New.
type Evaluator struct {
	job        *job.Job
	model      *job.Model
	target     *target.Target
	runtime    *runtime.Runtime // the target's
	parameters Parameters

	arch     *program.Program
	assembly program.Assembly
	device   *compute.Device
	topology *collective.Topology
	memory   *memory.Model

	fixed
	rates
	factors *factors // nil: the cluster is not calibrated
	caches

	layerGroups []layerGroup
	free        bool  // floors are being made, without the contention that options cause
	same        []int // per decoder layer: the first of its run of layers of one layer group
	simulator   schedule.Simulator
	builder     builder // of the layer being timed
	passing     passing
	step        step
}

// fixed is what depends on the job and its target, and on no layout.
type fixed struct {
	kernels         attentionKernels
	fused, eager    layerTraffic  // of the layers, fused or kernel by kernel
	counted         bool          // the kernels that eager names were counted
	blocking        bool          // CUDA_LAUNCH_BLOCKING is set for the run
	quantised, base compute.DType // of linear layers; of attention, router and head
	domain          int           // GPUs that NVLink reaches, or of a node without it
	moments         float64       // optimizer moments per parameter
	muon            float64       // operations to orthogonalise one layer's update; made when needed
}

// rates are parameters in the form that the hot loop uses.
type rates struct {
	rate16, rate8, rate4, grouped, ring, contention                              units.Ratio
	ringBlock                                                                    float64     // tokens, see ring_block
	hostRouter, hostPreprocess, hostExchange, hostBackward                       units.Ratio // of hostMoE; of a layer's forward pass
	moeSync, hostLayer, hostChunk, hostMicroBatch, hostStep, hostMoE, hostExpert units.Seconds
	straggler                                                                    units.Ratio // of the pipeline, for each e-fold of GPUs
}

// caches hold what layouts share.
type caches struct {
	communicators map[[2]int]*collective.Group
	executions    []plan.Execution
	linears       map[linearKey]compute.Passes
	listings      map[program.Shape]*listing // by kind
	known         map[termsKey]terms
	latest        termsKey // the last one asked for, and its terms
	latestTerms   terms
	tables        map[tableKey]*layerTable
	dense         map[tableKey]*layerTable // what of tables has no experts
	begun         map[begunKey]*begun
	stateTables   map[wholeKey]*layerTable
	bareWork      map[wholeKey]bareWork // of all layers, without recompute
	pipelines     map[uint64]units.Seconds
}

// Result is the evaluation of one layout, flat for the hot loop.
type Result struct {
	StepSeconds units.Seconds

	// PeakDeviceBytes is what nvidia-smi would show on the busiest rank;
	// PeakDeviceUpperBytes the upper end of its 90 % range. PeakStage is its
	// pipeline rank, PeakRank its global rank.
	PeakDeviceBytes      units.Bytes
	PeakDeviceUpperBytes units.Bytes
	PeakStage            int
	PeakRank             int

	// NeededBytes is what has to be usable for the job's limits on running out.
	NeededBytes units.Bytes

	// Slower is by what share a step takes longer in expectation because little
	// memory is left. StepSeconds is without.
	Slower float64

	// StateBytes is what no micro-batch and no recompute can go below.
	StateBytes units.Bytes

	// HostBytes is what a node needs beside its GPUs.
	HostBytes units.Bytes

	// ExposedCommunicationSeconds is communication on the critical path, a part
	// of StepSeconds; zero where the job does not limit it.
	ExposedCommunicationSeconds units.Seconds
}

// Description is everything that a plan says about one layout.
type Description struct {
	Memory        plan.Memory
	Time          plan.Time
	Communication []plan.Communication
	Throughput    plan.Throughput
	Mesh          plan.Mesh

	// OffNVLink lists the axes whose group has more than one rank and leaves an
	// NVLink domain (a node, on a cluster without NVLink), in the order of Mesh.
	OffNVLink []plan.Axis

	// CheckpointBytes is what one checkpoint takes in the storage.
	CheckpointBytes units.Bytes

	Warnings []plan.Warning
}

// New prepares a job on a target. Both must be complete and are kept.
func New(j *job.Job, t *target.Target) *Evaluator {
	return NewWith(j, t, DefaultParameters())
}

// reach is the cluster as the ranks of a job can count on it: Slurm places its
// segments where it likes, so that NVLink is sure within one only.
func reach(j *job.Job) *job.Cluster {
	c := j.Cluster
	if c.NVLink.Domain > 0 {
		c.NVLink.Domain = layout.Domain(j)
	}
	return &c
}

// NewWith is New with other parameters, for fitting.
func NewWith(j *job.Job, t *target.Target, p Parameters) *Evaluator {
	e := &Evaluator{
		job: j, model: &j.Model, target: t, runtime: &t.Runtime, parameters: p,
		arch:     program.New(&j.Model),
		device:   compute.NewDevice(&j.Cluster.GPU),
		topology: collective.NewTopology(reach(j)),
		memory:   memory.New(j, t),
		caches: caches{
			communicators: map[[2]int]*collective.Group{},
			linears:       map[linearKey]compute.Passes{},
			listings:      map[program.Shape]*listing{},
			known:         map[termsKey]terms{},
			tables:        map[tableKey]*layerTable{},
			dense:         map[tableKey]*layerTable{},
			begun:         map[begunKey]*begun{},
			stateTables:   map[wholeKey]*layerTable{},
			bareWork:      map[wholeKey]bareWork{},
			pipelines:     map[uint64]units.Seconds{},
		},
	}
	e.domain = layout.Domain(j)
	e.assembly = program.AssemblyOf(e.runtime)
	e.assembly.KernelsOnly = true
	e.blocking = j.Variable("CUDA_LAUNCH_BLOCKING") == "1"
	e.kernels = kernelsOf(&t.Runtime.Attention)
	of := &t.Runtime.Layers
	e.fused = trafficOf(e.model, cmp.Or(of.Compiled, fusedLayers))
	e.eager, e.counted = trafficOf(e.model, cmp.Or(of.Implementation, fusedLayers)), of.Elementwise == ""
	e.factors = e.calibrated()
	e.precision()
	e.newLayerGroups()
	e.resolve()
	return e
}

// Use changes the parameters and forgets every term made with others.
func (e *Evaluator) Use(p Parameters) {
	e.parameters = p
	clear(e.known)
	e.latest = termsKey{}
	clear(e.tables)
	clear(e.dense)
	clear(e.begun)
	clear(e.stateTables)
	clear(e.bareWork)
	e.resolve()
}

// precision picks the data types of the job's precision.
func (e *Evaluator) precision() {
	e.base = compute.BF16
	switch e.job.Training.Precision {
	case "fp32":
		e.base = compute.TF32
	case "fp16":
		e.base = compute.FP16
	}
	e.quantised = e.base
	switch e.job.Training.Precision {
	case "fp8":
		e.quantised = compute.FP8
		if e.job.Training.FP8.Recipe == "blockwise" {
			e.quantised = compute.FP8Block
		}
		if e.job.Training.FP8.Recipe == "delayed" {
			e.quantised = compute.FP8Delayed
		}
	case "mxfp8":
		e.quantised = compute.MXFP8
	case "nvfp4":
		e.quantised = compute.NVFP4
	}
	e.moments = float64(e.job.Training.Optimizer.Moments(true)) // nearly all parameters are of matrices
}

// resolve looks up the parameters that apply.
func (e *Evaluator) resolve() {
	p, engine := e.parameters, e.runtime.Calibration.Time
	gpu := &e.job.Cluster.GPU
	e.rate16 = units.Ratio(p.ofPower("power16", gpu) * p.ofSilicon("rate16", gpu))
	e.rate8 = units.Ratio(p.ofPower("power8", gpu) * p.ofSilicon("rate8", gpu))
	e.rate4 = units.Ratio(p.at("rate4"))
	e.grouped = units.Ratio(p.at("grouped"))
	if e.runtime.LowPrecision.RowScaled {
		e.rate8 *= units.Ratio(p.at("rowwise"))
	}
	e.rate8 *= e.releaseSpeedUp()
	e.rate4 *= e.releaseSpeedUp()
	e.ring, e.ringBlock = units.Ratio(p.at("ring_efficiency."+engine)), p.at("ring_block."+engine)
	e.contention = units.Ratio(p.at("contention"))
	e.moeSync = units.Seconds(p.at("moe_sync"))
	slower := p.ofHost(gpu)
	host := func(name string) units.Seconds { return units.Seconds(slower * p.at(name)) }
	e.hostLayer = host("host_layer." + engine)
	if e.blocking {
		e.hostLayer = host("host_blocking")
	}
	e.hostBackward = units.Ratio(p.at("host_backward"))
	if !e.runtime.Experts.LaunchedTogether {
		e.hostExpert = host("host_expert")
	}
	e.hostChunk = host("host_chunk")
	e.hostMicroBatch = host("host_micro_batch")
	e.hostStep = host("host_step." + engine)
	e.hostMoE = host("host_moe")
	e.hostExchange = units.Ratio(p.at("host_moe_exchange"))
	e.hostRouter, e.hostPreprocess = units.Ratio(p.at("host_moe_router")), units.Ratio(p.at("host_moe_preprocess"))
	e.straggler = units.Ratio(p.at("straggler"))
	if f := e.factors; f != nil {
		e.straggler *= f[uncertainty.Straggler]
	}
}

// releaseSpeedUp is how fast GEMMs in low precision run with the engine's release
// and the libraries of its time over those of the newest that was measured:
// kernels and fusions still gain with every release, release of their time.
func (e *Evaluator) releaseSpeedUp() units.Ratio {
	return units.Ratio(math.Pow(1-e.parameters.at("release"), float64(e.runtime.LowPrecision.ReleasesBehind)))
}

// rate is how fast GEMMs run in training over the measured kernels, which
// ran in short bursts. 16-bit GEMMs draw the most power and fall furthest;
// in low precision training fuses the quantising that the measured kernels do.
func (e *Evaluator) rate(t compute.DType) units.Ratio {
	switch t {
	case compute.FP8, compute.FP8Delayed, compute.FP8Block, compute.MXFP8:
		return e.rate8
	case compute.NVFP4:
		return e.rate4
	}
	return e.rate16
}

// Step is the step time alone.
func (e *Evaluator) Step(l *plan.Layout, x *plan.Execution) units.Seconds {
	return e.run(l, x).total
}
