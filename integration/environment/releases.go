package environment

import (
	"slices"
	"strings"
)

// The versions of torch that the frameworks share. TorchTitan asks for its own
// (its release notes name 2.11.0 for 0.2.2 and 2.14.0 for 0.3.0); the others
// run on the older one.
const (
	olderTorch = "2.11.0"
	newerTorch = "2.14.0"
)

// Megatron is a release of megatron-core from the package index; its wheels
// carry megatron.training from 0.17 on, and work by themselves from 0.18.
func Megatron(version string) Environment {
	modules := []string{"megatron.training"}
	if CoreAlone(version) {
		modules = []string{"megatron.core"}
	}
	return Environment{
		Name: "megatron-" + version, Torch: olderTorch,
		Packages: []string{"megatron-core==" + version, "packaging", "pyyaml", "six", "regex", "pydantic", "psutil", "einops", "setuptools<81"},
		Project:  "megatron-core", Version: version, Imports: modules,
	}
}

// MegatronWheels are the releases whose wheels are judged; of other versions a
// checkout is needed.
var MegatronWheels = []string{"0.18.2", "0.19.2"}

// MegatronConfigurations are the other releases, whose configuration classes alone
// are asked: what else a launch runs is not in their wheels, or does not differ.
var MegatronConfigurations = []string{"0.15.0", "0.15.1", "0.15.2", "0.15.3", "0.16.0", "0.16.1", "0.17.0", "0.17.1", "0.18.0", "0.19.0"}

// CoreAlone reports whether a release's wheel has no parser of arguments.
func CoreAlone(version string) bool {
	return strings.HasPrefix(version, "0.15.") || strings.HasPrefix(version, "0.16.")
}

// HasMegatronWheel reports whether a version is judged by its wheel.
func HasMegatronWheel(version string) bool { return slices.Contains(MegatronWheels, version) }

// TorchTitan is a release of torchtitan.
func TorchTitan(version string) Environment {
	torch := olderTorch
	if version == "0.3.0" {
		torch = newerTorch
	}
	return Environment{
		Name: "torchtitan-" + version, Torch: torch, Pinned: true, Packages: []string{"torchtitan==" + version},
		Project: "torchtitan", Version: version, Imports: []string{"torchtitan"},
	}
}

// TorchAO is the release of torchao that goes with the torch of one of TorchTitan.
func TorchAO(torchtitan string) string {
	if torchtitan == "0.3.0" {
		return "0.18.0"
	}
	return "0.17.0"
}

// transformers are the releases that go with those of DeepSpeed: AutoEP works
// from 5.0 to before 5.21, and 0.16.4 is as old as 4.49.
const (
	olderTransformers = "4.49.0"
	newerTransformers = "5.8.0"
)

// Transformers is the release that stands beside one of DeepSpeed.
func Transformers(deepspeed string) string {
	if deepspeed == "0.16.4" {
		return olderTransformers
	}
	return newerTransformers
}

// DeepSpeed is a release of deepspeed with a transformers of its time.
func DeepSpeed(version string) Environment {
	e := Environment{
		Name: "deepspeed-" + version, Torch: olderTorch, Options: []string{"--no-build-isolation"},
		Build:    []string{"setuptools<81", "wheel"},
		Packages: []string{"numpy", "tokenizers", "accelerate", "ninja", "transformers==" + Transformers(version), "deepspeed==" + version},
		Project:  "deepspeed", Version: version, Imports: []string{"transformers", "deepspeed"},
	}
	if slices.Contains(DeepSpeedEdges, version) { // everything else is the newest release's
		newest := DeepSpeed(Newest("deepspeed"))
		e.Over, e.Build, e.Packages = &newest, nil, []string{"deepspeed==" + version}
		e.Options = append(e.Options, "--no-deps")
	}
	return e
}

// Of is the environment of a backend's kind at a version that it names, such as
// megatron and core_v0.19.2.
func Of(kind, version string) Environment {
	switch kind {
	case "megatron":
		return Megatron(strings.TrimPrefix(version, "core_v"))
	case "torchtitan":
		return TorchTitan(version)
	default:
		return DeepSpeed(version)
	}
}

// Newest is the newest release of a backend's kind that is judged, as the backend
// names it.
func Newest(kind string) string {
	switch kind {
	case "megatron":
		return "core_v" + MegatronWheels[len(MegatronWheels)-1]
	case "torchtitan":
		return TorchTitanReleases[len(TorchTitanReleases)-1]
	default:
		return DeepSpeedReleases[len(DeepSpeedReleases)-1]
	}
}

// DeepSpeedReleases, TorchTitanReleases are the releases that are judged.
// DeepSpeedEdges are asked about golden files only: a feature came with them,
// or has gone after them (hpZ with right weights, AutoEP, MiCS).
var (
	DeepSpeedReleases  = []string{"0.16.4", "0.18.2", "0.19.8"}
	DeepSpeedEdges     = []string{"0.18.3", "0.19.2", "0.19.6"}
	TorchTitanReleases = []string{"0.2.2", "0.3.0"}
)

// HasDeepSpeed reports whether a release is asked.
func HasDeepSpeed(version string) bool {
	return slices.Contains(DeepSpeedReleases, version) || slices.Contains(DeepSpeedEdges, version)
}

// All are the environments of every framework, in the order in which they are
// best installed.
func All() []Environment {
	var all []Environment
	for _, v := range MegatronWheels {
		all = append(all, Megatron(v))
	}
	for _, v := range TorchTitanReleases {
		all = append(all, TorchTitan(v))
	}
	for _, v := range slices.Concat(DeepSpeedReleases, DeepSpeedEdges) {
		all = append(all, DeepSpeed(v))
	}
	return all
}
