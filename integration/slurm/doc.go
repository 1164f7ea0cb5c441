// Package slurm submits what ndc emits to a real Slurm that it brings up on
// this machine: virtual nodes with fake GPUs that run jobs, each with a network
// of its own, and nodes that exist in the configuration only, for which every
// emitted script is judged as it stands. Small jobs are trained by the real
// DeepSpeed, Megatron-LM and TorchTitan across the virtual nodes; where training is not the
// point, testdata/torchrun stands in for torchrun: it meets its peers over the
// network and keeps a checkpoint as a framework would. Layouts, data formats
// and what frameworks accept are the business of the sibling packages.
//
// The tests need the build tag slurm, root and namespaces. They install
// Debian's Slurm, and say so where something cannot be had. Everything runs
// inside namespaces that end with the test, however it ends, and takes daemons,
// networks and mounts with it.
package slurm
