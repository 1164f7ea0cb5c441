// Package deepspeed holds what ndc emits for DeepSpeed against the real
// DeepSpeed: its configuration classes read the emitted files, and the emitted
// program trains small jobs on CPU, with every way of spreading them, until
// losses and gradient norms agree. The tests need Python and, on first use,
// the package index; they are built with the tag "conformance".
package deepspeed
