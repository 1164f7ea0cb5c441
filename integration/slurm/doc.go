// Package slurm submits generated jobs to a real Slurm that it brings up on
// this machine: several virtual nodes, each in a network namespace of its own,
// with fake GPUs. What runs in place of torchrun is testdata/torchrun, which
// meets its peers over the network and keeps a checkpoint as the framework
// would; everything else, the scripts and the scheduler, is the real thing.
// Training with the real frameworks is the business of the sibling packages.
//
// The tests need the build tag slurm, root, network namespaces and Debian's
// Slurm packages, which they install; they say so where something is missing.
package slurm
