// Package runtimes holds three runtimes that differ in all that tests of
// packages memory, estimate and search look at, filled in as backends do. They
// are no engine's in particular; what engines really do stands in the backends.
package runtimes

import "github.com/ndc-dev/ndc/compiler/runtime"

// All are the three.
func All() []runtime.Runtime { return []runtime.Runtime{Whole(), Blocks(), Buckets()} }

// Whole keeps parameters and gradients whole on every rank and shards the
// optimizer; with fully_sharded it shards everything, block by block. Its layers
// are fused and its weight gradients accumulate where they are reduced.
func Whole() runtime.Runtime {
	return runtime.Runtime{
		Sharding: runtime.Sharding{
			Unit: runtime.Rank, Optimizer: 1, Gradients: runtime.Never, Parameters: runtime.Never,
			GatherForward: runtime.At(runtime.Never), GatherBackward: runtime.At(runtime.Never), Reduce: runtime.At(runtime.Never),
			ClearsGradients: true, CachesQuantised: true, SavesInParts: true, SavesWeights: runtime.Never,
		},
		FullySharded: runtime.Sharding{
			Unit: runtime.Block, Optimizer: 1, Gradients: 2, Parameters: 3,
			GatherForward: runtime.At(3), GatherBackward: runtime.At(3), Reduce: runtime.At(2),
			ClearsGradients: true, SavesInParts: true,
		},
		Pipeline:       runtime.Pipeline{Blocking: true},
		TensorParallel: runtime.TensorParallel{Overlaps: true, UserBuffers: true},
		Layers:         runtime.Layers{Elementwise: "megatron", AccumulatesWeightGradients: true, MambaChunk: 128, DeltaNetChunk: 64},
		Buckets:        runtime.Buckets{Unhidden: 40e6},
		Attention:      runtime.Attention{Flash: "flash", Fused: "fused", CopiesOutput: true},
		Experts:        runtime.Experts{GroupedStreams: true, HoldsRows: true},
		Loss:           runtime.Loss{Fused: runtime.LossKernel{FP32: 1, Base: 1}, Unfused: runtime.LossKernel{FP32: 1, Base: 1}},
		Calibration:    runtime.Calibration{Time: "megatron", Memory: "megatron"},
	}
}

// Blocks shards fp32 parameters, gradients and optimizer, and gathers and reduces
// block by block with every micro-batch. Its layers run operator by operator.
func Blocks() runtime.Runtime {
	sharding := runtime.Sharding{
		Unit: runtime.StoredBlock, Optimizer: 1, Gradients: 1, Parameters: 1,
		GatherForward: runtime.Stage{Alone: 2, Pipelined: 3}, GatherBackward: runtime.At(3), Reduce: runtime.Stage{Alone: 0, Pipelined: runtime.Never},
		MakesGradients: true, LeavesGathered: true, ReducesFP32: true,
	}
	return runtime.Runtime{
		Sharding: sharding, FullySharded: sharding,
		Pipeline:    runtime.Pipeline{KeepsOutputs: true, ReceivesAll: true},
		Layers:      runtime.Layers{Elementwise: "eager", SeparateProjections: true, SeparateGate: true, KeepsGathered: true},
		Attention:   runtime.Attention{Flash: "sdpa", Fused: "fused", ViewsValue: true},
		Experts:     runtime.Experts{FP32Combine: true},
		Loss:        eagerLoss,
		Buckets:     runtime.Buckets{Unhidden: 40e6},
		Calibration: runtime.Calibration{Time: "fsdp2", Memory: "torchtitan"},
	}
}

// Buckets shards the optimizer from zero_stage 1 on, gradients from 2 and
// parameters from 3, in buckets, and waits for every transfer of a pipeline. Its
// layers run operator by operator and normalise in fp32.
func Buckets() runtime.Runtime {
	sharding := runtime.Sharding{
		Unit: runtime.Bucket, Optimizer: 1, Gradients: 2, Parameters: 3,
		GatherForward: runtime.At(3), GatherBackward: runtime.At(3), Reduce: runtime.At(2),
		SavesWeights: 3,
	}
	return runtime.Runtime{
		Sharding: sharding, FullySharded: sharding,
		Buckets:     runtime.Buckets{Unhidden: 40e6, Reduce: 5e8, AllGather: 5e8, Prefetch: 5e7, MaxLiveParameters: 1e9, PersistenceThreshold: 1e5, SubGroup: 1e9},
		Pipeline:    runtime.Pipeline{Blocking: true, BlockingInterleaved: true, KeepsOutputs: true},
		Layers:      runtime.Layers{Elementwise: "eager", SeparateProjections: true, SeparateGate: true, FP32Norm: true},
		Attention:   runtime.Attention{Flash: "sdpa", Fused: "fused"},
		Experts:     runtime.Experts{FP32Combine: true},
		Loss:        eagerLoss,
		Calibration: runtime.Calibration{Time: "deepspeed", Memory: "deepspeed"},
	}
}

// eagerLoss is written operator by operator.
var eagerLoss = runtime.Loss{
	Fused:   runtime.LossKernel{Base: 2},
	Unfused: runtime.LossKernel{FP32: 3, ParallelFP32: 1, FreesFirst: true},
}
