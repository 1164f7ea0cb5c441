// Package torchtitan hands what ndc emits to the real TorchTitan, on a
// machine without a GPU: the configuration manager by its real command line,
// the real Trainer on fake tensors at the planned world size, and training of
// small jobs over gloo.
//
//	go test -tags conformance ./integration/torchtitan -timeout 2h
//
// The frameworks are installed into NDC_CACHE (or the user's cache folder) on
// first use. NDC_PYTHON names a CPython of at least 3.12.
package torchtitan
