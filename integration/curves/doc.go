// Package curves trains one spec in the three frameworks, on the same tokens,
// and lays their loss curves side by side. The spec is the example tiny with
// the few changes that a CPU needs; the emitted files are run as they are, by
// the drivers of the sibling packages. docs/curves.md is what it wrote.
package curves
