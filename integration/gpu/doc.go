// Package gpu runs generated jobs on one NVIDIA GPU and holds what they measure
// against what ndc predicted: real steps of small jobs in the three frameworks,
// single ranks of large layouts under torch's fake process group, and the size
// at which memory runs out. The part in plain Go (the machine, the jobs, their
// predictions, the rows) is tested everywhere; the tests behind the build tag
// gpu need the GPU.
package gpu
