package torchtitan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// precision is one compute precision of a release.
type precision struct {
	name       string
	capability float64  // least CUDA compute capability; 0: any
	recipes    []string // values of fp8.recipe; the first is the default
	gathers    bool     // parameters can be gathered in it
}

// checkPrecision refuses precisions that the release or the GPU lacks.
func (v *version) checkPrecision(j *job.Job, diags *diag.List) {
	t := &j.Training
	refuse := func(path, detail string) {
		diags.Error(UnsupportedPrecision, j.Sources.Range("training."+path), "Precision that cannot be used", detail)
	}
	p := v.precision(t.Precision)
	if p == nil {
		refuse("precision", fmt.Sprintf("TorchTitan %s computes in %s, not in %s. %s", v.name, strings.Join(v.precisionNames(), ", "), t.Precision, capability.Alternatives(capability.Of("training.precision", t.Precision))))
		return
	}
	if g := &j.Cluster.GPU; g.ComputeCapability != "" && g.Capability() < p.capability {
		refuse("precision", fmt.Sprintf("%s needs compute capability %g; %s has %s.", t.Precision, p.capability, g.Name, g.ComputeCapability))
	}
	if t.Precision == "fp32" && j.Model.MoE != nil {
		if why := v.find(&j.Model).notInFP32; why != "" {
			refuse("precision", why)
		} else {
			diags.Warn(Differs, j.Sources.Range("training.precision"), "Experts in another precision",
				fmt.Sprintf("TorchTitan %s multiplies the weights of experts in bf16, also in fp32.", v.name))
		}
	}
	if plainExperts(j) {
		diags.Warn(Differs, j.Sources.Range("training.precision"), "Experts in another precision",
			fmt.Sprintf("In %s TorchTitan %s computes linear layers alone; the weights of experts are multiplied in bf16, and planned so. mxfp8 is of experts, too.", t.Precision, v.name))
	}
	if r := t.FP8.Recipe; r != "" && t.Precision == "fp8" && !slices.Contains(p.recipes, r) {
		at := "fp8.recipe"
		if !j.Sources.IsSet("training.fp8.recipe") {
			at = "precision"
		}
		refuse(at, fmt.Sprintf("TorchTitan %s has no fp8 recipe %s; it has %s: set fp8 { recipe = %q }, in the backend's training block if others are to keep theirs. %s", v.name, r, units.List(p.recipes, "and"), p.recipes[0], capability.Alternatives(capability.Of("training.fp8.recipe", r))))
	}
	if t.FP8.ParameterGather && (!p.gathers || t.FP8.Recipe == rowwise) {
		refuse("fp8.parameter_gather", "Gathering parameters in fp8 belongs to precision \"fp8\" with tensorwise scaling. "+capability.Alternatives("training.fp8.parameter_gather"))
	}
}

// plainExperts reports whether the routed experts of a job in a low precision stay in
// bf16: the converters of fp8 and nvfp4 that are emitted are of linear layers.
func plainExperts(j *job.Job) bool {
	return j.Model.MoE != nil && (j.Training.Precision == "fp8" || j.Training.Precision == "nvfp4")
}

func (v *version) precision(name string) *precision {
	for i := range v.precisions {
		if v.precisions[i].name == name {
			return &v.precisions[i]
		}
	}
	return nil
}

func (v *version) precisionNames() []string {
	names := make([]string, len(v.precisions))
	for i, p := range v.precisions {
		names[i] = p.name
	}
	return names
}

// quantizedLayers are the layers [first, end) that run in a low precision.
func quantizedLayers(j *job.Job) (first, end int) {
	return j.Training.FP8.BF16FirstLayers, j.Model.Layers - j.Training.FP8.BF16LastLayers
}

// unquantizedNames are parts of module names that stay in bf16: the head under
// the given name, the routers, and the first and last layers that the job
// names. A layer is named with dots around its number.
func unquantizedNames(j *job.Job, head string) []string {
	names := []string{head}
	if j.Model.MoE != nil {
		names = append(names, "router.gate")
	}
	first, end := quantizedLayers(j)
	for i := range j.Model.Layers {
		if i < first || i >= end {
			names = append(names, fmt.Sprintf("layers.%d.", i))
		}
	}
	return names
}
