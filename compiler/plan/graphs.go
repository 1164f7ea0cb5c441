package plan

import "strings"

// The modules of a layer that CUDA graphs can capture alone.
const (
	GraphAttention     = "attention"      // with its norm
	GraphMLP           = "mlp"            // of a layer without experts, with its norm
	GraphMoE           = "moe"            // a whole mixture of experts, with its norm; where tokens are dropped and padded
	GraphMoERouter     = "moe_router"     // with the norm before it and the shared experts
	GraphMoEPreprocess = "moe_preprocess" // what is computed of the routes before tokens are sent
	GraphMamba         = "mamba"          // a Mamba-2 mixer, with its norm
)

// GraphModules lists them in the order in which plans name them.
var GraphModules = []string{GraphAttention, GraphMLP, GraphMoE, GraphMoERouter, GraphMoEPreprocess, GraphMamba}

// StaticExperts reports whether experts that drop no token run in the graph of a
// whole step: a graph has its shapes once for all, and so experts get buffers of a
// fixed size, in which kernels count the rows by themselves.
func (x *Execution) StaticExperts() bool {
	return x.CUDAGraphs == "full" && SendsTokens(x.MoEDispatcher)
}

// Captures reports whether a CUDA graph launches a module of a layer. Graphs of
// layers leave routed experts to the host, whose shapes change from step to step;
// the graph of a whole step has everything.
func (x *Execution) Captures(module string) bool {
	switch x.CUDAGraphs {
	case "full":
		return true
	case "layer":
		return module == GraphAttention || module == GraphMLP || module == GraphMamba
	}
	for rest := x.CUDAGraphs; rest != ""; {
		var word string
		if word, rest, _ = strings.Cut(rest, "+"); word == module || word == GraphMoE && (module == GraphMoERouter || module == GraphMoEPreprocess) {
			return true
		}
	}
	return false
}
