package plan

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
)

// Modules is a set of the modules whose forward pass selective recompute runs
// again. Backends translate it into their frameworks' words.
type Modules uint16

// The modules, in the order of their names in the language.
const (
	// ModuleCoreAttention is the attention kernel alone.
	ModuleCoreAttention Modules = 1 << iota
	// ModuleNorm is every norm that stands by itself.
	ModuleNorm
	// ModuleLatentUp is the up-projection of latent attention.
	ModuleLatentUp
	// ModuleMLP is a dense feed-forward block.
	ModuleMLP
	// ModuleMoE is a whole mixture of experts, with router and shared experts.
	ModuleMoE
	// ModuleExpertActivation is the activation function of the experts.
	ModuleExpertActivation
	// ModuleOperators is not a part of a layer but a policy over its operations:
	// attention, communication and every second GEMM are kept, the rest is
	// recomputed.
	ModuleOperators
	// ModuleSharedExperts is the experts that every token passes.
	ModuleSharedExperts
)

var moduleNames = [...]string{"core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "op", "shared_experts"}

// ModuleNames lists the names of all modules in the language.
func ModuleNames() []string { return slices.Clone(moduleNames[:]) }

// ModulesOf is the set of some names in the language. A name that is not in
// ModuleNames is a mistake of the caller.
func ModulesOf(names []string) Modules {
	set, unknown := parseModules(names)
	if unknown != "" {
		panic("plan: no recompute module " + unknown)
	}
	return set
}

func parseModules(names []string) (set Modules, unknown string) {
	for _, name := range names {
		i := slices.Index(moduleNames[:], name)
		if i < 0 {
			return 0, name
		}
		set |= 1 << i
	}
	return set, ""
}

// Has reports whether any of some modules is in the set.
func (m Modules) Has(some Modules) bool { return m&some != 0 }

// First is the module of the set whose name comes first; 0 when it is empty. A
// loop removes one after the other: for m != 0 { one := m.First(); m &^= one }.
func (m Modules) First() Modules { return m & -m }

// Names lists the modules by their names in the language, in order.
func (m Modules) Names() []string {
	names := []string{}
	for ; m != 0; m &^= m.First() {
		names = append(names, m.name())
	}
	return names
}

// name is the name of a single module.
func (m Modules) name() string { return moduleNames[bits.TrailingZeros16(uint16(m))] }

// MarshalJSON writes the list of names.
func (m Modules) MarshalJSON() ([]byte, error) { return json.Marshal(m.Names()) }

// UnmarshalJSON reads a list of names.
func (m *Modules) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	set, unknown := parseModules(names)
	if unknown != "" {
		return fmt.Errorf("unknown recompute module %q", unknown)
	}
	*m = set
	return nil
}
